# SPDX-License-Identifier: Apache-2.0
"""Worker processes: started where one is needed, used again, ended with the program."""
from __future__ import annotations

import atexit
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import _library as lib
from ._errors import CrashError, LibraryError

_PLUGINS = 16  # that a process can load
_KEPT = 64 * 1024  # of what a worker printed, its end


class Worker:
    """One process, and the pipes to it (_worker.py says what goes through)."""

    def __init__(self) -> None:
        try:
            library = lib.find_library()
        except OSError as error:
            raise LibraryError(str(error)) from None
        self._printed = tempfile.TemporaryFile()
        self._read = b""
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_worker.py")
        self.process = subprocess.Popen(
            [sys.executable or "python3", "-ISB", script, library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            bufsize=0,
            start_new_session=True,  # the interrupt key is for the program, which asks the worker to stop
        )
        self.user = os.getpid()
        self.plugins: Dict[str, Tuple[int, int]] = {}
        try:
            message = self.receive()
            if message[0] != "ready":
                raise LibraryError(message[1])
        except BaseException:  # the interrupt key, too
            self.close()
            raise
        self.version: str = message[1]

    def send(self, message: Any) -> None:
        """A request.  Where it is interrupted, the worker is of no use any more."""
        data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        left = memoryview(struct.pack("<Q", len(data)) + data)
        assert self.process.stdin is not None
        try:
            while left:
                left = left[os.write(self.process.stdin.fileno(), left) :]
        except BrokenPipeError:
            raise self._crash() from None

    def receive(self) -> Tuple[Any, ...]:
        """The next message; CrashError where none will come."""
        assert self.process.stdout is not None
        while True:
            if len(self._read) >= 8:
                end = 8 + struct.unpack("<Q", self._read[:8])[0]
                if len(self._read) >= end:
                    message = pickle.loads(self._read[8:end])
                    self._read = self._read[end:]
                    return tuple(message)
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                raise self._crash()
            self._read += part

    def _crash(self) -> CrashError:
        status = self.process.wait()
        printed = ""
        if not self._printed.closed:
            size = self._printed.seek(0, os.SEEK_END)
            self._printed.seek(max(0, size - _KEPT))
            printed = self._printed.read().decode(errors="replace").strip()
        self.close()
        if status < 0:
            try:
                how = f"ended by {signal.Signals(-status).name}"
            except ValueError:
                how = f"ended by signal {-status}"
            if -status == signal.SIGKILL:
                how += " (the machine may have run out of memory)"
        else:
            how = f"ended with status {status}"
        last = f": {printed.splitlines()[-1]}" if printed else ""
        return CrashError(f"the simulator {how}{last}", -status if status < 0 else None, printed)

    def usable(self) -> bool:
        return self.user == os.getpid() and self.process.poll() is None

    def close(self) -> None:
        """Ends the process, whatever it does."""
        if self.user != os.getpid():
            return  # it is that of the process that this one was forked from
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self._printed.close()


_lock = threading.Lock()
_idle: List[Worker] = []


def processors() -> int:
    """How many workers are worth having."""
    return len(os.sched_getaffinity(0))


def take(plugins: Mapping[str, Tuple[int, int]]) -> Worker:
    """A worker that nobody else uses, and that has not loaded what these files were before."""
    while True:
        with _lock:
            worker: Optional[Worker] = _idle.pop() if _idle else None
        if worker is None:
            worker = Worker()
            worker.plugins.update(plugins)
            return worker
        if worker.usable() and all(worker.plugins.get(path, now) == now for path, now in plugins.items()):
            worker.plugins.update(plugins)
            if len(worker.plugins) <= _PLUGINS:
                return worker
        worker.close()


def give(worker: Worker) -> None:
    """Takes a worker back that waits for its next request."""
    with _lock:
        if len(_idle) < processors():
            _idle.append(worker)
            return
    worker.close()


def close() -> None:
    """Ends the workers that wait; the next run starts one."""
    with _lock:
        ended, _idle[:] = list(_idle), []
    for worker in ended:
        worker.close()


def _forget() -> None:
    """In a forked process: the workers are those of the process that it was forked from."""
    global _lock
    _lock = threading.Lock()
    for worker in _idle:
        for pipe in (worker.process.stdin, worker.process.stdout):
            if pipe is not None:
                pipe.close()
    _idle.clear()


atexit.register(close)
os.register_at_fork(after_in_child=_forget)
