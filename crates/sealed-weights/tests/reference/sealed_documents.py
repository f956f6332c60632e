"""Manifest and recipients section: the documents of docs/sealed-format.md."""

import hmac
import json
import unicodedata

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sealed_file import Refused, check_path, document_mac, require

MANIFEST, RECIPIENTS = "sealed.manifest", "sealed.recipients"
MANIFEST_TITLE, RECIPIENTS_TITLE = "sealed-weights manifest 1", "sealed-weights recipients 1"
SIGNATURE_DOMAIN = b"sealed-weights/1 manifest signature\0"
MAX_DOCUMENT = 64 << 20


def canonical(content):
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def write_document(title, content, key, kind):
    covered = f"{title}\n{canonical(content)}\n"
    mac = document_mac(key, bytes.fromhex(content["model_id"]), kind, covered.encode())
    return f"{covered}hmac-sha512 {mac.hex()}\n"


def write_manifest(content, key, seed):
    return sign(write_document(MANIFEST_TITLE, content, key, b"manifest"), seed)


def sign(text, seed):
    """Appends the publisher's line."""
    private = Ed25519PrivateKey.from_private_bytes(seed)
    raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
    public = private.public_key().public_bytes(*raw)
    signature = private.sign(SIGNATURE_DOMAIN + text.encode())
    return f"{text}ed25519 {public.hex()} {signature.hex()}\n"


def unhex(text, length):
    """Lower-case hexadecimal only."""
    good = len(text) == 2 * length and all(c in "0123456789abcdef" for c in text)
    return bytes.fromhex(text) if good else None


def matches(value, schema):
    """Whether JSON has exactly these fields in this order, of these types."""
    if isinstance(schema, dict):
        good = isinstance(value, dict) and list(value) == list(schema)
        return good and all(matches(value[name], schema[name]) for name in schema)
    if isinstance(schema, list):
        return isinstance(value, list) and all(matches(item, schema[0]) for item in value)
    return schema(value)


def number(value):
    return type(value) is int and 0 <= value < 1 << 64


def text(value):
    return isinstance(value, str)


def hexadecimal(length):
    return lambda value: text(value) and unhex(value, length) is not None


FILE = {
    "path": lambda value: text(value) and check_path(value),
    "length": number,
    "file_id": hexadecimal(16),
    "core": hexadecimal(32),
    "root": hexadecimal(32),
}
MANIFEST_SCHEMA = {
    "model": text,
    "model_id": hexadecimal(16),
    "version": number,
    "created": number,
    "key_id": hexadecimal(32),
    "files": [FILE],
}
WRAP = {"salt": text, "commitment": text, "wrapped": text}
KEY_FILE = {"kind": text, "fingerprint": text, "wrap": WRAP}
RECIPIENTS_SCHEMA = {
    "model": text,
    "model_id": hexadecimal(16),
    "key_id": hexadecimal(32),
    "recipients": [lambda value: matches(value, KEY_FILE) and value["kind"] == "key-file"],
}


class Document:
    """A manifest or a recipients section, checked for form; a manifest's signature too."""

    def __init__(self, directory, name, title, schema, missing):
        path = directory / name
        require(path.exists() or path.is_symlink(), missing)
        require(path.is_file() and not path.is_symlink(), "ModelError::SpecialFile")
        require(path.stat().st_size <= MAX_DOCUMENT, "DocumentDefect::TooLong")
        self.raw = path.read_bytes()
        try:
            lines = self.raw.decode().split("\n")
        except UnicodeDecodeError:
            raise Refused("DocumentDefect::NotText") from None
        require(len(lines) > 1, "DocumentDefect::Truncated")
        require(lines[0] == title, "DocumentDefect::Title")
        require(len(lines) > 3, "DocumentDefect::Truncated")
        word, _, mac = lines[2].partition(" ")
        self.mac = unhex(mac, 64)
        require(word == "hmac-sha512" and self.mac, "DocumentDefect::Line")
        self.covered = "\n".join(lines[:2]).encode() + b"\n"
        if name == MANIFEST:
            require(len(lines) == 5 and lines[4] == "", "DocumentDefect::Line")
            self.check_signature("\n".join(lines[:3]).encode() + b"\n", lines[3])
        else:
            require(lines[3:] == [""], "DocumentDefect::Line")
        try:
            self.content = json.loads(lines[1])
        except ValueError:
            raise Refused("DocumentDefect::Json") from None
        good = matches(self.content, schema) and canonical(self.content) == lines[1]
        require(good, "DocumentDefect::Json")
        model = self.content["model"]
        good = 0 < len(model.encode()) <= 200
        good = good and not any(unicodedata.category(c) == "Cc" for c in model)
        require(good, "DocumentDefect::ModelName")

    def check_signature(self, signed, line):
        word, _, rest = line.partition(" ")
        public, _, signature = rest.partition(" ")
        self.publisher, signature = unhex(public, 32), unhex(signature, 64)
        good = word == "ed25519" and self.publisher and signature
        require(good, "DocumentDefect::Line")
        try:
            key = Ed25519PublicKey.from_public_bytes(self.publisher)
            key.verify(signature, SIGNATURE_DOMAIN + signed)
        except InvalidSignature:
            raise Refused("DocumentDefect::Signature") from None

    def authentic(self, key, kind):
        model_id = bytes.fromhex(self.content["model_id"])
        mac = document_mac(key, model_id, kind, self.covered)
        return hmac.compare_digest(mac, self.mac)
