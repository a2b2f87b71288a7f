# SPDX-License-Identifier: Apache-2.0
"""An Arista switch: `show running-config`, and commands in `configure` or in a session, which takes effect at its commit.

From Arista's EOS manual, chapter quality of service (maps, QoS profiles, ECN and PFC per transmit queue), its notes on PFC and
its watchdog, and the grammar of the AVD collection's golden configurations.  A port takes what it says itself before what its
profile says.  Which of tx-queue and uc-tx-queue there are is the platform's: the configuration shows it, and the other is
refused.  A profile that is not there may be named, and then does nothing; here that is refused, for it is never meant."""
import re

from .base import Refused, numbers
from .lines import LineDevice

NAME = r"[\w.:/-]+"
PORT = re.compile(r"interface (Ethernet[\d/]+)$")


def value(pattern, short=None):
    return (pattern, "value", None, short)


PFC = [
    value(r"priority-flow-control on", "priority-flow-control"),
    value(r"priority-flow-control priority (?P<k>\d) (no-drop|drop)", r"priority-flow-control priority (?P<k>\d)"),
    value(r"priority-flow-control pause watchdog( .*)?", "priority-flow-control pause watchdog"),
]
QOS = [
    value(r"qos trust (dscp|cos)", "qos trust"), value(r"qos cos (\d)", "qos cos"), value(r"qos dscp (\d+)", "qos dscp"), *PFC,
    (r"tx-queue (?P<k>\d)", "block", "queue"), (r"uc-tx-queue (?P<k>\d)", "block", "queue"), (r"mc-tx-queue (?P<k>\d)", "block", "queue"),
    value(rf"service-policy type qos (?P<k>input) ({NAME})"), value(r"shape rate .*", "shape rate"),
]
GRAMMAR = {
    "global": [
        (r"qos map dscp (?P<list>[\d ]+) to traffic-class (?P<k>\d)", "list", None, r"qos map dscp (?P<list>[\d ]+)"),
        (r"qos map cos (?P<list>[\d ]+) to traffic-class (?P<k>\d)", "list", None, r"qos map cos (?P<list>[\d ]+)"),
        value(r"qos map traffic-class (?P<k1>[\d ]+) to (?P<k2>tx-queue|uc-tx-queue|mc-tx-queue|dscp|cos|priority-group) (\d+)",
              r"qos map traffic-class (?P<k1>[\d ]+) to (?P<k2>tx-queue|uc-tx-queue|mc-tx-queue|dscp|cos|priority-group)"),
        (rf"qos profile (?P<k>{NAME})", "block", "profile"),
        (r"interface (?P<k>\S.*)", "block", "interface"),
        value(r"priority-flow-control pause watchdog default (?P<k>timeout|recovery-time|polling-interval) (\S+)",
              r"priority-flow-control pause watchdog default (?P<k>timeout|recovery-time|polling-interval)"),
        value(r"priority-flow-control pause watchdog action (drop|no-drop|errdisable)", "priority-flow-control pause watchdog action"),
        value(r"priority-flow-control all off"), value(r"hostname (\S+)"),
        value(r"qos random-detect ecn allow non-ect.*", "qos random-detect ecn allow non-ect"),
        value(r"hardware counter feature (?P<k>.*)"), value(r"queue-monitor length.*"),
    ],
    "profile": QOS,
    "interface": [
        value(r"mtu (\d+)", "mtu"), value(r"speed (\S+)", "speed"), value("shutdown"), value("switchport"), *QOS,
        value(rf"service-profile ({NAME})", "service-profile"), value(r"flowcontrol (?P<k>receive|send) (on|off|desired)"),
        value(r"channel-group (\d+)( mode (active|passive|on))?", "channel-group"), value(r"description .*", "description"),
        value(r"dcbx mode (ieee|cee)", "dcbx mode"), value(r"error-correction encoding (.*)", "error-correction encoding"),
    ],
    "queue": [
        value(r"priority strict", "priority"), value(r"bandwidth percent (\d+)", "bandwidth percent"),
        value(r"bandwidth guaranteed (percent )?(\d+)( \w+)?", "bandwidth guaranteed(?: percent)?"),
        value(r"random-detect ecn minimum-threshold .*", r"random-detect ecn(?: minimum-threshold)?"),
        value(r"random-detect ecn count", r"random-detect ecn count"), value(r"random-detect drop .*", "random-detect drop"),
        value(r"shape rate .*", "shape rate"), value(r"scheduler profile .*", "scheduler profile"),
    ],
}
DEFAULT = {dscp: {0: 1, 1: 0}.get(dscp >> 3, dscp >> 3) for dscp in range(64)}  # the class of each DSCP
ECN = re.compile(r"random-detect ecn minimum-threshold (\d+) (\w+) maximum-threshold (\d+) (\w+)"
                 r"(?: max-mark-probability (\d+))?(?: weight (\d+))?")


class Eos(LineDevice):
    GRAMMAR = GRAMMAR
    BETWEEN = " "
    KEEPS_NO = ("switchport", "priority strict", "qos trust")

    def settled(self):
        super().settled()
        self.kinds = {line.text.split("-queue")[0] for _, line in self.root.walk() if re.match(r"(uc-)?tx-queue \d", line.text)}

    def begin(self, commands):
        self.atomic = "configure session" in commands

    def leave(self, over, rule, values, key):
        for node in [one for one in over.below if one.rule is rule and one.key != key]:
            have = set(numbers(re.fullmatch(rule[0], node.text)["list"]))
            if have & values:
                self.relist(node, rule, have - values)
                if not have - values:
                    over.below.remove(node)

    def relist(self, node, rule, values):
        found = re.fullmatch(rule[0], node.text)
        node.text = node.text[:found.start("list")] + " ".join(map(str, sorted(values))) + node.text[found.end("list"):]

    def profile(self, name):
        return next((one for one in self.blocks("qos profile ") if one.text == f"qos profile {name}"), None)

    def allowed(self, over, line, rule, found, undone):
        queue = re.match(r"(tx|uc-tx|mc-tx)-queue \d", line)
        if queue and self.kinds and queue[1] != "mc-tx" and queue[1] not in self.kinds:
            raise Refused("invalid", line, f"the queues of this platform are {' and '.join(sorted(self.kinds))}-queue")
        applied = re.fullmatch(rf"service-profile ({NAME})", line)
        if applied and not self.profile(applied[1]):
            raise Refused("undefined", line, f"qos profile {applied[1]} is not defined")
        if ECN.match(line):
            values = ECN.match(line).groups()
            if values[1] == values[3] and int(values[0]) > int(values[2]):
                raise Refused("invalid", line, "the minimum is above the maximum")

    def removable(self, over, line, rule, found, same):
        if line.startswith("no qos profile ") and any(one.text == f"service-profile {found['k']}" for _, one in self.root.walk()):
            raise Refused("in use", line, f"a port has service-profile {found['k']}")

    # in force

    def effective(self):
        state, said = {}, {}
        for one in self.root.below:
            words = one.text.split()
            if one.text.startswith(("qos map dscp", "qos map cos")):
                for number in numbers(" ".join(words[3:words.index("to")])):
                    said[words[2], number] = words[-1]
            elif one.text.startswith("qos map traffic-class"):
                at = words.index("to")
                for number in words[3:at]:
                    state["class", f"to {words[at + 1]}", int(number)] = words[-1]
            elif one.rule and one.text.startswith(("priority-flow-control", "qos random-detect", "hardware counter", "queue-monitor")):
                state["global", " ".join(words[:-1])] = words[-1]
        dscps = {dscp: str(said.get(("dscp", dscp), DEFAULT[dscp])) for dscp in range(64)}  # where nothing is said, by itself
        state.update({("device", "dscp", dscp): to for dscp, to in dscps.items()})
        state.update({("device", *key): to for key, to in said.items() if key[0] == "cos"})
        for port in self.blocks("interface "):
            name = PORT.match(port.text)
            if name:
                self.port(state, name[1], port, dscps)
        return state

    def port(self, state, name, port, dscps):
        def said(start, default=None):
            line = next((one.text for one in port.below if one.text.startswith(start)), None)
            return line[len(start):].strip() if line else default
        profile = said("service-profile ")
        lines = {}
        for over in (self.profile(profile) if profile else None, port):
            for one in over.below if over else ():
                if one.mode == "queue":
                    queue = int(one.text.split()[-1])
                    lines.update({(queue, inner.key): inner.text for inner in one.below if inner.rule})
                elif one.rule:
                    lines[None, one.key] = one.text
        state[name, "mtu"] = int(said("mtu ", 1500))
        state[name, "speed"], state[name, "up"] = said("speed ", "auto"), not any(one.text == "shutdown" for one in port.below)
        state[name, "layer 3"] = any(one.text == "no switchport" for one in port.below)
        for key, start in (("channel", "channel-group "), ("description", "description "), ("fec", "error-correction encoding "),
                           ("dcbx", "dcbx mode ")):
            state[name, key] = said(start)
        state[name, "802.3x"] = (said("flowcontrol receive ", "off"), said("flowcontrol send ", "off"))
        texts = list(lines.values())
        runs = "priority-flow-control on" in texts and ("global", "priority-flow-control all") not in state
        trust = next((one for one in texts if re.match(r"(no )?qos trust", one)), "qos trust dscp" if state[name, "layer 3"] else "qos trust cos")
        state[name, "trust"] = trust
        for one in texts:
            found = re.fullmatch(r"priority-flow-control priority (\d) no-drop", one)
            if found and runs:
                state[name, "pfc", int(found[1])] = state[name, "no-drop", int(found[1])] = True
            elif one.startswith(("priority-flow-control pause watchdog", "service-policy", "qos cos", "qos dscp", "shape")):
                state[name, "line", one] = True
        state[name, "pfc on"] = "priority-flow-control on" in texts
        if trust == "qos trust dscp":
            state.update({(name, "class", dscp): to for dscp, to in dscps.items()})
        for (queue, _), line in lines.items():
            found = ECN.fullmatch(line)
            if queue is None:
                continue
            if found:
                least, unit, most, other, chance, weight = found.groups()
                state[name, "ecn", queue] = (least, unit, most, other, chance or "100", weight or "0")
            elif line != "no priority" or any(text == "priority strict" for (same, _), text in lines.items() if same == queue):
                state[name, "queue", queue, line] = True

    # what may drift

    def changes(self):
        found = []
        for block in self.root.below:
            if block.mode == "profile" or block.mode == "interface" and PORT.match(block.text):
                found += self.block_changes(block)
        for one in self.root.below:
            words = one.text.split()
            if one.text.startswith("qos map dscp"):
                number = words[3]
                found += [("dscp map", f"qos map dscp {number} to traffic-class {to}\n") for to in ("0", "5") if to != words[-1]]
                if words[-1] != str(DEFAULT[int(number)]):
                    found.append(("dscp map", f"no qos map dscp {number}\n"))
            elif one.text.startswith("priority-flow-control pause watchdog default timeout"):
                found.append(("watchdog", " ".join([*words[:-1], "0.80"]) + "\n"))
        if any(one.text.startswith("priority-flow-control pause watchdog action drop") for one in self.root.below):
            found.append(("watchdog", "no priority-flow-control pause watchdog action\n"))
        found.append(("dscp map", "qos map dscp 11 to traffic-class 3\n"))
        return found

    def block_changes(self, block):
        found, at = [], block.text + "\n"
        for one in block.below:
            words = one.text.split()
            if words[0] == "mtu":
                found += [("mtu", f"{at}mtu {mtu}\n") for mtu in (1500, 9000) if mtu != int(words[1])]
            elif one.text == "priority-flow-control on":
                found.append(("pfc", f"{at}no priority-flow-control on\n"))
            elif re.fullmatch(r"priority-flow-control priority \d no-drop", one.text):
                found += [("pfc", f"{at}no {one.text}\n"), ("pfc", f"{at}priority-flow-control priority {(int(words[2]) + 1) % 8} no-drop\n")]
            elif words[0] == "service-profile":
                found += [("profile of a port", f"{at}no service-profile {words[1]}\n"), ("state of a port", f"{at}shutdown\n")]
                found += [("profile of a port", f"{at}{other.text.replace('qos profile', 'service-profile')}\n")
                          for other in self.blocks("qos profile ") if other.text.split()[-1] != words[1]]
            elif words[0] == "channel-group":
                found.append(("LAG member", f"{at}no channel-group\n"))
            elif words[0] == "speed":
                found.append(("speed", f"{at}no speed\n"))
            elif one.text == "qos trust dscp":
                found.append(("trust", f"{at}qos trust cos\n"))
            elif one.mode == "queue":
                for inner in one.below:
                    found += self.queue_changes(f"{at}{one.text}\n", inner.text)
        return found

    @staticmethod
    def queue_changes(at, line):
        words, ecn = line.split(), ECN.fullmatch(line)
        if ecn:
            half = [*words]
            half[3] = str(int(words[3]) // 2)
            off = f"{at}no random-detect ecn minimum-threshold\n"
            more = [("ecn probability", f"{at}{' '.join(words[:9] + ['33'] + words[10:])}\n")] if "max-mark-probability" in words else []
            return [("ecn threshold", f"{at}{' '.join(half)}\n"), ("ecn off", off), *more]
        if words[:2] == ["bandwidth", "percent"] and int(words[2]) > 5:
            return [("weight", f"{at}bandwidth percent {int(words[2]) - 5}\n")]
        return []
