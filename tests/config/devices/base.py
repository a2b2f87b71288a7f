# SPDX-License-Identifier: Apache-2.0
"""What the models of devices share.

A device holds a configuration, takes commands one by one as its system takes them, and says what it then does: the
settings in force, by port.  The models are written from the vendors' documents and know nothing of what this program
writes, so that they can judge it.

Settings in force are a dict from a tuple to a value.  A setting of a port begins with the port's name and its kind; the
kinds in GUARDED are those that keep a port lossless: where such a setting was right before the first command and is meant
to be the same after the last, it has to hold at every moment between."""
import copy

GUARDED = ("pfc", "no-drop", "ecn", "class")


class Refused(Exception):
    """A command that the device does not take.  `kind`: invalid (no such command, or not here), undefined (it refers to
    what is not there), in use (what it removes is referred to)."""

    def __init__(self, kind, command, why):
        super().__init__(f"{command.strip()}: {why}")
        self.kind = kind


class Device:
    atomic = False  # commands take effect together, when they are committed

    def __init__(self, text):
        raise NotImplementedError

    def text(self):
        """The configuration as the device prints it."""
        raise NotImplementedError

    def statements(self, commands):
        """The single commands of a text, each as take() wants it."""
        return [line for line in commands.splitlines() if line.strip() and not line.lstrip().startswith(("!", "#"))]

    def begin(self, commands):
        """Before the commands of a text: whether they are committed at once may be said in it."""

    def take(self, command):
        """One command, or Refused."""
        raise NotImplementedError

    def commit(self):
        """After the last command: what the device finds wrong with the whole, as Refused."""
        return []

    def counts(self, command):
        """Whether a command sets something, and does not only go where the next one sets it."""
        return True

    def effective(self):
        raise NotImplementedError

    def others(self):
        """What is not modelled, verbatim."""
        return []

    def changes(self):
        """What may drift: (class of change, commands)."""
        raise NotImplementedError

    def copy(self):
        return copy.deepcopy(self)


def guards(effective):
    """What keeps ports lossless, as a set: what pauses, what does not drop, that there is marking, and what leads there."""
    lossless = {}
    for key, value in effective.items():
        if len(key) > 2 and key[1] in ("pfc", "no-drop") and value:
            lossless.setdefault(key[0], set()).add(str(key[-1]))
    found = set()
    for key, value in effective.items():
        if len(key) < 3 or key[1] not in GUARDED or value in (None, False):
            continue
        if key[1] != "class" or str(value[0] if isinstance(value, tuple) else value) in lossless.get(key[0], ()):
            found.add((key, None if key[1] == "ecn" else value))
    return found


class Outcome:
    """What became of a device that was given commands: refusals, moments that lost what was to stay, the count."""

    def __init__(self, device, commands, goal):
        self.refused, self.gaps, self.statements = [], [], 0
        before = device.copy()
        kept = guards(before.effective()) & guards(goal)
        device.begin(commands)
        for command in device.statements(commands):
            self.statements += device.counts(command)
            try:
                device.take(command)
            except Refused as refused:
                self.refused.append(refused)
                continue
            if not device.atomic:
                self.note(device, kept, command)
        wrong = device.commit()
        self.refused += wrong
        if wrong and device.atomic:  # nothing of it is in force
            device.__dict__ = before.__dict__
        self.note(device, kept, "the last command")

    def note(self, device, kept, command):
        lost = kept - guards(device.effective())
        if lost:
            key = sorted(lost, key=repr)[0][0]
            self.gaps.append(f"after {command.strip()!r}: {' '.join(map(str, key))} ({len(lost)} settings)")


def numbers(text):
    """24,26,30-32 or `24 26` as a list."""
    found = []
    for part in text.replace(",", " ").split():
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


def written(values, between=","):
    """The other way: ranges of three and more as low-high."""
    values, out = sorted(values), []
    while values:
        run = 1
        while run < len(values) and values[run] == values[0] + run:
            run += 1
        out += [f"{values[0]}-{values[run - 1]}"] if run > 2 else [str(one) for one in values[:run]]
        values = values[run:]
    return between.join(out)
