"""Packs a matrix into diagonals, in NumPy alone: the periodic layout of docs/packing.md."""

import numpy as np


class Layer:
    """A real d_in × d_out matrix for ciphertexts of n slots.

    With complex slots, halves of the inputs are folded into one slot. Rows and columns are cut into
    equal pieces where they do not fit. `program` and `diagonals` are what a worker is given.
    """

    def __init__(self, weights, slots: int, slot_kind: str, babies: int | None = None):
        self._fold = slot_kind == "complex"
        self._slots = slots
        self._columns = weights.shape[1]
        matrix = _folded(weights) if self._fold else weights
        rows = matrix.shape[0]
        self._inputs, self._period = _pieces(rows, slots)
        self._outputs, self._width = _pieces(self._columns, slots)
        padded = np.zeros(
            (self._inputs * self._period, self._outputs * self._width), dtype=matrix.dtype
        )
        padded[:rows, : self._columns] = matrix
        copies = slots // self._width
        base = max(self._period, copies)
        run = base // copies
        self._column_of_slot = _columns(slots, self._width, base, run)
        babies = babies or _power_of_two(max(1, int(np.sqrt(run))))
        self._build(padded, run, babies)

    def _build(self, padded, run: int, babies: int) -> None:
        slot = np.arange(self._slots)
        masks = _first_meetings(self._column_of_slot, self._period, self._width, run)
        self.diagonals = []
        giants = []
        steps = set()
        for output in range(self._outputs):
            for giant in range(0, run, babies):
                terms = []
                for source in range(self._inputs):
                    block = padded[
                        source * self._period : (source + 1) * self._period,
                        output * self._width : (output + 1) * self._width,
                    ]
                    for step in range(giant, min(giant + babies, run)):
                        row = (slot + step) % self._period
                        diagonal = np.where(masks[step], block[row, self._column_of_slot], 0)
                        if not diagonal.any():
                            continue
                        terms.append([source, step - giant, len(self.diagonals)])
                        self.diagonals.append(np.roll(diagonal, giant))
                        steps |= {giant, step - giant}
                if terms:
                    giants.append({"output": output, "step": giant, "terms": terms})
        self.diagonals = np.array(self.diagonals)
        self.steps = sorted(steps - {0})
        self.program = {
            "inputs": self._inputs,
            "outputs": self._outputs,
            "diagonals": len(self.diagonals),
            "giants": giants,
        }

    def slots_of(self, batch):
        """Rows of `batch` as slot vectors, group by group."""
        if self._fold:
            half = (batch.shape[1] + 1) // 2
            first, second = batch[:, :half], batch[:, half:]
            values = first.astype(complex)
            values[:, : second.shape[1]] += 1j * second
        else:
            values = batch
        padded = np.zeros((len(batch), self._inputs * self._period), dtype=values.dtype)
        padded[:, : values.shape[1]] = values
        pieces = padded.reshape(len(batch) * self._inputs, self._period)
        return np.tile(pieces, (1, self._slots // self._period))

    def answers_of(self, vectors):
        """Slot vectors of the answers as rows of d_out values."""
        sums = np.zeros((len(vectors), self._width))
        np.add.at(sums, (slice(None), self._column_of_slot), vectors.real)
        return sums.reshape(-1, self._outputs * self._width)[:, : self._columns]


def _folded(weights):
    half = (weights.shape[0] + 1) // 2
    matrix = weights[:half].astype(complex)
    matrix[: weights.shape[0] - half] -= 1j * weights[half:]
    return matrix


def _power_of_two(value: int) -> int:
    return 1 << (value - 1).bit_length()


def _pieces(length: int, slots: int) -> tuple[int, int]:
    """How many pieces, and the power of two that each is padded to."""
    if length <= slots:
        return 1, _power_of_two(length)
    return -(-length // slots), slots


def _columns(slots: int, width: int, base: int, run: int):
    slot = np.arange(slots)
    copy, place = slot // width, slot % width
    roll = run * (copy * width // base) if width < base else run * copy
    return (place - roll) % width


def _first_meetings(column_of_slot, period: int, width: int, run: int):
    """For each step, the slots where a row and a column meet that have not met before."""
    slot = np.arange(len(column_of_slot))
    met = np.zeros(period * width, dtype=bool)
    masks = []
    for step in range(run):
        entries = (slot + step) % period * width + column_of_slot
        mask = np.zeros(len(slot), dtype=bool)
        mask[np.unique(entries, return_index=True)[1]] = True
        mask &= ~met[entries]
        met[entries] = True
        masks.append(mask)
    assert met.all(), "a layout that misses an entry"
    return masks
