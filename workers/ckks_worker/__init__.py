"""Workers of the slots dialect: one process that answers for one CKKS library.

The protocol is docs/worker-protocol.md; the order and the meaning of the calls are those of
cuda/include/ckks_backend.h. A worker for a library is a subclass of `Library`, handed to `serve`:

    frames.py    framed messages
    process.py   standard streams, signals, the loop over requests, exit statuses
    dispatch.py  from requests to calls, and what each call gives
    session.py   order of calls
    fields.py    strict reading of a request's fields
    program.py   a layer as baby steps and giant steps
    vectors.py   payloads as slot vectors
    library.py   what a library has to offer
    failure.py   kinds of failures
    pins.py      installed versions against the pinned ones
    memory.py    memory in use

Nothing here is imported from outside the standard library before the standard streams are set up;
numpy and the library come with the first call that needs them.
"""

from .failure import Failure
from .library import Library, Opened, Parameters, StartAnew
from .process import serve

__all__ = ["Failure", "Library", "Opened", "Parameters", "StartAnew", "serve"]
