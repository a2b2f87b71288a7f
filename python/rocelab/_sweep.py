# SPDX-License-Identifier: Apache-2.0
"""Many runs: every combination of some values, with several seeds, on all processors."""
from __future__ import annotations

import itertools
import os
import queue
import threading
import warnings
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence

from . import _pool
from ._errors import Cancelled, RocelabError
from ._fabric import Fabric, Time, setting
from ._progress import Show, Shown
from ._run import TABLES, Result, Run, start
from ._tables import Table


class SweepProgress(NamedTuple):
    """How far a sweep is."""

    done: int
    runs: int

    def __str__(self) -> str:
        return f"{self.done} of {self.runs} runs done"


Also = Callable[[Result], Mapping[str, Any]]


def _combinations(vary: Mapping[str, Iterable[Any]]) -> List[Dict[str, Any]]:
    """Every combination, the last value changing fastest."""
    for path, values in vary.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise ValueError(f"vary[{path!r}] = {values!r}: a list of values, as in ['100KB', '200KB']")
    return [dict(zip(vary, values)) for values in itertools.product(*vary.values())]


def _plain(value: Any) -> Any:
    """In a table a map or a list is its text, so that rows can be grouped by it, and a file its path."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return setting(value) if isinstance(value, (Mapping, list, tuple)) else value


class _Sweep:
    """Workers take the next run each; rows stay in the order of the runs."""

    def __init__(self, runs: List[Dict[str, Any]], options: Dict[str, Any], also: Optional[Also]):
        self.runs, self.options, self.also = runs, options, also
        self.rows: List[Optional[Dict[str, Any]]] = [None] * len(runs)
        self.errors: List[BaseException] = []
        self.todo = iter(range(len(runs)))
        self.done: "queue.Queue[Optional[BaseException]]" = queue.Queue()
        self.lock = threading.Lock()
        self.running: Dict[int, Run] = {}
        self.stopped = False

    def _take(self) -> Optional[int]:
        with self.lock:
            return None if self.stopped else next(self.todo, None)

    def _one(self, number: int) -> Dict[str, Any]:
        about = self.runs[number]
        row = {path: _plain(value) for path, value in about["vary"].items()}
        row.update({} if about["seed"] is None else {"seed": about["seed"]})
        try:
            run = start(vary=about["vary"], seed=about["seed"], **self.options)
            with self.lock:
                self.running[number] = run
                if self.stopped:
                    run.cancel()
            result = run.result()
        except (RocelabError, MemoryError) as error:
            self.errors.append(error)
            return {**row, "state": "error", "error": str(error)}
        finally:
            with self.lock:
                self.running.pop(number, None)
        row.update(state=result.state, digest=result.digest, error=None, **result.measures)
        if self.also is not None:
            row.update(self.also(result))
        return row

    def work(self) -> None:
        try:
            for number in iter(self._take, None):
                row = self._one(number)
                self.rows[number] = row if row["state"] != "cancelled" else None
                self.done.put(None)
        except BaseException as error:  # of the user's function: it ends the sweep
            self.stop()
            self.done.put(error)

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            for run in self.running.values():
                run.cancel()

    def table(self) -> Table:
        return Table._of_dicts("sweep", [row for row in self.rows if row is not None])


def sweep(
    fabric: Fabric,
    vary: Optional[Mapping[str, Iterable[Any]]] = None,
    *,
    points: Optional[Iterable[Mapping[str, Any]]] = None,
    seeds: Optional[Iterable[int]] = None,
    threads: int = 1,
    until: Optional[Time] = None,
    also: Optional[Also] = None,
    tables: Sequence[str] = TABLES,
    workers: Optional[int] = None,
    memory: Optional[int] = None,
    progress: Show = None,
) -> Table:
    """Runs every combination of values, on all processors, and answers a row a run.

    vary      {path: values}: every combination
    points    a list of {path: value}: these, each with every combination of `vary`
    seeds     each combination with each of these, as `sim --seed` has them
    also      a function from a Result to more columns: lambda r: {"slowest": max(r.flows["fct_ps"])}
    tables    those that `also` may use
    workers   processes at a time; None: as many as there are processors for their threads

    The columns are the values, the seed, `state`, `digest`, `error`, then the measures of `rocelab sweep --show` in
    seconds, bytes a second, bytes, shares, counts.  A run that fails has a row with its `error`, and
    a warning says how many; where every run fails, the first error is raised.  On the interrupt key Cancelled has the
    table of what was run.
    """
    each_seed: List[Optional[int]] = [None] if seeds is None else list(seeds)
    each_point = [{**point, **more} for point in points or [{}] for more in _combinations(vary or {})]
    runs = [{"vary": point, "seed": seed} for point in each_point for seed in each_seed]
    if workers is None:
        workers = max(1, _pool.processors() // max(1, threads))
    options: Dict[str, Any] = {
        "fabric": fabric,
        "threads": threads,
        "until": until,
        "json": False,
        "memory": memory,
        "tables": list(tables) if also is not None else ["measures"],
    }
    if "measures" not in options["tables"]:
        options["tables"].append("measures")
    state, shown, count = _Sweep(runs, options, also), Shown(progress), min(workers, len(runs))
    helpers = [threading.Thread(target=state.work, daemon=True) for _ in range(count)]
    for helper in helpers:
        helper.start()
    try:
        for done in range(1, len(runs) + 1):
            error = state.done.get()
            if error is not None:
                raise error
            shown(SweepProgress(done, len(runs)))
    except KeyboardInterrupt:
        state.stop()
        for helper in helpers:
            helper.join()
        raise Cancelled(state.table()) from None
    finally:
        shown.end()
    if runs and len(state.errors) == len(runs):
        raise state.errors[0]
    if state.errors:
        warnings.warn(f"{len(state.errors)} of {len(runs)} runs failed (column `error`): {state.errors[0]}", stacklevel=2)
    return state.table()
