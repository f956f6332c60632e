"""A layer as the model file of the Orion evaluator: one linear transform of diagonals.

The transform takes plain diagonals, `out[p] = Σ_s D_s[p] · in[p + s]`, splits s into giant and baby
steps by itself, and rotates the diagonals against the giant steps. So what a program has rotated
is rotated back, and the split is foretold here, to know which keys it wants.
"""

import json
import struct

MAGIC = b"ORION\x00\x02\x00"
# log2 of the ratios of baby to giant steps to try.
RATIOS = range(13)


def baby_steps(steps: list[int], slots: int, log_ratio: int) -> int:
    """How many baby steps, a power of two, Lattigo takes for diagonals at these steps.

    It doubles them until there are more than 2^log_ratio times as many as giant steps, not
    counting the steps 0, and takes the number before that.
    """
    count = 1
    while count < slots:
        giants = len({step // count for step in steps}) - 1
        babies = len({step % count for step in steps}) - 1
        if babies == giants << log_ratio and giants > 0:
            return count
        if babies > giants << log_ratio:
            return count // 2
        count *= 2
    return 1


def rotations(steps: list[int], slots: int, log_ratio: int) -> tuple[set[int], set[int]]:
    """The giant steps and the baby steps that Lattigo takes, 0 left out."""
    count = baby_steps(steps, slots, log_ratio)
    giants = {step // count * count for step in steps}
    babies = {step % count for step in steps}
    return giants - {0}, babies - {0}


class Transform:
    """The blocks of a program, one for each output and input."""

    def __init__(self, program, slots: int, keys: frozenset[int]):
        self.inputs = program.inputs
        self._outputs = program.outputs
        self._slots = slots
        # Diagonal → block, row in it, giant step.
        self._places = {}
        rows: dict[tuple[int, int], dict[int, int]] = {
            (output, source): {}
            for output in range(program.outputs)
            for source in range(program.inputs)
        }
        for giant in program.giants:
            for term in giant.terms:
                block = (giant.output, term.input)
                step = (giant.step + term.baby) % slots
                row = rows[block].setdefault(step, len(rows[block]))
                self._places[term.diagonal] = (block, row, giant.step)
        for steps in rows.values():
            # The transform of no diagonals gives garbage: zeros at step 0 stand for it.
            if not steps:
                steps[0] = 0
        self._steps = {block: list(steps) for block, steps in rows.items()}
        self._log_ratio, self.needed = self._choose_ratio(keys)
        self._values = None

    @property
    def count(self) -> int:
        """Encoded diagonals."""
        return sum(map(len, self._steps.values()))

    def add(self, diagonal: int, vector) -> None:
        """Takes a diagonal. Two at the same step of a block add up."""
        import numpy as np

        if self._values is None:
            self._values = {
                block: np.zeros((len(steps), self._slots), dtype="<f8")
                for block, steps in self._steps.items()
            }
        block, row, giant = self._places[diagonal]
        self._values[block][row] += np.roll(vector, -giant)

    def drop_values(self) -> None:
        """Frees the diagonals once they are encoded."""
        self._values = None

    def model(self, params: dict, level: int) -> bytes:
        """The model file; its answers are rescaled, one level below `level`."""
        blobs = []
        references = {}
        for (output, source), steps in self._steps.items():
            references[f"diag_{output}_{source}"] = len(blobs)
            head = struct.pack(f"<I{len(steps)}i", len(steps), *steps)
            blobs.append(head + self._values[(output, source)].tobytes())
        node = {
            "name": "layer",
            "op": "linear_transform",
            "level": level,
            "depth": 1,
            "shape": {},
            "config": {
                "bsgs_ratio": float(1 << self._log_ratio),
                "output_rotations": 0,
                "num_input_cts": self.inputs,
                "num_output_cts": self._outputs,
            },
            "blob_refs": references,
        }
        header = {
            "version": 2,
            "params": params,
            "config": {"margin": 0, "embedding_method": "", "fuse_modules": True},
            "manifest": {
                "galois_elements": [],
                "bootstrap_slots": [],
                "boot_logp": [],
                "needs_rlk": False,
            },
            "input_level": level,
            "cost": {},
            "graph": {"input": "layer", "output": "layer", "nodes": [node], "edges": []},
            "blob_count": len(blobs),
        }
        text = json.dumps(header).encode("utf-8")
        parts = [MAGIC, struct.pack("<I", len(text)), text, struct.pack("<I", len(blobs))]
        for blob in blobs:
            parts += [struct.pack("<Q", len(blob)), blob]
        return b"".join(parts)

    def _choose_ratio(self, keys: frozenset[int]) -> tuple[int, set[int]]:
        """The ratio with the fewest rotations, those whose keys are there first, and its steps."""
        best = None
        for log_ratio in RATIOS:
            babies: set[tuple[int, int]] = set()
            giants = 0
            needed: set[int] = set()
            for (_, source), steps in self._steps.items():
                block_giants, block_babies = rotations(steps, self._slots, log_ratio)
                # Outputs share the rotations of an input.
                babies |= {(source, step) for step in block_babies}
                giants += len(block_giants)
                needed |= block_giants | block_babies
            # A giant step costs about two baby steps, which share one decomposition.
            cost = (not needed <= keys, len(babies) + 2 * giants)
            if best is None or cost < best[0]:
                best = (cost, log_ratio, needed)
        return best[1:]
