"""The Python package against the safetensors package on the same files.

Run with the package installed, and the example `seal` of the crate sealed-weights named by the
variable SEAL_EXAMPLE: see docs/python.md. Tests of torch need torch: without it, the variable
WITHOUT_TORCH must say so.
"""

import gc
import os
import shutil
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import ml_dtypes
import numpy
import safetensors
import safetensors.numpy
from sealed_weights import SealError, load_file, safe_open, verify

try:
    import torch
except ImportError:
    if not os.environ.get("WITHOUT_TORCH"):
        raise
    torch = None

SEAL = os.environ["SEAL_EXAMPLE"]


def mapped():
    """Bytes of anonymous memory mapped by this process."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")


def bits(array):
    return array.tobytes(), array.dtype, array.shape


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = Path(cls.folder.name)
        plain = cls.root / "plain"
        plain.mkdir()
        random = numpy.random.default_rng(1)
        normal = lambda *shape: random.standard_normal(shape).astype(numpy.float32)
        small = [
            "bfloat16",
            "float8_e4m3fn",
            "float8_e5m2",
        ]
        one = {
            "rows": normal(301, 17),
            "scalar": numpy.array(2.5),
            "empty": numpy.zeros((3, 0), numpy.int32),
            "flags": numpy.array([True, False, True]),
            "half": normal(5, 6, 7).astype(numpy.float16),
            "long": numpy.arange(-5, 999, dtype=numpy.int64),
            **{name: normal(40, 50).astype(getattr(ml_dtypes, name)) for name in small},
        }
        two = {"big": normal(1000, 1000), "bytes": numpy.arange(256, dtype=numpy.uint8)}
        metadata = {"format": "pt", "note": "one"}
        safetensors.numpy.save_file(one, plain / "m-1.safetensors", metadata)
        safetensors.numpy.save_file(two, plain / "m-2.safetensors", {"format": "pt"})
        (plain / "config.json").write_text("{}")
        cls.tensors = {**one, **two}
        cls.sealed = cls.seal("sealed", plain)
        cls.arguments = {
            "keys": f"key-file:{cls.root / 'key'}",
            "publishers": [cls.root / "publisher.pub"],
        }
        # Its own key, for those who have the wrong one.
        other = cls.root / "other"
        other.mkdir()
        (other / "x").write_text("x")
        cls.seal("other-sealed", other, "other-key")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def seal(cls, name, plain, key="key"):
        destination = cls.root / name
        line = [SEAL, plain, destination, cls.root / key, cls.root / "publisher.pub"]
        subprocess.run(line, check=True, env={**os.environ, "CHUNK_SIZE": "4096"})
        return destination

    def open(self, path=None, **changes):
        arguments = {"framework": "np", **self.arguments, **changes}
        return safe_open(path or self.sealed, **arguments)

    def refusal(self, path=None, **changes):
        with self.assertRaises(SealError) as caught:
            self.open(path, **changes)
        return str(caught.exception)

    def test_tensors_are_those_of_the_plain_files(self):
        with self.open() as model:
            self.assertEqual(model.keys(), sorted(self.tensors))
            for name, expected in self.tensors.items():
                found = model.get_tensor(name)
                self.assertEqual(bits(found), bits(expected), name)
                self.assertTrue(found.flags.writeable)
            self.assertEqual(model.metadata(), {"format": "pt", "note": "one"})
            origin = model.origin()
            self.assertEqual((origin["model"], origin["version"]), ("plain", 1))
        with self.assertRaisesRegex(SealError, "closed"):
            model.keys()

    def test_single_files_are_those_that_safetensors_reads(self):
        for file in ("m-1", "m-2"):
            with (
                safetensors.safe_open(self.root / f"plain/{file}.safetensors", "np") as plain,
                self.open(self.sealed / f"{file}.safetensors.sealed") as sealed,
            ):
                self.assertEqual(sealed.keys(), sorted(plain.keys()))
                self.assertEqual(sealed.offset_keys(), plain.offset_keys())
                self.assertEqual(sealed.metadata(), plain.metadata())
        with self.assertRaisesRegex(SealError, "not in this file"):
            with self.open(self.sealed / "m-1.safetensors.sealed") as sealed:
                sealed.get_tensor("big")

    def test_load_file_gives_all(self):
        for path, names in [
            (self.sealed, set(self.tensors)),
            (self.sealed / "m-2.safetensors.sealed", {"big", "bytes"}),
        ]:
            found = load_file(path, "np", **self.arguments)
            self.assertEqual(set(found), names)
            for name, array in found.items():
                self.assertEqual(bits(array), bits(self.tensors[name]), name)

    def test_slices_are_those_of_the_array(self):
        indices = [
            0, -1, 300, slice(None), slice(3, 40), slice(10, 2), slice(-7, None), slice(0, 301, 9),
            ..., (slice(5, 9), 3), (4, slice(2, 5)), (slice(1, 8, 3), slice(None, None, 2)),
            (..., 1),
        ]  # fmt: skip
        with self.open() as model:
            rows = model.get_slice("rows")
            self.assertEqual((rows.get_shape(), rows.get_dtype()), ([301, 17], "F32"))
            for index in indices:
                expected = self.tensors["rows"][index]
                self.assertTrue(numpy.array_equal(rows[index], expected), index)
            for index in (301, -302, slice(None, None, -1)):
                with self.assertRaises(IndexError):
                    rows[index]
            self.assertEqual(model.get_slice("scalar")[()], 2.5)
            self.assertEqual(model.get_slice("empty")[1:].shape, (2, 0))

    def test_slices_read_only_their_chunks(self):
        with tempfile.TemporaryDirectory(dir=self.root) as folder:
            copy = self.copy(folder)
            shard = copy / "m-2.safetensors.sealed"
            content = bytearray(shard.read_bytes())
            content[-2] ^= 1  # In the last row of the last tensor of the file.
            shard.write_bytes(content)
            with self.open(copy) as model:
                last = model.offset_keys()[-1]
                self.assertEqual(last, "bytes")
                rows = model.get_slice("big")
                self.assertTrue(numpy.array_equal(rows[:500], self.tensors["big"][:500]))
                with self.assertRaisesRegex(SealError, "publisher signed"):
                    model.get_slice("bytes")[0:8]

    def copy(self, folder):
        return Path(shutil.copytree(self.sealed, Path(folder) / "copy"))

    def test_altered_models_are_refused(self):
        with tempfile.TemporaryDirectory(dir=self.root) as folder:
            copy = self.copy(folder)
            verify(copy, **self.arguments)
            shard = copy / "m-1.safetensors.sealed"
            before = shard.read_bytes()
            altered = bytearray(before)
            altered[-1] ^= 1
            shard.write_bytes(altered)
            with self.open(shard) as model:
                with self.assertRaisesRegex(SealError, "publisher signed"):
                    model.get_tensor(model.offset_keys()[-1])
            with self.open(copy, trust="key-holders") as model:
                with self.assertRaisesRegex(SealError, "altered"):
                    for name in self.tensors:
                        model.get_tensor(name)
            for reader in (verify, lambda path, **given: load_file(path, "np", **given)):
                with self.assertRaises(SealError):
                    reader(copy, **self.arguments)
            shard.write_bytes((self.root / "plain/m-1.safetensors").read_bytes())
            self.assertRegex(self.refusal(copy), "not a sealed file")
            shard.unlink()
            self.assertRegex(self.refusal(copy), "m-1.safetensors")

    def test_only_those_who_are_meant_to_can_read(self):
        self.assertRegex(self.refusal(keys=[]), "none of the keys")
        self.assertRegex(self.refusal(keys=f"key-file:{self.root}/other-key"), "none of the keys")
        self.assertRegex(self.refusal(publishers=[]), "no publisher")
        self.assertRegex(self.refusal(publishers=["0" * 64]), "trusted")
        self.assertRegex(self.refusal(publishers=["nowhere"]), "nowhere")
        self.assertRegex(self.refusal(min_version=2), "version 1")
        self.assertRegex(self.refusal(self.root / "plain"), "sealed.manifest")
        with self.open(publishers=[], any_publisher=True) as model:
            self.assertTrue(model.keys())
        for wrong in ({"trust": "me"}, {"threads": 0}, {"framework": "tf"}, {"device": "cuda"}):
            with self.assertRaises(ValueError):
                self.open(**wrong)
        with self.open() as model, self.assertRaisesRegex(SealError, "did you mean.*rows"):
            model.get_tensor("row")

    def test_keys_come_from_the_environment(self):
        names = {
            "WEIGHTS_SEAL_KEY": self.arguments["keys"],
            "WEIGHTS_SEAL_PUBLISHER": str(self.arguments["publishers"][0]),
        }
        os.environ.update(names)
        try:
            with safe_open(self.sealed, "np") as model:
                self.assertTrue(model.keys())
        finally:
            for name in names:
                del os.environ[name]

    def test_threads_share_a_model(self):
        failures = []
        with self.open(threads=2) as model:

            def read():
                for name, expected in self.tensors.items():
                    if bits(model.get_tensor(name)) != bits(expected):
                        failures.append(name)

            threads = [threading.Thread(target=read) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])

    def test_memory_lives_as_long_as_it_is_seen_and_no_longer(self):
        model = self.open()
        array = model.get_tensor("big")
        part = array[17:19]
        expected = self.tensors["big"][17:19].copy()
        del array
        model.__exit__()
        del model
        gc.collect()
        self.assertTrue(numpy.array_equal(part, expected))
        del part
        gc.collect()
        # A hundred times 4 MB: held back, it would be 400 MB.
        before = mapped()
        with self.open() as model:
            for _ in range(100):
                model.get_tensor("big")
        gc.collect()
        self.assertLess(mapped() - before, 100 << 20)

    @unittest.skipIf(torch is None, "WITHOUT_TORCH is set")
    def test_torch_tensors_are_those_of_the_plain_files(self):
        import safetensors.torch

        with self.open(framework="pt") as model:
            for file in ("m-1", "m-2"):
                plain = safetensors.torch.load_file(self.root / f"plain/{file}.safetensors")
                for name, expected in plain.items():
                    found = model.get_tensor(name)
                    self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
                    same = found.reshape(-1).view(torch.uint8) if found.numel() else found
                    other = expected.reshape(-1).view(torch.uint8) if found.numel() else expected
                    self.assertTrue(torch.equal(same, other), name)
            rows = model.get_slice("rows")
            self.assertTrue(torch.equal(rows[3:9, 2], torch.tensor(self.tensors["rows"][3:9, 2])))


if __name__ == "__main__":
    unittest.main()
