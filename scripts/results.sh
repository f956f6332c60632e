#!/usr/bin/env bash
# Measures everything under docs/results: the figures of README.md, the page of the batches and that
# of sealed weights. Takes some twenty minutes and wants a quiet machine. Afterwards
# `scripts/readme-tables.py --write` puts the tables into README.md.
#
# usage: scripts/results.sh [FOLDER]
#
# FOLDER (docs/results) may be another one, and these variables replace what is measured, to try
# the script or to measure something else:
#   RESULTS_THREADS  threads of the one-vector runs and of the model (1)
#   RESULTS_TRIALS   trials of the one-vector runs (9); the model has a third of them
#   RESULTS_SHAPES   their shapes, separated by commas
#   RESULTS_SWEEP    the sweep (configs/sweeps/default.toml)
#   RESULTS_LIBRARIES  the sweep over libraries (configs/sweeps/libraries.toml)
#   RESULTS_MODEL    the model (configs/models/qwen3.6-35b-a3b.toml)
#   RESULTS_PREFILL  vectors of its prompt (512)
#   RESULTS_PARTS    which parts: engine, sealing (both)
#   RESULTS_SEALING  options of `weights-seal bench`, such as --quick (none)
#   RESULTS_PEERS    a Python interpreter with cryptography and cryptotensors, which are measured
#                    beside `weights-seal` (none)
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-docs/results}
threads=${RESULTS_THREADS:-1}
trials=${RESULTS_TRIALS:-9}
shapes=${RESULTS_SHAPES:-512x2048,2048x512,2048x1024,2048x2048,4096x2048,2048x4096}
sweep=${RESULTS_SWEEP:-configs/sweeps/default.toml}
libraries=${RESULTS_LIBRARIES:-configs/sweeps/libraries.toml}
model=${RESULTS_MODEL:-configs/models/qwen3.6-35b-a3b.toml}
prefill=${RESULTS_PREFILL:-512}
parts=${RESULTS_PARTS:-engine sealing}
budget=$(basename "$model" .toml).json

if [ -n "$(git status --porcelain 2>/dev/null)" ]; then
    echo "results: there are changes that are not committed; the reports will say so" >&2
fi

# The figures come from one build, whatever is edited meanwhile.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Together: apart they would be built with other features of what they share, and anew.
cargo build --locked --quiet --release --bin ckks-bench --bin weights-seal
for program in ckks-bench weights-seal; do
    cp "${CARGO_TARGET_DIR:-target}/release/$program" "$work/$program"
done
mkdir -p "$folder" "$work/pictures"

# measure ARGUMENTS...: names the command as the documentation does, and runs it. Tables go to
# standard error, where they can be watched.
measure() {
    local start=$SECONDS
    echo "\$ ckks-bench $*" >&2
    "$work/ckks-bench" "$@" >&2
    echo "results: $((SECONDS - start)) s" >&2
}

engine() {
    one_vector=(run --shape "$shapes" --plan diagonal --threads "$threads" --trials "$trials" --quiet)
    measure "${one_vector[@]}" --json "$folder/one-vector.json"
    measure "${one_vector[@]}" --ahead --json "$folder/one-vector-ahead.json"

    # A sweep goes on where its file ends: that file belongs to another build.
    rm -f "$folder/batches.jsonl"
    measure sweep --config "$sweep" --output "$folder/batches.jsonl"
    measure report "$folder/batches.jsonl" --title 'One layer, many vectors' \
        --html "$folder/batches.html" --markdown "$folder/batches.md" --csv "$folder/batches.csv" \
        --png "$work/pictures"
    # Only the pictures that README.md may show; the page has all of them.
    rm -f "$folder"/throughput-*.png
    cp "$work/pictures"/throughput-*.png "$folder"

    # Libraries that are not installed are recorded as such, which makes the program end with 1; the
    # table in README.md says what was measured.
    rm -f "$folder/libraries.jsonl"
    measure sweep --config "$libraries" --output "$folder/libraries.jsonl" || [ $? -eq 1 ]
    measure report "$folder/libraries.jsonl" --title 'One layer, several libraries' \
        --html "$folder/libraries.html" --markdown "$folder/libraries.md" \
        --csv "$folder/libraries.csv"

    # The client keeps nothing of the model: with W·A cached it would download more than the weights.
    measure model --config "$model" --delivery sent --threads "$threads" \
        --trials $(((trials + 2) / 3)) --prefill "$prefill" --quiet --json "$folder/$budget"
}

# Sealed weights, on the disk that this repository lies on.
sealing() {
    local start=$SECONDS
    local -a options
    read -ra options <<<"${RESULTS_SEALING:-}"
    if [ -n "${RESULTS_PEERS:-}" ]; then
        # By its name: the page states the command.
        PATH=$(cd "$(dirname "$RESULTS_PEERS")" && pwd):$PATH
        options+=(--peers "$(basename "$RESULTS_PEERS")")
    fi
    options+=(--quiet --json "$folder/sealing.json" --markdown "$folder/sealing.md"
        --html "$folder/sealing.html")
    echo "\$ weights-seal bench ${options[*]}" >&2
    "$work/weights-seal" bench "${options[@]}"
    echo "results: $((SECONDS - start)) s" >&2
}

for part in $parts; do
    case $part in
    engine | sealing) "$part" ;;
    *)
        echo "results: RESULTS_PARTS names $part; there are engine and sealing" >&2
        exit 2
        ;;
    esac
done

echo "results: $folder has"
ls -l "$folder"
