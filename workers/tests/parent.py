"""Plays the parent: starts a worker and asks it."""

import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

WORKERS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(WORKERS))

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("numpy is not installed: see workers/README.md") from None

from ckks_worker.frames import EndOfStream, read_frame, write_frame

# A worker that hangs ends a test, not the run of all tests.
LIMIT_SECONDS = 300


class Refused(Exception):
    """A call that the worker answered with an error."""

    def __init__(self, error: dict):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]


class Worker:
    """A worker's process. Ended, whatever happened, when the `with` block ends."""

    def __init__(self, script: str, *arguments: str):
        self.stderr_file = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, str(WORKERS / script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr_file,
            bufsize=0,
        )
        self.opened = None
        self.seconds = 0.0
        self._last_id = 0
        self._timer = threading.Timer(LIMIT_SECONDS, self.process.kill)
        self._timer.daemon = True
        self._timer.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._timer.cancel()
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.stderr_file.close()

    def send(self, call: str, payload=b"", **fields) -> int:
        """Writes a request; gives its id."""
        self._last_id += 1
        header = {"id": self._last_id, "call": call, **fields}
        write_frame(self.process.stdin, header, payload)
        return self._last_id

    def receive(self, expected_id: int):
        """The reply's `ok` and payload, as doubles."""
        try:
            reply, payload = read_frame(self.process.stdout)
        except EndOfStream:
            status = self.process.wait()
            raise AssertionError(f"the worker ended with {status}: {self.stderr()}") from None
        assert reply["id"] == expected_id, reply
        if "error" in reply:
            assert set(reply) == {"id", "error"}, reply
            raise Refused(reply["error"])
        assert set(reply) == {"id", "ok", "seconds"}, reply
        self.seconds = reply["seconds"]
        return reply["ok"], np.frombuffer(payload, dtype="<f8")

    def call(self, call: str, payload=b"", **fields):
        """Asks and waits for the reply."""
        return self.receive(self.send(call, payload, **fields))

    def greet(self) -> dict:
        """`hello`."""
        return self.call("hello", protocol=1)[0]

    def open(self, params=None, threads=1) -> dict:
        """`hello` and `open`."""
        self.greet()
        fields = {"params": params, "mode": None, "device": 0, "bootstrap": False}
        self.opened, _ = self.call("open", threads=threads, **fields)
        return self.opened

    def finish(self) -> int:
        """`close`; gives the exit status."""
        ok, _ = self.call("close")
        assert ok == {"done": True}, ok
        return self.process.wait()

    def end_of_requests(self) -> int:
        """Closes the pipe; gives the exit status."""
        self.process.stdin.close()
        return self.process.wait()

    def stderr(self) -> str:
        """What the worker wrote for people."""
        self.stderr_file.seek(0)
        return self.stderr_file.read().decode("utf-8", "replace")

    def vectors(self, array):
        """An array of slot vectors as a payload."""
        wanted = "<c16" if self.opened["slot_kind"] == "complex" else "<f8"
        return np.ascontiguousarray(array, dtype=wanted).view("<f8").data

    def prepare(self, layer, piece=64) -> dict:
        """A whole layer, its diagonals `piece` at a time."""
        self.call("prepare_begin", **layer.program)
        for first in range(0, len(layer.diagonals), piece):
            some = layer.diagonals[first : first + piece]
            self.call("prepare_diagonals", self.vectors(some), first=first)
        return self.call("prepare_end")[0]

    def encrypt(self, vectors) -> dict:
        """A batch."""
        return self.call("encrypt", self.vectors(vectors), ciphertexts=len(vectors))[0]

    def decrypt(self):
        """The answers, one vector of slots each."""
        ok, values = self.call("decrypt")
        if self.opened["slot_kind"] == "complex":
            values = values.view("<c16")
        return values.reshape(ok["ciphertexts"], self.opened["slots"])

    def product(self, layer, batch):
        """Encrypts, evaluates and decrypts a batch of vectors for a prepared layer."""
        self.encrypt(layer.slots_of(batch))
        self.call("evaluate")
        self.call("rescale")
        self.call("synchronise")
        return layer.answers_of(self.decrypt())
