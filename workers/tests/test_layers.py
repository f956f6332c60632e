"""Whole layers through a worker, against a float64 matrix product."""

import unittest

from parent import Worker, np
from packing import Layer

# Widths below, at and above the slots; odd ones; one of everything.
SHAPES = [(1, 1), (8, 8), (16, 3), (3, 16), (5, 7), (20, 12), (12, 20), (33, 1), (1, 33)]


class PlainLayers(unittest.TestCase):
    def test_every_shape_and_kind_of_slot(self):
        random = np.random.default_rng(1)
        for preset in ("plain-real-8", "plain-complex-8"):
            for shape in SHAPES:
                for babies in (1, 2, 8):
                    with (
                        self.subTest(preset=preset, shape=shape, babies=babies),
                        Worker("plain.py") as worker,
                    ):
                        opened = worker.open(preset)
                        weights = random.standard_normal(shape)
                        layer = Layer(weights, opened["slots"], opened["slot_kind"], babies)
                        keys, _ = worker.call("keys", steps=layer.steps)
                        self.assertEqual(keys["galois_keys"], len(layer.steps))
                        worker.prepare(layer, piece=3)
                        batch = random.standard_normal((3, shape[0]))
                        got = worker.product(layer, batch)
                        np.testing.assert_allclose(got, batch @ weights, atol=1e-12)
                        self.assertEqual(worker.finish(), 0)

    def test_layers_and_batches_follow_each_other(self):
        random = np.random.default_rng(2)
        with Worker("plain.py") as worker:
            opened = worker.open("plain-real-8")
            layers = [
                (weights, Layer(weights, 8, opened["slot_kind"]))
                for weights in (random.standard_normal((8, 4)), random.standard_normal((3, 20)))
            ]
            steps = sorted({step for _, layer in layers for step in layer.steps})
            worker.call("keys", steps=steps)
            for weights, layer in layers:
                worker.prepare(layer)
                for vectors in (1, 4):
                    batch = random.standard_normal((vectors, len(weights)))
                    got = worker.product(layer, batch)
                    np.testing.assert_allclose(got, batch @ weights, atol=1e-12)
                    answers, _ = worker.call("answers")
                    self.assertEqual(answers["ciphertexts"], vectors * layer.program["outputs"])

    def test_an_output_without_giants_is_zero(self):
        with Worker("plain.py") as worker:
            worker.open("plain-real-8")
            worker.call("keys", steps=[])
            giants = [{"output": 1, "step": 0, "terms": [[0, 0, 0]]}]
            worker.call("prepare_begin", inputs=1, outputs=3, diagonals=1, giants=giants)
            worker.call("prepare_diagonals", worker.vectors(np.full((1, 8), 2.0)), first=0)
            worker.call("prepare_end")
            worker.encrypt(np.arange(8.0).reshape(1, 8))
            worker.call("evaluate")
            worker.call("evaluate")
            worker.call("rescale")
            expected = [np.zeros(8), 2 * np.arange(8.0), np.zeros(8)]
            np.testing.assert_array_equal(worker.decrypt(), expected)


if __name__ == "__main__":
    unittest.main()
