# SPDX-License-Identifier: Apache-2.0
"""What a user gives, as the library takes it."""
from __future__ import annotations

import json
import os
from decimal import Decimal, InvalidOperation
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from . import _library as lib
from ._errors import FabricError, Problem

Fabric = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Time = Union[str, int, float, Decimal]
Value = Union[str, int, float, bool, "os.PathLike[str]", Mapping[str, Any], List[Any]]

_UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
_EXAMPLE = "example:"
_TEXT = "fabric.yaml"  # what one without a file is called in messages


def read_fabric(fabric: Fabric) -> Tuple[str, Optional[str]]:
    """(path, text): a path, a text (it has more than one line) or a mapping; `example:pod64` is an installed file."""
    if isinstance(fabric, Mapping):
        return _TEXT, json.dumps(fabric, indent=1)
    if isinstance(fabric, str) and "\n" in fabric:
        return _TEXT, fabric
    path = os.fspath(fabric)
    if not path.startswith(_EXAMPLE):
        return path, None
    name = path[len(_EXAMPLE):]
    for folder in lib.example_folders():
        for found in (os.path.join(folder, name + ".yaml"), os.path.join(folder, name)):
            if name and os.path.isfile(found):
                return found, None
    raise FabricError([Problem(path, 0, 0, "no example of this name; `rocelab help examples` lists them")])


def picoseconds(time: Time, what: str) -> int:
    """`"10us"`, or a number of seconds."""
    number, unit = str(time).strip(), "s"
    if isinstance(time, str):
        for one in sorted(_UNITS, key=len, reverse=True):
            if number.endswith(one):
                number, unit = number[: -len(one)].strip(), one
                break
        else:
            raise ValueError(f"{what}={time!r}: a time has a unit, as in '10us'; a plain number is seconds")
    try:
        exact = Decimal(number) * _UNITS[unit]
    except InvalidOperation:
        raise ValueError(f"{what}={time!r}: no time; '10us' and 1e-5 are one") from None
    if not 0 < exact < 2**63:
        raise ValueError(f"{what}={time!r}: a time from 1ps to 106 days")
    return max(1, round(exact))


def setting(value: Any) -> str:
    """A value as the fabric file has it: numbers and truths of numpy, too; a map or a list is one of YAML."""
    if isinstance(value, os.PathLike):
        return json.dumps(os.path.realpath(value))
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value)
    return str(value).lower() if type(value).__name__ in ("bool", "bool_") else str(value)


def plugins(vary: Optional[Mapping[str, Value]]) -> Dict[str, Tuple[int, int]]:
    """Files that were named as such, which may be congestion controls: which they are now."""
    found = {}
    for value in (vary or {}).values():
        if isinstance(value, os.PathLike) and os.path.exists(value):
            about = os.stat(value)
            found[os.path.realpath(value)] = (about.st_ino, about.st_mtime_ns)
    return found


def settings(vary: Optional[Mapping[str, Value]]) -> List[Tuple[str, str]]:
    return [(path, setting(value)) for path, value in (vary or {}).items()]


def memory_bytes() -> int:
    """What a run may use where nobody says: the machine's, the container's, or the shell's limit."""
    import resource

    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        most = min(most, limit)
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as file:
                most = min(most, int(file.read()))
        except (OSError, ValueError):
            pass  # not in a container, or "max"
    return most
