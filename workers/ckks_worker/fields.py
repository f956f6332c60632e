"""Strict reading of the fields of a request: every field is known, present and in range."""

from .failure import bad_argument

U32 = 2**32 - 1
U64 = 2**64 - 1


class Fields:
    """The fields of one object. Each is taken once; `done` refuses what is left."""

    def __init__(self, values, where: str):
        if not isinstance(values, dict):
            raise bad_argument(f"{where} is {shown(values)}, expected an object")
        self._values = dict(values)
        self._where = where

    def integer(self, name: str, low: int, high: int) -> int:
        """An integer, low ≤ value ≤ high."""
        return integer(self._take(name), low, high, f"{self._where}: {name}")

    def boolean(self, name: str) -> bool:
        """true or false."""
        value = self._take(name)
        if not isinstance(value, bool):
            raise bad_argument(f"{self._where}: {name} is {shown(value)}, expected true or false")
        return value

    def text_or_none(self, name: str) -> str | None:
        """A string or null."""
        value = self._take(name)
        if value is not None and not isinstance(value, str):
            raise bad_argument(f"{self._where}: {name} is {shown(value)}, expected text or null")
        return value

    def items(self, name: str) -> list:
        """A list of anything."""
        return items(self._take(name), f"{self._where}: {name}")

    def done(self) -> None:
        """Refuses fields that nobody asked for."""
        for name in self._values:
            raise bad_argument(f"{self._where}: unknown field {name!r}")

    def _take(self, name: str):
        if name not in self._values:
            raise bad_argument(f"{self._where}: field {name!r} is missing")
        return self._values.pop(name)


def integer(value, low: int, high: int, what: str) -> int:
    """`value` if it is an integer in range; true and false are none."""
    if type(value) is not int:
        raise bad_argument(f"{what} is {shown(value)}, expected an integer")
    if not low <= value <= high:
        raise bad_argument(f"{what} is {value}, expected {low} to {high}")
    return value


def items(value, what: str) -> list:
    """`value` if it is a list."""
    if not isinstance(value, list):
        raise bad_argument(f"{what} is {shown(value)}, expected a list")
    return value


def steps(values: list, slots: int) -> list[int]:
    """Rotation steps: ascending, without duplicates, 1 ≤ step < slots."""
    before = 0
    for position, value in enumerate(values):
        step = integer(value, 1, slots - 1, f"keys: step {position}")
        if step <= before:
            raise bad_argument(f"keys: step {position} is {step} after {before}; steps ascend")
        before = step
    return list(values)


def shown(value) -> str:
    """A value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
