# SPDX-License-Identifier: Apache-2.0
"""One run: run(), and start() for one that goes on while the program does something else."""
from __future__ import annotations

import errno
import json
import os
import warnings
import zlib
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Sequence, Type

from . import _library as lib
from . import _pool
from ._errors import Cancelled, CrashError, FabricError, Problem, RocelabError, problems_of
from ._fabric import Fabric, Time, Value, memory_bytes, picoseconds, plugins, read_fabric, settings
from ._progress import Progress, Show, Shown, time_text
from ._tables import Table

TABLES = ("jobs", "flows", "ports", "priorities", "nics", "findings", "measures")


def _sampled(table: Optional[Table]) -> Table:
    if table is None:
        raise RocelabError("what is over time is kept where the run is sampled: run(..., sample='10us')")
    return table


class Ports(Table):
    """Ports over the whole run; `over_time` has what they did in each step, where the run was sampled."""

    _steps: Optional[Table] = None

    @property
    def over_time(self) -> Table:
        """A row for each port and step in which it had anything to do: queue, rate, pauses, marks, drops."""
        return _sampled(self._steps)


class Flows(Table):
    """Transfers; `rates_over_time` has what congestion control allowed their queue pairs, where the run was sampled."""

    _steps: Optional[Table] = None

    @property
    def rates_over_time(self) -> Table:
        """A row for each step and each of the jobs' first queue pairs (run(..., qps=8)): rate, window, alpha."""
        return _sampled(self._steps)


_KINDS: Dict[str, Type[Table]] = {"ports": Ports, "flows": Flows}


class Measures(Dict[str, Optional[float]]):
    """Single figures by the names of `rocelab sweep --show`; None: this run has none.  Seconds, bytes a second, bytes,
    shares and ratios of 1, counts: `units` and `help` say which."""

    units: Dict[str, str]
    help: Dict[str, str]

    @classmethod
    def _of(cls, table: Table) -> "Measures":
        measures = cls((row.name, row.value) for row in table)
        measures.units = {row.name: row.unit or "" for row in table}
        measures.help = {row.name: row.help for row in table}
        return measures


class Result:
    """What a run came to.

    `state` is "done" (every job has ended), "until" (the time asked for was reached), "stuck", "deadlock", "failed"
    (jobs were given up) or "cancelled" (what is there was run until then).  `digest` is the same for the same file,
    seed and version, on every machine.
    """

    def __init__(self, path: str, request: Mapping[str, Any], answer: Mapping[str, Any]):
        self._json: Optional[bytes] = answer["json"]
        self._tables: Dict[str, Table] = {}
        for table in answer["tables"]:
            self._tables[table[0]] = _KINDS.get(table[0], Table)(*table)
        about = self._tables.pop("run")[0]
        self.fabric = path
        self.vary = dict(request["settings"])
        self.seed: int = about.seed
        self.state: str = answer["state"]
        self.digest: str = about.digest
        self.virtual_ps: int = about.virtual_ps
        self.packet_hops: int = about.packet_hops
        self.work_failed: int = about.work_failed
        self.wall_s: float = answer["wall_s"]
        for one, steps in (("ports", "port_steps"), ("flows", "qp_steps")):
            table_of = self._tables.get(one)
            if isinstance(table_of, (Ports, Flows)):
                table_of._steps = self._tables.get(steps)
        self._measures = Measures._of(self._tables["measures"]) if "measures" in self._tables else None

    def _table(self, name: str) -> Table:
        if name not in self._tables:
            raise RocelabError(f"{name} were not asked for: run(..., tables=[{name!r}])")
        return self._tables[name]

    @property
    def jobs(self) -> Table:
        """Each repetition of each job: kind, state, bytes, begin, end, time, ideal time, bandwidth."""
        return self._table("jobs")

    @property
    def flows(self) -> Flows:
        """Transfers: source, destination, bytes, begin, completion time, ideal time, goodput, packets sent again."""
        flows = self._table("flows")
        assert isinstance(flows, Flows)
        return flows

    @property
    def ports(self) -> Ports:
        """Ports of hosts and switches; `ports.over_time` where the run was sampled."""
        ports = self._table("ports")
        assert isinstance(ports, Ports)
        return ports

    @property
    def priorities(self) -> Table:
        """Ports of switches by priority: queues, marks, drops, pauses."""
        return self._table("priorities")

    @property
    def nics(self) -> Table:
        """Adapters: packets, retransmissions, CNPs, timeouts."""
        return self._table("nics")

    @property
    def findings(self) -> Table:
        """The verdict: what became of the run, then its causes; `id` is the rule, `what` the sentence."""
        return self._table("findings")

    @property
    def measures(self) -> Measures:
        """Single figures by name: `result.measures["time"]`."""
        if self._measures is None:
            self._table("measures")
        assert self._measures is not None
        return self._measures

    @property
    def json_text(self) -> str:
        """The document of `rocelab sim --json`."""
        if self._json is None:
            raise RocelabError("the document was not asked for: run(..., json=True)")
        return zlib.decompress(self._json).decode()

    @property
    def json(self) -> Dict[str, Any]:
        """The document of `rocelab sim --json`, parsed."""
        document: Dict[str, Any] = json.loads(self.json_text)
        return document

    @property
    def ok(self) -> bool:
        """Every job ended, or the time asked for was reached, and nothing was given up."""
        return self.state in ("done", "until") and not self.work_failed

    def __repr__(self) -> str:
        return f"<rocelab.Result {self.fabric}: {self.state}, {time_text(self.virtual_ps)}, digest {self.digest}>"


class Run:
    """A run that goes on in a worker process; result() waits for it."""

    def __init__(self, path: str, request: Dict[str, Any]):
        self._path, self._request = path, request
        self._result: Optional[Result] = None
        self._error: Optional[BaseException] = None
        self._cancelled = False
        self._worker: Optional[_pool.Worker] = None
        for _ in range(2):  # an idle worker may have been ended by somebody
            self._worker, self._error = _pool.take(request["plugins"]), None
            try:
                self._worker.send(request)
                return
            except CrashError as error:
                self._worker, self._error = None, error
            except BaseException:
                self._drop()
                raise

    def cancel(self) -> None:
        """Asks the run to stop; from any thread.  result() then has what was run until then, its state "cancelled"."""
        worker = self._worker
        if worker is not None and not self._cancelled:
            self._cancelled = True
            try:
                worker.send({"do": "cancel"})
            except (CrashError, ValueError):
                pass  # it has ended: result() says how

    def result(self, progress: Show = False) -> Result:
        """Waits for the end.  On the interrupt key the run is stopped, and Cancelled has what there is."""
        if self._result is None and self._error is None:
            shown = Shown(progress)
            try:
                self._wait(shown)
            except KeyboardInterrupt:
                self._interrupted()
            finally:
                shown.end()
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def _interrupted(self) -> NoReturn:
        """What was run until then; on a second interrupt nothing."""
        try:
            self.cancel()
            self._wait(Shown(False))
        except BaseException:
            self._drop()
        raise Cancelled(self._result) from None

    def _wait(self, shown: Shown) -> None:
        worker = self._worker
        assert worker is not None
        try:
            while True:
                message = worker.receive()
                if message[0] != "progress":
                    break
                shown(Progress(*message[1:]))
        except CrashError as error:
            self._worker, self._error = None, error
            return
        self._worker = None
        _pool.give(worker)
        if message[0] == "result":
            self._result = Result(self._path, self._request, message[1])
            if message[1]["samples_full"]:
                warnings.warn("samples filled their memory, and later ones were left out: say a longer sample=")
        else:
            self._error = _error_of(self._path, message[1], message[2])

    def _drop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def __del__(self) -> None:
        if getattr(self, "_worker", None) is not None:
            self._drop()


def _error_of(path: str, number: int, said: str) -> Exception:
    problems = problems_of(said)
    if number == errno.ENOMEM:
        return MemoryError(said.strip() or "not enough memory for the run")
    if problems:
        return FabricError(problems)
    return FabricError([Problem(path, 0, 0, said.strip() or os.strerror(number))])


def start(
    fabric: Fabric,
    *,
    vary: Optional[Mapping[str, Value]] = None,
    seed: Optional[int] = None,
    threads: int = 1,
    until: Optional[Time] = None,
    sample: Optional[Time] = None,
    qps: int = 8,
    tables: Sequence[str] = TABLES,
    json: bool = True,
    memory: Optional[int] = None,
) -> Run:
    """Starts a run and comes back at once; the arguments are those of run()."""
    path, text = read_fabric(fabric)
    asked: List[str] = list(tables)
    for name in asked:
        if name not in TABLES:
            raise ValueError(f"tables: no {name!r}; there are {', '.join(TABLES)}")
    if sample is not None:
        asked += ["port_steps"] if "ports" in asked else []
        asked += ["qp_steps"] if "flows" in asked else []
    request = {
        "do": "run",
        "folder": os.getcwd(),
        "path": path,
        "text": text,
        "settings": settings(vary),
        "plugins": plugins(vary),
        "threads": threads,
        "seed": seed,
        "until_ps": lib.NEVER if until is None else picoseconds(until, "until"),
        "sample_ps": 0 if sample is None else picoseconds(sample, "sample"),
        "samples_bytes": 0,
        "qps": qps,
        "memory_bytes": memory_bytes() if memory is None else memory,
        "tables": asked,
        "json": json,
    }
    return Run(path, request)


def run(
    fabric: Fabric,
    *,
    vary: Optional[Mapping[str, Value]] = None,
    seed: Optional[int] = None,
    threads: int = 1,
    until: Optional[Time] = None,
    sample: Optional[Time] = None,
    qps: int = 8,
    tables: Sequence[str] = TABLES,
    json: bool = True,
    memory: Optional[int] = None,
    progress: Show = None,
) -> Result:
    """Runs a fabric in virtual time, as `rocelab sim` does, and waits for its end.

    fabric    path of a fabric file, a text of several lines, a dict, or an installed example ("example:pod64")
    vary      values of the file replaced, by their path: {"classes.rdma.ecn.min": "200KB", "jobs.0.size": "1MB"}
              A pathlib.Path is a file; as "nics.congestion" it is a congestion control of one's own (rocelab/cc.h)
    seed      that of `sim --seed`; None: the file's.  vary={"seed": 7} changes the file's own, which placement follows
    threads   the result does not depend on them
    until     stops at a time: "5ms", or seconds; None: when every job has ended, or at the file's `stop`
    sample    ports are looked at so often, for `result.ports.over_time`: "10us", or seconds
    qps       with sample: also the rates of the jobs' first queue pairs, for `result.flows.rates_over_time`
    tables    those that the result is to have; fewer are faster for very small runs
    json      whether the result is to have the document of `sim --json`
    memory    bytes; a run that needs more is refused with MemoryError.  None: the machine's
    progress  None: shown on a terminal and in a notebook; True, False; or a function that is called with Progress

    Raises FabricError where the file or a value is wrong, CrashError where the simulator ends, Cancelled on the
    interrupt key.
    """
    started = start(
        fabric,
        vary=vary,
        seed=seed,
        threads=threads,
        until=until,
        sample=sample,
        qps=qps,
        tables=tables,
        json=json,
        memory=memory,
    )
    return started.result(progress)


def version() -> str:
    """The version of the library that runs.  LibraryError where there is none."""
    worker = _pool.take({})
    _pool.give(worker)
    return worker.version
