"""The worker that the README shows works."""

import os
import tempfile
import unittest
from pathlib import Path

from parent import WORKERS, Refused, Worker, np


class Example(unittest.TestCase):
    def test_it_multiplies(self):
        text = (WORKERS / "README.md").read_text(encoding="utf-8")
        code = text.split("```python\n")[1].split("```")[0]
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "mine.py"
            script.write_text(code, encoding="utf-8")
            # As if it stood beside the others.
            os.symlink(WORKERS / "ckks_worker", Path(folder) / "ckks_worker")
            with Worker(str(script)) as worker:
                slots = worker.open()["slots"]
                worker.call("keys", steps=[1])
                giants = [{"output": 0, "step": 1, "terms": [[0, 0, 0]]}]
                program = {"inputs": 1, "outputs": 1, "diagonals": 1}
                with self.assertRaises(Refused) as caught:
                    worker.call("prepare_begin", **program, giants=giants)
                self.assertEqual(caught.exception.code, "unsupported")
                giants[0]["step"] = 0
                worker.call("prepare_begin", **program, giants=giants)
                worker.call("prepare_diagonals", worker.vectors(np.full((1, slots), 3.0)), first=0)
                worker.call("prepare_end")
                values = np.arange(2.0 * slots).reshape(2, slots)
                worker.encrypt(values)
                worker.call("evaluate")
                worker.call("rescale")
                np.testing.assert_array_equal(worker.decrypt(), 3 * values)
                self.assertEqual(worker.finish(), 0)


if __name__ == "__main__":
    unittest.main()
