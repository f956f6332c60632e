"""What a library has to offer."""

import math
from dataclasses import asdict, dataclass, field

from .failure import unsupported
from .pins import check_pins
from .program import Program
from .vectors import REAL


class StartAnew(Exception):
    """Raised by `open`: this process has to start again with other environment variables.

    For libraries that read them when they are loaded. The process keeps its id and its pipes, and
    `open` is called again there.
    """

    def __init__(self, environment: dict[str, str]):
        super().__init__("start anew")
        self.environment = environment


@dataclass(frozen=True)
class Parameters:
    """Parameters of a context: `q` of the largest ciphertext, `p` of key switching."""

    name: str
    # The one that the security argument is about.
    ring_degree: int
    q: list[int]
    p: list[int]
    secret: str
    error: str


@dataclass(frozen=True)
class Opened:
    """The reply to `open`."""

    kernels: str
    slots: int
    parameters: Parameters
    # log2 of the scale of inputs.
    log_scale: float
    # Largest |value| of an answer's slot that does not overflow; 0 if not known.
    largest: float
    slot_kind: str = REAL
    device: str = "cpu"
    notes: list[str] = field(default_factory=list)
    # Largest |double| of inputs and of diagonals that can be encoded. Not part of the reply.
    input_limit: float = math.inf
    diagonal_limit: float = math.inf

    def reply(self) -> dict:
        """As the protocol has it."""
        fields = asdict(self)
        del fields["input_limit"], fields["diagonal_limit"]
        return fields


class Library:
    """One library. The calls come in order and with checked arguments.

    Vectors are numpy arrays of n slots, float64 or complex128; a rotation by s moves to slot p
    what was in slot (p + s) mod n. An exception is a library error; `Failure` for anything else.
    """

    # As given to --lib.
    name = ""
    # Of the library's source, where the worker was written against one.
    commit: str | None = None
    # Names that `open` knows, the default first.
    presets: list[str] = []
    modes: list[str] = []
    # File of pinned versions; None for a library that needs no package but numpy.
    requirements: str | None = None

    def version(self) -> str:
        """Of the library, found without loading it."""
        raise NotImplementedError

    def check_installed(self) -> None:
        """A failure where the library is missing or of another version."""
        if self.requirements is not None:
            check_pins(self.requirements)

    def open(self, preset: str, mode: str | None, threads: int) -> Opened:
        """Loads the library and makes a context."""
        raise NotImplementedError

    def keys(self, steps: list[int]) -> int:
        """Makes all keys; gives the bytes of the evaluation keys as sent, 0 if not known."""
        raise NotImplementedError

    def prepare_begin(self, program: Program) -> None:
        """Starts a layer. May refuse it with `unsupported`, and then keeps the one before."""
        raise NotImplementedError

    def prepare_diagonal(self, diagonal: int, vector) -> None:
        """Takes the next diagonal; the array is only lent."""
        raise NotImplementedError

    def prepare_end(self) -> tuple[int, float]:
        """Gives the bytes of the encoded diagonals and log2 of their scale."""
        raise NotImplementedError

    def encrypt(self, vectors) -> int:
        """Encrypts a batch of shape (ciphertexts, n); gives its bytes as sent, 0 if not known."""
        raise NotImplementedError

    def evaluate(self) -> None:
        """Makes the answers; the batch stays as it is."""
        raise NotImplementedError

    def rescale(self) -> None:
        """Divides the answers by the weights' scale; nothing where `evaluate` has done so."""

    def bootstrap(self) -> None:
        """Refreshes the batch, which gives the answers."""
        raise unsupported(f"{self.name} does not bootstrap here")

    def synchronise(self) -> None:
        """Waits for the device."""

    def answers_bytes(self) -> int:
        """Bytes of the answers as sent; 0 if not known."""
        raise NotImplementedError

    def decrypt(self):
        """The answers, of shape (groups times outputs, n), group by group."""
        raise NotImplementedError
