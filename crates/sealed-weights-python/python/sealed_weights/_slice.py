"""Tensors that are read by indexing."""

import operator


class Slice:
    """A tensor of which only the rows asked for are decrypted."""

    def __init__(self, model, framework, name):
        self._model = model
        self._framework = framework
        self._file, self._dtype, self._shape, self._begin, self._end = model.info(name)
        self._type = framework.type_of(name, self._dtype)

    def get_shape(self):
        """Sides, outermost first."""
        return list(self._shape)

    def get_dtype(self):
        """Element type as safetensors names it."""
        return self._dtype

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        if not self._shape or not index or index[0] is Ellipsis:
            rows = range(self._shape[0]) if self._shape else range(1)
            return self._read(rows)[index]
        first, rest = index[0], index[1:]
        if isinstance(first, slice):
            begin, end, step = first.indices(self._shape[0])
            if step < 0:
                raise IndexError(f"steps must be positive, not {step}")
            rows = range(begin, max(begin, end))
            return self._read(rows)[(slice(None, None, step), *rest)]
        row = operator.index(first)
        if not -self._shape[0] <= row < self._shape[0]:
            raise IndexError(f"row {row} of a tensor of {self._shape[0]} rows")
        row %= self._shape[0]
        return self._read(range(row, row + 1))[(0, *rest)]

    def _read(self, rows):
        """Whole rows of the first side; of a scalar, the scalar."""
        if not self._shape:
            memory = self._model.read(self._file, self._begin, self._end)
            return self._framework.tensor(memory, 0, self._type, [])
        width = (self._end - self._begin) // self._shape[0] if self._shape[0] else 0
        begin = self._begin + rows.start * width
        memory = self._model.read(self._file, begin, begin + len(rows) * width)
        return self._framework.tensor(memory, 0, self._type, [len(rows), *self._shape[1:]])
