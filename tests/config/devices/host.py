# SPDX-License-Identifier: Apache-2.0
"""A Linux host with ConnectX adapters: a script that sets it up, and commands or a script run behind it as root.

From the manual pages of ip-link, dcb and ethtool, NVIDIA's pages on mlnx_qos, cma_roce_tos and mlxconfig, and the driver's
files in sysfs.  Of the shell as much is understood as such scripts use: variables, lists, loops, `if` on what is installed,
`case` on the first argument (there is none), pipes into tee.  A script with a shell's traps is no matter for this model.
mlnx_qos, cma_roce_tos and mlxconfig are installed, so dcb and others stand for what is missing only where a script asks.
Trust of DSCP begins with the priority that is DSCP / 8, as the adapter has it."""
import re
import shlex

from .base import Device, Refused

INSTALLED = {"mlnx_qos", "cma_roce_tos", "mlxconfig", "ip", "ethtool", "dcb", "tee", "sysctl"}
NOTHING = {"set", "export", "status=$?", "true", ":", "exit", "cd", "modprobe", "sleep", "umask", "host", "(", ")", "systemctl", "mlxfwreset"}


def simple(text):
    """Simple statements in order; the words of compound ones stand by themselves."""
    text = re.sub(r"<<'?(\w+)'?\n.*?\n\1(?=\n|$)", "", text.replace("\\\n", " "), flags=re.S)
    for line in text.splitlines():
        line = re.sub(r"(^|\s)#.*", "", line).replace(";;", "; @end;")
        parts, quote, word = [], None, ""
        for letter in line:
            quote = None if letter == quote else quote or (letter if letter in "'\"" else None)
            if letter == ";" and not quote:
                parts, word = [*parts, word], ""
            else:
                word += letter
        for part in [*parts, word]:
            part = part.strip()
            while re.match(r"(do|then|else)\b ?", part):
                head = re.match(r"(do|then|else)\b ?", part)
                if head[1] == "else":
                    yield "else"
                part = part[head.end():].strip()
            if part:
                yield part


class Host(Device):
    def __init__(self, text):
        self.script = text
        self.state = {}
        self.variables = {}
        self.unknown = []
        for command in self.run(list(simple(text)), {}):
            try:
                self.one(command)
            except Refused:
                self.unknown.append(command)

    def text(self):
        return self.script

    def statements(self, commands):
        return list(self.run(list(simple(commands)), {}))

    def take(self, command):
        self.one(command)
        self.script += command + "\n"

    # the shell

    def expand(self, line, names):
        line = re.sub(r"\$\(seq (\d+) (\d+)\)", lambda found: " ".join(map(str, range(int(found[1]), int(found[2]) + 1))), line)
        line = re.sub(r"\{(\d+)\.\.(\d+)\}", lambda found: " ".join(map(str, range(int(found[1]), int(found[2]) + 1))), line)
        for _ in range(3):
            line = re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda found: names.get(found[1] or found[2], found[0]), line)
        return line

    def block(self, lines, at, opens, closes):
        """The index of what closes the block that begins at `at`."""
        depth = 0
        for i in range(at, len(lines)):
            depth += bool(re.match(opens, lines[i]))
            depth -= bool(re.fullmatch(closes, lines[i]))
            if depth == 0:
                return i
        return len(lines) - 1

    def run(self, lines, names):
        """The commands that a run comes to."""
        at = 0
        while at < len(lines):
            line = lines[at]
            loop = re.match(r"for (\w+) in (.*)", line)
            if loop:
                end = self.block(lines, at, r"for ", r"done.*")
                for value in self.expand(loop[2], names).replace('"', "").split():
                    yield from self.run(lines[at + 1:end], {**names, loop[1]: value})
                at = end
            elif re.match(r"if ", line):
                end = self.block(lines, at, r"if ", r"fi")
                half, depth = end, 0
                for i in range(at + 1, end):
                    depth += line_opens(lines[i])
                    if lines[i] == "else" and depth == 0:
                        half = i
                        break
                    depth -= lines[i] == "fi"
                yield from self.run(lines[at + 1:half] if self.holds(line) else lines[half + 1:end], names)
                at = end
            elif re.match(r"case ", line):
                end = self.block(lines, at, r"case ", r"esac")
                start = next((i for i in range(at, end) if lines[i].startswith("set)")), end)
                stop = next((i for i in range(start, end) if lines[i] == "@end"), end)
                yield from self.run(lines[start + 1:stop], names)
                at = end
            elif re.match(r"(\w+=\S*|\w+='[^']*'|\w+=\"[^\"]*\")( \w+=\S*)*$", line):
                for name, value in re.findall(r"(\w+)=(\"[^\"]*\"|'[^']*'|\S*)", line):
                    names[name] = self.expand(value.strip("\"'"), names)
            elif line not in ("(", ")", "@end", "esac", "fi", "done") and line.split()[0] not in NOTHING:
                yield self.expand(line, names)
            at += 1

    @staticmethod
    def holds(line):
        found = re.search(r"command -v (\w+)", line)
        return found[1] in INSTALLED if found else bool(re.search(r"\[ -[def] /sys/class/(net|infiniband)/", line))

    # commands

    def one(self, command):
        line = re.sub(r"\s*2?>\s*/dev/null|\s*2>&1|\s*\|\| true$", "", command)
        told = re.match(r"echo (\S+)\s*(?:\||>|>>)\s*(?:sudo )?(?:tee )?(?:-a )?(/sys/\S+)$", line)
        if told:
            self.sysfs(told[2], told[1])
            return
        words = shlex.split(line)
        words = words[1:] if words and words[0] == "sudo" else words
        kind = words[0] if words else ""
        try:
            act = {"ip": self.ip, "mlnx_qos": self.mlnx, "dcb": self.dcb, "cma_roce_tos": self.cma, "mlxconfig": self.mlxconfig,
                   "ethtool": self.ethtool, "sysctl": self.sysctl, "ifconfig": self.ifconfig, "echo": lambda words: None}[kind]
        except KeyError:
            raise Refused("invalid", command, "the model does not know this command") from None
        try:
            act(words[1:])
        except (IndexError, ValueError, KeyError) as wrong:
            raise Refused("invalid", command, f"not a form of {kind}: {wrong!r}") from None

    def options(self, words):
        """-x value and --x value, as pairs; words without a dash are given to what is before them."""
        found, i = [], 0
        while i < len(words):
            if i + 1 < len(words) and not words[i + 1].startswith("-"):
                found.append((words[i].lstrip("-"), words[i + 1]))
                i += 2
            else:
                name, _, value = words[i].partition("=")
                found.append((name.lstrip("-"), value or True))
                i += 1
        return found

    def sysfs(self, path, value):
        value = value.strip("\"'")
        ecn = re.fullmatch(r"/sys/class/net/([^/]+)/ecn/roce_(np|rp)/(enable/(\d)|\w+)", path)
        if ecn and ecn[4]:
            self.state[ecn[1], "ecn", ecn[2], int(ecn[4])] = value == "1" or None
        elif ecn:
            self.state[ecn[1], "dcqcn", ecn[2], ecn[3]] = value
        elif re.fullmatch(r"/sys/class/infiniband/[^/]+/tc/\d+/traffic_class", path):
            self.state[path.split("/")[4], "traffic class"] = value
        else:
            raise Refused("invalid", path, "no such file in sysfs")

    def ip(self, words):
        if words[:2] != ["link", "set"]:
            raise ValueError("link set")
        words = words[2:]
        words = words[1:] if words[0] == "dev" else words
        for name, value in zip(words[1::2], words[2::2]):
            self.state[words[0], name] = value
        for word in words[1:]:
            if word in ("up", "down"):
                self.state[words[0], "up"] = word == "up"

    def ifconfig(self, words):
        self.state[words[0], "mtu"] = words[words.index("mtu") + 1]

    def trusts(self, nic, what):
        if self.state.get((nic, "trust")) != what:
            self.state[nic, "trust"] = what
            self.state.update({(nic, "class", dscp): dscp >> 3 if what == "dscp" else None for dscp in range(64)})

    def mlnx(self, words):
        chosen = dict(self.options(words))
        nic = chosen.pop("i", None) or chosen.pop("interface")
        for name, value in chosen.items():
            if name == "trust" and value in ("dscp", "pcp"):
                self.trusts(nic, value)
            elif name in ("pfc", "f"):
                on = value.split(",")
                self.state.update({(nic, "pfc", i): int(on[i]) == 1 or None for i in range(8)})
            elif name == "dscp2prio" and value == "flush":
                self.trusts(nic, "pcp")
            elif name == "dscp2prio":
                act, dscp, priority = value.split(",")
                self.trusts(nic, "dscp")
                self.state[nic, "class", int(dscp)] = int(priority) if act == "set" else int(dscp) >> 3
            elif name in ("tsa", "s", "tcbw", "t", "prio_tc", "p"):
                self.state[nic, {"s": "tsa", "t": "tcbw", "p": "prio_tc"}.get(name, name)] = value
            elif name in ("cable_len", "buffer_size", "prio2buffer", "ratelimit"):
                self.state[nic, name] = value
            elif name == "d" and value in ("os", "fw"):
                self.state[nic, "dcbx"] = value
            else:
                raise ValueError(name)

    def dcb(self, words):
        group, act, nic = words[0], words[1], words[3]
        pairs = [word.partition(":")[::2] for word in words[4:] if ":" in word]
        if (group, act) == ("pfc", "set"):
            for name, value in pairs:
                for i in range(8) if name == "all" else [int(name)]:
                    self.state[nic, "pfc", i] = value == "on" or None
        elif group == "app" and act in ("add", "replace"):
            self.trusts(nic, "dscp")
            self.state.update({(nic, "class", int(dscp)): int(to) for dscp, to in pairs})
        elif group == "app" and act == "flush":
            self.trusts(nic, "pcp")
        elif (group, act) in (("ets", "set"), ("buffer", "set"), ("dcbx", "set")):
            self.state[nic, group] = " ".join(words[4:])
        else:
            raise ValueError(group)

    def cma(self, words):
        chosen = dict(self.options(words))
        self.state[chosen["d"], "tos", chosen.get("p", "1")] = chosen["t"]

    def mlxconfig(self, words):
        device = words[words.index("-d") + 1]
        for word in words[words.index("set") + 1:]:
            name, value = word.split("=")
            self.state[device, "firmware", name] = value

    def ethtool(self, words):
        if words[0] in ("-A", "--pause"):
            for name, value in zip(words[2::2], words[3::2]):
                self.state[words[1], "802.3x", name] = value if value != "off" else None
        elif words[0] in ("-G", "-K", "-s", "-C", "--set-priv-flags", "-L"):
            self.state[words[1], words[0]] = " ".join(words[2:])
        else:
            raise ValueError(words[0])

    def sysctl(self, words):
        for word in words:
            if "=" in word:
                self.state["sysctl", word.split("=")[0]] = word.split("=")[1]

    def effective(self):
        return {key: value for key, value in self.state.items() if value is not None}

    def others(self):
        return sorted(self.unknown)

    # what may drift

    def changes(self):
        found, state = [], self.effective()
        for (nic, kind, *rest), value in state.items():
            if kind == "mtu":
                found.append(("mtu", f"ip link set dev {nic} mtu {1500 if value != '1500' else 9000}\n"))
            elif kind == "pfc":
                mask = [int(state.get((nic, "pfc", i)) is True) for i in range(8)]
                other = [0] * 8
                other[(rest[0] + 1) % 8] = 1
                mask[rest[0]] = 0
                found += [("pfc", f"mlnx_qos -i {nic} --pfc {','.join(map(str, one))}\n") for one in (mask, other)]
            elif kind == "trust" and value == "dscp":
                found += [("trust", f"mlnx_qos -i {nic} --trust pcp\n"), ("dscp map", f"mlnx_qos -i {nic} --dscp2prio set,26,5\n"),
                          ("dscp map", f"mlnx_qos -i {nic} --dscp2prio set,11,3\n"), ("802.3x", f"ethtool -A {nic} rx on tx on\n")]
            elif kind == "ecn":
                found.append(("ecn off", f"echo 0 > /sys/class/net/{nic}/ecn/roce_{rest[0]}/enable/{rest[1]}\n"))
            elif kind == "dcqcn" and value.isdigit():
                found.append(("cnp", f"echo {int(value) + 1} > /sys/class/net/{nic}/ecn/roce_{rest[0]}/{rest[1]}\n"))
            elif kind == "tcbw":
                shares = [int(one) for one in value.split(",")]
                high, low = shares.index(max(shares)), shares.index(min(one for one in shares if one))
                shares[high], shares[low] = shares[high] - 5, shares[low] + 5
                found.append(("weight", f"mlnx_qos -i {nic} --tcbw {','.join(map(str, shares))}\n"))
            elif kind == "tos":
                found.append(("traffic class", f"cma_roce_tos -d {nic} -t 96\n"))
            elif kind == "traffic class":
                found.append(("traffic class", f"echo 96 > /sys/class/infiniband/{nic}/tc/1/traffic_class\n"))
            elif kind == "firmware" and value.isdigit():
                found.append(("firmware", f"mlxconfig -d {nic} -y set {rest[0]}={int(value) ^ 1}\n"))
        return found


def line_opens(line):
    return bool(re.match(r"if ", line))
