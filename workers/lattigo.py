"""Lattigo, through the packages orion-v2-lattigo (keys, encryption) and orion-v2-evaluator.

The evaluator package runs Lattigo's own linear transform: double-hoisted baby steps and giant
steps. It takes a model file whose one node holds the diagonals, encodes them when the model is
loaded, and takes and gives ciphertexts as bytes. Both packages bring a Go runtime, which reads
GOMAXPROCS when it is loaded: `open` starts the process anew where that is not yet `threads`.
"""

import math
import os
import sys
from pathlib import Path

WORKERS = Path(__file__).resolve().parent
sys.path.insert(0, str(WORKERS))

from ckks_worker import Library, Opened, Parameters, StartAnew, serve
from ckks_worker.pins import read_pins
from lattigo_model import Transform

LOG_DEGREE = 12
# Q, Q, P. log2 QP = 105; 106 are allowed at degree 4096.
LOG_Q = [38, 30]
LOG_P = [37]
LOG_INPUT_SCALE = 33
# Of a fresh ciphertext. The transform drops the last prime.
LEVEL = len(LOG_Q) - 1
# The evaluator package refuses a Hamming weight of 0, with which the other one samples Lattigo's
# default secret. Evaluation does not depend on it.
UNUSED_HAMMING_WEIGHT = 2730


class Lattigo(Library):
    """One context of Lattigo, in the conjugate-invariant ring."""

    name = "lattigo"
    presets = ["lattigo-ci-4096"]
    requirements = "requirements-lattigo.txt"

    def version(self):
        pins = read_pins(self.requirements)
        return (
            f"6.2.0 (orion-v2-lattigo {pins['orion-v2-lattigo']}, "
            f"orion-v2-evaluator {pins['orion-v2-evaluator']})"
        )

    def open(self, preset, mode, threads):
        if os.environ.get("GOMAXPROCS") != str(threads):
            raise StartAnew({"GOMAXPROCS": str(threads)})
        # The package is named like this file.
        sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != WORKERS]
        import numpy
        import orion_evaluator
        from lattigo import ckks, rlwe

        self._np, self._evaluator_package, self._rlwe = numpy, orion_evaluator, rlwe
        literal = {
            "logn": LOG_DEGREE,
            "logq": LOG_Q,
            "logp": LOG_P,
            "log_default_scale": LOG_INPUT_SCALE,
            "ring_type": "conjugate_invariant",
        }
        self._params = ckks.Parameters(**literal)
        self._literal = {**literal, "h": UNUSED_HAMMING_WEIGHT, "boot_logp": []}
        self._encoder = ckks.Encoder(self._params)
        self._slots = self._params.max_slots()
        self._q = self._params.moduli_chain()
        self._p = self._params.aux_moduli_chain()
        self._model = None
        return Opened(
            kernels=f"Lattigo's linear transform, GOMAXPROCS={threads}",
            slots=self._slots,
            parameters=Parameters(
                name=preset,
                ring_degree=1 << LOG_DEGREE,
                q=self._q,
                p=self._p,
                secret="uniform ternary",
                error="discrete Gaussian, standard deviation 3.2, cut at 19.2",
            ),
            log_scale=LOG_INPUT_SCALE,
            largest=self._q[0] / 2 / 2**LOG_INPUT_SCALE,
            notes=[
                "Conjugate-invariant ring Z[X + 1/X]/(X^8192 + 1), real slots. The degree that "
                "counts for security is 4096, its number of coefficients and the dimension of its "
                "RLWE problem (Kim and Song, ePrint 2018/952), as many as it has slots.",
                "The transform chooses its own baby steps, a power of two. Where the plan has "
                "others, the keys that it wants besides are made with the layer, and are not in "
                "the bytes of the keys.",
                "Evaluation includes reading inputs from bytes, rescaling and writing answers to "
                "bytes: the evaluator's interface has them in one call.",
                "Encryption is with the public key; key bytes are Lattigo's, without seeds.",
            ],
            # A coefficient is at most the largest |slot| times the scale. Lattigo does not refuse
            # what is larger than half the modulus: it would come back modulo Q.
            input_limit=math.prod(self._q) / 2 / 2**LOG_INPUT_SCALE,
            diagonal_limit=math.prod(self._q) / 2 / self._q[LEVEL],
        )

    def keys(self, steps):
        rlwe = self._rlwe
        self._generator = rlwe.KeyGenerator(self._params)
        self._secret = self._generator.gen_secret_key()
        public = self._generator.gen_public_key(self._secret)
        self._encryptor = rlwe.Encryptor(self._params, public)
        self._decryptor = rlwe.Decryptor(self._params, self._secret)
        self._galois = {}
        return self._make_keys(steps)

    def _make_keys(self, steps):
        """Adds keys for these steps; bytes of all keys."""
        for step in steps:
            element = self._params.galois_element(step)
            self._galois[step] = self._generator.gen_galois_key(self._secret, element)
        keys = list(self._galois.values())
        data = self._rlwe.MemEvaluationKeySet(galois_keys=keys).marshal_binary()
        self._evaluator = self._evaluator_package.Evaluator(self._literal, data)
        return len(data) if keys else 0

    def prepare_begin(self, program):
        transform = Transform(program, self._slots, frozenset(self._galois))
        missing = sorted(transform.needed - self._galois.keys())
        if missing:
            self._make_keys(missing)
        self._transform = transform

    def prepare_diagonal(self, diagonal, vector):
        self._transform.add(diagonal, vector)

    def prepare_end(self):
        # The layer before is freed first.
        if self._model is not None:
            self._model.close()
            self._model = None
        transform = self._transform
        self._model = self._evaluator_package.Model.load(transform.model(self._literal, LEVEL))
        transform.drop_values()
        limbs = len(self._q) + len(self._p)
        size = transform.count * limbs * (1 << LOG_DEGREE) * 8
        return size, math.log2(self._q[LEVEL])

    def encrypt(self, vectors):
        batch = []
        for vector in vectors:
            plaintext = self._encoder.encode(vector.tolist(), LEVEL, 1 << LOG_INPUT_SCALE)
            batch.append(self._encryptor.encrypt_new(plaintext).marshal_binary())
        self._batch = batch
        return sum(map(len, batch))

    def evaluate(self):
        inputs = self._transform.inputs
        answers = []
        for start in range(0, len(self._batch), inputs):
            group = self._batch[start : start + inputs]
            answers += self._evaluator.forward(self._model, group)
        self._answers = answers

    def answers_bytes(self):
        return sum(map(len, self._answers))

    def decrypt(self):
        values = self._np.zeros((len(self._answers), self._slots))
        for row, data in zip(values, self._answers, strict=True):
            ciphertext = self._rlwe.Ciphertext.unmarshal_binary(data)
            plaintext = self._decryptor.decrypt_new(ciphertext)
            row[:] = self._encoder.decode(plaintext, self._slots)
        return values


if __name__ == "__main__":
    serve(Lattigo())
