"""The same tensors through CryptoTensors, with the keys given to it directly.

Its NumPy side has no bfloat16, so two-byte tensors travel as uint16: the bytes are the same.

usage: crypto_tensors.py NAME encrypt PLAIN     writes NAME.safetensors and NAME.json
       crypto_tensors.py NAME check PLAIN       opens it and compares
       crypto_tensors.py NAME open THREADS      into memory
The last line of the output is JSON; `seconds` counts from opening the file to the last tensor.
"""

import base64
import json
import os
import sys
import time


def text(data):
    return base64.b64encode(data).decode()


def keys(name):
    with open(f"{name}.json") as source:
        return json.load(source)


def plain_tensors(path):
    """Name, length in bytes and place of each tensor of a safetensors file."""
    with open(path, "rb") as source:
        length = int.from_bytes(source.read(8), "little")
        header = json.loads(source.read(length))
    for tensor, entry in header.items():
        if tensor != "__metadata__":
            begin, end = entry["data_offsets"]
            yield tensor, end - begin, 8 + length + begin


def encrypt(name, plain):
    import cryptotensors
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    signer = Ed25519PrivateKey.generate()
    config = {
        "enc_key": {"kty": "oct", "alg": "aes256gcm", "kid": "e", "k": text(os.urandom(32))},
        "sign_key": {
            "kty": "OKP",
            "alg": "ed25519",
            "crv": "Ed25519",
            "kid": "s",
            "d": text(signer.private_bytes_raw()),
            "x": text(signer.public_key().public_bytes_raw()),
        },
    }
    with open(f"{name}.json", "w") as out:
        json.dump(config, out)
    tensors = {}
    with open(plain, "rb") as source:
        for tensor, length, offset in plain_tensors(plain):
            source.seek(offset)
            kind, shape = ("uint16", length // 2) if length % 2 == 0 else ("uint8", length)
            tensors[tensor] = {"dtype": kind, "shape": (shape,), "data": source.read(length)}
    path = f"{name}.safetensors"
    cryptotensors.serialize_file(tensors, path, config=config)
    # Not to be written out in the middle of a measurement.
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def open_all(name, config):
    from cryptotensors import safe_open

    with safe_open(f"{name}.safetensors", framework="np", config=config) as source:
        return {tensor: source.get_tensor(tensor) for tensor in source.offset_keys()}


def main(name, action, *arguments):
    if action == "open":
        # Its threads are rayon's, which read this once.
        os.environ["RAYON_NUM_THREADS"] = arguments[0]
    import cryptotensors
    import numpy  # noqa: F401

    said = {"version": cryptotensors.__version__}
    if action == "encrypt":
        encrypt(name, arguments[0])
    elif action == "check":
        opened = open_all(name, keys(name))
        with open(arguments[0], "rb") as source:
            for tensor, length, offset in plain_tensors(arguments[0]):
                source.seek(offset)
                if opened.pop(tensor).tobytes() != source.read(length):
                    sys.exit(f"{tensor} is not the plain file's")
        if opened:
            sys.exit(f"{len(opened)} tensors too many")
    else:
        config = keys(name)
        start = time.perf_counter()
        kept = open_all(name, config)
        said["seconds"] = time.perf_counter() - start
        del kept
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
