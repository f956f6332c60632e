#!/usr/bin/env bash
# Checks the files of the tree (tracked, or new and not ignored): no absolute paths of somebody's
# machine, no registry other than crates.io, no source file too long to read, no test in the
# documentation that is not there.
#
# usage: scripts/check-tree.sh
set -euo pipefail
cd "$(dirname "$0")/.."

# Lines of a source file.
longest=600
status=0

complain() {
    echo "tree: $*" >&2
    status=1
}

git ls-files --error-unmatch Cargo.toml >/dev/null

files() {
    git ls-files --cached --others --exclude-standard -- "$@"
}

# Fails when a text file matches; prints where.
forbid() {
    local what=$1 pattern=$2 found=0
    git grep --untracked -nIE -e "$pattern" -- . || found=$?
    case $found in
    0) complain "$what" ;;
    1) ;;
    *) complain "git grep failed" ;;
    esac
}

# The patterns are written so that they do not match themselves.
forbid 'an absolute path of one machine' '(^|[^A-Za-z0-9_.])/(home|root|Users|work|workspace)/'
forbid 'a registry, mirror or index of one machine' \
    '(index|static)\.crates\.io|pypi\.org|pythonhosted\.org|deb\.debian\.org|sparse\+http|--(extra-)?index-ur[l]|replace-wit[h]'

# Every locked crate comes from crates.io, under the one name that all machines give it.
canonical='source = "registry+https://github.com/rust-lang/crates.io-index"'
while IFS= read -r lock; do
    if grep -n '^source = ' "$lock" | grep -vF "$canonical"; then
        complain "$lock names another source than crates.io"
    fi
done < <(files '*Cargo.lock')

while IFS= read -r file; do
    [ -f "$file" ] || continue
    lines=$(wc -l <"$file")
    [ "$lines" -le "$longest" ] || complain "$file has $lines lines; at most $longest"
done < <(files '*.rs')

# Tests that the documentation names exist.
while IFS= read -r name; do
    if ! git grep --untracked -qE "fn $name\b" -- 'crates/*.rs' &&
        ! files "crates/*/tests/$name.rs" | grep -q .; then
        complain "docs name a test $name, and there is none"
    fi
done < <(grep -hoE '`[a-z]+(_[a-z0-9]+){2,}`' docs/{architecture,faults,noise,packing,prepared-weights,security}.md | tr -d '`' | sort -u)

[ "$status" -eq 0 ] && echo "tree: $(files | wc -l) files are fine"
exit "$status"
