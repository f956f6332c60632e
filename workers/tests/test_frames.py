"""Frames: what is written is read back, and everything else ends the worker."""

import io
import json
import struct
import unittest

from parent import Worker
from ckks_worker import frames
from ckks_worker.frames import EndOfStream, FrameError, read_frame, write_frame

HELLO = b'{"id":1,"call":"hello","protocol":1}'


def frame(header: bytes, payload=b"", magic=b"CKKW", lengths=None) -> bytes:
    header_length, payload_length = lengths or (len(header), len(payload))
    return magic + struct.pack("<IQ", header_length, payload_length) + header + payload


BROKEN = {
    "another magic": frame(HELLO, magic=b"CKKX"),
    "text": b"hello, worker\n" * 4,
    "an empty header": frame(b""),
    "a header of one byte": frame(b"1"),
    "a header over the limit": frame(HELLO, lengths=(16 * 1024 * 1024 + 1, 0)),
    "the largest header length": frame(HELLO, lengths=(2**32 - 1, 0)),
    "a payload over the limit": frame(HELLO, lengths=(len(HELLO), 2**30 + 8)),
    "the largest payload length": frame(HELLO, lengths=(len(HELLO), 2**64 - 1)),
    "a payload of 12 bytes": frame(HELLO, b"\0" * 12),
    "a header that is no JSON": frame(b"{id: 1}"),
    "a header that is a list": frame(b"[1, 2]"),
    "a header that is no UTF-8": frame(b'{"id":1,"call":"\xff\xfe"}'),
    "a field twice": frame(b'{"id":1,"id":2,"call":"hello","protocol":1}'),
    "NaN in the header": frame(b'{"id":1,"call":"hello","protocol":NaN}'),
    "deep nesting": frame(b"[" * 100_000 + b"]" * 100_000),
    "no id": frame(b'{"call":"hello","protocol":1}'),
    "an id that is no integer": frame(b'{"id":1.5,"call":"hello","protocol":1}'),
    "an id that is true": frame(b'{"id":true,"call":"hello","protocol":1}'),
    "an id of 0": frame(b'{"id":0,"call":"hello","protocol":1}'),
}

CUT = {
    "in the prefix": frame(HELLO)[:9],
    "in the header": frame(HELLO)[:30],
    "in the payload": frame(HELLO, b"\0" * 16)[:-3],
    "before a payload of a gigabyte": frame(HELLO, lengths=(len(HELLO), 2**30)),
}


class Frames(unittest.TestCase):
    def test_what_is_written_is_read_back(self):
        stream = io.BytesIO()
        write_frame(stream, {"id": 1, "text": "rotación"}, struct.pack("<2d", 1.5, -2.0))
        write_frame(stream, {"id": 2})
        stream.seek(0)
        header, payload = read_frame(stream)
        self.assertEqual(header, {"id": 1, "text": "rotación"})
        self.assertEqual(struct.unpack("<2d", payload), (1.5, -2.0))
        self.assertEqual(read_frame(stream), ({"id": 2}, b""))
        with self.assertRaises(EndOfStream):
            read_frame(stream)

    def test_bytes_are_as_documented(self):
        stream = io.BytesIO()
        write_frame(stream, {"id": 1}, struct.pack("<d", 1.0))
        expected = bytes.fromhex("434b4b57 08000000 0800000000000000")
        self.assertEqual(stream.getvalue(), expected + b'{"id":1}' + struct.pack("<d", 1.0))

    def test_short_reads_and_writes(self):
        class Dripping(io.BytesIO):
            def read(self, size=-1):
                return super().read(min(size, 3))

            def write(self, data):
                return super().write(bytes(data[:5]))

        stream = Dripping()
        write_frame(stream, {"id": 7}, b"\x01" * 40)
        stream.seek(0)
        self.assertEqual(read_frame(stream), ({"id": 7}, b"\x01" * 40))

    def test_replies_over_the_limits_are_not_written(self):
        stream = io.BytesIO()
        with self.assertRaises(FrameError):
            write_frame(stream, {"text": "x" * frames.HEADER_LIMIT})
        with self.assertRaises(ValueError):
            write_frame(stream, {"scale": float("nan")})
        self.assertEqual(stream.getvalue(), b"")

    def test_every_cut_of_a_frame_is_noticed(self):
        whole = frame(HELLO, b"\0" * 8)
        for length in range(1, len(whole)):
            with self.assertRaises(FrameError):
                read_frame(io.BytesIO(whole[:length]))

    def test_a_broken_request_ends_the_worker_without_a_reply(self):
        for what, data in {**BROKEN, **CUT}.items():
            with self.subTest(what=what), Worker("plain.py") as worker:
                try:
                    worker.process.stdin.write(data)
                except BrokenPipeError:
                    pass
                status = worker.end_of_requests()
                self.assertEqual(worker.process.stdout.read(), b"")
                self.assertEqual(status, 4, worker.stderr())
                self.assertIn("broken request", worker.stderr())

    def test_requests_before_a_broken_one_are_answered(self):
        with Worker("plain.py") as worker:
            worker.process.stdin.write(frame(HELLO) + b"garbage that is long enough")
            header, _ = read_frame(worker.process.stdout)
            self.assertEqual(header["ok"]["library"], "plain")
            self.assertEqual(worker.process.wait(), 4)

    def test_headers_of_any_spacing(self):
        with Worker("plain.py") as worker:
            text = json.dumps(json.loads(HELLO), indent=4).encode() + b"\n\n"
            worker.process.stdin.write(frame(text))
            header, _ = read_frame(worker.process.stdout)
            self.assertEqual(header["ok"]["dialect"], "slots")


if __name__ == "__main__":
    unittest.main()
