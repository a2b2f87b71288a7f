# SPDX-License-Identifier: Apache-2.0
"""check, diagnose and config: the program's verbs, by their documents.

They read files of many kinds, name them in messages and write to standard error, which is the program's business and
not the library's.  So they run the program with --json, and what it says is the same as on a command line.
"""
from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from typing import Any, Dict, List, Mapping, Tuple

from . import _library as lib
from ._errors import CrashError, FabricError, LibraryError, ProgramError, problems_of
from ._fabric import Fabric, read_fabric
from ._tables import Table


class Report:
    """What a verb says.  `json` is its document, `ok` whether it exited with 0, `messages` what it wrote beside."""

    def __init__(self, verb: str, document: Dict[str, Any], status: int, messages: str):
        self.verb, self.json, self.ok, self.messages = verb, document, status == 0, messages

    @property
    def findings(self) -> Table:
        """What was found, a row each; of check and diagnose."""
        return Table._of_dicts("findings", self.json["findings"])

    @property
    def answer(self) -> str:
        """"cause", "clear" or "not-enough"; of diagnose."""
        return str(self.json["answer"])

    @property
    def devices(self) -> Dict[str, str]:
        """The configurations by device; of config."""
        return {device["device"]: device["text"] for device in self.json["devices"]}

    def __repr__(self) -> str:
        what = f"{len(self.json['findings'])} findings" if "findings" in self.json else f"{len(self.devices)} devices"
        return f"<rocelab.Report {self.verb}: {what}>"


def _options(options: Mapping[str, Any]) -> List[str]:
    """nos="sonic" is --nos sonic, strict=True --strict, cable=["30m", ...] an option each."""
    words = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not False and one is not None:
                words += [option, os.fspath(one) if isinstance(one, os.PathLike) else str(one)]
    return words


def _call(verb: str, operands: List[str], options: Mapping[str, Any], folder: str) -> Report:
    try:
        program = lib.find_program()
    except OSError as error:
        raise LibraryError(str(error)) from None
    command = [program, verb, "--json", *_options(options), "--", *operands]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    # A text that had no file had one of ours; it is called by its name alone.
    said = done.stderr.decode(errors="replace").replace(folder + os.sep, "")
    if done.returncode < 0:
        how = signal.Signals(-done.returncode).name
        raise CrashError(f"rocelab {verb} ended by {how}: {said.strip()}", -done.returncode, said)
    if done.returncode not in (0, 1, 3):
        problems = [problem for problem in problems_of(said) if problem.line]
        raise FabricError(problems) if problems else ProgramError(said.strip())
    return Report(verb, json.loads(done.stdout.decode().replace(folder + os.sep, "")), done.returncode, said)


def _verb(verb: str, inputs: Tuple[Fabric, ...], options: Mapping[str, Any]) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        operands = []
        for number, one in enumerate(inputs):
            path, text = read_fabric(one)
            if text is not None:
                path = os.path.join(folder, path if number == 0 else f"{number}-{path}")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            operands.append(path)
        return _call(verb, operands, options, folder)


def check(*inputs: Fabric, **options: Any) -> Report:
    """Judges a fabric, or configurations of devices, as `rocelab check` does: `report.findings`, `report.ok`.

    Options are those of the command: check("fabric.yaml", failures=2, ignore="HR001").
    """
    return _verb("check", inputs, options)


def diagnose(*inputs: Fabric, **options: Any) -> Report:
    """Names causes in counters, as `rocelab diagnose` does: dumps of switches and hosts, metrics, documents of runs.

    Options are those of the command: diagnose("dumps", fabric="fabric.yaml").
    """
    return _verb("diagnose", inputs, options)


def config(fabric: Fabric, **options: Any) -> Report:
    """Configurations of a fabric's devices, as `rocelab config` writes them: `report.devices["leaf0"]`.

    Options are those of the command: config("fabric.yaml", nos="sonic").
    """
    return _verb("config", (fabric,), options)
