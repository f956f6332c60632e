"""AES-256-GCM over chunks of 64 MiB by Python's `cryptography`: how a short script seals weights.

Each chunk is a nonce, a ciphertext and its tag; the additional data are the file's identifier, the
index of the chunk and the number of chunks, without which chunks could be swapped and files cut.

usage: chunked_gcm.py NAME encrypt PLAIN       writes NAME.enc and NAME.key
       chunked_gcm.py NAME check PLAIN         opens it and compares
       chunked_gcm.py NAME open THREADS [FILE]  into memory, or to a new file
The last line of the output is JSON; `seconds` counts from opening the file to the last byte.
"""

import json
import os
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import cryptography
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

CHUNK = 64 << 20
HEADER = struct.Struct("<16sQQ")
NONCE, TAG = 12, 16


def additional_data(file_id, index, count):
    return file_id + struct.pack("<QQ", index, count)


def encrypt(name, plain):
    key, file_id = AESGCM.generate_key(256), os.urandom(16)
    length = os.path.getsize(plain)
    count = -(-length // CHUNK)
    cipher = AESGCM(key)
    with open(f"{name}.key", "wb") as out:
        out.write(key)
    with open(plain, "rb") as source, open(f"{name}.enc", "wb") as out:
        out.write(HEADER.pack(file_id, length, count))
        for index in range(count):
            nonce = os.urandom(NONCE)
            out.write(nonce)
            out.write(cipher.encrypt(nonce, source.read(CHUNK), additional_data(file_id, index, count)))
        out.flush()
        os.fsync(out.fileno())


def open_chunks(name, threads, place):
    """Calls place(index, plaintext) for every chunk, from several threads."""
    with open(f"{name}.key", "rb") as source:
        cipher = AESGCM(source.read())
    with open(f"{name}.enc", "rb") as source:
        file_id, length, count = HEADER.unpack(source.read(HEADER.size))
        handle = source.fileno()

        def one(index):
            begin = index * CHUNK
            size = NONCE + min(CHUNK, length - begin) + TAG
            sealed = os.pread(handle, size, HEADER.size + index * (NONCE + CHUNK + TAG))
            plain = cipher.decrypt(
                sealed[:NONCE], memoryview(sealed)[NONCE:], additional_data(file_id, index, count)
            )
            place(index, plain)

        if threads == 1:
            for index in range(count):
                one(index)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(one, range(count)))
    return count


def open_to_memory(name, threads):
    chunks = {}
    count = open_chunks(name, threads, chunks.__setitem__)
    return [chunks[index] for index in range(count)]


def open_to_file(name, threads, path):
    with open(path, "xb") as out:
        handle = out.fileno()

        def place(index, plain):
            done = 0
            view = memoryview(plain)
            while done < len(view):
                done += os.pwrite(handle, view[done:], index * CHUNK + done)

        open_chunks(name, threads, place)


def main(name, action, *arguments):
    said = {"version": cryptography.__version__}
    if action == "encrypt":
        encrypt(name, arguments[0])
    elif action == "check":
        with open(arguments[0], "rb") as source:
            for chunk in open_to_memory(name, 1):
                if source.read(len(chunk)) != chunk:
                    sys.exit("the content is not the plain file's")
            if source.read(1):
                sys.exit("the content is shorter than the plain file")
    else:
        threads = int(arguments[0])
        start = time.perf_counter()
        if len(arguments) > 1:
            open_to_file(name, threads, arguments[1])
            kept = None
        else:
            kept = open_to_memory(name, threads)
        said["seconds"] = time.perf_counter() - start
        del kept
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
