#!/usr/bin/env bash
# Builds the Python package into a virtual environment and runs its tests. Tests of torch run where
# torch is installed in that environment; elsewhere the run says that they are left out.
#
# usage: scripts/test-python.sh [FOLDER]   FOLDER: the environment [default: target/python-venv]
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-$PWD/target}
folder=${1:-$target/python-venv}
python=$folder/bin/python

[ -x "$python" ] || python3 -m venv "$folder"
"$python" -m pip install --quiet --disable-pip-version-check \
    --requirement crates/sealed-weights-python/requirements-test.txt
cargo build --locked --release --package sealed-weights --example seal
# Into the environment, and nothing into the tree.
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
"$folder/bin/maturin" build --quiet --locked --release --strip --out "$wheels" \
    --manifest-path crates/sealed-weights-python/Cargo.toml
"$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/*.whl
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo 'skipped: tests of torch: it is not installed in the environment'
    export WITHOUT_TORCH=1
fi
export SEAL_EXAMPLE=$target/release/examples/seal
"$python" -m unittest discover --start-directory crates/sealed-weights-python/tests
