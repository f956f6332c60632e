#!/usr/bin/env bash
# Measures the published shapes and prints the table of results of README.md.
#
# usage: scripts/figures.sh [THREADS]
set -euo pipefail
cd "$(dirname "$0")/.."

threads=${1:-1}
shapes=512x2048,2048x512,2048x1024,2048x2048,4096x2048,2048x4096
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run=(cargo run --locked --quiet --release --bin ckks-bench -- run
    --shape "$shapes" --threads "$threads" --trials 9 --quiet)
"${run[@]}" --json "$work/whole.json" >/dev/null
"${run[@]}" --ahead --json "$work/split.json" >/dev/null

python3 - "$work/whole.json" "$work/split.json" <<'PYTHON'
import json
import sys


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def median(configuration, stage):
    for entry in configuration["stages"]:
        if entry["stage"] == stage:
            return entry["median_seconds"] * 1e3
    raise KeyError(stage)


whole, split = (load(path) for path in sys.argv[1:])
host, settings = whole["host"], whole["settings"]
threads, trials = settings["threads"], settings["trials"]
print(
    f"{host['cpu_model']}, {host['cores']} cores of it, **{threads} thread{'s'[: threads > 1]}**, "
    f"{whole['configurations'][0]['description']['kernels']}, median of {trials}, "
    f"load {host['load_at_start'][0]:.1f} at the start:"
)
print()
print("| shape | evaluation | online part with `--ahead` | plain product | largest error | upload | download | keys |")
print("|---|---|---|---|---|---|---|---|")
for a, b in zip(whole["configurations"], split["configurations"]):
    size = a["bytes"]
    largest = max(a["errors"]["max_abs"], b["errors"]["max_abs"])
    digits, exponent = f"{largest:.1e}".split("e")
    print(
        f"| {a['d_in']} × {a['d_out']} "
        f"| {median(a, 'evaluation'):.2f} ms "
        f"| {median(b, 'online-evaluation'):.2f} ms "
        f"| {median(a, 'plain-product-f32'):.2f} ms "
        f"| {digits}e{int(exponent)} "
        f"| {size['upload'] / 1e3:.1f} kB "
        f"| {size['download'] / 1e3:.1f} kB "
        f"| {size['keys'] / 1e6:.2f} MB |"
    )
PYTHON
