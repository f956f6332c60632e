#!/usr/bin/env python3
"""A second implementation of docs/sealed-format.md, for tests: opens sealed models.

Written from the specification. Sealing is in sealed_file.py and sealed_documents.py, with all
randomness as parameters. Needs the packages cryptography and blake3.

usage: sealed_reference.py DIRECTORY --key FILE --publisher HEX [--to DIRECTORY]
"""

import argparse
import base64
import hashlib
import hmac
import os
import sys
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sealed_documents import (
    MANIFEST,
    MANIFEST_SCHEMA,
    MANIFEST_TITLE,
    RECIPIENTS,
    RECIPIENTS_SCHEMA,
    RECIPIENTS_TITLE,
    Document,
    unhex,
)
from sealed_file import Refused, SealedFile, hkdf, key_id, require

# Wrapping by a key file.


def context_digest(document):
    """What the wrapped keys are bound to."""
    pairs = [("sealed-weights", "1"), ("model", document["model"])]
    pairs += [("model-id", document["model_id"]), ("key-id", document["key_id"])]
    return hashlib.sha256("".join(f"{a}={b}\n" for a, b in pairs).encode()).digest()


def wrap_keys(wrapping_key, salt, context):
    output = hkdf(salt, wrapping_key, b"sealed-weights/1 wrap" + context, 64)
    return AESGCM(output[:32]), output[32:]


def fingerprint(wrapping_key):
    return hashlib.sha256(b"sealed-weights/1 key file" + wrapping_key).hexdigest()[:16]


def wrap(wrapping_key, key, document, salt):
    """A key-file entry."""
    context = context_digest(document)
    aead, commitment = wrap_keys(wrapping_key, salt, context)
    fields = {
        "salt": salt,
        "commitment": commitment,
        "wrapped": aead.encrypt(bytes(12), key, context),
    }
    fields = {name: base64.b64encode(value).decode() for name, value in fields.items()}
    return {"kind": "key-file", "fingerprint": fingerprint(wrapping_key), "wrap": fields}


def unbase64(text, length):
    try:
        value = base64.b64decode(text, validate=True)
    except ValueError:
        raise Refused("KeyError::Malformed") from None
    good = len(value) == length and base64.b64encode(value).decode() == text
    require(good, "KeyError::Malformed")
    return value


def unwrap(wrapping_key, document):
    """The model key from the first entry that is this key file's."""
    context = context_digest(document)
    for entry in document["recipients"]:
        if entry["fingerprint"] != fingerprint(wrapping_key):
            continue
        lengths = {"salt": 32, "commitment": 32, "wrapped": 48}
        values = {name: unbase64(entry["wrap"][name], n) for name, n in lengths.items()}
        aead, commitment = wrap_keys(wrapping_key, values["salt"], context)
        same = hmac.compare_digest(commitment, values["commitment"])
        require(same, "KeyError::Refused")
        try:
            key = aead.decrypt(bytes(12), values["wrapped"], context)
        except InvalidTag:
            raise Refused("KeyError::Refused") from None
        found = key_id(key, bytes.fromhex(document["model_id"]))
        require(found.hex() == document["key_id"], "KeyError::WrongModelKey")
        return key
    raise Refused("KeyError::NoMatch")


# Models.


def check_policy(manifest, policy):
    if not policy.get("any_publisher"):
        require(policy.get("publishers"), "ModelError::NoPublisher")
        trusted = manifest.publisher.hex() in policy["publishers"]
        require(trusted, "ModelError::UntrustedPublisher")
    content = manifest.content
    wanted = policy.get("model_id", content["model_id"])
    require(content["model_id"] == wanted, "ModelError::OtherModel")
    require(content["version"] >= policy.get("min_version", 0), "ModelError::OldVersion")
    digest = hashlib.sha256(manifest.raw).hexdigest()
    require(digest == policy.get("expect_digest", digest), "ModelError::OtherDigest")


def check_listing(directory, files):
    expected = {MANIFEST, RECIPIENTS} | {file["path"] + ".sealed" for file in files}
    found = set()
    for parent, folders, names in os.walk(directory):
        # A link to a directory is a file that is not listed.
        names += [name for name in folders if (Path(parent) / name).is_symlink()]
        found |= {(Path(parent) / name).relative_to(directory).as_posix() for name in names}
    require(not found - expected, "ModelError::Unlisted")
    require(not expected - found, "ModelError::Missing")


def open_model(directory, wrapping_key, policy):
    """Every file's plaintext by its path."""
    directory = Path(directory)
    missing = "ModelError::NoManifest"
    manifest = Document(directory, MANIFEST, MANIFEST_TITLE, MANIFEST_SCHEMA, missing)
    files = manifest.content["files"]
    require(0 < len(files) <= 100_000, "DocumentDefect::FileCount")
    paths = [file["path"].encode() for file in files]
    require(paths == sorted(set(paths)), "DocumentDefect::Order")
    check_policy(manifest, policy)
    missing = "ModelError::NoRecipients"
    recipients = Document(directory, RECIPIENTS, RECIPIENTS_TITLE, RECIPIENTS_SCHEMA, missing)
    count = len(recipients.content["recipients"])
    require(0 < count <= 1000, "DocumentDefect::RecipientCount")
    context = [context_digest(document.content) for document in (manifest, recipients)]
    require(context[0] == context[1], "ModelError::ContextDiffers")
    check_listing(directory, files)
    sealed = []
    for listed in files:
        path = directory / (listed["path"] + ".sealed")
        require(path.is_file() and not path.is_symlink(), "ModelError::SpecialFile")
        sealed.append(SealedFile(path.read_bytes()))
        sealed[-1].check_listed(listed)
    key = unwrap(wrapping_key, recipients.content)
    require(recipients.authentic(key, b"recipients"), "ModelError::RecipientsMac")
    require(manifest.authentic(key, b"manifest"), "ModelError::ManifestMac")
    trust = policy.get("trust", "publisher")
    opened = [file.open(key, listed, trust) for file, listed in zip(sealed, files, strict=True)]
    return {listed["path"]: plain for listed, plain in zip(files, opened, strict=True)}


def read_key(path):
    word, _, digits = Path(path).read_text().rstrip("\n").partition(" ")
    key = unhex(digits, 32)
    require(word == "sealed-weights-key-1" and key, "KeyError::Malformed")
    return key


def main():
    parser = argparse.ArgumentParser(description="Opens a sealed model.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--key", required=True, help="key file")
    parser.add_argument("--publisher", required=True, help="64 hexadecimal digits")
    parser.add_argument("--to", type=Path, help="where to write the plaintext")
    args = parser.parse_args()
    try:
        policy = {"publishers": [args.publisher]}
        opened = open_model(args.directory, read_key(args.key), policy)
    except Refused as error:
        sys.exit(f"refused: {error}")
    for path, plain in opened.items():
        print(f"{hashlib.sha256(plain).hexdigest()}  {path}")
        if args.to:
            (args.to / path).parent.mkdir(parents=True, exist_ok=True)
            (args.to / path).write_bytes(plain)


if __name__ == "__main__":
    main()
