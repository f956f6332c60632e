"""A layer for one group of vectors, as baby steps and giant steps:

output[o] = Σ_giants of o  rotate(step,  Σ_terms  diagonal · rotate(baby step, input))
"""

from dataclasses import dataclass
from typing import NamedTuple

from . import fields
from .failure import bad_argument
from .fields import U32, U64, Fields


class Term(NamedTuple):
    """One product: an input, rotated, times a diagonal."""

    input: int
    baby: int
    diagonal: int


@dataclass(frozen=True)
class Giant:
    """A sum of products, rotated and added to an output."""

    output: int
    step: int
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Program:
    """A layer. Giants come by output, then step; terms by input, then baby step."""

    inputs: int
    outputs: int
    diagonals: int
    giants: tuple[Giant, ...]

    def rotations(self) -> set[int]:
        """Steps that need a key."""
        giants = {giant.step for giant in self.giants}
        babies = {term.baby for giant in self.giants for term in giant.terms}
        return (giants | babies) - {0}


def read_program(request: Fields, slots: int, keys: set[int]) -> Program:
    """The program of a `prepare_begin`, checked whole."""
    inputs = request.integer("inputs", 1, U32)
    outputs = request.integer("outputs", 1, U32)
    diagonals = request.integer("diagonals", 1, U64)
    listed = request.items("giants")
    request.done()
    # Each diagonal has one term, so the length of the message bounds what is set aside for them.
    used: set[int] = set()
    giants = []
    before = (-1, -1)
    for number, value in enumerate(listed):
        giant = _read_giant(value, f"prepare_begin: giant {number}", inputs, outputs, slots)
        place = (giant.output, giant.step)
        if place <= before:
            raise bad_argument(
                f"prepare_begin: giant {number} has output {place[0]}, step {place[1]} after "
                f"output {before[0]}, step {before[1]}; giants ascend by output, then step"
            )
        before = place
        for term in giant.terms:
            if term.diagonal >= diagonals:
                raise bad_argument(
                    f"prepare_begin: giant {number} uses diagonal {term.diagonal} of {diagonals}"
                )
            if term.diagonal in used:
                raise bad_argument(
                    f"prepare_begin: diagonal {term.diagonal} is used by two terms; each has one"
                )
            used.add(term.diagonal)
        giants.append(giant)
    if len(used) != diagonals:
        raise bad_argument(
            f"prepare_begin: {len(used)} of {diagonals} diagonals are used by a term"
        )
    program = Program(inputs, outputs, diagonals, tuple(giants))
    missing = program.rotations() - keys
    if missing:
        raise bad_argument(
            f"prepare_begin: step {min(missing)} has no key; keys come before layers"
        )
    return program


def _read_giant(value, where: str, inputs: int, outputs: int, slots: int) -> Giant:
    giant = Fields(value, where)
    output = giant.integer("output", 0, outputs - 1)
    step = giant.integer("step", 0, slots - 1)
    listed = giant.items("terms")
    giant.done()
    if not listed:
        raise bad_argument(f"{where} has no terms; at least one is needed")
    terms = []
    before = (-1, -1)
    for number, value in enumerate(listed):
        what = f"{where}, term {number}"
        entries = fields.items(value, what)
        if len(entries) != 3:
            raise bad_argument(f"{what} has {len(entries)} entries, expected input, step, diagonal")
        term = Term(
            fields.integer(entries[0], 0, inputs - 1, f"{what}: input"),
            fields.integer(entries[1], 0, slots - 1, f"{what}: baby step"),
            fields.integer(entries[2], 0, U64, f"{what}: diagonal"),
        )
        if (term.input, term.baby) <= before:
            raise bad_argument(f"{what} is out of order; terms ascend by input, then baby step")
        before = (term.input, term.baby)
        terms.append(term)
    return Giant(output, step, tuple(terms))
