#!/usr/bin/env bash
# Tests of what the C++ shims share, and of what they do and check before they call their library.
# They need neither a library nor a device: a C++17 compiler and nlohmann/json.hpp.
#
# usage: scripts/test-shims.sh    CXX: the compiler, c++ if not set
set -euo pipefail
cd "$(dirname "$0")/../cuda/shims"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build NAME SOURCE...
build() {
    local name=$1
    shift
    "${CXX:-c++}" -std=c++17 -O1 -g -fsanitize=address,undefined -Wall -Wextra -Wshadow -Werror \
        -I ../include "$@" -o "$work/$name"
}

build abi tests/abi.cpp tests/plain.cpp
"$work/abi"
build transforms tests/transforms.cpp cheddar/transforms.cpp
"$work/transforms"
build plan tests/plan.cpp fideslib/plan.cpp
"$work/plan"
build mac tests/mac.cpp openfhe/mac.cpp
"$work/mac"
if grep -qw avx2 /proc/cpuinfo; then
    build mac-avx2 -mavx2 tests/mac.cpp openfhe/mac.cpp
    "$work/mac-avx2"
fi
