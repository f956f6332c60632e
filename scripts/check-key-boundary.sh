#!/usr/bin/env bash
# Checks that no crate of the untrusted side can reach a secret key: the secret crate must not be
# among its dependencies, directly or indirectly, with any feature, on any platform. Dependencies
# of tests do not count: they are in no program.
#
# usage: scripts/check-key-boundary.sh
set -euo pipefail
cd "$(dirname "$0")/.."

secret=ckks-secret
# The untrusted side. Crates that do not exist yet are skipped, and named.
untrusted=(ckks safetensors-header sealed-weights tensor-io ckks-linear ckks-cuda ckks-server)
# A crate that holds both sides, and so must be found to depend on the secret crate.
both_sides=ckks-backend

fail() {
    echo "key boundary: $*" >&2
    exit 1
}

members=$(cargo metadata --locked --no-deps --format-version 1 |
    python3 -c 'import json, sys; print(*(p["name"] for p in json.load(sys.stdin)["packages"]), sep="\n")')

# Prints the dependencies of a crate, one name per line.
dependencies() {
    cargo tree --locked --package "$1" --edges normal,build --all-features --target all \
        --prefix none --format '{p}' | cut -d ' ' -f 1 | sort -u
}

# Succeeds when the crate depends on the secret crate.
reaches_secret() {
    local found
    found=$(dependencies "$1") || fail "cargo tree failed for $1"
    grep -Fxq "$1" <<<"$found" || fail "cargo tree does not list $1 itself"
    grep -Fxq "$secret" <<<"$found"
}

grep -Fxq "$secret" <<<"$members" || fail "there is no crate $secret to look for"
reaches_secret "$both_sides" || fail "self-test: $both_sides depends on $secret, and it was not found"

for crate in "${untrusted[@]}"; do
    if ! grep -Fxq "$crate" <<<"$members"; then
        echo "key boundary: $crate does not exist, skipped"
    elif reaches_secret "$crate"; then
        cargo tree --locked --package "$crate" --edges normal,build --all-features --target all \
            --invert "$secret" >&2
        fail "$crate depends on $secret"
    else
        echo "key boundary: $crate does not reach $secret"
    fi
done
