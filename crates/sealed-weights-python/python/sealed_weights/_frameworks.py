"""From plaintext memory to arrays of numpy and tensors of torch, without a copy."""

import math

from ._native import SealError

# Element types as safetensors names them. numpy has none of the second kind itself.
_NUMPY = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}
_SMALL = {
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}


def framework_named(name, device):
    """The framework of that name, as safetensors names them."""
    if name in ("np", "numpy"):
        if str(device) != "cpu":
            raise ValueError(f"device {device!r}: numpy has only 'cpu'; use framework='pt'")
        return _Numpy()
    if name in ("pt", "torch", "pytorch"):
        return _Torch(device)
    raise ValueError(f"framework is {name!r}; it must be 'pt' or 'np'")


class _Numpy:
    def __init__(self):
        import numpy

        self._numpy = numpy

    def type_of(self, name, dtype):
        if dtype in _NUMPY:
            return self._numpy.dtype(_NUMPY[dtype])
        if dtype not in _SMALL:
            raise SealError(f"tensor {name!r} holds {dtype} values, which numpy cannot hold")
        try:
            import ml_dtypes
        except ImportError:
            raise SealError(
                f"tensor {name!r} holds {dtype} values, which numpy has only with the package "
                "ml_dtypes; install it, or use framework='pt'"
            ) from None
        return self._numpy.dtype(getattr(ml_dtypes, _SMALL[dtype]))

    def tensor(self, memory, offset, dtype, shape):
        count = math.prod(shape)
        if count == 0:
            return self._numpy.empty(shape, dtype)
        return self._numpy.frombuffer(memory, dtype, count, offset).reshape(shape)


class _Torch:
    def __init__(self, device):
        import torch

        self._torch = torch
        self._device = device

    def type_of(self, name, dtype):
        text = {**_NUMPY, **_SMALL}.get(dtype)
        found = getattr(self._torch, text, None) if text else None
        if found is None:
            raise SealError(f"tensor {name!r} holds {dtype} values, which this torch cannot hold")
        return found

    def tensor(self, memory, offset, dtype, shape):
        count = math.prod(shape)
        if count == 0:
            return self._torch.empty(shape, dtype=dtype, device=self._device)
        flat = self._torch.frombuffer(memory, dtype=dtype, count=count, offset=offset)
        return flat.reshape(shape).to(self._device)
