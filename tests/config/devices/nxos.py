# SPDX-License-Identifier: Apache-2.0
"""A Nexus 9000: `show running-config`, and commands in `configure terminal`, each in force as it is given.

From Cisco's NX-OS quality of service configuration guide for the Nexus 9000 (classification, network QoS, queuing, PFC and its
watchdog), its interface guide, and its REST reference (class maps hold one object for each DSCP; queuing class maps are the
system's own).  Policies that are applied may be changed in place; a class map or policy map that is referred to cannot be
removed; a class or a policy that is not defined cannot be referred to.  `no service-policy type network-qos` puts
default-nq-policy in force, which has no no-drop class."""
import re

from .base import Refused, numbers, written
from .lines import LineDevice

NAME = r"[\w.:/-]+"
SYSTEM_QUEUING = re.compile(r"c-(out|in)(-8q)?(-ns)?-q(\d|-default)|class-default")
SYSTEM_NETWORK = re.compile(r"c(-8q)?-nq(\d|-default)|class-default|class-fcoe")
PORT = re.compile(r"interface ([Ee]thernet[\d/]+)$")
WHERE = {"qos": r"input", "queuing": r"(?:input|output)", "network-qos": ""}


def value(pattern, short=None):
    return (pattern, "value", None, short)


INTERFACE = [
    value(r"mtu (\d+)", "mtu"), value(r"speed (\S+)", "speed"), value("shutdown"), value("switchport"),
    value(r"priority-flow-control mode (on|off|auto)( send-tlv)?", "priority-flow-control mode"),
    value(r"priority-flow-control watch-dog-interval (on|off)", "priority-flow-control watch-dog-interval"),
    value(rf"service-policy type qos (?P<k>input) ({NAME})( no-stats)?"),
    value(rf"service-policy type queuing (?P<k>input|output) ({NAME})( no-stats)?"),
    value(r"flowcontrol (?P<k>receive|send) (on|off)"),
    value(r"channel-group (\d+)( force)?( mode (active|passive|on))?", "channel-group"),
    value(r"description .*", "description"), value(r"fec (\S+)", "fec"),
]
GRAMMAR = {
    "global": [
        (rf"class-map type qos (match-any |match-all )?(?P<k>{NAME})", "block", "class-map"),
        (rf"class-map type network-qos (match-any |match-all )?(?P<k>{NAME})", "block", "class-map-nq"),
        (rf"policy-map type qos (?P<k>{NAME})", "block", "policy-qos"),
        (rf"policy-map type network-qos (?P<k>{NAME})", "block", "policy-nq"),
        (rf"policy-map type queuing (?P<k>{NAME})", "block", "policy-queuing"),
        ("system qos", "block", "system-qos"),
        (r"interface (?P<k>\S+)", "block", "interface"),
        value(r"priority-flow-control watch-dog-interval (on|off)", "priority-flow-control watch-dog-interval"),
        value(r"priority-flow-control watch-dog interval (\d+)", "priority-flow-control watch-dog interval"),
        value(r"priority-flow-control watch-dog shutdown-multiplier (\d+)", "priority-flow-control watch-dog shutdown-multiplier"),
        value(r"priority-flow-control watch-dog internal-interface-multiplier (\d+)",
              "priority-flow-control watch-dog internal-interface-multiplier"),
        value(r"priority-flow-control auto-restore multiplier (\d+)", "priority-flow-control auto-restore multiplier"),
        value(r"hostname (\S+)"), value(r"feature (?P<k>\S.*)"),
    ],
    "class-map": [(r"match dscp (?P<list>[\d,-]+)", "list", None), (r"match cos (?P<list>[\d,-]+)", "list", None)],
    "class-map-nq": [value(r"match qos-group (\d)")],
    "policy-qos": [(rf"class (type qos )?(?P<k>{NAME})", "block", "class-qos")],
    "class-qos": [value(r"set qos-group (\d)", "set qos-group"), value(r"set dscp (\d+)", "set dscp"), value(r"set cos (\d)", "set cos")],
    "policy-nq": [(rf"class type network-qos (?P<k>{NAME})", "block", "class-nq")],
    "class-nq": [value(r"mtu (\d+)", "mtu"), value(r"pause pfc-cos ([\d,-]+)", "pause(?: pfc-cos)?"), value("pause no-drop", "pause"),
                 value(r"set cos (\d)", "set cos"), value("congestion-control .*", "congestion-control")],
    "policy-queuing": [(rf"class type queuing (?P<k>{NAME})", "block", "class-queuing")],
    "class-queuing": [
        value(r"bandwidth (remaining )?percent (\d+)", "bandwidth(?: remaining)?(?: percent)?"),
        value(r"priority( level (\d))?", "priority"),
        value(r"random-detect( (minimum-threshold|threshold) .*)?", "random-detect"),
        value(r"pause buffer-size (\d+) pause-threshold (\d+) resume-threshold (\d+)", "pause buffer-size"),
        value(r"queue-limit (.+)", "queue-limit"), value(r"shape (.+)", "shape")],
    "system-qos": [value(rf"service-policy type network-qos ({NAME})"),
                   value(rf"service-policy type qos (?P<k>input) ({NAME})"),
                   value(rf"service-policy type queuing (?P<k>input|output) ({NAME})")],
    "interface": INTERFACE,
}
ECN = re.compile(r"random-detect minimum-threshold (\d+) (\w+) maximum-threshold (\d+) (\w+)(?: drop-probability (\d+))?(?: weight (\d+))?( ecn)?")


def groups_of(name):
    """The qos-group of the system's own classes: c-out-8q-q3, c-8q-nq3, c-nq-default."""
    found = re.search(r"q(\d)$", name)
    return int(found.group(1)) if found else 0 if name.endswith("default") else None


class Nxos(LineDevice):
    GRAMMAR = GRAMMAR
    STEP = "  "
    RANGE = True
    KEEPS_NO = ("shutdown", "switchport")

    def ranged(self, text):
        found = re.fullmatch(r"interface [Ee]thernet(\d+/)(\d+)-(?:\1)?(\d+)", text)
        return [f"Ethernet{found[1]}{i}" for i in range(int(found[2]), int(found[3]) + 1)] if found else None

    def take(self, command):
        names = self.ranged(command.strip())
        if names:
            raise Refused("invalid", command, "the model takes one interface at a time")
        super().take(command)

    def block(self, start):
        return next((one for one in self.root.below if one.mode and re.fullmatch(start, one.text)), None)

    def policy(self, kind, name):
        return self.block(rf"policy-map type {kind} {re.escape(name)}")

    def class_map(self, kind, name):
        return self.block(rf"class-map type {kind} (match-any |match-all )?{re.escape(name)}")

    def allowed(self, over, line, rule, found, undone):
        if undone:
            return
        applied = re.match(rf"service-policy type (\S+) (?:(?:input|output) )?({NAME})", line)
        if applied and not self.policy(*applied.groups()) and not applied[2].startswith("default-"):
            raise Refused("undefined", line, f"policy-map {applied[2]} is not defined")
        if applied and not self.policy(*applied.groups()) and applied[2].startswith("default-") and \
                not re.fullmatch(r"default-(8q-)?(nq|out|in)-policy", applied[2]):
            raise Refused("undefined", line, f"{applied[2]} is none of the system's policies")
        if over.mode == "policy-qos" and found["k"] != "class-default" and not self.class_map("qos", found["k"]):
            raise Refused("undefined", line, f"class-map {found['k']} is not defined")
        if over.mode == "policy-queuing" and not SYSTEM_QUEUING.fullmatch(found["k"]):
            raise Refused("undefined", line, "no class map of the system's for queuing")
        if over.mode == "policy-nq" and not SYSTEM_NETWORK.fullmatch(found["k"]) and not self.class_map("network-qos", found["k"]):
            raise Refused("undefined", line, f"class-map {found['k']} is not defined")
        if line == "pause no-drop" or line.startswith("pause pfc-cos"):  # one of the two at a time
            over.below = [one for one in over.below if not (one.text.startswith("pause ") and one.rule is not rule)]
        if line.startswith("mtu ") and over.mode == "interface" and not 576 <= int(found[1]) <= 9216:
            raise Refused("invalid", line, "an MTU is 576 to 9216")

    def undone_list(self, line, hit):
        if not hit:
            raise Refused("invalid", line, "the class map has no such match")

    def removable(self, over, line, rule, found, same):
        applied = re.match(rf"no service-policy type \S+ (?:(?:input|output) )?({NAME})", line)
        if applied and not any(one.text.split()[-1] == applied[1] or applied[1] in one.text.split() for one in same):
            raise Refused("invalid", line, f"{applied[1]} is not applied here")
        if over is self.root and rule[1] == "block" and "k" in found.groupdict():
            name, kind = found["k"], line.split()[3] if line.split()[2] == "type" else ""
            if line.startswith("no policy-map") and self.applied(kind, name):
                raise Refused("in use", line, f"{name} is applied")
            if line.startswith("no class-map") and any(re.fullmatch(rf"class (type \S+ )?{re.escape(name)}", one.text)
                                                       for policy in self.blocks("policy-map") for one in policy.below):
                raise Refused("in use", line, f"a policy map has class {name}")
            if not same:
                raise Refused("undefined", line, "there is none")

    def applied(self, kind, name):
        return any(re.match(rf"service-policy type {kind} ((input|output) )?{re.escape(name)}( |$)", line.text)
                   for _, line in self.root.walk())

    # in force

    def line(self, over, start):
        return next((one.text for one in (over.below if over else ()) if one.text.startswith(start)), None)

    def effective(self):
        state = {}
        system = self.block("system qos")
        network = self.network(self.line(system, "service-policy type network-qos"))
        cache = {}
        for rule in GRAMMAR["global"][7:12]:
            found = next((one.text for one in self.root.below if one.rule and one.rule[0] == rule[0]), None)
            state["global", rule[3]] = found.split()[-1] if found else None
        for group, (pauses, mtu) in network.items():
            state["network-qos", "mtu", group] = mtu
            state["network-qos", "pauses", group] = pauses
        for port in self.blocks("interface "):
            name = PORT.match(port.text)
            if name:
                self.port(state, name[1], port, system, network, cache)
        return state

    def network(self, applied):
        """qos-group: (priorities that are paused, MTU)."""
        found = {group: ((), 1500) for group in range(8)}
        policy = self.policy("network-qos", applied.split()[-1]) if applied else None
        for one in policy.below if policy else ():
            name = one.text.split()[-1]
            group = groups_of(name)
            chosen = self.class_map("network-qos", name)
            if chosen:
                match = self.line(chosen, "match qos-group")
                group = int(match.split()[-1]) if match else None
            pause, mtu = self.line(one, "pause "), self.line(one, "mtu ")
            pauses = ()
            if pause:
                pauses = tuple(numbers(pause.split()[-1])) if "pfc-cos" in pause else (group,)
            found[group] = (pauses, int(mtu.split()[1]) if mtu else 1500)
        return found

    def port(self, state, name, port, system, network, cache):
        def said(start, default=None):
            line = self.line(port, start)
            return line.split(start, 1)[1].strip() if line else default
        state[name, "mtu"] = int(said("mtu ", 1500))
        state[name, "speed"] = said("speed ", "auto")
        state[name, "up"] = not any(one.text == "shutdown" for one in port.below)
        state[name, "layer 3"] = any(one.text == "no switchport" for one in port.below)
        state[name, "channel"] = said("channel-group ")
        state[name, "description"] = said("description ")
        state[name, "fec"] = said("fec ", "auto")
        state[name, "802.3x"] = (said("flowcontrol receive ", "off"), said("flowcontrol send ", "off"))
        mode = said("priority-flow-control mode ", "auto").split()
        state[name, "pfc mode"] = " ".join(mode)
        state[name, "watchdog"] = said("priority-flow-control watch-dog-interval ", "off")
        for group, (pauses, _) in network.items():
            for priority in pauses:
                state[name, "pfc", priority] = mode[0] if mode[0] != "off" else None
                state[name, "no-drop", group] = mode[0] != "off"
        qos = (self.line(port, "service-policy type qos input") or self.line(system, "service-policy type qos input") or "").split()
        classes = self.once(cache, "qos", qos[4] if qos else None, self.classified)
        state.update({(name, *key): value for key, value in classes.items()})
        for way in ("output", "input"):
            start = f"service-policy type queuing {way}"
            applied = (self.line(port, start) or self.line(system, start) or "").split()
            queues = self.once(cache, way, applied[4] if applied else None, self.queues)
            state.update({(name, *(key if way == "output" else (f"{way} {key[0]}", *key[1:]))): value for key, value in queues.items()})

    @staticmethod
    def once(cache, kind, name, make):
        if (kind, name) not in cache:
            cache[kind, name] = make(name)
        return cache[kind, name]

    def classified(self, name):
        """("class", dscp) and ("class of cos", cos) to qos-group: the first class of the policy that matches."""
        state = {}
        policy = self.policy("qos", name) if name else None
        for one in policy.below if policy else ():
            chosen = self.class_map("qos", one.text.split()[-1])
            group = self.line(one, "set qos-group")
            marks = tuple(line.text for line in one.below if not line.text.startswith("set qos-group"))
            group = (int(group.split()[-1]) if group else 0, *marks)
            lists = [line.text.split() for line in chosen.below] if chosen else []
            if chosen and "match-any" not in chosen.text and len({words[1] for words in lists if len(words) > 2}) > 1:
                state["class", "all of", tuple(" ".join(words) for words in lists)] = group
                continue
            for words in lists:
                if words[:1] == ["match"] and words[1] in ("dscp", "cos"):
                    for number in numbers(words[2]):
                        state.setdefault(("class" if words[1] == "dscp" else "class of cos", number), group)
            if one.text.split()[-1] == "class-default":
                state["class", "rest"] = group
        rest = state.get(("class", "rest"), (0,))
        for dscp in range(64):
            state.setdefault(("class", dscp), rest)
        state["class", "rest"] = rest
        return state

    def queues(self, name):
        state = {}
        policy = self.policy("queuing", name) if name else None
        for one in policy.below if policy else ():
            queue = groups_of(one.text.split()[-1])
            for line in one.below:
                word = line.text.split()[0]
                if word == "random-detect":
                    found = ECN.fullmatch(line.text)
                    marks = line.text.endswith(" ecn")
                    state["ecn" if marks else "wred", queue] = found.groups() if found else line.text
                elif line.text != "bandwidth remaining percent 0":  # what a queue has of which nothing is said
                    state["queue", queue, word] = line.text
        return state

    # what may drift

    def changes(self):
        found = []
        ports = [one for one in self.blocks("interface ") if PORT.match(one.text)]
        for port in ports:
            at = port.text + "\n"
            for one in port.below:
                words = one.text.split()
                if words[0] == "mtu":
                    found += [("mtu", f"{at}mtu {mtu}\n") for mtu in (1500, 4200, 9000) if mtu != int(words[1])]
                elif one.text.startswith("priority-flow-control mode on"):
                    found += [("pfc", f"{at}priority-flow-control mode off\n"), ("pfc", f"{at}no priority-flow-control mode\n")]
                elif one.text.startswith("priority-flow-control watch-dog-interval on"):
                    found.append(("watchdog", f"{at}no priority-flow-control watch-dog-interval on\n"))
                elif one.text.startswith("service-policy type qos"):
                    found.append(("map of a port", f"{at}no {one.text}\n"))
                elif words[0] == "channel-group":
                    found.append(("LAG member", f"{at}no channel-group\n"))
                elif words[0] == "speed":
                    found.append(("speed", f"{at}no speed\n"))
            if any(one.text.startswith("service-policy type qos") for one in port.below):
                found.append(("state of a port", f"{at}shutdown\n"))
        for block in self.root.below:
            found += self.policy_changes(block)
        for one in self.root.below:
            words = one.text.split()
            if one.text.startswith("priority-flow-control watch-dog") and words[-1].isdigit():
                found.append(("watchdog", " ".join([*words[:-1], str(int(words[-1]) + 1 if int(words[-1]) < 10 else 200)]) + "\n"))
        return found

    def policy_changes(self, block):
        found = []
        if block.mode == "class-map":
            for one in block.below:
                words = one.text.split()
                if words[:2] == ["match", "dscp"]:
                    have = numbers(words[2])
                    free = next(value for value in (25, 27, 33, 11) if value not in have)
                    found.append(("dscp map", f"{block.text}\nmatch dscp {free}\n"))
                    found.append(("dscp map", f"{block.text}\nmatch dscp {free}\nno match dscp {written(have[-1:])}\n"))
        for inner in block.below if block.mode in ("policy-nq", "policy-queuing") else ():
            at = f"{block.text}\n{inner.text}\n"
            for one in inner.below:
                words = one.text.split()
                ecn = ECN.fullmatch(one.text)
                if words[:2] == ["pause", "pfc-cos"]:
                    found.append(("pfc of a class", f"{at}no {one.text}\n"))
                elif words[0] == "mtu" and int(words[1]) > 2000:
                    found.append(("mtu of a class", f"{at}mtu 2240\n"))
                elif words[0] == "bandwidth" and int(words[-1]) > 5:
                    found.append(("weight", f"{at}{' '.join(words[:-1])} {int(words[-1]) - 5}\n"))
                elif ecn and words[-1] == "ecn":
                    half = [*words]
                    half[2] = str(int(words[2]) // 2)
                    found += [("ecn threshold", f"{at}{' '.join(half)}\n"), ("ecn off", f"{at}no {one.text}\n")]
                    if "drop-probability" in words:
                        more = [*words]
                        more[words.index("drop-probability") + 1] = "33"
                        found.append(("ecn probability", f"{at}{' '.join(more)}\n"))
                elif words[:2] == ["pause", "buffer-size"]:
                    found.append(("buffer", f"{at}{' '.join([*words[:2], str(int(words[2]) + 20800), *words[3:]])}\n"))
        return found
