"""Microsoft SEAL, through the evaluator that the package tenseal exposes (`tenseal.sealapi`).

SEAL encodes complex vectors, so a slot is complex. A layer is evaluated as SEAL's interface has it:
plaintexts in NTT form made ahead, `rotate_vector` for each baby step and each inner sum,
`multiply_plain` and `add_inplace` for each diagonal, `rescale_to_next_inplace` at the end. SEAL
does not share work between rotations of one ciphertext, and uses one thread.
"""

import math
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from ckks_worker import Library, Opened, Parameters, serve
from ckks_worker.pins import read_pins

RING_DEGREE = 8192
# The last is the special prime of key switching. log2 QP = 140; 214 are allowed at this degree.
MODULUS_BITS = [50, 40, 50]
INPUT_SCALE = 2.0**40
# A coefficient is at most the largest |slot| times the scale, and below half the modulus; |slot| is
# at most √2 times the larger of its two parts.
SLOT_MARGIN = 2 * math.sqrt(2)


class Seal(Library):
    """One context of SEAL."""

    name = "seal"
    presets = ["seal-8192"]
    requirements = "requirements-seal.txt"

    def version(self):
        return f"tenseal {read_pins(self.requirements)['tenseal']}"

    def open(self, preset, mode, threads):
        import numpy
        from tenseal import sealapi

        self._np = numpy
        self._api = sealapi
        parameters = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS)
        parameters.set_poly_modulus_degree(RING_DEGREE)
        parameters.set_coeff_modulus(sealapi.CoeffModulus.Create(RING_DEGREE, MODULUS_BITS))
        self._context = sealapi.SEALContext(parameters, True, sealapi.SEC_LEVEL_TYPE.TC128)
        if not self._context.parameters_set():
            raise ValueError(self._context.parameters_error_message())
        *q, special = [prime.value() for prime in parameters.coeff_modulus()]
        self._level = self._context.first_parms_id()
        # The prime that `rescale` divides by, so that answers have the inputs' scale.
        self._weight_scale = float(q[-1])
        self._limbs = len(q)
        self._encoder = sealapi.CKKSEncoder(self._context)
        self._evaluator = sealapi.Evaluator(self._context)
        self._slots = self._encoder.slot_count()
        header, _ = self._saved(parameters)
        return Opened(
            kernels=f"SEAL {header[3]}.{header[4]} as built in the package, one thread",
            slots=self._slots,
            slot_kind="complex",
            parameters=Parameters(
                name=preset,
                ring_degree=RING_DEGREE,
                q=q,
                p=[special],
                secret="uniform ternary",
                error="SEAL's default: centred binomial, standard deviation 3.24",
            ),
            log_scale=math.log2(INPUT_SCALE),
            # After rescaling a coefficient is at most |slot| times the scale.
            largest=q[0] / 2 / INPUT_SCALE,
            notes=[
                "SEAL decomposes a ciphertext anew for each rotation.",
                "Inputs are encrypted with the secret key; their bytes, and those of the keys, are "
                "of SEAL's seeded form, compressed as SEAL saves by default.",
                "SEAL uses one thread, whatever --threads says.",
            ],
            input_limit=math.prod(q) / INPUT_SCALE / SLOT_MARGIN,
            diagonal_limit=math.prod(q) / self._weight_scale / SLOT_MARGIN,
        )

    def keys(self, steps):
        api = self._api
        generator = api.KeyGenerator(self._context)
        secret = generator.secret_key()
        self._encryptor = api.Encryptor(self._context, secret)
        self._decryptor = api.Decryptor(self._context, secret)
        # This binding takes Galois elements, not steps.
        elements = [pow(3, step, 2 * RING_DEGREE) for step in steps]
        self._galois = api.GaloisKeys()
        if elements:
            generator.create_galois_keys(elements, self._galois)
        # All keys have the size of one, and all fresh ciphertexts; compression moves a few bytes.
        _, self._fresh_bytes = self._saved(self._encryptor.encrypt_zero_symmetric())
        if not elements:
            return 0
        _, one_key = self._saved(generator.create_galois_keys(elements[:1]))
        return one_key * len(elements)

    def prepare_begin(self, program):
        self._program = program
        self._plaintexts = {}

    def prepare_diagonal(self, diagonal, vector):
        plaintext = self._api.Plaintext()
        self._encoder.encode(vector.tolist(), self._level, self._weight_scale, plaintext)
        # A product with zero would be a transparent ciphertext, which SEAL refuses.
        if not plaintext.is_zero():
            self._plaintexts[diagonal] = plaintext

    def prepare_end(self):
        self._work = self._plan_work()
        self._answer_bytes = None
        size = len(self._plaintexts) * self._limbs * RING_DEGREE * 8
        return size, math.log2(self._weight_scale)

    def encrypt(self, vectors):
        api = self._api
        batch = []
        for vector in vectors:
            plaintext = api.Plaintext()
            self._encoder.encode(vector.tolist(), self._level, INPUT_SCALE, plaintext)
            ciphertext = api.Ciphertext()
            self._encryptor.encrypt_symmetric(plaintext, ciphertext)
            batch.append(ciphertext)
        self._batch = batch
        return self._fresh_bytes * len(batch)

    def evaluate(self):
        inputs = self._program.inputs
        answers = []
        for start in range(0, len(self._batch), inputs):
            answers += self._evaluate_group(self._batch[start : start + inputs])
        self._answers = answers

    def rescale(self):
        for answer in self._answers:
            if answer is not None:
                self._evaluator.rescale_to_next_inplace(answer)

    def answers_bytes(self):
        present = [answer for answer in self._answers if answer is not None]
        if self._answer_bytes is None and present:
            # Saved once for a layer, in its first evaluation: all answers have the size of one.
            self._answer_bytes = self._saved(present[0])[1]
        return len(present) * (self._answer_bytes or 0)

    def decrypt(self):
        values = self._np.zeros((len(self._answers), self._slots), dtype=complex)
        for row, answer in zip(values, self._answers, strict=True):
            if answer is not None:
                plaintext = self._api.Plaintext()
                self._decryptor.decrypt(answer, plaintext)
                row[:] = self._encoder.decode_complex(plaintext)
        return values

    def _plan_work(self):
        """Rotations of inputs, and for each giant its products, zero diagonals left out."""
        giants = []
        babies = {}
        for giant in self._program.giants:
            products = [
                ((term.input, term.baby), self._plaintexts[term.diagonal])
                for term in giant.terms
                if term.diagonal in self._plaintexts
            ]
            if products:
                giants.append((giant.output, giant.step, products))
                babies.update(dict.fromkeys(place for place, _ in products))
        return list(babies), giants

    def _evaluate_group(self, inputs):
        """One group's answers; None stands for an output that is zero."""
        evaluator, galois, ciphertext = self._evaluator, self._galois, self._api.Ciphertext
        multiply, add = evaluator.multiply_plain, evaluator.add_inplace
        babies, giants = self._work
        turned = {}
        for place in babies:
            index, step = place
            if step == 0:
                turned[place] = inputs[index]
            else:
                turned[place] = ciphertext()
                evaluator.rotate_vector(inputs[index], step, galois, turned[place])
        outputs = [None] * self._program.outputs
        product = ciphertext()
        for output, step, products in giants:
            total = ciphertext()
            place, plaintext = products[0]
            multiply(turned[place], plaintext, total)
            for place, plaintext in products[1:]:
                multiply(turned[place], plaintext, product)
                add(total, product)
            if step:
                evaluator.rotate_vector_inplace(total, step, galois)
            if outputs[output] is None:
                outputs[output] = total
            else:
                add(outputs[output], total)
        return outputs

    def _saved(self, value):
        """First bytes and size of what SEAL saves; the binding saves to files only."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "saved")
            value.save(path)
            with open(path, "rb") as file:
                return file.read(16), os.path.getsize(path)


if __name__ == "__main__":
    serve(Seal())
