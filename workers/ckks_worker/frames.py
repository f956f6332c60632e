"""Framed messages: a JSON object and a payload of doubles."""

import json
import struct

MAGIC = b"CKKW"
PREFIX = struct.Struct("<4sIQ")
HEADER_LIMIT = 16 * 1024 * 1024
PAYLOAD_LIMIT = 1024 * 1024 * 1024
# Memory grows with what arrives, not with the length that a prefix claims.
PIECE = 1024 * 1024


class FrameError(Exception):
    """A frame that breaks a rule. What follows it cannot be read."""


class EndOfStream(Exception):
    """The stream ended between two frames."""


def read_frame(stream) -> tuple[dict, bytearray]:
    """The header and the payload of the next frame of an unbuffered binary stream.

    Raises `EndOfStream` at its end and `FrameError` for anything that is not a frame.
    """
    prefix = _read(stream, PREFIX.size, "prefix", allow_end=True)
    magic, header_length, payload_length = PREFIX.unpack(prefix)
    if magic != MAGIC:
        raise FrameError(f"a frame starts with {bytes(magic)!r} instead of {MAGIC!r}")
    if not 2 <= header_length <= HEADER_LIMIT:
        raise FrameError(f"a header of {header_length} bytes; 2 to {HEADER_LIMIT} are allowed")
    if payload_length > PAYLOAD_LIMIT:
        raise FrameError(
            f"a payload of {payload_length} bytes; {PAYLOAD_LIMIT} at most are allowed"
        )
    if payload_length % 8:
        raise FrameError(f"a payload of {payload_length} bytes is not a whole number of doubles")
    header = parse_header(_read(stream, header_length, "header"))
    return header, _read(stream, payload_length, "payload")


def parse_header(data: bytes | bytearray) -> dict:
    """A header's JSON object, without what JSON leaves open: no NaN, no field twice."""
    try:
        value = json.loads(
            bytes(data).decode("utf-8"),
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_duplicates,
        )
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a header that is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise FrameError(f"a header that is {type(value).__name__} instead of an object")
    return value


def write_frame(stream, header: dict, payload=b"") -> None:
    """Writes one frame; `payload` is any buffer of bytes."""
    data = json.dumps(header, allow_nan=False, separators=(",", ":")).encode("utf-8")
    body = memoryview(payload).cast("B")
    if len(data) > HEADER_LIMIT or len(body) > PAYLOAD_LIMIT:
        raise FrameError(
            f"a reply of {len(data)} + {len(body)} bytes is over the limits of a frame"
        )
    _write(stream, PREFIX.pack(MAGIC, len(data), len(body)) + data)
    _write(stream, body)


def _read(stream, length: int, what: str, allow_end: bool = False) -> bytearray:
    data = bytearray()
    while len(data) < length:
        piece = stream.read(min(PIECE, length - len(data)))
        if not piece:
            if allow_end and not data:
                raise EndOfStream
            raise FrameError(f"the stream ended after {len(data)} of {length} bytes of a {what}")
        data += piece
    return data


def _write(stream, data) -> None:
    view = memoryview(data)
    while view:
        view = view[stream.write(view) :]


def _refuse_constant(name: str):
    raise ValueError(f"{name} is not a number of JSON")


def _refuse_duplicates(pairs):
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"field {twice!r} comes twice")
    return fields
