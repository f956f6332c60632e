"""Kinds of failures; those of the C ABI."""

BAD_ARGUMENT = "bad-argument"
UNSUPPORTED = "unsupported"
NO_DEVICE = "no-device"
OUT_OF_MEMORY = "out-of-memory"
DEVICE_FAULT = "device-fault"
LIBRARY_ERROR = "library-error"
INTERNAL = "internal"

# After these nothing has changed, and the parent may go on.
RECOVERABLE = frozenset({BAD_ARGUMENT, UNSUPPORTED})


class Failure(Exception):
    """A call that failed: what the parent is told."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code
        self.message = message


def bad_argument(message: str) -> Failure:
    """The request is wrong; nothing changed."""
    return Failure(BAD_ARGUMENT, message)


def unsupported(message: str) -> Failure:
    """The library, or these parameters, cannot do this; nothing changed."""
    return Failure(UNSUPPORTED, message)


def of_library(error: BaseException) -> Failure:
    """What an exception out of a library's call means."""
    if isinstance(error, Failure):
        return error
    text = str(error) or type(error).__name__
    if isinstance(error, MemoryError):
        return Failure(OUT_OF_MEMORY, text)
    return Failure(LIBRARY_ERROR, text)
