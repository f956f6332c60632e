"""The process: streams, signals, exit statuses, starting anew."""

import os
import signal
import unittest

from parent import Refused, Worker, np
from packing import Layer
from ckks_worker.frames import read_frame

ODD = "tests/odd_workers.py"


class Processes(unittest.TestCase):
    def test_close_ends_with_status_0(self):
        with Worker("plain.py") as worker:
            worker.greet()
            self.assertEqual(worker.finish(), 0)
            self.assertEqual(worker.stderr(), "")

    def test_close_may_come_first(self):
        with Worker("plain.py") as worker:
            self.assertEqual(worker.finish(), 0)

    def test_close_with_an_unknown_field_does_not_close(self):
        with Worker("plain.py") as worker:
            with self.assertRaises(Refused):
                worker.call("close", now=True)
            self.assertEqual(worker.finish(), 0)

    def test_the_end_of_requests_is_a_failure(self):
        for script, call in [("plain.py", None), ("plain.py", "hello")]:
            with self.subTest(call=call), Worker(script) as worker:
                if call:
                    worker.greet()
                self.assertEqual(worker.end_of_requests(), 3)
                self.assertIn("ended before close", worker.stderr())

    def test_a_parent_that_is_gone_is_a_failure(self):
        with Worker("plain.py") as worker:
            worker.greet()
            worker.process.stdout.close()
            worker.send("probe")
            self.assertEqual(worker.process.wait(), 3)
            worker.process.stdout = open(os.devnull, "rb")

    def test_ctrl_c_is_not_for_workers(self):
        with Worker("plain.py") as worker:
            worker.greet()
            worker.process.send_signal(signal.SIGINT)
            worker.call("probe")
            self.assertEqual(worker.finish(), 0)

    def test_what_a_library_prints_goes_to_standard_error(self):
        with Worker(ODD, "Noisy") as worker:
            opened = worker.open("plain-real-8")
            layer = Layer(np.eye(8), 8, opened["slot_kind"])
            worker.call("keys", steps=layer.steps)
            worker.prepare(layer)
            batch = np.arange(8.0).reshape(1, 8)
            np.testing.assert_array_equal(worker.product(layer, batch), batch)
            self.assertEqual(worker.finish(), 0)
            for noise in ("from Python", "from a system call", "from C", "from a child"):
                self.assertIn(f"noise {noise}", worker.stderr())
            self.assertIn("more noise", worker.stderr())

    def test_starting_anew_keeps_the_process_and_the_requests_in_the_pipe(self):
        with Worker(ODD, "Restarting") as worker:
            process_id = worker.process.pid
            worker.greet()
            fields = {"params": None, "mode": None, "device": 0, "bootstrap": False}
            ids = [
                worker.send("open", threads=3, **fields),
                worker.send("keys", steps=[1]),
                worker.send("keys", steps=[2]),
            ]
            opened, _ = worker.receive(ids[0])
            self.assertEqual(opened["slots"], 4096)
            self.assertEqual(worker.receive(ids[1])[0]["galois_keys"], 1)
            with self.assertRaises(Refused):
                worker.receive(ids[2])
            self.assertEqual(worker.process.pid, process_id)
            self.assertEqual(worker.finish(), 0)
            self.assertEqual(worker.stderr(), "")

    def test_failures_of_a_library(self):
        fields = {"params": None, "mode": None, "device": 0, "bootstrap": False}
        for threads, code, words in [
            (7, "out-of-memory", "MemoryError"),
            (8, "library-error", "the library's own words"),
        ]:
            with self.subTest(code=code), Worker(ODD, "Failing") as worker:
                worker.greet()
                with self.assertRaises(Refused) as caught:
                    worker.call("open", threads=threads, **fields)
                self.assertEqual((caught.exception.code, caught.exception.message), (code, words))
                # Nothing but the end can follow.
                with self.assertRaises(Refused) as caught:
                    worker.call("open", threads=1, **fields)
                self.assertEqual(caught.exception.code, "bad-argument")
                self.assertIn("only close", caught.exception.message)
                self.assertEqual(worker.finish(), 0)

    def test_what_is_unsupported_changes_nothing(self):
        with Worker(ODD, "Failing") as worker:
            worker.open()
            for _ in range(2):
                with self.assertRaises(Refused) as caught:
                    worker.call("keys", steps=[])
                self.assertEqual(caught.exception.code, "unsupported")

    def test_answers_of_a_library_that_are_wrong_in_number_or_kind(self):
        for name, number in [("Short", None), ("Infinite", 1)]:
            with self.subTest(name=name), Worker(ODD, name) as worker:
                opened = worker.open("plain-real-8")
                layer = Layer(np.eye(8), 8, opened["slot_kind"])
                worker.call("keys", steps=[])
                worker.prepare(layer)
                worker.encrypt(np.ones((1, 8)))
                worker.call("evaluate")
                worker.call("rescale")
                if number is None:
                    with self.assertRaises(Refused) as caught:
                        worker.decrypt()
                    self.assertEqual(caught.exception.code, "internal")
                else:
                    self.assertTrue(np.isnan(worker.decrypt()).all())

    def test_replies_say_how_long_the_library_took(self):
        with Worker("plain.py") as worker:
            worker.send("hello", protocol=1)
            header, _ = read_frame(worker.process.stdout)
            self.assertEqual(header["seconds"], 0.0)
            fields = {"params": None, "mode": None, "device": 0, "bootstrap": False}
            worker.call("open", threads=1, **fields)
            self.assertGreater(worker.seconds, 0.0)


if __name__ == "__main__":
    unittest.main()
