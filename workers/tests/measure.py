"""Measures the evaluation of the published shapes by a worker, on one thread.

usage: measure.py WORKER.py [--shape 2048x1024]... [--babies N]... [--trials N]

For each shape and number of baby steps: median and least milliseconds of `evaluate` and `rescale`,
on the clock and on the processor (all threads of the worker; where other programs run, only the
second says much), sizes, and the largest error against float64. Without --babies, several are
tried.
"""

import argparse
import statistics
from pathlib import Path

from parent import Refused, Worker, np
from packing import Layer

SHAPES = ["512x2048", "2048x1024", "2048x2048"]
BABIES = [8, 16, 32, 64]


def processor_seconds(process_id: int) -> float:
    """Time that all threads of a process have spent on a processor (Linux)."""
    total = 0
    for task in Path(f"/proc/{process_id}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total * 1e-9


def measure(script: str, shape: tuple[int, int], babies: int, trials: int) -> str:
    """One line of the table."""
    random = np.random.default_rng(0)
    weights = random.uniform(-1, 1, shape) / np.sqrt(shape[0])
    with Worker(script) as worker:
        opened = worker.open()
        layer = Layer(weights, opened["slots"], opened["slot_kind"], babies)
        keys, _ = worker.call("keys", steps=layer.steps)
        prepared = worker.prepare(layer)
        clock, processor, errors = [], [], []
        for _ in range(trials + 1):
            batch = random.uniform(-1, 1, (1, shape[0]))
            sent = worker.encrypt(layer.slots_of(batch))
            before = processor_seconds(worker.process.pid)
            seconds = 0.0
            for call in ("evaluate", "rescale"):
                worker.call(call)
                seconds += worker.seconds
            processor.append(processor_seconds(worker.process.pid) - before)
            clock.append(seconds)
            got = layer.answers_of(worker.decrypt())
            errors.append(np.abs(got - batch @ weights).max())
        answers, _ = worker.call("answers")
        memory, _ = worker.call("memory")
        worker.finish()
    # The first is a warm-up.
    clock, processor = clock[1:], processor[1:]
    columns = [
        f"{shape[0]:>5} x {shape[1]:<5} {babies:>3}",
        f"{len(layer.diagonals):>5} {len(layer.steps):>4}",
        f"{1e3 * statistics.median(clock):>8.1f} {1e3 * min(clock):>8.1f}",
        f"{1e3 * statistics.median(processor):>8.1f} {1e3 * min(processor):>8.1f}",
        f"{max(errors):.1e}",
        f"{keys['key_bytes']:>10} {sent['bytes']:>7} {answers['bytes']:>7}",
        f"{prepared['prepared_bytes']:>10} {memory['resident_peak_bytes']:>11}",
    ]
    return "  ".join(columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("worker", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--shape", action="append")
    parser.add_argument("--babies", action="append", type=int)
    parser.add_argument("--trials", type=int, default=5)
    options = parser.parse_args()
    print(
        "        shape  n1  diags  rot  clock ms     min  proc. ms     min    error   key bytes"
        "      up    down    prepared  peak bytes"
    )
    for shape in options.shape or SHAPES:
        d_in, d_out = map(int, shape.split("x"))
        for babies in options.babies or BABIES:
            try:
                print(measure(options.worker, (d_in, d_out), babies, options.trials), flush=True)
            except Refused as refused:
                print(f"{d_in:>5} x {d_out:<5} {babies:>3}  {refused}", flush=True)


if __name__ == "__main__":
    main()
