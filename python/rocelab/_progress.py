# SPDX-License-Identifier: Apache-2.0
"""Progress: a line of a terminal, an output of a notebook, a call of the user's, or nothing."""
from __future__ import annotations

import sys
import time
from typing import Any, Callable, NamedTuple, Optional, Union

_QUIET_S = 0.5  # what is over sooner shows nothing
_TIMES = (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3), ("ps", 1))


class Progress(NamedTuple):
    """How far a run is."""

    now_ps: int  # virtual time
    packet_hops: int
    jobs: int
    jobs_done: int
    wall_s: float

    def __str__(self) -> str:
        return (
            f"{time_text(self.now_ps)} of virtual time, {self.packet_hops:,} packet-hops, "
            f"{self.jobs_done} of {self.jobs} jobs done"
        )


Show = Union[None, bool, Callable[[Any], None]]


def time_text(picoseconds: int) -> str:
    """"1.39ms"."""
    for unit, size in _TIMES:
        if picoseconds >= size:
            return f"{picoseconds / size:.3g}{unit}" if picoseconds < 1000 * size else f"{picoseconds / size:.0f}{unit}"
    return "0ps"


def _notebook() -> Any:
    """IPython's display(), in a notebook."""
    shell = sys.modules.get("IPython")
    if shell is None or type(shell.get_ipython()).__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import display  # type: ignore[import]

    return display


class Shown:
    """Where progress goes.  show: None, on a terminal and in a notebook; True; False; or a function that is called."""

    def __init__(self, show: Show):
        self._call: Optional[Callable[[Any], None]] = None
        self._display: Any = None
        self._handle: Any = None
        self._drawn = False
        self._begun = time.monotonic()
        if callable(show):
            self._call = show
        elif show is not False:
            self._display = _notebook()
            if self._display is None and (show or sys.stderr.isatty()):
                self._call = self._draw

    def __call__(self, progress: Any) -> None:
        if self._call != self._draw and self._call is not None:
            self._call(progress)
        elif time.monotonic() - self._begun < _QUIET_S:
            pass
        elif self._display is not None:
            self._put(str(progress))
        elif self._call is not None:
            self._call(progress)

    def _draw(self, progress: Any) -> None:
        self._drawn = True
        sys.stderr.write(f"\r{progress}\033[K")
        sys.stderr.flush()

    def _put(self, text: str) -> None:
        data = {"text/plain": text}
        if self._handle is None:
            self._handle = self._display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def end(self) -> None:
        """What was drawn goes."""
        if self._drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
        if self._handle is not None:
            self._put("")
