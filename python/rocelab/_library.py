# SPDX-License-Identifier: Apache-2.0
"""Where librocelab and the program are, and the library's functions as ctypes sees them.

Used by the module and by its worker processes, which have nothing else of the module.
"""
from __future__ import annotations

import ctypes
import glob
import os
import shutil
from typing import List, Optional

ABI = 2  # the least that this module works with
NAME = "librocelab.so.0"
NEVER = NONE = 2**64 - 1
SEEDED = 1
COUNT, REAL, TEXT, FLAG, NAMES = range(5)
STATES = ("running", "done", "until", "stuck", "deadlock", "failed")

_INSTALL = (
    "install it (Debian: apt install python3-rocelab), or set ROCELAB_BUILD to the folder that rocelab was built in"
)


class Setting(ctypes.Structure):
    _fields_ = [("path", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("text", ctypes.c_char_p),
        ("settings", ctypes.POINTER(Setting)),
        ("settings_count", ctypes.c_size_t),
        ("threads", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("seed", ctypes.c_uint64),
        ("memory_max_bytes", ctypes.c_uint64),
        ("sample_ps", ctypes.c_uint64),
        ("samples_max_bytes", ctypes.c_uint64),
        ("sample_qps", ctypes.c_uint64),
    ]


class Progress(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("now_ps", ctypes.c_uint64),
        ("packet_hops", ctypes.c_uint64),
        ("jobs", ctypes.c_uint32),
        ("jobs_done", ctypes.c_uint32),
        ("samples", ctypes.c_uint32),
        ("samples_full", ctypes.c_uint32),
    ]


_LAB = _TABLE = ctypes.c_void_p
_OWNED = ctypes.POINTER(ctypes.c_void_p)  # a text that is given back
# name: (what it answers, arguments)
_FUNCTIONS = {
    "rocelab_version": (ctypes.c_char_p, []),
    "rocelab_abi": (ctypes.c_uint32, []),
    "rocelab_open_with": (
        ctypes.c_int,
        [ctypes.c_char_p, ctypes.POINTER(Options), ctypes.POINTER(_LAB), _OWNED],
    ),
    "rocelab_allow_plugin": (None, [ctypes.c_char_p]),
    "rocelab_close": (None, [_LAB]),
    "rocelab_text_free": (None, [ctypes.c_void_p]),
    "rocelab_step": (ctypes.c_int, [_LAB, ctypes.c_uint64, ctypes.c_uint64]),
    "rocelab_progress": (ctypes.c_int, [_LAB, ctypes.POINTER(Progress)]),
    "rocelab_json": (ctypes.c_int, [_LAB, _OWNED]),
    "rocelab_table": (ctypes.c_int, [_LAB, ctypes.c_char_p, ctypes.POINTER(_TABLE)]),
    "rocelab_table_free": (None, [_TABLE]),
    "rocelab_table_rows": (ctypes.c_size_t, [_TABLE]),
    "rocelab_column_name": (ctypes.c_char_p, [_TABLE, ctypes.c_size_t]),
    "rocelab_column_help": (ctypes.c_char_p, [_TABLE, ctypes.c_size_t]),
    "rocelab_column_kind": (ctypes.c_int, [_TABLE, ctypes.c_size_t]),
    "rocelab_column_counts": (ctypes.c_void_p, [_TABLE, ctypes.c_size_t]),
    "rocelab_column_reals": (ctypes.c_void_p, [_TABLE, ctypes.c_size_t]),
    "rocelab_column_texts": (ctypes.c_void_p, [_TABLE, ctypes.c_size_t]),
}


def load(path: str) -> ctypes.CDLL:
    """The library at a path, its functions declared.  OSError with what is wrong, and what to install."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise OSError(f"{path} cannot be loaded ({error}); {_INSTALL}") from None
    try:
        abi = library.rocelab_abi()
    except AttributeError:
        abi = 1
    if abi < ABI:
        raise OSError(f"{path} is too old for this module (ABI {abi}, {ABI} is needed); {_INSTALL}")
    for name, (answer, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = answer, arguments
    return library


def _root() -> str:
    """The prefix that the module is installed below (a package, a tarball), or the tree that it was written in."""
    folder = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    above = 3 if os.path.basename(folder) in ("dist-packages", "site-packages") else 1
    for _ in range(above):
        folder = os.path.dirname(folder)
    return folder


def _in_build(name: str, *below: str) -> Optional[str]:
    build = os.environ.get("ROCELAB_BUILD")
    if not build:
        return None
    path = os.path.join(os.path.abspath(build), *below, name)
    if not os.path.exists(path):
        raise OSError(f"{path} is not there: ROCELAB_BUILD is to be the folder that rocelab was built in")
    return path


def find_library() -> str:
    """The path of the library, or its name where the loader is to find it."""
    found = _in_build(NAME, "lib")
    if found:
        return found
    for pattern in ("build/lib", "lib", "lib64", "lib/*-linux-gnu"):
        for path in sorted(glob.glob(os.path.join(glob.escape(_root()), pattern, NAME))):
            return path
    return NAME


def find_program() -> str:
    """The path of the program `rocelab`."""
    found = _in_build("rocelab")
    if found:
        return found
    for below in ("build", "bin"):
        path = os.path.join(_root(), below, "rocelab")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    installed = shutil.which("rocelab")
    if installed:
        return installed
    raise OSError(f"the program rocelab was not found; {_INSTALL.replace('python3-rocelab', 'rocelab')}")


def example_folders() -> List[str]:
    """Where examples may lie, the likeliest first: in a tree, or installed."""
    build = os.environ.get("ROCELAB_BUILD")
    trees = [os.path.dirname(os.path.abspath(build))] if build else []
    prefixes = [_root(), "/usr/local", "/usr"]
    return [os.path.join(root, "examples") for root in trees + [_root()]] + [
        os.path.join(prefix, "share", "rocelab", "examples") for prefix in prefixes
    ]
