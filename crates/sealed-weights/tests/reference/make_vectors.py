#!/usr/bin/env python3
"""Makes the test vectors: sealed models with fixed keys and randomness, and every rejection.

usage: make_vectors.py DIRECTORY          writes them
       make_vectors.py --check DIRECTORY  compares, and opens and refuses each with the reference
"""

import json
import os
import shutil
import struct
import sys
import tempfile
from copy import deepcopy
from hashlib import sha256
from pathlib import Path

from blake3 import blake3
from sealed_documents import MANIFEST, RECIPIENTS, RECIPIENTS_TITLE, sign, write_document
from sealed_documents import write_manifest
from sealed_file import AES_256_GCM, CHACHA20_POLY1305, Core, Refused, SealedFile
from sealed_file import key_id, seal_file
from sealed_reference import open_model, read_key, wrap

CHUNK = 4096
SUITES = {"aes-256-gcm": AES_256_GCM, "chacha20-poly1305": CHACHA20_POLY1305}
MODEL_KEY, WRAPPING_KEY, SEED = bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96))
OTHER_SEED = bytes(range(96, 128))
SAFETENSORS = "model.safetensors.sealed"
PUBLISHER = sign("", SEED).split(" ")[1]


def fixed(name, length):
    """What a real sealer draws at random."""
    return b"".join(sha256(f"{name} {i}".encode()).digest() for i in range(length // 32 + 1))[:length]


def safetensors():
    data = fixed("tensors", 9000)
    header = b'{"w":{"dtype":"U8","shape":[90,100],"data_offsets":[0,9000]}}'
    return struct.pack("<Q", len(header)) + header + data


PLAIN = {
    "config.json": b'{"model_type":"vector"}',
    "empty.txt": b"",
    "model.safetensors": safetensors(),
    "sub/w\u00e9ights.bin": fixed("weights", 2 * CHUNK),
}


class Sealed:
    """A sealed model as a map from names to bytes."""

    def __init__(self, suite, key=MODEL_KEY, name="vector"):
        self.key, self.model_id = key, fixed("model id", 16)
        self.files = {}
        listed = []
        for path, plain in PLAIN.items():
            file_id, salt = fixed(f"{suite} {path} id", 16), fixed(f"{suite} {path} salt", 32)
            core = Core(suite, CHUNK, len(plain), file_id, self.model_id, salt, path)
            if path.endswith(".safetensors"):
                core.public = 8 + struct.unpack_from("<Q", plain)[0]
            data = seal_file(key, core, plain)
            self.files[path + ".sealed"] = data
            listed.append(SealedFile(data).listing())
        identity = {"model": name, "model_id": self.model_id.hex()}
        named = {"key_id": key_id(key, self.model_id).hex()}
        self.manifest = {**identity, "version": 3, "created": 1700000000, **named, "files": listed}
        self.recipients = {**identity, **named, "recipients": []}
        entry = wrap(WRAPPING_KEY, key, self.recipients, fixed(f"{suite} wrap", 32))
        self.recipients["recipients"].append(entry)
        self.files[MANIFEST] = self.signed(self.manifest).encode()
        self.files[RECIPIENTS] = self.section(self.recipients).encode()

    def signed(self, manifest, seed=SEED):
        return write_manifest(manifest, self.key, seed)

    def section(self, recipients):
        return write_document(RECIPIENTS_TITLE, recipients, self.key, b"recipients")

    def listing(self, data):
        """The manifest's text with another listing of the safetensors file."""
        return self.signed(self.changed(files={2: SealedFile(data).listing()}))

    def changed(self, files=None, **fields):
        manifest = {**deepcopy(self.manifest), **fields}
        for place, listing in (files or {}).items():
            manifest["files"][place] = listing
        return manifest


def xor(name, at, mask):
    return {"op": "xor", "file": name, "at": at, "hex": mask}


def write(name, text):
    return {"op": "write", "file": name, "text": text}


def headers(sealed):
    """Rejections of the core header, of its file's length and of the parts behind it."""
    name, size = SAFETENSORS, len(sealed.files[SAFETENSORS])
    core = SealedFile(sealed.files[name]).core
    head = len(core.encode())
    tables = head + 32 + core.public
    cases = [
        ("magic", xor(name, 0, "01"), "HeaderDefect::NotSealed"),
        ("version 2", xor(name, 8, "03"), "HeaderDefect::Version"),
        ("suite 0", xor(name, 10, f"{core.suite:02x}"), "HeaderDefect::Suite"),
        ("suite 4", xor(name, 10, f"{core.suite ^ 4:02x}"), "HeaderDefect::Suite"),
        ("chunk size 4097", xor(name, 12, "01"), "HeaderDefect::ChunkSize"),
        ("chunk size 2048", xor(name, 12, "0018"), "HeaderDefect::ChunkSize"),
        ("chunk size 2^27", xor(name, 12, "00100008"), "HeaderDefect::ChunkSize"),
        ("length one more", xor(name, 16, "01"), "SealError::Length"),
        ("length 2^63 more", xor(name, 23, "80"), "HeaderDefect::TooLong"),
        ("chunk count", xor(name, 24, "01"), "HeaderDefect::ChunkCount"),
        ("file id", xor(name, 32, "01"), "ModelError::OtherFile"),
        ("model id", xor(name, 48, "01"), "ModelError::OtherFile"),
        ("salt", xor(name, 64, "01"), "ModelError::OtherFile"),
        ("public header longer than all", xor(name, 98, "01"), "HeaderDefect::PublicHeader"),
        ("path cut", xor(name, 100, "10"), "ModelError::OtherFile"),
        ("reserved", xor(name, 103, "01"), "HeaderDefect::Reserved"),
        ("hash without public header", xor("config.json.sealed", 104, "01"), "HeaderDefect::PublicHeader"),
        ("path /", xor(name, 136, f"{ord('m') ^ ord('/'):02x}"), "HeaderDefect::Path"),
        ("path not UTF-8", xor(name, 136, "80"), "HeaderDefect::Path"),
        ("commitment", xor(name, head, "01"), "SealError::Commitment"),
        ("public header", xor(name, head + 40, "01"), "SealError::PublicHeader"),
        ("tag", xor(name, tables, "01"), "SealError::Root"),
        ("hash", xor(name, tables + 16 * 3, "01"), "SealError::Root"),
        ("padding", xor(name, 4095, "01"), "SealError::Padding"),
        ("first byte of ciphertext", xor(name, 4096, "01"), "SealError::ChunkHash"),
        ("last byte of ciphertext", xor(name, size - 1, "80"), "SealError::ChunkHash"),
    ]
    lengths = [(0, "HeaderDefect::Truncated"), (7, "HeaderDefect::Truncated")]
    lengths += [(135, "HeaderDefect::Truncated"), (head - 1, "HeaderDefect::Truncated")]
    lengths += [(n, "SealError::Length") for n in (head, 4096, size - 1, size + 1)]
    cut = [{"op": "length", "file": name, "bytes": n} for n, _ in lengths]
    cases += [(f"{n} bytes", op, e) for (n, e), op in zip(lengths, cut, strict=True)]
    return [{"name": text, "ops": [op], "error": error} for text, op, error in cases]


def inner(sealed):
    """Rejections that only a key holder who is the publisher can make."""
    data = bytearray(sealed.files[SAFETENSORS])
    at = len(SealedFile(bytes(data)).core.encode())
    salted = bytearray(data)
    salted[64] ^= 1
    cases = [("salt, listed", salted, [xor(SAFETENSORS, 64, "01")], "SealError::Commitment")]
    altered = bytearray(data)
    altered[4096] ^= 1
    place = at + 32 + SealedFile(bytes(data)).core.public + 16 * 3
    new = blake3(bytes(altered[4096 : 4096 + CHUNK])).digest()
    mask = bytes(a ^ b for a, b in zip(new, data[place : place + 32], strict=True)).hex()
    altered[place : place + 32] = new
    ops = [xor(SAFETENSORS, 4096, "01"), xor(SAFETENSORS, place, mask)]
    cases.append(("ciphertext, listed", altered, ops, "SealError::Tag"))
    return [
        {"name": name, "ops": [*ops, write(MANIFEST, sealed.listing(bytes(made)))], "error": error}
        for name, made, ops, error in cases
    ]


def documents(sealed):
    """Rejections of the manifest, the recipients section and the policy."""
    text, section = sealed.files[MANIFEST].decode(), sealed.files[RECIPIENTS].decode()
    lines, rows = text.splitlines(True), section.splitlines(True)
    files = sealed.manifest["files"]
    entry = sealed.recipients["recipients"][0]
    other = Sealed(AES_256_GCM, key=bytes(32))
    foreign = sealed.changed(key_id="00" * 32)

    def resigned(old, new):
        return sign("".join(lines[:3]).replace(old, new, 1), SEED)

    def entries(value):
        return sealed.section({**sealed.recipients, "recipients": value})

    def broken(field, value):
        return entries([{**entry, "wrap": {**entry["wrap"], field: value}}])

    manifests = [
        ("empty", "", "DocumentDefect::Truncated"),
        ("other title", text.replace("manifest 1", "manifest 2", 1), "DocumentDefect::Title"),
        ("no signature", "".join(lines[:3]), "DocumentDefect::Line"),
        ("no MAC", "".join(lines[:2]), "DocumentDefect::Truncated"),
        ("a fifth line", text + "\n", "DocumentDefect::Line"),
        ("upper-case MAC", lines[0] + lines[1] + "hmac-sha512 " + lines[2][12:].upper() + lines[3], "DocumentDefect::Line"),
        ("content changed", text.replace('"version":3', '"version":4'), "DocumentDefect::Signature"),
        ("unknown field", resigned('"version"', '"x":0,"version"'), "DocumentDefect::Json"),
        ("field twice", resigned('"version":3', '"version":3,"version":3'), "DocumentDefect::Json"),
        ("a space", resigned('"version":3', '"version": 3'), "DocumentDefect::Json"),
        ("other order", resigned('"version":3,"created":1700000000', '"created":1700000000,"version":3'), "DocumentDefect::Json"),
        ("needless escape", resigned('"vector"', '"\\u0076ector"'), "DocumentDefect::Json"),
        ("negative version", resigned('"version":3', '"version":-3'), "DocumentDefect::Json"),
        ("path that leaves", resigned('"config.json"', '"../config.json"'), "DocumentDefect::Json"),
        ("empty name", sealed.signed(sealed.changed(model="")), "DocumentDefect::ModelName"),
        ("name of 201 bytes", sealed.signed(sealed.changed(model="x" * 201)), "DocumentDefect::ModelName"),
        ("line end in name", sealed.signed(sealed.changed(model="a\nb")), "DocumentDefect::ModelName"),
        ("no files", sealed.signed({**sealed.manifest, "files": []}), "DocumentDefect::FileCount"),
        ("file twice", sealed.signed({**sealed.manifest, "files": [files[0], *files]}), "DocumentDefect::Order"),
        ("other order of files", sealed.signed({**sealed.manifest, "files": files[::-1]}), "DocumentDefect::Order"),
        ("another publisher", sealed.signed(sealed.manifest, OTHER_SEED), "ModelError::UntrustedPublisher"),
        ("another key's id", sealed.signed(foreign), "ModelError::ContextDiffers"),
        ("made without the key", write_manifest(sealed.manifest, bytes(32), SEED), "ModelError::ManifestMac"),
    ]  # fmt: skip
    sections = [
        ("no JSON", rows[0], "DocumentDefect::Truncated"),
        ("something after", section + "x", "DocumentDefect::Line"),
        ("unknown kind", section.replace("key-file", "key-fill"), "DocumentDefect::Json"),
        ("no recipients", entries([]), "DocumentDefect::RecipientCount"),
        ("entry twice", section.replace(rows[1], rows[1].replace("]}", "," + json.dumps(entry, separators=(",", ":")) + "]}")), "ModelError::RecipientsMac"),
        ("another model's", other.section({**other.recipients, "model": "other"}), "ModelError::ContextDiffers"),
        ("salt too short", broken("salt", "AAAA"), "KeyError::Malformed"),
        ("salt changed", broken("salt", entry["wrap"]["commitment"]), "KeyError::Refused"),
        ("wrapped key changed", broken("wrapped", "A" * 64), "KeyError::Refused"),
        ("another fingerprint", entries([{**entry, "fingerprint": "0" * 16}]), "KeyError::NoMatch"),
        ("another key", entries([wrap(WRAPPING_KEY, bytes(32), sealed.recipients, bytes(32))]), "KeyError::WrongModelKey"),
    ]  # fmt: skip
    digest = sha256(text.encode()).hexdigest()
    policies = [
        ("no publisher", {"publishers": []}, "ModelError::NoPublisher"),
        ("another publisher trusted", {"publishers": ["00" * 32]}, "ModelError::UntrustedPublisher"),
        ("another model wanted", {"model_id": "00" * 16}, "ModelError::OtherModel"),
        ("version 4 wanted", {"min_version": 4}, "ModelError::OldVersion"),
        ("another digest wanted", {"expect_digest": digest[::-1]}, "ModelError::OtherDigest"),
    ]
    listing = [
        ("no manifest", {"op": "remove", "file": MANIFEST}, "ModelError::NoManifest"),
        ("no recipients section", {"op": "remove", "file": RECIPIENTS}, "ModelError::NoRecipients"),
        ("long manifest", {"op": "length", "file": MANIFEST, "bytes": (64 << 20) + 1}, "DocumentDefect::TooLong"),
        ("manifest not text", xor(MANIFEST, 0, "80"), "DocumentDefect::NotText"),
        ("unlisted file", write("extra", ""), "ModelError::Unlisted"),
        ("missing file", {"op": "remove", "file": "config.json.sealed"}, "ModelError::Missing"),
        ("link", {"op": "link", "file": "config.json.sealed"}, "ModelError::SpecialFile"),
        ("another file's bytes", {"op": "copy", "file": "config.json.sealed", "to": SAFETENSORS}, "ModelError::OtherFile"),
    ]  # fmt: skip
    cases = [(f"manifest: {n}", [write(MANIFEST, t)], {}, e) for n, t, e in manifests]
    cases += [(f"recipients: {n}", [write(RECIPIENTS, t)], {}, e) for n, t, e in sections]
    cases += [(f"policy: {n}", [], policy, e) for n, policy, e in policies]
    cases += [(f"directory: {n}", [op], {}, e) for n, op, e in listing]
    return [{"name": n, "ops": o, "policy": p, "error": e} for n, o, p, e in cases]


def apply(directory, op):
    """What the Rust test does with an operation, too."""
    path = directory / op["file"]
    if op["op"] == "xor":
        data, mask = bytearray(path.read_bytes()), bytes.fromhex(op["hex"])
        for place, byte in enumerate(mask, op["at"]):
            data[place] ^= byte
        path.write_bytes(data)
    elif op["op"] == "write":
        path.write_text(op["text"], newline="")
    elif op["op"] == "length":
        os.truncate(path, op["bytes"])
    elif op["op"] == "remove":
        path.unlink()
    elif op["op"] == "copy":
        shutil.copyfile(path, directory / op["to"])
    else:
        path.rename(directory.parent / "outside")
        path.symlink_to(directory.parent / "outside")


def check(directory):
    """The reference opens what it sealed and refuses what it must."""
    key = read_key(directory / "key")
    table = json.loads((directory / "rejections.json").read_text())
    for suite in SUITES:
        opened = open_model(directory / suite, key, {"publishers": [PUBLISHER]})
        if opened != PLAIN:
            sys.exit(f"{suite}: the plaintext differs")
    for case in table["cases"]:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "model"
            shutil.copytree(directory / case["model"], copy)
            for op in case["ops"]:
                apply(copy, op)
            try:
                open_model(copy, key, {"publishers": [PUBLISHER], **case.get("policy", {})})
                found = "nothing"
            except Refused as error:
                found = str(error)
        if found != case["error"]:
            sys.exit(f"{case['model']}: {case['name']}: {found} instead of {case['error']}")
    print(f"{len(table['cases'])} rejections and {len(SUITES)} models are as they should be")


def make(directory):
    cases = []
    for folder, suite in SUITES.items():
        sealed = Sealed(suite)
        for name, data in sealed.files.items():
            path = directory / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        made = headers(sealed) + inner(sealed)
        made += documents(sealed) if suite == AES_256_GCM else []
        cases += [{"model": folder, **case} for case in made]
    for path, plain in PLAIN.items():
        (directory / "plain" / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / "plain" / path).write_bytes(plain)
    (directory / "key").write_text(f"sealed-weights-key-1 {WRAPPING_KEY.hex()}\n")
    table = {"publisher": PUBLISHER, "cases": cases}
    text = json.dumps(table, indent=1, ensure_ascii=False)
    (directory / "rejections.json").write_text(text + "\n")


def contents(directory):
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory): path.read_bytes() for path in files}


def main():
    if sys.argv[1:2] == ["--check"] and len(sys.argv) == 3:
        directory = Path(sys.argv[2])
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder))
            if contents(Path(folder)) != contents(directory):
                sys.exit(f"{directory} is not what this program makes")
        check(directory)
    elif len(sys.argv) == 2:
        make(Path(sys.argv[1]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
