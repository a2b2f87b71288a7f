# SPDX-License-Identifier: Apache-2.0
"""A Cumulus switch: `nv config show -o commands`, and `nv set` and `nv unset` with `nv config apply` behind them.

From NVIDIA's Cumulus Linux 5.19 guide (quality of service, RoCE, NVUE) and the NVUE command reference.  Objects with settings:
setting one replaces its value, `nv unset` of a path takes all below it away and puts the default in force; lists and ranges
stand for their members.  Nothing is in force before the apply, which refuses a profile that is not there, shares of one
scheduler above 100 per cent, pools above 100 per cent, and two lossless pools."""
import re
import shlex

from .base import Device, Refused, numbers

WORD = r"[\w.:-]+"
# A path, then what is a value.  `#` in a path is a number or several of them.
LEAVES = [re.compile(one.replace("#", r"(\d[\d,-]*)").replace("NAME", WORD)) for one in (
    r"system hostname", r"interface NAME link (mtu|speed|breakout.*|fec|auto-negotiate|state)", r"interface NAME (description|type)",
    r"interface NAME bond member.*", r"interface NAME (ip|bridge|router|acl|evpn) .*", r"(router|vrf|bridge|evpn|nve|mlag|service|system) .*",
    r"interface NAME qos (mapping|egress-scheduler|congestion-control|pfc|link-pause|remark|egress-shaper) profile",
    r"interface NAME qos pfc-watchdog state", r"interface NAME qos shared-headroom-pool", r"interface NAME qos headroom lossy extra-threshold",
    r"qos roce( state| mode| cable-length)?",
    r"qos mapping NAME (trust|port-default-sp|(dscp|pcp) # switch-priority)",
    r"qos egress-queue-mapping NAME switch-priority # traffic-class",
    r"qos egress-scheduler NAME traffic-class # (mode|bw-percent)",
    r"qos congestion-control NAME traffic-class # (ecn|red|mode|min-threshold|max-threshold|probability|(min|max)-threshold-percent)",
    r"qos pfc NAME (rx|tx|cable-length|xoff-threshold|xon-threshold|port-buffer|small-packet-probability)",
    r"qos link-pause NAME (rx|tx|cable-length|xoff-threshold|xon-threshold|port-buffer|small-packet-probability)",
    r"qos traffic-pool NAME memory-percent", r"qos pfc-watchdog (polling-interval|robustness)",
    r"qos remark NAME (rewrite|switch-priority # (dscp|pcp))", r"qos egress-shaper NAME .*",
    r"qos advance-buffer-config NAME (shared-headroom \S+|(in|e)gress-(lossless|lossy|mgmt)-buffer( \S+)* \S+|(in|e)gress-service-pool # \S+)")]
# Paths that stand by themselves.
KEYS = [re.compile(one.replace("#", r"(\d[\d,-]*)").replace("NAME", WORD)) for one in (
    r"qos (pfc|traffic-pool) NAME switch-priority #", r"qos roce", r"qos (pfc|link-pause|traffic-pool|mapping|egress-scheduler|congestion-control) NAME",
    r"interface NAME bond member NAME", r"interface NAME", r"interface NAME qos pfc-watchdog")]
ROCE = ("lossy-multi-tc-host-group", "lossy-multi-tc-network-group")


def ports_of(text):
    """swp1-4,swp6 as names."""
    found = []
    for part in text.split(","):
        both = re.fullmatch(r"([a-z]+)(\d+)-(?:\1)?(\d+)", part)
        found += [f"{both[1]}{i}" for i in range(int(both[2]), int(both[3]) + 1)] if both else [part]
    return found


def meant(value):
    """enable and enabled are one word."""
    return {"enable": "enabled", "disable": "disabled", "on": "enabled", "off": "disabled"}.get(value, value)


class Nvue(Device):
    atomic = True

    def __init__(self, text):
        self.lines = {}  # a path, and its value or None; in the order in which they were set
        for line in text.splitlines():
            if line.startswith("nv set "):
                self.set(shlex.split(line)[2:], line, strict=False)

    def text(self):
        return "".join(f"nv set {' '.join(path)}{'' if value is None else ' ' + (shlex.quote(value))}\n" for path, value in self.lines.items())

    def statements(self, commands):
        return [line for line in super().statements(commands) if not line.startswith("nv config")]

    @staticmethod
    def members(words):
        """The words of each member where interfaces or numbers are given together."""
        whole = [words]
        if words[0] == "interface" and len(words) > 1:
            whole = [[words[0], port, *words[2:]] for port in ports_of(words[1])]
        for at, word in enumerate(words[:-1]):
            if word in ("switch-priority", "traffic-class", "dscp", "pcp") and re.fullmatch(r"\d[\d,-]*", words[at + 1]) \
                    and (at + 2 < len(words) or word == "switch-priority" and words[1] in ("pfc", "traffic-pool")):
                whole = [[*one[:at + 1], str(number), *one[at + 2:]] for one in whole for number in numbers(words[at + 1])]
        return whole

    def set(self, words, command, strict=True):
        for one in self.members(words):
            path, value = tuple(one[:-1]), one[-1]
            if any(key.fullmatch(" ".join(one)) for key in KEYS):
                path, value = tuple(one), None
            elif not any(leaf.fullmatch(" ".join(path)) for leaf in LEAVES) and strict:
                raise Refused("invalid", command, "no such object or setting")
            if path not in self.lines:
                self.near(path)
            self.lines[path] = value

    def near(self, path):
        """A place behind its own kind, so that the order stays readable."""
        like = [i for i, one in enumerate(self.lines) if one[:-1] == path[:-1] or one[:2] == path[:2] and path[0] == "interface"]
        if like:
            items = list(self.lines.items())
            items.insert(like[-1] + 1, (path, None))
            self.lines = dict(items)

    def take(self, command):
        words = shlex.split(command)
        if len(words) < 3 or words[0] != "nv" or words[1] not in ("set", "unset"):
            raise Refused("invalid", command, "neither nv set nor nv unset")
        if words[1] == "set":
            self.set(words[2:], command)
            return
        for one in self.members([*words[2:], ""]):
            path = tuple(one[:-1])
            gone = [old for old, value in self.lines.items() if old[:len(path)] == path or (*old, value) == path]
            if not gone and len(path) > 3 and not any(leaf.match(" ".join(path)) for leaf in (*LEAVES, *KEYS)):
                raise Refused("invalid", command, "no such object or setting")
            for old in gone:
                del self.lines[old]
            if path == ("qos", "roce", "state") and self.under("qos", "roce"):
                self.lines[path] = "disabled"  # the default, whatever the mode that is left says

    def under(self, *start):
        return [(path[len(start):], value) for path, value in self.lines.items() if path[:len(start)] == start]

    def commit(self):
        wrong = []
        for path, value in self.lines.items():
            if path[0] == "interface" and path[2:3] == ("qos",) and path[-1] == "profile":
                if not self.under("qos", path[3], value) and value not in ("default-global", *ROCE):
                    wrong.append(Refused("undefined", " ".join((*path, value)), f"qos {path[3]} {value} is not defined"))
        names = dict.fromkeys(path[2] for path in self.lines if path[:2] == ("qos", "egress-scheduler"))
        for name in names:
            shares = sum(int(value) for path, value in self.under("qos", "egress-scheduler", name) if path[-1] == "bw-percent")
            if shares > 100:
                wrong.append(Refused("invalid", f"qos egress-scheduler {name}", f"shares are {shares} %"))
        pools = sum(int(value) for path, value in self.under("qos", "traffic-pool") if path[-1] == "memory-percent")
        if pools > 100:
            wrong.append(Refused("invalid", "qos traffic-pool", f"pools are {pools} %"))
        if self.under("qos", "traffic-pool", "default-lossless") and self.under("qos", "traffic-pool", "roce-lossless"):
            wrong.append(Refused("invalid", "qos traffic-pool", "a switch has one lossless pool"))
        return wrong

    # in force

    def effective(self):
        state, roce = {}, dict(self.under("qos", "roce"))
        state["roce", "state"] = meant(roce.get(("state",), "enabled" if roce else "disabled"))  # setting the object enables it
        state["roce", "mode"] = roce.get(("mode",), "lossless") if roce else None
        state["roce", "cable-length"] = roce.get(("cable-length",), "100") if roce else None
        on = state["roce", "state"] == "enabled"
        for start in ("traffic-pool", "advance-buffer-config", "egress-queue-mapping", "pfc-watchdog"):
            for path, value in self.under("qos", start):
                state["qos", start, *path] = meant(value) if value else True
        state.setdefault(("qos", "pfc-watchdog", "polling-interval"), "100")
        state.setdefault(("qos", "pfc-watchdog", "robustness"), "3")
        for i in range(8):
            state.setdefault(("qos", "egress-queue-mapping", "default-global", "switch-priority", str(i), "traffic-class"), str(i) if not on else None)
        ports = dict.fromkeys(path[1] for path in self.lines if path[0] == "interface" and re.match(r"swp", path[1]))
        lossless = on and (state["roce", "mode"] or "").startswith("lossless")
        for port in ports:
            said = dict(self.under("interface", port))
            state[port, "mtu"] = said.get(("link", "mtu"), "9216")
            for key in ("speed", "breakout", "fec", "state"):
                state[port, key] = said.get(("link", key), "up" if key == "state" else None)
            state[port, "watchdog"] = "enabled" if meant(said.get(("qos", "pfc-watchdog", "state"), "disabled")) == "enabled" \
                or ("qos", "pfc-watchdog") in said and ("qos", "pfc-watchdog", "state") not in said else "disabled"
            if lossless:
                state[port, "pfc", "3"] = state[port, "no-drop", "3"] = True
            if on:
                state[port, "ecn", "3"] = ("150000", "1500000", "100")
                state.update({(port, "class", "dscp", str(dscp)): str(dscp >> 3) for dscp in range(64)})
            for kind in ("mapping", "egress-scheduler", "congestion-control", "pfc", "link-pause", "remark", "egress-shaper"):
                name = said.get(("qos", kind, "profile"), "default-global")
                self.profile(state, port, kind, dict(self.under("qos", kind, name)))
        for path, value in self.lines.items():
            if path[0] == "interface" and path[2:4] == ("bond", "member"):
                state["bond", path[1], path[4] if len(path) > 4 else value] = True
        return state

    @staticmethod
    def profile(state, port, kind, lines):
        if kind == "pfc":
            both = [meant(lines.get((way,), "enabled")) for way in ("rx", "tx")]
            state[port, "pfc way"] = tuple(both) if lines else None
            for path, value in lines.items():
                if path[:1] == ("switch-priority",) and len(path) > 1:
                    state[port, "pfc", path[1]] = state[port, "no-drop", path[1]] = both == ["enabled", "enabled"] or None
                elif path not in (("rx",), ("tx",), ()):
                    state[port, "pfc buffer", path] = value
        elif kind == "congestion-control":
            for queue in dict.fromkeys(path[1] for path in lines if len(path) > 2):
                of = {path[2]: value for path, value in lines.items() if len(path) > 2 and path[1] == queue}
                if meant(of.get("ecn", "enabled")) == "enabled":
                    state[port, "ecn", queue] = (of.get("min-threshold", "150000"), of.get("max-threshold", "1500000"), of.get("probability", "100"))
                for word in ("red", "mode", "min-threshold-percent", "max-threshold-percent"):
                    if word in of:
                        state[port, "marking", queue, word] = meant(of[word])
        elif kind == "mapping":
            if lines:
                state[port, "trust"] = lines.get(("trust",), "l2")
            for path, value in lines.items():
                if len(path) == 3:
                    state[port, "class", path[0], path[1]] = value
                elif path == ("port-default-sp",):
                    state[port, "class", "rest"] = value
            if lines.get(("trust",)) in ("l3", "both"):  # what the profile does not name is its number by eight
                for dscp in range(64):
                    state.setdefault((port, "class", "dscp", str(dscp)), str(dscp >> 3))
        else:
            for path, value in lines.items():
                if path:
                    state[port, kind, *path] = value

    def others(self):
        return sorted(" ".join((*path, value or "")) for path, value in self.lines.items()
                      if path[0] != "qos" and not (path[0] == "interface" and len(path) > 2 and path[2] in ("link", "qos", "bond")))

    # what may drift

    def changes(self):
        found = []
        for path, value in self.lines.items():
            line = "nv set " + " ".join(path)
            gone = "nv unset " + " ".join(path)
            if path[-2:] == ("link", "mtu"):
                found += [("mtu", f"{line} {mtu}\n") for mtu in ("1500", "9000")]
            elif path[-2:] == ("link", "speed"):
                found += [("speed", f"{line} {'100G' if value != '100G' else '40G'}\n"), ("mtu", f"nv set interface {path[1]} link mtu 1500\n"),
                          ("state of a port", f"nv set interface {path[1]} link state down\n")]
            elif path[0] == "interface" and path[-1] == "profile":
                found.append((f"{path[3]} of a port", f"{gone}\n"))
            elif path[-2:] == ("pfc-watchdog", "state"):
                found += [("watchdog", f"{line} disabled\n"), ("watchdog", f"nv unset interface {path[1]} qos pfc-watchdog\n")]
            elif path[1] == "pfc-watchdog":
                found.append(("watchdog", f"{line} {int(value) * 2}\n"))
            elif path[-1] in ("min-threshold", "max-threshold"):
                found.append(("ecn threshold", f"{line} {int(value) * 11 // 10}\n"))
            elif path[-1] == "probability":
                found.append(("ecn probability", f"{line} 33\n"))
            elif path[-1] == "ecn":
                found.append(("ecn off", f"{line} disabled\n"))
            elif path[-1] == "bw-percent" and int(value) > 8:
                found.append(("weight", f"{line} {int(value) - 5}\n"))
            elif path[1:2] == ("mapping",) and "dscp" in path:
                found += [("dscp map", f"{line} 5\n"), ("dscp map", f"nv set qos mapping {path[2]} dscp 11 switch-priority 3\n")]
            elif path[1:2] == ("pfc",):
                if "switch-priority" in path:
                    found += [("pfc", f"{gone}\n"), ("pfc", f"nv set qos pfc {path[2]} switch-priority {(int(path[-1]) + 1) % 8}\n")]
                elif path[-1] in ("rx", "tx"):
                    found.append(("pfc", f"{line} disabled\n"))
                elif path[-1] == "cable-length":
                    found.append(("cable", f"{line} {int(value) * 2}\n"))
            elif path[-1] == "memory-percent":
                found.append(("buffer", f"{line} {int(value) - 9}\n"))
            elif path[:2] == ("qos", "roce") and path[-1] in ("mode", "cable-length"):
                found.append(("roce", f"{line} {'lossy' if path[-1] == 'mode' else 200}\n"))
        return found
