"""Installed versions against the pinned ones, and where Lattigo's transform puts its steps."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from parent import WORKERS
from ckks_worker import pins
from ckks_worker.failure import Failure
from lattigo_model import rotations


class Pins(unittest.TestCase):
    def checked(self, lines: str):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "requirements-test.txt"
            path.write_text(lines, encoding="utf-8")
            # An absolute path replaces the folder that it is joined to.
            return pins.check_pins(str(path))

    def test_files_pin_every_package(self):
        for file in WORKERS.glob("requirements-*.txt"):
            self.assertIn("numpy", pins.read_pins(file.name))
            for line in file.read_text(encoding="utf-8").splitlines():
                self.assertRegex(line, r"^(#.*|[a-z0-9-]+==[0-9.]+)$")

    def test_a_missing_package(self):
        with self.assertRaises(Failure) as caught:
            self.checked("no-such-package-of-any-name==1.0\n")
        self.assertEqual(caught.exception.code, "unsupported")
        self.assertIn("not installed", caught.exception.message)
        self.assertIn("pip install -r", caught.exception.message)

    def test_another_version(self):
        import numpy

        self.assertEqual(
            self.checked(f"numpy=={numpy.__version__}\n"), {"numpy": numpy.__version__}
        )
        with self.assertRaises(Failure) as caught:
            self.checked("# Old.\nnumpy==0.9\n")
        self.assertEqual(caught.exception.code, "unsupported")
        self.assertIn("pins 0.9", caught.exception.message)

    def test_a_line_without_a_version(self):
        with self.assertRaises(ValueError):
            self.checked("numpy>=2\n")

    def test_workers_answer_hello_without_any_package(self):
        # -S -I: no installed packages.
        for name in ("seal", "lattigo"):
            code = (
                f"import runpy, sys; sys.path.insert(0, {str(WORKERS)!r}); "
                f"runpy.run_path({str(WORKERS / name)!r} + '.py', run_name='__main__')"
            )
            frames = b""
            for header in (b'{"id":1,"call":"hello","protocol":1}', b'{"id":2,"call":"close"}'):
                frames += b"CKKW" + len(header).to_bytes(4, "little") + bytes(8) + header
            done = subprocess.run(
                [sys.executable, "-S", "-I", "-c", code], input=frames, capture_output=True
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b'"code":"unsupported"', done.stdout)
            self.assertIn(b"numpy is not installed", done.stdout)


class Splits(unittest.TestCase):
    def test_baby_and_giant_steps_make_every_step(self):
        for steps in ([0], [5], list(range(64)), [0, 1, 63], list(range(0, 4096, 64)), [4095, 7]):
            for log_ratio in range(5):
                giants, babies = rotations(steps, 4096, log_ratio)
                sums = {g + b for g in giants | {0} for b in babies | {0}}
                self.assertLessEqual(set(steps), sums)

    def test_ratios_of_dense_diagonals(self):
        # 32 by 32; ratios of 8 and 32 allow 64 by 16 and 128 by 8.
        for log_ratio, count in [(0, 32), (1, 32), (3, 64), (5, 128)]:
            giants, babies = rotations(list(range(1024)), 4096, log_ratio)
            self.assertEqual(babies, set(range(1, count)))
            self.assertEqual(giants, set(range(count, 1024, count)))


if __name__ == "__main__":
    unittest.main()
