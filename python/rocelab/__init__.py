# SPDX-License-Identifier: Apache-2.0
"""rocelab: AI fabrics (RoCE, InfiniBand, Ultra Ethernet) in virtual time, packet by packet.

    >>> import rocelab
    >>> result = rocelab.run("example:pod64", sample="20us")
    >>> result.jobs.frame()
    >>> rocelab.sweep("example:pod64", {"classes.rdma.ecn.min": ["100KB", "400KB"]}).frame()

run() and sweep() simulate, in worker processes over librocelab; check(), diagnose() and config() run the program
`rocelab`.  Nothing but Python's own library is needed; frame() needs pandas.
"""
from ._errors import (
    Cancelled,
    CrashError,
    FabricError,
    LibraryError,
    Problem,
    ProgramError,
    RocelabError,
)
from ._pool import close
from ._program import Report, check, config, diagnose
from ._progress import Progress
from ._run import Flows, Measures, Ports, Result, Run, run, start, version
from ._sweep import SweepProgress, sweep
from ._tables import Table

__all__ = [
    "Cancelled",
    "CrashError",
    "FabricError",
    "Flows",
    "LibraryError",
    "Measures",
    "Ports",
    "Problem",
    "ProgramError",
    "Progress",
    "Report",
    "Result",
    "RocelabError",
    "Run",
    "SweepProgress",
    "Table",
    "check",
    "close",
    "config",
    "diagnose",
    "run",
    "start",
    "sweep",
    "version",
]
