#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A search of one's own over librocelab, with nothing but ctypes: the marking threshold that makes the jobs end first.

    python3 sweep.py examples/pod64.yaml [LIBRARY]

LIBRARY is librocelab.so.0, or its path."""
import ctypes
import sys


class Setting(ctypes.Structure):
    _fields_ = [("path", ctypes.c_char_p), ("value", ctypes.c_char_p)]


def load(library):
    rocelab = ctypes.CDLL(library)
    rocelab.rocelab_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Setting), ctypes.c_size_t, ctypes.c_uint32,
                                     ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p)]
    rocelab.rocelab_advance.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    rocelab.rocelab_measure.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_double)]
    rocelab.rocelab_digest.argtypes = [ctypes.c_void_p]
    rocelab.rocelab_digest.restype = ctypes.c_uint64
    for function in (rocelab.rocelab_close, rocelab.rocelab_text_free):
        function.argtypes, function.restype = [ctypes.c_void_p], None
    return rocelab


def run(rocelab, fabric, **settings):
    """The time of all jobs in seconds, and the digest."""
    pairs = [Setting(path.replace("__", ".").encode(), value.encode()) for path, value in settings.items()]
    lab, message, seconds = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_double()
    if rocelab.rocelab_open(fabric.encode(), None, (Setting * len(pairs))(*pairs), len(pairs), 1, ctypes.byref(lab), ctypes.byref(message)):
        text = ctypes.string_at(message).decode() if message else "not enough memory\n"
        rocelab.rocelab_text_free(message)
        raise SystemExit(text.rstrip())
    try:
        rocelab.rocelab_advance(lab, 2 ** 64 - 1)
        if rocelab.rocelab_measure(lab, b"time", ctypes.byref(seconds)):
            raise SystemExit(f"{fabric}: not every job ended")
        return seconds.value, rocelab.rocelab_digest(lab)
    finally:
        rocelab.rocelab_close(lab)


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    rocelab = load(sys.argv[2] if len(sys.argv) == 3 else "librocelab.so.0")
    best = None
    for kmin in ("100KB", "200KB", "400KB", "800KB"):
        seconds, digest = run(rocelab, sys.argv[1], classes__rdma__ecn__min=kmin, seed="7")
        print(f"{kmin:>6}  {seconds * 1e3:8.3f} ms  digest {digest:016x}")
        best = min(best or (seconds, kmin), (seconds, kmin))
    print(f"best: {best[1]}")


if __name__ == "__main__":
    main()
