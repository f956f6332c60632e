"""Sealed files: docs/sealed-format.md up to and with the ciphertext.

Simple rather than fast, with whole files in memory. Errors are named like those of the Rust crate.
"""

import hashlib
import hmac
import struct
import unicodedata
from dataclasses import dataclass

from blake3 import blake3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

AES_256_GCM, CHACHA20_POLY1305 = 1, 2
CORE = struct.Struct("<8sHHIQQ16s16s32sIH2s32s")


class Refused(Exception):
    """Its text is the name of the error."""


def require(condition, error):
    if not condition:
        raise Refused(error)


# Key schedule.


def hkdf(salt, secret, info, length):
    """HKDF-SHA-512, RFC 5869."""
    key, output, block = hmac.digest(salt, secret, "sha512"), b"", b""
    while len(output) < length:
        block = hmac.digest(key, block + info + bytes([len(output) // 64 + 1]), "sha512")
        output += block
    return output[:length]


def key_id(key, model_id):
    return hkdf(model_id, key, b"sealed-weights/1 key id", 32)


def document_mac(key, model_id, kind, covered):
    mac_key = hkdf(model_id, key, b"sealed-weights/1 " + kind + b" mac", 32)
    return hmac.digest(mac_key, covered, "sha512")


class Schedule:
    """AEAD, nonces and commitment of one file."""

    def __init__(self, key, core):
        info = b"sealed-weights/1 file key" + core.file_id
        file_key = hkdf(core.model_id, key, info, 32)
        info = b"sealed-weights/1 file schedule" + struct.pack("<H", core.suite) + core.digest()
        output = hkdf(core.salt, file_key, info, 76)
        cipher = {AES_256_GCM: AESGCM, CHACHA20_POLY1305: ChaCha20Poly1305}[core.suite]
        self.aead, self.base, self.commitment = cipher(output[:32]), output[32:44], output[44:]
        self.core = core

    def place(self, index):
        """Nonce and additional data of a chunk."""
        nonce = int.from_bytes(self.base, "big") ^ index
        last = index + 1 == self.core.chunks()
        aad = self.core.file_id + struct.pack("<QQB", index, self.core.chunks(), last)
        return nonce.to_bytes(12, "big"), aad

    def seal(self, index, chunk):
        nonce, aad = self.place(index)
        sealed = self.aead.encrypt(nonce, chunk, aad)
        return sealed[:-16], sealed[-16:]

    def open(self, index, chunk, tag):
        nonce, aad = self.place(index)
        try:
            return self.aead.decrypt(nonce, chunk + tag, aad)
        except InvalidTag:
            raise Refused("SealError::Tag") from None


# Core header.


def check_path(path):
    parts = path.split("/")
    good = 0 < len(path.encode()) <= 1024 and not any(p in ("", ".", "..") for p in parts)
    return good and not any(c == "\\" or unicodedata.category(c) == "Cc" for c in path)


@dataclass
class Core:
    suite: int
    chunk_size: int
    length: int
    file_id: bytes
    model_id: bytes
    salt: bytes
    path: str
    public: int = 0
    public_hash: bytes = bytes(32)

    def chunks(self):
        return -(-self.length // self.chunk_size)

    def encode(self):
        path = self.path.encode()
        return CORE.pack(
            b"SEALEDWT", 1, self.suite, self.chunk_size, self.length, self.chunks(), self.file_id,
            self.model_id, self.salt, self.public, len(path), bytes(2), self.public_hash,
        ) + path  # fmt: skip

    def digest(self):
        return hashlib.sha256(self.encode()).digest()

    @staticmethod
    def decode(data):
        require(len(data) >= 8, "HeaderDefect::Truncated")
        require(data[:8] == b"SEALEDWT", "HeaderDefect::NotSealed")
        require(len(data) >= CORE.size, "HeaderDefect::Truncated")
        fields = CORE.unpack_from(data)
        _, version, suite, size, length, chunks, file_id, model_id, salt = fields[:9]
        public, path_length, reserved, public_hash = fields[9:]
        require(version == 1, "HeaderDefect::Version")
        require(suite in (AES_256_GCM, CHACHA20_POLY1305), "HeaderDefect::Suite")
        require(size.bit_count() == 1 and 1 << 12 <= size <= 1 << 26, "HeaderDefect::ChunkSize")
        require(-(-length // size) < 1 << 32, "HeaderDefect::TooLong")
        require(chunks == -(-length // size), "HeaderDefect::ChunkCount")
        require(reserved == bytes(2), "HeaderDefect::Reserved")
        good = public <= min(100_000_008, length) and (public > 0 or public_hash == bytes(32))
        require(good, "HeaderDefect::PublicHeader")
        path = data[CORE.size : CORE.size + path_length]
        require(len(path) == path_length, "HeaderDefect::Truncated")
        try:
            path = path.decode()
        except UnicodeDecodeError:
            raise Refused("HeaderDefect::Path") from None
        require(check_path(path), "HeaderDefect::Path")
        return Core(suite, size, length, file_id, model_id, salt, path, public, public_hash)


# Sealed files.


class SealedFile:
    """The parts of a sealed file."""

    def __init__(self, data):
        self.core = core = Core.decode(data)
        at, count = len(core.encode()), core.chunks()
        sizes = [32, core.public, 16 * count, 32 * count]
        padding = -(at + sum(sizes)) % 4096
        require(len(data) == at + sum(sizes) + padding + core.length, "SealError::Length")
        parts = []
        for size in [*sizes, padding, core.length]:
            parts.append(data[at : at + size])
            at += size
        self.commitment, self.public, self.tags, self.hashes, self.padding, self.data = parts

    def listing(self):
        """Its entry in a manifest."""
        return {
            "path": self.core.path,
            "length": self.core.length,
            "file_id": self.core.file_id.hex(),
            "core": self.core.digest().hex(),
            "root": self.root().hex(),
        }

    def root(self):
        hasher = blake3(derive_key_context="sealed-weights/1 content root")
        for part in (self.core.digest(), self.commitment, self.tags, self.hashes):
            hasher.update(part)
        return hasher.digest()

    def check_listed(self, listed):
        mine = self.listing()
        same = all(mine[name] == listed[name] for name in ("path", "length", "file_id", "core"))
        require(same, "ModelError::OtherFile")

    def open(self, key, listed, trust="publisher"):
        schedule = Schedule(key, self.core)
        committed = hmac.compare_digest(schedule.commitment, self.commitment)
        require(committed, "SealError::Commitment")
        require(not any(self.padding), "SealError::Padding")
        if self.core.public:
            public = blake3(self.public).digest()
            require(public == self.core.public_hash, "SealError::PublicHeader")
        require(self.root().hex() == listed["root"], "SealError::Root")
        plain = b""
        for index in range(self.core.chunks()):
            begin = index * self.core.chunk_size
            chunk = self.data[begin : begin + self.core.chunk_size]
            expected = self.hashes[32 * index :][:32]
            if trust == "publisher":
                require(blake3(chunk).digest() == expected, "SealError::ChunkHash")
            plain += schedule.open(index, chunk, self.tags[16 * index :][:16])
        return plain


def seal_file(key, core, plain):
    """The bytes of a sealed file; the public header's length is set in `core`."""
    if core.public:
        core.public_hash = blake3(plain[: core.public]).digest()
    schedule, size = Schedule(key, core), core.chunk_size
    chunks = [plain[begin : begin + size] for begin in range(0, len(plain), size)]
    sealed = [schedule.seal(index, chunk) for index, chunk in enumerate(chunks)]
    front = core.encode() + schedule.commitment + plain[: core.public]
    front += b"".join(tag for _, tag in sealed)
    front += b"".join(blake3(chunk).digest() for chunk, _ in sealed)
    return front + bytes(-len(front) % 4096) + b"".join(chunk for chunk, _ in sealed)
