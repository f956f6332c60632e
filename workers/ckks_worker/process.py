"""The process of a worker: standard streams, signals, the loop over requests, exit statuses."""

import json
import os
import signal
import sys

from .dispatch import Dispatcher
from .frames import EndOfStream, FrameError, read_frame, write_frame
from .library import Library, StartAnew

# Exit statuses. 0 only after `close` was answered.
PARENT_GONE = 3
BROKEN_REQUEST = 4
# In the environment of a process that started anew.
RESUME = "CKKS_WORKER_RESUME"


def serve(library: Library) -> None:
    """Answers requests until `close`, then ends the process. Never returns.

    Called before the library, or anything that may print, is imported.
    """
    # Ctrl-C is the parent's business, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # One thread each, unless the library sets up its own: read when numpy is loaded.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    dispatcher = Dispatcher(library)
    status = PARENT_GONE
    try:
        requests, replies, pending = _streams(dispatcher)
        status = _answer_all(dispatcher, requests, replies, pending)
    except EndOfStream:
        print("worker: standard input ended before close", file=sys.stderr)
    except BrokenPipeError:
        print("worker: the parent no longer reads replies", file=sys.stderr)
    except FrameError as error:
        print(f"worker: broken request: {error}", file=sys.stderr)
        status = BROKEN_REQUEST
    sys.stderr.flush()
    # Without the library's own ends, which may fail after the work is done.
    os._exit(status)


def _answer_all(dispatcher: Dispatcher, requests, replies, pending: dict | None) -> int:
    while True:
        if pending is None:
            header, payload = read_frame(requests)
        else:
            header, payload, pending = pending, bytearray(), None
        try:
            reply, data, done = dispatcher.answer(header, payload)
        except StartAnew as anew:
            _start_anew(anew, header, requests, replies)
        write_frame(replies, reply, data)
        if done:
            return 0


def _streams(dispatcher: Dispatcher):
    """Requests and replies on descriptors of their own; what a library prints goes to stderr."""
    saved = os.environ.pop(RESUME, None)
    if saved is not None:
        state = json.loads(saved)
        header = state["header"]
        dispatcher.resume(header["id"] - 1)
        descriptors = state["requests"], state["replies"]
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
    else:
        header = None
        descriptors = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
    # Unbuffered: a process that starts anew must find the rest of the requests in the pipe.
    return (
        open(descriptors[0], "rb", buffering=0),
        open(descriptors[1], "wb", buffering=0),
        header,
    )


def _start_anew(anew: StartAnew, header: dict, requests, replies) -> None:
    """Replaces the program by itself, which goes on with the request of this header."""
    for stream in (requests, replies):
        os.set_inheritable(stream.fileno(), True)
    state = {"header": header, "requests": requests.fileno(), "replies": replies.fileno()}
    environment = {**os.environ, **anew.environment, RESUME: json.dumps(state)}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
