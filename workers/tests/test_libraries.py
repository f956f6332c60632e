"""Layers through the libraries, against a float64 matrix product. Skipped where one is missing."""

import unittest

from parent import Refused, Worker, np
from packing import Layer

GATE = 1e-4


class Checked:
    """What holds for every library."""

    script = ""
    log_qp_limit = 0.0
    degree = 0
    # Of 64 diagonals.
    baby_steps = (2, 8, 64)

    def setUp(self):
        with Worker(self.script) as worker:
            try:
                worker.greet()
            except Refused as refused:
                self.skipTest(refused.message)

    def multiply(self, worker, weights, batch, babies=None):
        """The product of a batch by a layer that is prepared here."""
        opened = worker.opened
        layer = Layer(weights, opened["slots"], opened["slot_kind"], babies)
        worker.call("keys", steps=layer.steps)
        prepared = worker.prepare(layer)
        self.assertGreater(prepared["prepared_bytes"], 0)
        return layer, worker.product(layer, batch)

    def test_parameters_are_within_the_security_table(self):
        with Worker(self.script) as worker:
            parameters = worker.open()["parameters"]
            log_qp = sum(np.log2(float(prime)) for prime in parameters["q"] + parameters["p"])
            self.assertEqual(parameters["ring_degree"], self.degree)
            self.assertLessEqual(log_qp, self.log_qp_limit)
            self.assertEqual(worker.finish(), 0)

    def test_products(self):
        random = np.random.default_rng(3)
        # Whole, padded, and cut into several inputs or outputs.
        for shape in [(512, 2048), (300, 77), (16, 5000), (9000, 16)]:
            with self.subTest(shape=shape), Worker(self.script) as worker:
                worker.open()
                weights = random.uniform(-1, 1, shape) / np.sqrt(shape[0])
                batch = random.uniform(-1, 1, (2, shape[0]))
                _, got = self.multiply(worker, weights, batch)
                np.testing.assert_allclose(got, batch @ weights, rtol=0, atol=GATE)
                # The inputs are as they were: once more gives the same up to nothing at all.
                before = worker.decrypt()
                worker.call("evaluate")
                worker.call("rescale")
                np.testing.assert_array_equal(worker.decrypt(), before)
                sizes, _ = worker.call("answers")
                self.assertGreater(sizes["bytes"], 0)
                memory, _ = worker.call("memory")
                self.assertGreater(memory["resident_peak_bytes"], 0)
                self.assertEqual(worker.finish(), 0)

    def test_every_split_into_baby_and_giant_steps(self):
        random = np.random.default_rng(4)
        weights = random.uniform(-1, 1, (256, 1024)) / 16
        batch = random.uniform(-1, 1, (1, 256))
        for babies in self.baby_steps:
            with self.subTest(babies=babies), Worker(self.script) as worker:
                worker.open()
                _, got = self.multiply(worker, weights, batch, babies)
                np.testing.assert_allclose(got, batch @ weights, rtol=0, atol=GATE)

    def test_layers_follow_each_other(self):
        random = np.random.default_rng(7)
        with Worker(self.script) as worker:
            opened = worker.open()
            shapes = [(64, 2048), (128, 1024), (64, 2048)]
            weights = [random.uniform(-1, 1, shape) / 8 for shape in shapes]
            layers = [Layer(matrix, opened["slots"], opened["slot_kind"], 8) for matrix in weights]
            worker.call("keys", steps=sorted({step for layer in layers for step in layer.steps}))
            for matrix, layer in zip(weights, layers, strict=True):
                worker.prepare(layer)
                batch = random.uniform(-1, 1, (1, len(matrix)))
                got = worker.product(layer, batch)
                np.testing.assert_allclose(got, batch @ matrix, rtol=0, atol=GATE)

    def test_no_rotation_no_key(self):
        with Worker(self.script) as worker:
            worker.open()
            weights = np.array([[0.5]])
            _, got = self.multiply(worker, weights, np.array([[-1.0]]))
            np.testing.assert_allclose(got, [[-0.5]], rtol=0, atol=GATE)

    def test_diagonals_that_encode_to_zero(self):
        for tiny in (0.0, 1e-30):
            with self.subTest(tiny=tiny), Worker(self.script) as worker:
                slots = worker.open()["slots"]
                worker.call("keys", steps=[1])
                giants = [
                    {"output": 0, "step": 0, "terms": [[0, 0, 0], [0, 1, 1]]},
                    {"output": 1, "step": 0, "terms": [[0, 0, 2]]},
                ]
                worker.call("prepare_begin", inputs=1, outputs=2, diagonals=3, giants=giants)
                diagonals = np.full((3, slots), tiny)
                diagonals[0] = 0.5
                worker.call("prepare_diagonals", worker.vectors(diagonals), first=0)
                worker.call("prepare_end")
                values = np.random.default_rng(5).uniform(-1, 1, (1, slots))
                worker.encrypt(values)
                worker.call("evaluate")
                worker.call("rescale")
                first, second = worker.decrypt()
                np.testing.assert_allclose(first, values[0] / 2, rtol=0, atol=GATE)
                np.testing.assert_allclose(second, np.zeros(slots), rtol=0, atol=GATE)

    def test_two_diagonals_at_the_same_rotation(self):
        random = np.random.default_rng(6)
        with Worker(self.script) as worker:
            slots = worker.open()["slots"]
            worker.call("keys", steps=[1, 2])
            giants = [
                {"output": 0, "step": 0, "terms": [[0, 1, 0], [0, 2, 1]]},
                {"output": 0, "step": 1, "terms": [[0, 0, 2], [0, 1, 3]]},
            ]
            worker.call("prepare_begin", inputs=1, outputs=1, diagonals=4, giants=giants)
            diagonals = random.uniform(-1, 1, (4, slots))
            worker.call("prepare_diagonals", worker.vectors(diagonals), first=0)
            worker.call("prepare_end")
            values = random.uniform(-1, 1, slots)
            worker.encrypt(values[None])
            worker.call("evaluate")
            worker.call("rescale")
            (got,) = worker.decrypt()
            by_1, by_2 = np.roll(values, -1), np.roll(values, -2)
            second = np.roll(diagonals[2] * values + diagonals[3] * by_1, -1)
            expected = diagonals[0] * by_1 + diagonals[1] * by_2 + second
            np.testing.assert_allclose(got, expected, rtol=0, atol=GATE)

    def test_values_too_large_to_encode_are_refused(self):
        with Worker(self.script) as worker:
            slots = worker.open()["slots"]
            worker.call("keys", steps=[])
            giants = [{"output": 0, "step": 0, "terms": [[0, 0, 0]]}]
            worker.call("prepare_begin", inputs=1, outputs=1, diagonals=1, giants=giants)
            ones = np.ones((1, slots))
            huge = ones.copy()
            huge[0, 3] = -1e30
            with self.assertRaises(Refused) as caught:
                worker.call("prepare_diagonals", worker.vectors(huge), first=0)
            self.assertEqual(caught.exception.code, "bad-argument")
            self.assertIn("is -1e+30", caught.exception.message)
            worker.call("prepare_diagonals", worker.vectors(ones), first=0)
            worker.call("prepare_end")
            with self.assertRaises(Refused) as caught:
                worker.encrypt(huge)
            self.assertEqual(caught.exception.code, "bad-argument")
            worker.encrypt(ones)
            worker.call("evaluate")
            worker.call("rescale")
            np.testing.assert_allclose(worker.decrypt().real, ones, rtol=0, atol=GATE)
            self.assertEqual(worker.finish(), 0)

    def test_answers_up_to_the_largest(self):
        with Worker(self.script) as worker:
            opened = worker.open()
            worker.call("keys", steps=[])
            giants = [{"output": 0, "step": 0, "terms": [[0, 0, 0]]}]
            worker.call("prepare_begin", inputs=1, outputs=1, diagonals=1, giants=giants)
            worker.call("prepare_diagonals", worker.vectors(np.ones((1, opened["slots"]))), first=0)
            worker.call("prepare_end")
            values = np.full((1, opened["slots"]), 0.99 * opened["largest"])
            for sign in (1, -1):
                worker.encrypt(sign * values)
                worker.call("evaluate")
                worker.call("rescale")
                got = worker.decrypt().real
                np.testing.assert_allclose(got, sign * values, rtol=1e-5, atol=GATE)

    def test_several_threads_may_be_asked_for(self):
        with Worker(self.script) as worker:
            worker.open(threads=2)
            _, got = self.multiply(worker, np.array([[0.25]]), np.array([[1.0]]))
            np.testing.assert_allclose(got, [[0.25]], rtol=0, atol=GATE)

    def test_bootstrapping_is_refused(self):
        with Worker(self.script) as worker:
            worker.greet()
            fields = {"params": None, "mode": None, "device": 0, "threads": 1}
            with self.assertRaises(Refused) as caught:
                worker.call("open", bootstrap=True, **fields)
            self.assertEqual(caught.exception.code, "unsupported")
            worker.call("open", bootstrap=False, **fields)


class Seal(Checked, unittest.TestCase):
    script = "seal.py"
    degree = 8192
    log_qp_limit = 214.0


class Lattigo(Checked, unittest.TestCase):
    script = "lattigo.py"
    degree = 4096
    log_qp_limit = 106.0
    baby_steps = (8, 32, 64)

    def test_keys_of_its_own_split_are_made_with_the_layer(self):
        with Worker(self.script) as worker:
            slots = worker.open()["slots"]
            worker.call("keys", steps=[1, 2, 3, 6, 9])
            # Three baby steps: Lattigo wants a power of two, and so a key for step 4 or 8.
            giants = [
                {"output": 0, "step": step, "terms": [[0, baby, step + baby] for baby in range(3)]}
                for step in (0, 3, 6, 9)
            ]
            worker.call("prepare_begin", inputs=1, outputs=1, diagonals=12, giants=giants)
            # The same in all slots, so that the giant step does not move them.
            factors = np.random.default_rng(8).uniform(-1, 1, 12)
            diagonals = np.repeat(factors[:, None], slots, axis=1)
            worker.call("prepare_diagonals", worker.vectors(diagonals), first=0)
            worker.call("prepare_end")
            values = np.random.default_rng(9).uniform(-1, 1, (1, slots))
            worker.encrypt(values)
            for call in ("evaluate", "rescale"):
                worker.call(call)
            expected = sum(f * np.roll(values[0], -step) for step, f in enumerate(factors))
            np.testing.assert_allclose(worker.decrypt()[0], expected, rtol=0, atol=GATE)
            self.assertEqual(worker.finish(), 0)


if __name__ == "__main__":
    unittest.main()
