"""Installed versions against the pinned ones."""

import sys
from importlib import metadata
from pathlib import Path

from .failure import unsupported

WORKERS = Path(__file__).resolve().parent.parent


def read_pins(requirements: str) -> dict[str, str]:
    """Package → version of a file of `name==version` lines beside the workers."""
    pins = {}
    for line in (WORKERS / requirements).read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line:
            name, separator, version = line.partition("==")
            if not separator:
                raise ValueError(f"{requirements}: {line!r} is not name==version")
            pins[name.strip()] = version.strip()
    return pins


def check_pins(requirements: str) -> dict[str, str]:
    """The pins, all of which are installed; a failure that says what to install otherwise."""
    pins = read_pins(requirements)
    way_out = f"run: {sys.executable} -m pip install -r workers/{requirements}"
    for name, version in pins.items():
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            raise unsupported(f"the package {name} is not installed; {way_out}") from None
        if installed != version:
            raise unsupported(
                f"{name} {installed} is installed, {requirements} pins {version}; {way_out}"
            )
    return pins
