"""A slot machine without encryption, for testing the protocol only.

It computes on plain slots with numpy, so that the program that measures can be tested against
answers that are exact. It is no CKKS library and protects nothing; its parameters are stand-ins.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from ckks_worker import Library, Opened, Parameters, serve

# Name → slots, kind of a slot.
PRESETS = {
    "plain-real-4096": (4096, "real"),
    "plain-complex-2048": (2048, "complex"),
    "plain-real-8": (8, "real"),
    "plain-complex-8": (8, "complex"),
}


class Plain(Library):
    """Slots as they are."""

    name = "plain"
    presets = list(PRESETS)

    def version(self):
        return "1"

    def open(self, preset, mode, threads):
        import numpy

        self._np = numpy
        self._slots, self._kind = PRESETS[preset]
        return Opened(
            kernels="numpy, no encryption",
            slots=self._slots,
            slot_kind=self._kind,
            parameters=Parameters(
                name=preset,
                ring_degree=8192,
                q=[1125899906629633],
                p=[],
                secret="none: nothing is encrypted",
                error="none",
            ),
            log_scale=0.0,
            largest=0.0,
            notes=["No encryption: a test of the protocol."],
        )

    def keys(self, steps):
        return 0

    def prepare_begin(self, program):
        self._program = program
        self._diagonals = {}

    def prepare_diagonal(self, diagonal, vector):
        self._diagonals[diagonal] = vector.copy()

    def prepare_end(self):
        return sum(vector.nbytes for vector in self._diagonals.values()), 0.0

    def encrypt(self, vectors):
        self._batch = vectors.copy()
        return self._batch.nbytes

    def evaluate(self):
        program = self._program
        groups = len(self._batch) // program.inputs
        inputs = self._batch.reshape(groups, program.inputs, self._slots)
        answers = self._np.zeros((groups, program.outputs, self._slots), dtype=inputs.dtype)
        for giant in program.giants:
            total = 0
            for term in giant.terms:
                turned = self._np.roll(inputs[:, term.input], -term.baby, axis=1)
                total = total + self._diagonals[term.diagonal] * turned
            answers[:, giant.output] += self._np.roll(total, -giant.step, axis=1)
        self._answers = answers.reshape(-1, self._slots)

    def bootstrap(self):
        self._answers = self._batch

    def answers_bytes(self):
        return self._answers.nbytes

    def decrypt(self):
        return self._answers


if __name__ == "__main__":
    serve(Plain())
