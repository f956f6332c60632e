"""From requests to calls of a library."""

import time

from . import fields
from .failure import (
    INTERNAL,
    OUT_OF_MEMORY,
    RECOVERABLE,
    Failure,
    bad_argument,
    of_library,
    unsupported,
)
from .fields import U32, U64, Fields
from .frames import FrameError
from .library import Library, StartAnew
from .memory import resident_peak_bytes
from .program import read_program
from .session import Session
from .vectors import SlotVectors

PROTOCOL = 1
# The calls whose requests carry doubles.
WITH_PAYLOAD = frozenset({"prepare_diagonals", "encrypt"})


class Dispatcher:
    """Answers requests with one library, one at a time."""

    def __init__(self, library: Library):
        self._library = library
        self._session = Session()
        self._last_id = 0
        self._seconds = 0.0
        self._calls = {
            "hello": self._hello,
            "probe": self._probe,
            "open": self._open,
            "keys": self._keys,
            "prepare_begin": self._prepare_begin,
            "prepare_diagonals": self._prepare_diagonals,
            "prepare_end": self._prepare_end,
            "encrypt": self._encrypt,
            "evaluate": self._evaluate,
            "rescale": self._rescale,
            "bootstrap": self._bootstrap,
            "synchronise": self._synchronise,
            "answers": self._answers,
            "decrypt": self._decrypt,
            "memory": self._memory,
            "close": self._close,
        }

    def resume(self, last_id: int) -> None:
        """Goes on in a process that started anew: greeted, and about to open."""
        self._session.greeted = True
        self._last_id = last_id

    def answer(self, header: dict, payload: bytearray):
        """Reply, its payload, and whether the worker is done. `StartAnew` passes through.

        `FrameError` for a request that there can be no reply to.
        """
        request_id = header.get("id")
        if type(request_id) is not int or not 1 <= request_id <= U64:
            raise FrameError(f"a request whose id is {fields.shown(request_id)}")
        self._seconds = 0.0
        reply: dict = {"id": request_id}
        data = b""
        call = header.get("call")
        try:
            ok, data = self._run(request_id, call, header, payload)
            reply["ok"] = ok
            reply["seconds"] = self._seconds
        except Failure as failure:
            if failure.code not in RECOVERABLE:
                self._session.failed_in = call
            reply["error"] = {"code": failure.code, "message": failure.message}
        return reply, data, "ok" in reply and call == "close"

    def _run(self, request_id: int, call, header: dict, payload: bytearray):
        if request_id <= self._last_id:
            raise bad_argument(f"id {request_id} after {self._last_id}; ids ascend")
        self._last_id = request_id
        if not isinstance(call, str) or call not in self._calls:
            raise bad_argument(f"call is {fields.shown(call)}, which is none of the protocol")
        request = Fields({k: v for k, v in header.items() if k not in ("id", "call")}, call)
        if payload and call not in WITH_PAYLOAD:
            raise bad_argument(f"{call} takes no payload; {len(payload)} bytes came")
        if call != "close":
            self._session.require_usable(call)
        try:
            result = self._calls[call](request, payload)
        except (Failure, StartAnew):
            raise
        except MemoryError as error:
            raise Failure(OUT_OF_MEMORY, f"{call}: memory of the worker ran out") from error
        except Exception as error:  # Whatever it is, the parent is told.
            raise Failure(INTERNAL, f"{call}: {type(error).__name__}: {error}") from error
        return result if isinstance(result, tuple) else (result, b"")

    def _timed(self, function, *arguments):
        """Calls the library."""
        start = time.perf_counter()
        try:
            return function(*arguments)
        except StartAnew:
            raise
        except Exception as error:
            raise of_library(error) from error
        finally:
            self._seconds += time.perf_counter() - start

    def _hello(self, request: Fields, _payload):
        protocol = request.integer("protocol", 0, U32)
        request.done()
        if protocol != PROTOCOL:
            raise unsupported(f"protocol {protocol}; this worker speaks {PROTOCOL}")
        self._library.check_installed()
        self._session.greeted = True
        return {
            "protocol": PROTOCOL,
            "dialect": "slots",
            "library": self._library.name,
            "version": self._library.version(),
            "commit": self._library.commit,
            "presets": self._library.presets,
            "modes": self._library.modes,
        }

    def _probe(self, request: Fields, _payload):
        request.done()
        return {"devices": [{"name": "cpu", "memory_bytes": 0}], "driver": None}

    def _open(self, request: Fields, _payload):
        preset = request.text_or_none("params")
        mode = request.text_or_none("mode")
        request.integer("device", 0, 0)
        threads = request.integer("threads", 1, U32)
        bootstrap = request.boolean("bootstrap")
        request.done()
        self._session.require_unopened("open")
        preset = _chosen("params", preset, self._library.presets)
        mode = _chosen("mode", mode, self._library.modes)
        if bootstrap and type(self._library).bootstrap is Library.bootstrap:
            self._library.bootstrap()
        opened = self._timed(self._library.open, preset, mode, threads)
        self._session.vectors = SlotVectors(
            opened.slots, opened.slot_kind, opened.input_limit, opened.diagonal_limit
        )
        self._session.bootstrap = bootstrap
        return opened.reply()

    def _keys(self, request: Fields, _payload):
        vectors = self._session.require_open("keys")
        steps = fields.steps(request.items("steps"), vectors.slots)
        request.done()
        if self._session.keys is not None:
            raise bad_argument("keys for a second time; they come once")
        size = self._timed(self._library.keys, steps)
        self._session.keys = set(steps)
        return {"galois_keys": len(steps), "key_bytes": size}

    def _prepare_begin(self, request: Fields, _payload):
        session = self._session
        session.require_layers("prepare_begin")
        program = read_program(request, session.vectors.slots, session.keys)
        self._timed(self._library.prepare_begin, program)
        session.program = None
        session.preparing = program
        session.next_diagonal = 0
        session.drop_batch()
        return {}

    def _prepare_diagonals(self, request: Fields, payload):
        session = self._session
        program = session.require_preparing("prepare_diagonals")
        first = request.integer("first", 0, U64)
        request.done()
        if first != session.next_diagonal:
            raise bad_argument(
                f"prepare_diagonals: first is {first}, {session.next_diagonal} is next"
            )
        vectors = session.vectors.read("prepare_diagonals", payload)
        if first + len(vectors) > program.diagonals:
            raise bad_argument(
                f"prepare_diagonals: {first} + {len(vectors)} diagonals for a layer of "
                f"{program.diagonals}"
            )
        for offset, vector in enumerate(vectors):
            self._timed(self._library.prepare_diagonal, first + offset, vector)
        session.next_diagonal = first + len(vectors)
        return {}

    def _prepare_end(self, request: Fields, _payload):
        session = self._session
        program = session.require_preparing("prepare_end")
        request.done()
        if session.next_diagonal != program.diagonals:
            raise bad_argument(
                f"prepare_end after {session.next_diagonal} of {program.diagonals} diagonals"
            )
        size, log_scale = self._timed(self._library.prepare_end)
        session.program, session.preparing = program, None
        return {"prepared_bytes": size, "log_scale": log_scale}

    def _encrypt(self, request: Fields, payload):
        session = self._session
        ciphertexts = request.integer("ciphertexts", 1, U64)
        request.done()
        session.require_encrypting("encrypt", ciphertexts)
        vectors = session.vectors.read("encrypt", payload, ciphertexts)
        size = self._timed(self._library.encrypt, vectors)
        session.drop_batch()
        session.ciphertexts = ciphertexts
        return {"ciphertexts": ciphertexts, "bytes": size}

    def _evaluate(self, request: Fields, _payload):
        request.done()
        self._session.require_batch("evaluate")
        self._timed(self._library.evaluate)
        self._session.evaluated = True
        self._session.answered = False
        return {}

    def _rescale(self, request: Fields, _payload):
        request.done()
        self._session.require_evaluated("rescale")
        self._timed(self._library.rescale)
        self._session.answered = True
        return {}

    def _bootstrap(self, request: Fields, _payload):
        request.done()
        self._session.require_batch("bootstrap")
        self._timed(self._library.bootstrap)
        self._session.answered = True
        return {}

    def _synchronise(self, request: Fields, _payload):
        request.done()
        self._session.require_open("synchronise")
        self._timed(self._library.synchronise)
        return {}

    def _answers(self, request: Fields, _payload):
        request.done()
        self._session.require_answers("answers")
        size = self._timed(self._library.answers_bytes)
        return {"ciphertexts": self._session.answers(), "bytes": size}

    def _decrypt(self, request: Fields, _payload):
        request.done()
        session = self._session
        session.require_answers("decrypt")
        count = session.answers()
        session.vectors.check_reply("decrypt", count)
        vectors = self._timed(self._library.decrypt)
        if len(vectors) != count:
            raise ValueError(f"the library gave {len(vectors)} of {count} answers")
        return {"ciphertexts": count}, session.vectors.payload(vectors)

    def _memory(self, request: Fields, _payload):
        request.done()
        peak = resident_peak_bytes()
        return {"resident_peak_bytes": peak, "device_bytes": 0, "device_peak_bytes": 0}

    def _close(self, request: Fields, _payload):
        request.done()
        return {"done": True}


def _chosen(field: str, value: str | None, known: list[str]) -> str | None:
    if value is None:
        return known[0] if known else None
    if value not in known:
        names = ", ".join(known) if known else "none"
        raise bad_argument(f"open: {field} is {fields.shown(value)}; known: {names}")
    return value
