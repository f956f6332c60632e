"""Payloads as slot vectors."""

from .failure import bad_argument, unsupported
from .frames import PAYLOAD_LIMIT

REAL = "real"
COMPLEX = "complex"


class SlotVectors:
    """Between payloads and arrays of shape (vectors, slots), real or complex."""

    def __init__(self, slots: int, kind: str, input_limit: float, diagonal_limit: float):
        self.slots = slots
        self._limits = {"encrypt": input_limit, "prepare_diagonals": diagonal_limit}
        self.doubles = slots * (2 if kind == COMPLEX else 1)
        self._kind = kind

    def read(self, call: str, payload: bytearray, count: int | None = None):
        """The vectors of a payload: `count` of them, or as many as there are, at least one."""
        import numpy as np

        values = np.frombuffer(payload, dtype="<f8")
        if count is None:
            if len(values) == 0 or len(values) % self.doubles:
                raise bad_argument(
                    f"{call}: {len(values)} doubles are not whole slot vectors of {self.doubles}"
                )
        elif len(values) != count * self.doubles:
            raise bad_argument(
                f"{call}: {len(values)} doubles instead of {count} slot vectors of {self.doubles}"
            )
        finite = np.isfinite(values)
        if not finite.all():
            index = int(np.argmin(finite))
            raise bad_argument(
                f"{call}: value {index} is {float(values[index])}, expected a number"
            )
        limit = self._limits[call]
        index = int(np.argmax(np.abs(values)))
        if abs(values[index]) > limit:
            raise bad_argument(
                f"{call}: value {index} is {float(values[index]):.3g}; "
                f"these parameters encode {limit:.3g} at most"
            )
        if self._kind == COMPLEX:
            values = values.view("<c16")
        return values.reshape(-1, self.slots)

    def check_reply(self, call: str, count: int) -> None:
        """Refuses a reply that does not fit a frame."""
        length = count * self.doubles * 8
        if length > PAYLOAD_LIMIT:
            raise unsupported(
                f"{call}: {count} answers are {length} bytes; a payload has {PAYLOAD_LIMIT} at "
                "most, so take fewer vectors at a time"
            )

    def payload(self, vectors):
        """The payload of an array of vectors."""
        import numpy as np

        wanted = "<c16" if self._kind == COMPLEX else "<f8"
        array = np.ascontiguousarray(vectors, dtype=wanted)
        if array.ndim != 2 or array.shape[1] != self.slots:
            raise ValueError(f"a library gave answers of shape {array.shape}")
        return array.view("<f8").data
