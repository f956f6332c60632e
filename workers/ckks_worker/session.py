"""Order of calls: one context in the life of a process, one layer and one batch at a time."""

from .failure import bad_argument
from .program import Program
from .vectors import SlotVectors


class Session:
    """Where a worker stands. `require_*` are failures that change nothing."""

    def __init__(self):
        self.greeted = False
        self.vectors: SlotVectors | None = None
        self.bootstrap = False
        self.keys: set[int] | None = None
        # The layer that evaluation uses, and the one that is being prepared.
        self.program: Program | None = None
        self.preparing: Program | None = None
        self.next_diagonal = 0
        self.ciphertexts = 0
        self.evaluated = False
        self.answered = False
        # The call after whose failure the context cannot be used.
        self.failed_in: str | None = None

    def require_usable(self, call: str) -> None:
        """Not after a failure that cannot be recovered from, and not before `hello`."""
        if not self.greeted and call != "hello":
            raise bad_argument(f"{call} before hello")
        if self.failed_in is not None:
            raise bad_argument(f"{call} after {self.failed_in} failed; only close can follow")

    def require_unopened(self, call: str) -> None:
        """One context in the life of a process."""
        if self.vectors is not None:
            raise bad_argument(f"{call} for a second time; a process opens one context")

    def require_open(self, call: str) -> SlotVectors:
        """There is a context."""
        if self.vectors is None:
            raise bad_argument(f"{call} before open")
        return self.vectors

    def require_keys(self, call: str) -> set[int]:
        """There are keys."""
        self.require_open(call)
        if self.keys is None:
            raise bad_argument(f"{call} before keys")
        return self.keys

    def require_layers(self, call: str) -> None:
        """The context is for layers."""
        self.require_keys(call)
        if self.bootstrap:
            raise bad_argument(f"{call} in a context that was opened for bootstrap")

    def require_preparing(self, call: str) -> Program:
        """A layer was begun."""
        self.require_layers(call)
        if self.preparing is None:
            raise bad_argument(f"{call} before prepare_begin")
        return self.preparing

    def require_encrypting(self, call: str, ciphertexts: int) -> None:
        """A batch may come: there is a layer, or the context is for bootstrap."""
        self.require_keys(call)
        inputs = 1
        if not self.bootstrap:
            if self.preparing is not None or self.program is None:
                raise bad_argument(f"{call} before prepare_end")
            inputs = self.program.inputs
        if ciphertexts % inputs:
            raise bad_argument(
                f"{call}: {ciphertexts} ciphertexts for a layer of {inputs} inputs; "
                "they come in whole groups"
            )

    def require_batch(self, call: str) -> None:
        """There is a batch for the layer, or to bootstrap."""
        self.require_keys(call)
        if (call == "bootstrap") != self.bootstrap:
            raise bad_argument(
                f"{call} in a context that was opened with bootstrap: {self.bootstrap}"
            )
        if self.ciphertexts == 0:
            raise bad_argument(f"{call} before encrypt")

    def require_evaluated(self, call: str) -> None:
        """Rescaling follows each evaluation, once."""
        self.require_keys(call)
        if not self.evaluated:
            raise bad_argument(f"{call} before evaluate")
        if self.answered:
            raise bad_argument(f"{call} for a second time after evaluate")

    def require_answers(self, call: str) -> None:
        """There are answers."""
        self.require_keys(call)
        if not self.answered:
            raise bad_argument(f"{call} before {'bootstrap' if self.bootstrap else 'rescale'}")

    def drop_batch(self) -> None:
        """The batch before is gone, and its answers."""
        self.ciphertexts = 0
        self.evaluated = False
        self.answered = False

    def answers(self) -> int:
        """How many answers there are."""
        if self.bootstrap or self.program is None:
            return self.ciphertexts
        return self.ciphertexts // self.program.inputs * self.program.outputs
