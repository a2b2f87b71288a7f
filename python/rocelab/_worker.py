# SPDX-License-Identifier: Apache-2.0
"""A process that simulates: requests come by standard input, answers go out by standard output.

It is a process of its own so that a crash is not the notebook's, and it is used again, so that a run does not pay for
starting it.  A message is its length in 8 bytes, then a pickle of plain values.  What is printed by mistake goes to
standard error.  It ends when its standard input does.
"""
import array
import ctypes
import os
import pickle
import select
import signal
import struct
import sys
import time
import zlib
from typing import Any, Dict, List, Optional, Tuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _library as lib  # type: ignore[import]  # noqa: E402

LOOK_S = 0.05  # about so often a run is interrupted to look for what to do
TELL_S = 0.2
FIRST_WINDOWS = 64


class Gone(Exception):
    """Nobody waits for an answer."""


class Pipe:
    def __init__(self) -> None:
        self.input, self.output = 0, os.dup(1)
        os.dup2(2, 1)

    def read(self, count: int) -> bytes:
        parts = []
        while count:
            part = os.read(self.input, min(count, 1 << 20))
            if not part:
                raise Gone
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def receive(self) -> Any:
        return pickle.loads(self.read(struct.unpack("<Q", self.read(8))[0]))

    def waits(self) -> bool:
        return bool(select.select([self.input], [], [], 0)[0])

    def send(self, *message: Any) -> None:
        data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        left = memoryview(struct.pack("<Q", len(data)) + data)
        while left:
            left = left[os.write(self.output, left):]


def text_of(library: ctypes.CDLL, owned: ctypes.c_void_p) -> bytes:
    """A text that the library made; it is given back."""
    if not owned:
        return b""
    text = ctypes.string_at(owned)
    library.rocelab_text_free(owned)
    return text


def open_lab(library: ctypes.CDLL, request: Dict[str, Any]) -> Tuple[Optional[ctypes.c_void_p], Tuple[int, str]]:
    """A run, or None; error number and message."""
    pairs = [lib.Setting(path.encode(), value.encode()) for path, value in request["settings"]]
    text = request["text"]
    options = lib.Options(
        size=ctypes.sizeof(lib.Options),
        text=None if text is None else text.encode(),
        settings=(lib.Setting * len(pairs))(*pairs),
        settings_count=len(pairs),
        threads=request["threads"],
        flags=0 if request["seed"] is None else lib.SEEDED,
        seed=request["seed"] or 0,
        memory_max_bytes=request["memory_bytes"],
        sample_ps=request["sample_ps"],
        samples_max_bytes=request["samples_bytes"],
        sample_qps=request["qps"],
    )
    lab, message = ctypes.c_void_p(), ctypes.c_void_p()
    path = os.fsencode(request["path"])
    error = library.rocelab_open_with(path, ctypes.byref(options), ctypes.byref(lab), ctypes.byref(message))
    said = text_of(library, message).decode(errors="replace")
    return None if error else lab, (-error, said)


def advance(library: ctypes.CDLL, pipe: Pipe, lab: ctypes.c_void_p, until_ps: int) -> str:
    """Runs to the end, or until it is to stop: the state."""
    progress = lib.Progress(size=ctypes.sizeof(lib.Progress))
    begun = told = last = time.monotonic()
    windows = FIRST_WINDOWS
    while True:
        state: str = lib.STATES[library.rocelab_step(lab, windows, until_ps)]
        if state != "running":
            return state
        now = time.monotonic()
        if now - last < LOOK_S / 2:
            windows *= 2
        elif now - last > LOOK_S * 2:
            windows = max(1, windows // 2)
        last = now
        if now - told > TELL_S:
            told = now
            library.rocelab_progress(lab, ctypes.byref(progress))
            pipe.send("progress", progress.now_ps, progress.packet_hops, progress.jobs, progress.jobs_done, now - begun)
        if pipe.waits():
            pipe.receive()  # that it is to stop, or that nobody is there: nothing else comes now
            return "cancelled"


def read_texts(at: int, rows: int) -> Tuple[List[Optional[str]], bytes]:
    """Each text once, and which one each row has; most come again and again, as the same pointer."""
    pointers = array.array("Q", ctypes.string_at(at, 8 * rows))
    number: Dict[int, int] = {}
    texts: List[Optional[str]] = []
    for pointer in set(pointers):
        number[pointer] = len(texts)
        texts.append(ctypes.string_at(pointer).decode(errors="replace") if pointer else None)
    return texts, array.array("I", map(number.__getitem__, pointers)).tobytes()


def read_table(library: ctypes.CDLL, lab: ctypes.c_void_p, name: str) -> Tuple[str, int, List[Any]]:
    """(name, rows, columns of (name, help, kind, values)); values are bytes, or texts as read_texts() has them."""
    table = ctypes.c_void_p()
    if library.rocelab_table(lab, name.encode(), ctypes.byref(table)):
        raise MemoryError(f"table {name}")
    rows: int = library.rocelab_table_rows(table)
    columns: List[Any] = []
    while True:
        column = library.rocelab_column_name(table, len(columns))
        if column is None:
            break
        number = len(columns)
        kind = library.rocelab_column_kind(table, number)
        about = (library.rocelab_column_help(table, number) or b"").decode()
        values: Any
        if kind in (lib.TEXT, lib.NAMES):
            values = read_texts(library.rocelab_column_texts(table, number), rows)
        elif kind == lib.REAL:
            values = ctypes.string_at(library.rocelab_column_reals(table, number), 8 * rows)
        else:
            values = ctypes.string_at(library.rocelab_column_counts(table, number), 8 * rows)
        columns.append((column.decode(), about, kind, values))
    library.rocelab_table_free(table)
    return name, rows, columns


def document(library: ctypes.CDLL, lab: ctypes.c_void_p) -> bytes:
    owned = ctypes.c_void_p()
    if library.rocelab_json(lab, ctypes.byref(owned)):
        raise MemoryError("the document")
    return zlib.compress(text_of(library, owned), 1)


def answer(library: ctypes.CDLL, pipe: Pipe, request: Dict[str, Any]) -> None:
    if request["folder"] is not None:
        os.chdir(request["folder"])
    for path in request["plugins"]:
        library.rocelab_allow_plugin(os.fsencode(path))
    lab, error = open_lab(library, request)
    if lab is None:
        pipe.send("error", *error)
        return
    try:
        begun = time.monotonic()
        state = advance(library, pipe, lab, request["until_ps"])
        progress = lib.Progress(size=ctypes.sizeof(lib.Progress))
        library.rocelab_progress(lab, ctypes.byref(progress))
        pipe.send(
            "result",
            {
                "state": state,
                "samples_full": bool(progress.samples_full),
                "wall_s": time.monotonic() - begun,
                "tables": [read_table(library, lab, name) for name in ("run", *request["tables"])],
                "json": document(library, lab) if request["json"] else None,
            },
        )
    except MemoryError as lacking:
        pipe.send("error", 12, f"not enough memory for {lacking}")
    finally:
        library.rocelab_close(lab)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever waits for the answer asks for an end
    pipe = Pipe()
    try:
        library = lib.load(sys.argv[1])
    except OSError as error:
        pipe.send("unusable", str(error))
        return
    pipe.send("ready", library.rocelab_version().decode())
    try:
        while True:
            request = pipe.receive()
            if request["do"] == "run":
                answer(library, pipe, request)
    except (Gone, BrokenPipeError):
        pass


if __name__ == "__main__":
    main()
