"""Tensors of sealed models, decrypted and checked on their way into memory.

The interface is that of ``safetensors``: ``safe_open`` for some tensors, ``load_file`` for all.
A tensor owns its memory; nothing is copied and nothing reaches a disk.

    from sealed_weights import safe_open

    with safe_open("model.sealed", framework="np", keys=["key-file:model.key"],
                   publishers=["publisher.pub"]) as model:
        weight = model.get_tensor("lm_head.weight")
"""

import os

from ._frameworks import framework_named
from ._native import Model, SealError
from ._slice import Slice

__all__ = ["SealError", "load_file", "safe_open", "verify"]

_KEY = "WEIGHTS_SEAL_KEY"
_PUBLISHER = "WEIGHTS_SEAL_PUBLISHER"


def _texts(given, variable):
    """Texts given as one or several; by default that of an environment variable."""
    if given is None:
        value = os.environ.get(variable)
        return [value] if value else []
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    return [os.fspath(text) for text in given]


def _open(path, keys, publishers, any_publisher, min_version, trust, threads):
    return Model.open(
        os.fspath(path),
        _texts(keys, _KEY),
        _texts(publishers, _PUBLISHER),
        any_publisher,
        min_version,
        trust,
        threads,
    )


class safe_open:
    """Opens a sealed model for reading single tensors.

    ``path`` is a sealed directory, or one ``.safetensors.sealed`` file directly in it. Opening
    checks the manifest, its signature, the key and the headers of all files; each tensor is checked
    before it is returned. See ``verify`` for the rest.

    framework      "pt" or "np"
    device         where torch puts the tensors; "cpu" for numpy
    keys           texts such as "key-file:PATH" [default: the variable WEIGHTS_SEAL_KEY]
    publishers     public keys, or files with them [default: the variable WEIGHTS_SEAL_PUBLISHER]
    any_publisher  trust whoever signed
    min_version    refuse older versions of the model
    trust          "publisher" checks every chunk against the signature; "key-holders" relies on the
                   authentication tags alone, which those who hold the key could forge
    threads        that decrypt [default: as many as there are cores]

    Raises ``SealError``. Threads may share it.
    """

    def __init__(
        self,
        path,
        framework="pt",
        device="cpu",
        *,
        keys=None,
        publishers=None,
        any_publisher=False,
        min_version=None,
        trust="publisher",
        threads=None,
    ):
        self._framework = framework_named(framework, device)
        self._model = _open(path, keys, publishers, any_publisher, min_version, trust, threads)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._model = None

    @property
    def _opened(self):
        if self._model is None:
            raise SealError("the model is closed")
        return self._model

    def keys(self):
        """The names of all tensors, sorted."""
        return sorted(self._opened.names())

    def offset_keys(self):
        """The names of all tensors, in the order of their bytes."""
        return self._opened.names()

    def metadata(self):
        """The ``__metadata__`` of the safetensors files, or None."""
        return self._opened.metadata()

    def origin(self):
        """Name, version, publisher and manifest digest of the model, all checked."""
        names = ("model", "version", "publisher", "manifest")
        return dict(zip(names, self._opened.origin()))

    def get_tensor(self, name):
        """Decrypts one tensor; only its chunks are read."""
        model = self._opened
        path, dtype, shape, begin, end = model.info(name)
        array = self._framework.type_of(name, dtype)
        return self._framework.tensor(model.read(path, begin, end), 0, array, shape)

    def get_slice(self, name):
        """A tensor that is read by indexing; rows of the first side are all that is decrypted."""
        return Slice(self._opened, self._framework, name)


def load_file(
    path,
    framework="pt",
    device="cpu",
    *,
    keys=None,
    publishers=None,
    any_publisher=False,
    min_version=None,
    trust="publisher",
    threads=None,
):
    """All tensors by name. Arguments as of ``safe_open``.

    Each safetensors file is decrypted once, into one piece of memory that its tensors share.
    """
    framework = framework_named(framework, device)
    model = _open(path, keys, publishers, any_publisher, min_version, trust, threads)
    places = {}
    for name in model.names():
        places.setdefault(model.info(name)[0], []).append(name)
    tensors = {}
    for file in model.safetensors_files():
        memory = model.read(file)
        for name in places.get(file, []):
            _, dtype, shape, begin, end = model.info(name)
            array = framework.type_of(name, dtype)
            if begin % array.itemsize == 0:
                tensors[name] = framework.tensor(memory, begin, array, shape)
            else:
                # Only files that no usual writer makes: elements across their alignment.
                tensors[name] = framework.tensor(model.read(file, begin, end), 0, array, shape)
    return tensors


def verify(
    path,
    *,
    keys=None,
    publishers=None,
    any_publisher=False,
    min_version=None,
    trust="publisher",
    threads=None,
):
    """Checks every byte of every file. Raises ``SealError`` if anything is not authentic."""
    _open(path, keys, publishers, any_publisher, min_version, trust, threads).verify()
