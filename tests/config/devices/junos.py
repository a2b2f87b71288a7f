# SPDX-License-Identifier: Apache-2.0
"""A QFX: `show configuration`, in braces or as `set` commands, and `set` and `delete` with a commit behind them.

From Juniper's traffic management guide for QFX (forwarding classes, classifiers, drop profiles, schedulers and their maps,
congestion notification profiles, shared buffers) and its CLI guide: a candidate is changed, and nothing is in force before a
commit that checks it; a statement that takes one value is replaced, a list grows; `delete` of what is not there is only warned
of.  A forwarding class, scheduler, map, drop profile or congestion notification profile that is not defined fails the commit,
and so does a drop profile whose levels and probabilities are not of one number."""
import fnmatch
import re

from .base import Device, Refused

BUILT_IN = {"best-effort": 0, "fcoe": 3, "no-loss": 4, "network-control": 7, "mcast": 8}
# The last word is the one value of these, where the words before it end so.
SINGLE = [re.compile(one) for one in (
    r"interfaces \S+ (mtu|speed|description|native-vlan-id)", r"chassis .* (speed|number-of-sub-ports)", r"system host-name",
    r"class-of-service interfaces \S+ (congestion-notification-profile|scheduler-map|output-traffic-control-profile)",
    r"class-of-service interfaces \S+ unit \S+ classifiers (dscp|dscp-ipv6|ieee-802\.1)",
    r"class-of-service forwarding-classes class \S+ (queue-num|pfc-priority)",
    r"class-of-service schedulers \S+ (priority|transmit-rate|transmit-rate percent|shaping-rate|shaping-rate percent|"
    r"buffer-size percent|buffer-size temporal|buffer-dynamic-threshold|drop-profile-map loss-priority \S+ protocol \S+ drop-profile)",
    r"class-of-service scheduler-maps \S+ forwarding-class \S+ scheduler",
    r"class-of-service congestion-notification-profile \S+ input (cable-length|.* mru|.* xon|.* xoff|.* dynamic-threshold)",
    r"class-of-service congestion-notification-profile \S+ pfc-watchdog (poll-interval|detection|recovery|watchdog-action)",
    r"class-of-service shared-buffer (ingress|egress) (percent|buffer-partition \S+ (percent|dynamic-threshold))",
    r"class-of-service dedicated-buffer (ingress|egress) percent",
    r"class-of-service (drop-profiles \S+ fill-level \S+ drop-probability)")]
KNOWN = [re.compile(one) for one in (
    *(one.pattern + r" \S+" for one in SINGLE),
    r"interfaces \S+ (disable|unit .*|ether-options .*|gigether-options .*)", r"(chassis|protocols|policy-options|routing-options) .*",
    r"forwarding-options .*",
    r"class-of-service classifiers (dscp|dscp-ipv6|ieee-802\.1) \S+ import \S+",
    r"class-of-service classifiers (dscp|dscp-ipv6|ieee-802\.1) \S+ forwarding-class \S+ loss-priority (low|medium-low|medium-high|high) "
    r"code-points \S+",
    r"class-of-service drop-profiles \S+ interpolate (fill-level|drop-probability) \d+",
    r"class-of-service forwarding-classes class \S+ no-loss", r"class-of-service schedulers \S+ explicit-congestion-notification",
    r"class-of-service congestion-notification-profile \S+ pfc-watchdog( watchdog-action (drop|forward))?",
    r"class-of-service congestion-notification-profile \S+ input (dscp|ieee-802\.1) code-point [01]+ pfc",
    r"class-of-service congestion-notification-profile \S+ output ieee-802\.1 code-point [01]+ flow-control-queue \d",
    r"class-of-service forwarding-classes queue \d \S+", r"class-of-service interfaces \S+ unit \S+")]


def words_of(line):
    return re.findall(r'"[^"]*"|[^\s"]+', line)


def spread(words):
    """A list stands for its members."""
    if "[" not in words:
        return [tuple(words)]
    at, end = words.index("["), words.index("]")
    return [one for word in words[at + 1:end] for one in spread([*words[:at], word, *words[end + 1:]])]


def parted(path):
    """A forwarding class may have its settings in one line."""
    if path[:3] != ("class-of-service", "forwarding-classes", "class") or len(path) < 6:
        return [path]
    found, at = [], 4
    while at < len(path):
        size = 1 if path[at] == "no-loss" else 2
        found.append((*path[:4], *path[at:at + size]))
        at += size
    return found


def braces(text):
    """Statements of the form with braces as paths."""
    text = re.sub(r"/\*.*?\*/|(?m:^[ \t]*#[^\n]*)|##[^\n]*", "", text, flags=re.S)
    path, words = [], []
    for token in re.findall(r'"[^"]*"|[{};]|[^\s{};"]+', text):
        if token == "{":
            path.append(words)
            words = []
        elif token == "}":
            path.pop()
        elif token == ";":
            yield from spread([*(word for part in path for word in part), *words])
            words = []
        else:
            words.append(token)


class Junos(Device):
    atomic = True
    by = None

    def __init__(self, text):
        if len(re.findall(r"(?m)^set ", text)) > text.count("{"):
            found = [one for line in text.splitlines() if line.startswith("set ") for one in spread(words_of(line)[1:])]
        else:
            found = list(braces(text))
        self.paths = list(dict.fromkeys(one for path in found for one in parted(path)))

    def text(self):
        return "".join("set " + " ".join(path) + "\n" for path in self.paths)

    def take(self, command):
        self.by = None
        words = words_of(command)
        if words[0] not in ("set", "delete") or len(words) < 3 or words[0] == "set" and "[" in words and "]" not in words:
            raise Refused("invalid", command, "neither set nor delete")
        for path in (one for whole in spread(words[1:]) for one in (parted(whole) if words[0] == "set" else [whole])):
            if words[0] == "delete":
                self.paths = [one for one in self.paths if one[:len(path)] != path]
                continue
            line = " ".join(path)
            if not any(known.fullmatch(re.sub(r'"[^"]*"', "x", line)) for known in KNOWN):
                raise Refused("invalid", command, "no such statement")
            over = " ".join(path[:-1])
            if any(one.fullmatch(over) for one in SINGLE):
                at = next((i for i, one in enumerate(self.paths) if one[:-1] == path[:-1]), len(self.paths))
                self.paths[at:at + 1] = [path]
            elif path not in self.paths:
                near = [i for i, one in enumerate(self.paths) if one[:len(path) - 1] == path[:-1]]
                self.paths.insert(near[-1] + 1 if near else len(self.paths), path)

    def under(self, *start):
        """The rest of the paths that begin so."""
        if self.by is None:  # by the first words, since there may be thousands
            self.by = {}
            for path in self.paths:
                self.by.setdefault(path[:2], []).append(path)
        some = self.by.get(start[:2], ()) if len(start) > 1 else self.paths
        return [path[len(start):] for path in some if path[:len(start)] == start]

    def names(self, *start):
        return list(dict.fromkeys(rest[0] for rest in self.under(*start) if rest))

    def one(self, *start, default=None):
        return next((rest[-1] for rest in self.under(*start) if rest), default)

    def classes(self):
        found = dict(BUILT_IN)
        for name in self.names("class-of-service", "forwarding-classes", "class"):
            number = self.one("class-of-service", "forwarding-classes", "class", name, "queue-num")
            found[name] = int(number) if number else None
        return found

    def commit(self):
        wrong, cos = [], "class-of-service"
        known, profiles = self.classes(), self.names(cos, "drop-profiles")

        def need(kind, name, there, line):
            if name not in there:
                wrong.append(Refused("undefined", " ".join(line), f"{kind} {name} is not defined"))
        for path in self.under(cos):
            line = " ".join(path)
            for pattern, kind, there in (
                    (r"classifiers \S+ \S+ forwarding-class (\S+)", "forwarding class", known),
                    (r"scheduler-maps \S+ forwarding-class (\S+)", "forwarding class", known),
                    (r"scheduler-maps \S+ forwarding-class \S+ scheduler (\S+)", "scheduler", self.names(cos, "schedulers")),
                    (r"schedulers \S+ drop-profile-map .* drop-profile (\S+)", "drop profile", profiles),
                    (r"interfaces \S+ congestion-notification-profile (\S+)", "congestion notification profile",
                     self.names(cos, "congestion-notification-profile")),
                    (r"interfaces \S+ scheduler-map (\S+)", "scheduler map", self.names(cos, "scheduler-maps")),
                    (r"interfaces \S+ unit \S+ classifiers (?:dscp|ieee-802\.1) (\S+)", "classifier",
                     [*self.names(cos, "classifiers", "dscp"), *self.names(cos, "classifiers", "ieee-802.1"), "default"])):
                found = re.match(pattern + "$" if "scheduler (" in pattern else pattern, line)
                if found:
                    need(kind, found[1], there, path)
        for name in profiles:
            levels, chances = (self.under(cos, "drop-profiles", name, "interpolate", word) for word in ("fill-level", "drop-probability"))
            if len(levels) != len(chances):
                wrong.append(Refused("invalid", f"drop-profiles {name}", f"{len(levels)} fill levels and {len(chances)} probabilities"))
        for side in ("ingress", "egress"):
            parts = [int(path[-1]) for path in self.under(cos, "shared-buffer", side, "buffer-partition") if path[-2] == "percent"]
            if sum(parts) > 100:
                wrong.append(Refused("invalid", f"shared-buffer {side}", f"partitions are {sum(parts)} %"))
        for kind in ("dscp", "ieee-802.1"):
            for name in self.names(cos, "classifiers", kind):
                points = [path[-1] for path in self.under(cos, "classifiers", kind, name) if path[0] == "forwarding-class"]
                for point in {one for one in points if points.count(one) > 1}:
                    wrong.append(Refused("invalid", f"classifiers {kind} {name}", f"code point {point} is in two places"))
        return wrong

    # in force

    def effective(self):
        state, cos = {}, "class-of-service"
        known = self.classes()
        for start in ("shared-buffer", "dedicated-buffer"):
            for path in self.under(cos, start):
                state[start, *path[:-1]] = path[-1]
        lossless = {known[name] for name in self.names(cos, "forwarding-classes", "class")
                    if ("no-loss",) in self.under(cos, "forwarding-classes", "class", name)}
        for name, queue in known.items():
            priority = self.one(cos, "forwarding-classes", "class", name, "pfc-priority")
            if priority:
                state["priority", queue] = priority
        for path in self.under("chassis"):
            state["chassis", *path[:-1]] = path[-1]
        maps = {name: self.scheduled(name, known) for name in self.names(cos, "scheduler-maps")}
        sorts = {name: self.classified(name, known) for name in self.names(cos, "classifiers", "dscp")}
        pauses = {name: self.paused(name) for name in self.names(cos, "congestion-notification-profile")}
        wanted = [name for name in self.names(cos, "interfaces")]
        for port in self.names("interfaces"):
            if not re.match(r"(et|xe|ge)-", port):
                continue
            state[port, "mtu"] = self.one("interfaces", port, "mtu", default="1514")
            state[port, "speed"] = self.one("interfaces", port, "speed")
            state[port, "description"] = self.one("interfaces", port, "description")
            state[port, "up"] = ("disable",) not in self.under("interfaces", port)
            state[port, "lag"] = tuple(path for path in self.under("interfaces", port) if path[0].endswith("ether-options"))
            for name in [one for one in wanted if fnmatch.fnmatchcase(port, one)]:
                self.port(state, port, name, (maps, sorts, pauses, lossless))
        return state

    def port(self, state, port, name, made):
        maps, sorts, pauses, lossless = made
        for path in self.under("class-of-service", "interfaces", name):
            if path[0] == "scheduler-map":
                state.update({(port, *key): value for key, value in maps.get(path[1], {}).items()})
            elif path[0] == "congestion-notification-profile":
                found = pauses.get(path[1], {})
                state.update({(port, *key): value for key, value in found.items()})
                for queue in lossless:
                    state[port, "no-drop", queue] = any(key[0] == "pfc" for key in found) or None
            elif path[0] == "unit" and "dscp" in path:
                state.update({(port, *key): value for key, value in sorts.get(path[-1], {("classifier", "is"): path[-1]}).items()})
            else:
                state[port, "line", path] = True

    def scheduled(self, name, known):
        state, cos = {}, "class-of-service"
        for chosen in self.names(cos, "scheduler-maps", name, "forwarding-class"):
            queue, scheduler = known.get(chosen, chosen), self.one(cos, "scheduler-maps", name, "forwarding-class", chosen, "scheduler")
            curves = []
            for path in self.under(cos, "schedulers", scheduler):
                if path[0] == "drop-profile-map":
                    curves.append((path[2], path[4], *(tuple(rest[0] for rest in self.under(cos, "drop-profiles", path[-1], "interpolate", word))
                                                       for word in ("fill-level", "drop-probability"))))
                elif path[0] != "explicit-congestion-notification" and path != ("priority", "low"):  # low is the default
                    state["queue", queue, path[:-1]] = path[-1]
            marks = ("explicit-congestion-notification",) in self.under(cos, "schedulers", scheduler)
            if curves or marks:
                state["ecn" if marks else "drops", queue] = tuple(sorted(curves))
        return state

    def classified(self, name, known):
        state = {}
        for path in self.under("class-of-service", "classifiers", "dscp", name):
            if path[0] == "import":
                state["classifier", "import"] = path[1]
            elif path[-2] == "code-points":
                state["class", path[-1]] = (known.get(path[1], path[1]), path[3])
        return state

    def paused(self, name):
        state = {}
        for path in self.under("class-of-service", "congestion-notification-profile", name):
            if path[4:5] == ("pfc",):
                state["pfc", path[1], path[3]] = True
                state.update({(*path[:-1],): path[-1]} if len(path) > 5 else {})
            elif path == ("pfc-watchdog",):
                state["watchdog",] = True
            elif path[-2] == "flow-control-queue":
                state["flow-control-queue", path[3], path[-1]] = True
            else:
                state["watchdog",] = state.get(("watchdog",)) or path[0] == "pfc-watchdog" or None
                state[path[:-1]] = path[-1]
        if state.get(("watchdog",)):
            for word, value in (("poll-interval", "100"), ("detection", "2"), ("recovery", "200")):
                state.setdefault(("pfc-watchdog", word), value)
        return state

    def others(self):
        return sorted(" ".join(path) for path in self.paths if path[0] not in ("class-of-service", "chassis")
                      and not (path[0] == "interfaces" and re.match(r"(et|xe|ge)-", path[1]) and
                               path[2] in ("mtu", "speed", "description", "disable", "ether-options", "gigether-options")))

    # what may drift

    def changes(self):
        found = []
        for name in self.names("class-of-service", "drop-profiles"):
            at = f"class-of-service drop-profiles {name} interpolate fill-level"
            levels = [int(path[0]) for path in self.under(*at.split())]
            if len(levels) > 1:
                found += [("ecn threshold", f"delete {at}\nset {at} [ {' '.join(map(str, some))} ]\n")
                          for some in ([levels[0] // 2, *levels[1:]], [*levels[:-1], levels[-1] - 1]) if sorted(set(some)) == some]
        for path in self.paths:
            line = " ".join(path)
            at, last = " ".join(path[:-1]), path[-1]
            if re.fullmatch(r"interfaces (et|xe)-\S+ mtu \d+", line):
                found += [("mtu", f"set {at} {mtu}\n") for mtu in ("1514", "9000")]
                found.append(("mtu", f"delete {at}\n"))
            elif re.match(r"class-of-service interfaces (et|xe)", line):
                kind = path[3]
                found.append(({"congestion-notification-profile": "pfc", "scheduler-map": "scheduler map of a port"}.get(kind, "map of a port"),
                              f"delete {at if kind != 'unit' else line}\n"))
                if kind == "congestion-notification-profile" and "*" not in path[2]:
                    found.append(("state of a port", f"set interfaces {path[2]} disable\n"))
            elif re.match(r"class-of-service schedulers \S+ transmit-rate percent", line) and int(last) > 8:
                found.append(("weight", f"set {at} {int(last) - 5}\n"))
            elif line.endswith("explicit-congestion-notification"):
                found.append(("ecn off", f"delete {line}\n"))
            elif re.match(r"class-of-service shared-buffer .* percent", line) and int(last) > 10:
                found.append(("buffer", f"set {at} {int(last) - 7}\n"))
            elif "congestion-notification-profile" in path:
                if last == "pfc":
                    found.append(("pfc", f"delete {at}\n"))
                elif "pfc-watchdog" in path and last.isdigit():
                    found += [("watchdog", f"set {at} {int(last) * 2}\n"), ("watchdog", f"delete {' '.join(path[:4])}\n")]
                elif "cable-length" in path:
                    found.append(("cable", f"set {at} {int(last) * 2}\n"))
            elif path[-2:-1] == ("code-points",):
                found.append(("dscp map", f"delete {line}\n"))
                found.append(("dscp map", f"set {at} 001011\n"))
            elif line.endswith("no-loss"):
                found.append(("pfc of a class", f"delete {line}\n"))
        return found
