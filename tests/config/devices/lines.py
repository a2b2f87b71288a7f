# SPDX-License-Identifier: Apache-2.0
"""Systems of commands and modes (NX-OS, EOS): a tree of lines, and a grammar of what each mode takes.

A grammar is a dict from mode to rules (pattern, kind, mode that is entered).  The first rule that matches a command counts.
The groups of the pattern that have a name beginning with `k` tell statements of one rule apart; all else of a line is its
value, and a line of the same rule with the same such groups replaces it.  Kinds:
    block   enters its mode; made if it is not there
    value   one value: another line of the rule replaces it
    list    group `list` is a set of numbers: adds to it, `no` takes out of it
A command that the present mode does not know is tried in the modes around it, as the command line does it; how it is indented
does not matter there.  Of a configuration that is read, lines that no rule knows are kept as they are."""
import re

from .base import Device, Refused, numbers, written


class Line:
    def __init__(self, text, indent="", rule=None, key=None, mode=None):
        self.text, self.indent, self.rule, self.key, self.mode, self.below = text, indent, rule, key, mode, []
        self.flat = 0  # lines of it that were written without indentation

    def walk(self, depth=0):
        for one in self.below:
            yield depth, one
            yield from one.walk(depth + 1)


class LineDevice(Device):
    GRAMMAR = {}
    STEP = "   "
    RANGE = None  # how interfaces are given together

    def __init__(self, text):
        self.root = Line("", mode="global")
        self.place = [self.root]
        stack = [(-1, self.root)]
        for raw in text.splitlines():
            line = self.clean(raw.strip())
            if not line:
                continue
            indent = len(raw) - len(raw.lstrip())
            while stack[-1][0] >= indent:
                stack.pop()
            over = stack[-1][1]
            last = self.root.below[-1] if self.root.below else None
            if indent == 0 and last and last.mode and last.flat == len(last.below) and self.matched(last.mode, line):
                over = last  # a script: written flat under its block
                over.flat += 1
            for node in self.read(over, line, raw[:indent] or (self.STEP if over is not self.root else "")):
                stack.append((indent, node))
        self.settled()

    @staticmethod
    def clean(line):
        """A line of a script as the device prints it; nothing where it prints none."""
        return "" if line in ("exit", "conf", "configure", "configure terminal") else re.sub(r"^(interface [Ee]thernet) +", r"\1", line)

    def settled(self):
        """After the reading: blocks given for a range are one for each."""
        if self.RANGE:
            spread = []
            for one in self.root.below:
                names = self.ranged(one.text)
                for name in names or [None]:
                    spread.append(one if name is None else self.cloned(one, name))
            self.root.below = []
            for one in spread:  # a block that is opened twice is one
                same = [old for old in self.root.below if one.mode and old.key == one.key]
                if same:
                    for line in one.below:
                        self.put(same[0], line)
                else:
                    self.root.below.append(one)

    def put(self, over, line):
        over.below = [old for old in over.below if not (line.key and old.key == line.key and not line.mode)] + [line]

    def cloned(self, one, name):
        rule, found, _ = self.matched("global", f"interface {name}")
        node = Line(f"interface {name}", one.indent, rule, self.key_of(rule, found), one.mode)
        for line in one.below:
            node.below.append(Line(line.text, line.indent, line.rule, line.key, line.mode))
            node.below[-1].below = line.below
        return node

    def ranged(self, text):
        return None

    def matched(self, mode, line):
        """(rule, match, whether it is `no`) for a line in a mode."""
        undone = re.match(r"(no|default) (.*)", line)
        for rule in self.GRAMMAR.get(mode, ()):
            found = re.fullmatch(rule[0], line)
            if found:
                return rule, found, False
        if undone:
            for rule in self.GRAMMAR.get(mode, ()):
                found = re.fullmatch(rule[0], undone.group(2)) or self.short(rule, undone.group(2))
                if found:
                    return rule, found, True
        return None

    @staticmethod
    def short(rule, line):
        """`no` of a value needs only the words before it."""
        if len(rule) > 3 and rule[3] and re.fullmatch(rule[3], line):
            return re.fullmatch(rule[3], line)
        return None

    @staticmethod
    def key_of(rule, found):
        return (rule[0], *(value for name, value in sorted(found.groupdict().items()) if name[0] == "k"))

    def read(self, over, line, indent):
        known = self.matched(over.mode, line) if over.mode else None
        if not known:
            node = Line(line, indent)
        else:
            rule, found, undone = known
            node = Line(line, indent, rule, self.key_of(rule, found), None if undone or rule[1] != "block" else rule[2])
        over.below.append(node)
        return [node]

    def text(self):
        return "".join(line.indent + line.text + "\n" for _, line in self.root.walk())

    # commands

    def take(self, command):
        line = re.sub(r"\s+", " ", command.strip())
        if line in ("exit", "end"):
            self.place = self.place[:-1] if line == "exit" and len(self.place) > 1 else [self.root]
            return
        while not self.matched(self.place[-1].mode, line):
            if len(self.place) == 1:
                raise Refused("invalid", command, "no mode takes this command here")
            self.place.pop()
        over = self.place[-1]
        rule, found, undone = self.matched(over.mode, line)
        key = self.key_of(rule, found)
        self.allowed(over, line, rule, found, undone)
        if undone:
            self.undo(over, line, rule, found, key)
        elif rule[1] == "block":
            node = next((one for one in over.below if one.key == key), None)
            if node is None:
                node = self.added(over, Line(line, self.indent_of(over), rule, key, rule[2]))
            self.place.append(node)
        elif rule[1] == "list":
            self.join(over, line, rule, found, key)
        else:
            same = [one for one in over.below if one.key == key]
            if same:
                same[0].text, same[0].below = line, []
                over.below = [one for one in over.below if one.key != key or one is same[0]]
            else:
                self.added(over, Line(line, self.indent_of(over), rule, key))

    def indent_of(self, over):
        if over is self.root:
            return ""
        known = [one.indent for one in over.below]
        return known[0] if known else over.indent + self.STEP

    def added(self, over, node):
        """Behind the last line of its kind, else before the blocks of its block; of the whole, before the interfaces."""
        like = [i for i, one in enumerate(over.below) if one.rule and one.rule is node.rule]
        at = like[-1] + 1 if like else len(over.below)
        if not like and over is self.root:
            at = next((i for i, one in enumerate(over.below) if one.mode and not node.mode or one.text.startswith("interface ")), at)
        elif not like and not node.mode:
            at = next((i for i, one in enumerate(over.below) if one.mode), at)
        over.below.insert(at, node)
        return node

    def join(self, over, line, rule, found, key):
        wanted = set(numbers(found["list"]))
        self.leave(over, rule, wanted, key)
        same = [one for one in over.below if one.rule is rule and one.key == key]
        if same:
            node = same[0]
            have = set(numbers(re.fullmatch(rule[0], node.text)["list"]))
            self.relist(node, rule, have | wanted)
        else:
            self.added(over, Line(line, self.indent_of(over), rule, key))

    def leave(self, over, rule, values, key):
        """Before numbers are added: where else they may not stand."""

    def relist(self, node, rule, values):
        found = re.fullmatch(rule[0], node.text)
        node.text = node.text[:found.start("list")] + written(values, self.BETWEEN) + node.text[found.end("list"):]

    BETWEEN = ","

    def undo(self, over, line, rule, found, key):
        if rule[1] == "list":
            gone = set(numbers(found["list"])) if found.groupdict().get("list") else set(range(64))
            hit = False
            for node in [one for one in over.below if one.rule is rule]:
                have = set(numbers(re.fullmatch(rule[0], node.text)["list"]))
                if len(key) > 1 and node.key != key and key[1] is not None:
                    continue
                if have & gone:
                    hit = True
                    self.relist(node, rule, have - gone)
                    if not have - gone:
                        over.below.remove(node)
            self.undone_list(line, hit)
            return
        same = [one for one in over.below if one.key == key or (one.rule is rule and None in key)]
        kept = [one for one in over.below if one not in same]
        self.removable(over, line, rule, found, same)
        over.below = kept
        if rule[0].startswith(self.KEEPS_NO):
            self.added(over, Line(line, self.indent_of(over), rule, key))

    KEEPS_NO = ("\0",)  # of what `no` is itself a line of the configuration

    def undone_list(self, line, hit):
        pass

    def allowed(self, over, line, rule, found, undone):
        """Raises Refused for what the system refuses here: references above all."""

    def removable(self, over, line, rule, found, same):
        """The same for what `no` takes away."""

    def counts(self, command):
        line = command.strip()
        if line in ("exit", "end"):
            return False
        for mode in self.GRAMMAR:
            known = self.matched(mode, line)
            if known and known[0][1] == "block" and not known[2]:
                return False
        return True

    # reading

    def blocks(self, start):
        return [one for one in self.root.below if one.mode and one.text.startswith(start)]

    def others(self):
        """Lines that no rule knows, with the block they stand in."""
        found = []

        def walk(node, path):
            for one in node.below:
                if one.rule is None and not one.text.startswith("!") and one.text != "end":
                    found.append(" / ".join((*path, one.text)))
                walk(one, (*path, one.text))
        walk(self.root, ())
        return sorted(found)
