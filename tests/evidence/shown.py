# SPDX-License-Identifier: Apache-2.0
"""What evidence_show prints, as Python has it."""
import os
import pathlib
import subprocess

SHOW = os.environ["EVIDENCE_SHOW"]
SOURCE = pathlib.Path(os.environ["ROCELAB_SOURCE"])
DATA = SOURCE / "tests" / "data" / "evidence"
ROLES = {0: "host"}


class Value:
    def __init__(self, words):
        self.first, self.last, self.grown, self.looks = (int(w) for w in words[:4])
        self.span, self.real = float(words[4]), float(words[5])
        self.file, self.line = words[6].rsplit(":", 1)
        self.line = int(self.line)
        self.reset = words[7:] == ["reset"]


class Evidence:
    """Values by (object, priority or None, counter); peers, hosts of ranks, pauses, flows, circles, events, lines not taken, remarks."""

    def __init__(self, *arguments):
        run = subprocess.run([SHOW, *map(str, arguments)], stdout=subprocess.PIPE, timeout=120, check=False)
        self.status = run.returncode
        self.looks, self.seconds = 0, 0.0
        self.value, self.peer, self.host, self.device = {}, {}, {}, {}
        self.pause, self.flow, self.circle, self.remark, self.event, self.unknown = [], [], [], [], [], []
        for line in run.stdout.decode("utf-8", "replace").split("\n"):
            words = line.split("\t")
            if words[0] in ("peer", "host") and len(words) == 3:
                getattr(self, words[0])[words[1]] = words[2]
            elif words[0] == "looks":
                self.looks, self.seconds = int(words[1]), float(words[2])
            elif words[0] == "device" and len(words) == 4:
                self.device[words[1]] = (int(words[2]), words[3])
            elif words[0] in ("pause", "flow", "circle", "remark", "event", "unknown"):
                getattr(self, words[0]).append(words[1:])
            elif len(words) >= 10:
                self.value[words[0], None if words[1] == "-" else int(words[1]), words[2]] = Value(words[3:])

    def get(self, name, counter, priority=None):
        """What the counter grew by, or is; None where nobody said it."""
        value = self.value.get((name, priority, counter))
        return value.grown if value else None
