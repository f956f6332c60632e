"""Workers that do what libraries do to their processes: run with the name of a class below."""

import ctypes
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ckks_worker import Failure, StartAnew, serve
from plain import Plain


class Noisy(Plain):
    """Prints to standard output by every way there is, and reads standard input."""

    def open(self, preset, mode, threads):
        print("noise from Python")
        os.write(1, b"CKKW noise from a system call\n")
        libc = ctypes.CDLL(None)
        libc.puts(b"noise from C")
        libc.fflush(None)
        os.system("echo noise from a child")
        if sys.stdin.read():
            raise AssertionError("standard input holds requests")
        return super().open(preset, mode, threads)

    def evaluate(self):
        sys.stdout.write("more noise\n")
        sys.stdout.flush()
        super().evaluate()


class Restarting(Plain):
    """Needs a variable in its environment."""

    def open(self, preset, mode, threads):
        if os.environ.get("ODD_THREADS") != str(threads):
            raise StartAnew({"ODD_THREADS": str(threads)})
        return super().open(preset, mode, threads)


class Failing(Plain):
    """Fails in several ways."""

    def keys(self, steps):
        raise Failure("unsupported", "no keys today")

    def open(self, preset, mode, threads):
        if threads == 7:
            raise MemoryError
        if threads == 8:
            raise RuntimeError("the library's own words")
        return super().open(preset, mode, threads)


class Short(Plain):
    """Gives too few answers."""

    def decrypt(self):
        return super().decrypt()[:-1]


class Infinite(Plain):
    """Gives answers that are not numbers, which are the parent's to judge."""

    def decrypt(self):
        return super().decrypt() * float("nan")


if __name__ == "__main__":
    serve(globals()[sys.argv[1]]())
