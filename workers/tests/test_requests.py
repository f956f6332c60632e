"""Requests that are wrong: each is refused, says why, and changes nothing."""

import unittest

from parent import np
from ckks_worker.dispatch import Dispatcher
from plain import Plain

OPEN = {"params": "plain-real-8", "mode": None, "device": 0, "threads": 1, "bootstrap": False}
GIANT = {"output": 0, "step": 2, "terms": [[0, 0, 0], [0, 1, 1]]}
PROGRAM = {"inputs": 1, "outputs": 1, "diagonals": 2, "giants": [GIANT]}


def doubles(*values) -> bytearray:
    return bytearray(np.array(values, dtype="<f8").tobytes())


class Asked(unittest.TestCase):
    """Asks a dispatcher without a process around it."""

    def setUp(self):
        self.dispatcher = Dispatcher(Plain())
        self.last_id = 0

    def ask(self, call, payload=b"", **fields):
        self.last_id += 1
        header = {"id": self.last_id, "call": call, **fields}
        reply, _, _ = self.dispatcher.answer(header, bytearray(payload))
        self.assertEqual(reply["id"], self.last_id)
        return reply

    def done(self, call, payload=b"", **fields):
        reply = self.ask(call, payload, **fields)
        self.assertIn("ok", reply, reply)
        return reply["ok"]

    def refused(self, words, call, payload=b"", code="bad-argument", **fields):
        reply = self.ask(call, payload, **fields)
        self.assertIn("error", reply, f"{call} {fields}")
        self.assertEqual(reply["error"]["code"], code, reply)
        self.assertIn(words, reply["error"]["message"])

    def keyed(self):
        self.done("hello", protocol=1)
        self.done("open", **OPEN)
        self.done("keys", steps=[1, 2, 5])

    def prepared(self):
        self.keyed()
        self.done("prepare_begin", **PROGRAM)
        self.done("prepare_diagonals", doubles(*range(16)), first=0)
        self.done("prepare_end")


class Fields(Asked):
    def test_hello(self):
        self.refused("before hello", "probe")
        self.refused("missing", "hello")
        self.refused("unknown field 'version'", "hello", protocol=1, version=1)
        for protocol in ("1", 1.0, True, None, [1]):
            self.refused("expected an integer", "hello", protocol=protocol)
        self.refused("speaks 1", "hello", code="unsupported", protocol=2)
        ok = self.done("hello", protocol=1)
        self.assertEqual((ok["library"], ok["dialect"], ok["protocol"]), ("plain", "slots", 1))

    def test_calls_and_ids(self):
        self.done("hello", protocol=1)
        for call in ("Hello", "", "__init__", "_hello", None, 3, ["probe"]):
            self.refused("none of the protocol", call)
        reply, _, _ = self.dispatcher.answer({"id": self.last_id, "call": "probe"}, bytearray())
        self.assertIn("ids ascend", reply["error"]["message"])
        self.last_id += 5
        self.done("probe")
        self.refused("takes no payload", "probe", doubles(1.0))
        self.refused("unknown field 'first'", "probe", first=0)

    def test_open(self):
        self.done("hello", protocol=1)
        for field, value, words in [
            ("params", "plain-real-16", "known: plain-real-4096"),
            ("params", 3, "expected text or null"),
            ("mode", "fast", "known: none"),
            ("device", 1, "expected 0 to 0"),
            ("device", -1, "expected 0 to 0"),
            ("threads", 0, "expected 1 to"),
            ("threads", 2**32, "expected 1 to"),
            ("threads", 2.0, "expected an integer"),
            ("bootstrap", 0, "expected true or false"),
            ("bootstrap", None, "expected true or false"),
        ]:
            self.refused(words, "open", **{**OPEN, field: value})
        for field in OPEN:
            fields = {name: value for name, value in OPEN.items() if name != field}
            self.refused(f"field '{field}' is missing", "open", **fields)
        self.refused("unknown field 'seed'", "open", **OPEN, seed=1)
        self.assertEqual(self.done("open", **OPEN)["slots"], 8)
        self.refused("second time", "open", **OPEN)

    def test_keys(self):
        self.done("hello", protocol=1)
        self.refused("before open", "keys", steps=[])
        self.done("open", **OPEN)
        for steps, words in [
            ([0], "expected 1 to 7"),
            ([8], "expected 1 to 7"),
            ([-1], "expected 1 to 7"),
            ([1, 1], "steps ascend"),
            ([3, 2], "steps ascend"),
            ([True], "expected an integer"),
            (["1"], "expected an integer"),
            (4, "expected a list"),
            (None, "expected a list"),
        ]:
            self.refused(words, "keys", steps=steps)
        self.assertEqual(self.done("keys", steps=[1, 7])["galois_keys"], 2)
        self.refused("second time", "keys", steps=[1])

    def test_programs(self):
        self.keyed()
        other = {**GIANT, "step": 5, "terms": [[0, 0, 2]]}
        for fields, words in [
            ({"inputs": 0}, "inputs is 0"),
            ({"outputs": 2**32}, "expected 1 to"),
            ({"diagonals": 0}, "diagonals is 0"),
            ({"diagonals": 3}, "2 of 3 diagonals"),
            ({"diagonals": 1}, "uses diagonal 1 of 1"),
            ({"diagonals": 2**63}, "2 of"),
            ({"giants": {}}, "expected a list"),
            ({"giants": [[0, 2, []]]}, "expected an object"),
            ({"giants": [{**GIANT, "terms": []}]}, "no terms"),
            ({"giants": [{**GIANT, "terms": None}]}, "expected a list"),
            ({"giants": [{**GIANT, "output": 1}]}, "output is 1"),
            ({"giants": [{**GIANT, "step": 8}]}, "step is 8"),
            ({"giants": [{**GIANT, "step": 3}]}, "step 3 has no key"),
            ({"giants": [{**GIANT, "more": 1}]}, "unknown field 'more'"),
            ({"giants": [{**GIANT, "terms": [[0, 4, 0], [0, 5, 1]]}]}, "step 4 has no key"),
            ({"giants": [{**GIANT, "terms": [[0, 0, 0], [1, 1, 1]]}]}, "input is 1"),
            ({"giants": [{**GIANT, "terms": [[0, 1, 0], [0, 0, 1]]}]}, "out of order"),
            ({"giants": [{**GIANT, "terms": [[0, 1, 0], [0, 1, 1]]}]}, "out of order"),
            ({"giants": [{**GIANT, "terms": [[0, 0, 0], [0, 1, 0]]}]}, "used by two terms"),
            ({"giants": [{**GIANT, "terms": [[0, 0], [0, 1, 1]]}]}, "2 entries"),
            ({"giants": [{**GIANT, "terms": [0, 1, 1]}]}, "expected a list"),
            ({"giants": [other, GIANT], "diagonals": 3}, "giants ascend"),
            ({"giants": [GIANT, {**other, "step": 2}], "diagonals": 3}, "giants ascend"),
        ]:
            self.refused(words, "prepare_begin", **{**PROGRAM, **fields})
        self.refused("unknown field", "prepare_begin", **PROGRAM, batch=1)
        self.done("prepare_begin", **{**PROGRAM, "giants": [GIANT, other], "diagonals": 3})

    def test_diagonals(self):
        self.keyed()
        self.refused("before prepare_begin", "prepare_diagonals", doubles(*range(8)), first=0)
        self.done("prepare_begin", **PROGRAM)
        self.refused("0 is next", "prepare_diagonals", doubles(*range(8)), first=1)
        self.refused("not whole slot vectors", "prepare_diagonals", doubles(*range(9)), first=0)
        self.refused("not whole slot vectors", "prepare_diagonals", first=0)
        self.refused("for a layer of 2", "prepare_diagonals", doubles(*range(24)), first=0)
        values = [0.0] * 8
        for value, name in [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")]:
            values[5] = value
            self.refused(f"value 5 is {name}", "prepare_diagonals", doubles(*values), first=0)
        self.refused("after 0 of 2", "prepare_end")
        self.done("prepare_diagonals", doubles(*range(8)), first=0)
        self.refused("1 is next", "prepare_diagonals", doubles(*range(8)), first=0)
        self.refused("after 1 of 2", "prepare_end")
        self.done("prepare_diagonals", doubles(*range(8)), first=1)
        self.done("prepare_end")
        self.refused("before prepare_begin", "prepare_end")

    def test_vectors(self):
        self.prepared()
        self.refused("expected 1 to", "encrypt", ciphertexts=0)
        self.refused("instead of 2 slot vectors", "encrypt", doubles(*range(8)), ciphertexts=2)
        self.refused("instead of", "encrypt", doubles(*range(8)), ciphertexts=2**60)
        self.refused("0 doubles", "encrypt", ciphertexts=1)
        values = [1.0] * 16
        values[11] = np.nan
        self.refused("value 11 is nan", "encrypt", doubles(*values), ciphertexts=2)
        self.done("encrypt", doubles(*range(16)), ciphertexts=2)


class Order(Asked):
    def test_calls_before_their_time(self):
        self.keyed()
        payload = doubles(*range(8))
        self.refused("before prepare_end", "encrypt", payload, ciphertexts=1)
        self.done("prepare_begin", **PROGRAM)
        self.refused("before prepare_end", "encrypt", payload, ciphertexts=1)
        self.done("prepare_diagonals", doubles(*range(16)), first=0)
        self.done("prepare_end")
        self.refused("before encrypt", "evaluate")
        self.done("encrypt", payload, ciphertexts=1)
        for call in ("rescale",):
            self.refused("before evaluate", call)
        for call in ("answers", "decrypt"):
            self.refused("before rescale", call)
        self.done("evaluate")
        self.refused("before rescale", "decrypt")
        self.done("rescale")
        self.refused("second time", "rescale")
        self.assertEqual(self.done("answers")["ciphertexts"], 1)
        self.done("decrypt")
        # Once more.
        self.done("evaluate")
        self.refused("before rescale", "answers")
        self.done("rescale")
        self.done("decrypt")

    def test_a_new_layer_or_batch_drops_what_was_there(self):
        self.prepared()
        self.done("encrypt", doubles(*range(8)), ciphertexts=1)
        self.done("evaluate")
        self.done("rescale")
        self.done("encrypt", doubles(*range(8)), ciphertexts=1)
        self.refused("before rescale", "decrypt")
        self.refused("before evaluate", "rescale")
        self.done("prepare_begin", **PROGRAM)
        self.refused("before encrypt", "evaluate")

    def test_a_refused_request_drops_nothing(self):
        self.prepared()
        self.done("encrypt", doubles(*range(8)), ciphertexts=1)
        self.done("evaluate")
        self.done("rescale")
        self.refused("missing", "encrypt", doubles(*range(8)))
        self.refused("inputs is 0", "prepare_begin", **{**PROGRAM, "inputs": 0})
        self.done("decrypt")

    def test_batches_are_whole_groups(self):
        self.keyed()
        giants = [{"output": 0, "step": 0, "terms": [[0, 0, 0], [1, 0, 1]]}]
        self.done("prepare_begin", inputs=2, outputs=1, diagonals=2, giants=giants)
        self.done("prepare_diagonals", doubles(*range(16)), first=0)
        self.done("prepare_end")
        self.refused("whole groups", "encrypt", doubles(*range(24)), ciphertexts=3)
        self.done("encrypt", doubles(*range(32)), ciphertexts=4)
        self.done("evaluate")
        self.done("rescale")
        self.assertEqual(self.done("answers")["ciphertexts"], 2)

    def test_a_context_for_bootstrap(self):
        self.done("hello", protocol=1)
        self.done("open", **{**OPEN, "bootstrap": True})
        self.done("keys", steps=[])
        self.refused("opened for bootstrap", "prepare_begin", **PROGRAM)
        self.refused("before encrypt", "bootstrap")
        self.done("encrypt", doubles(*range(16)), ciphertexts=2)
        self.refused("opened with bootstrap: True", "evaluate")
        self.refused("before bootstrap", "decrypt")
        self.done("bootstrap")
        self.assertEqual(self.done("answers")["ciphertexts"], 2)

    def test_no_bootstrap_in_a_context_for_layers(self):
        self.prepared()
        self.done("encrypt", doubles(*range(8)), ciphertexts=1)
        self.refused("opened with bootstrap: False", "bootstrap")


if __name__ == "__main__":
    unittest.main()
