# SPDX-License-Identifier: Apache-2.0
"""What a finding of `rocelab diagnose` says is wrong, repaired in the fabric file: interventions.py runs the fabric again.

A repair knows the finding, the cables and the file, as somebody who was told would, and not what was planted.  It changes only
what the rule speaks of: told of a bad cable one swaps that cable, and does not look at the switch's class map."""
import copy


def node(name):
    return name.split(":")[0]


class Repair:
    """A copy of a fabric file, and what is done to it."""

    def __init__(self, document, finding, ends):
        self.document, self.finding, self.ends = copy.deepcopy(document), finding, ends
        self.culprit = finding["culprit"]
        self.named = [self.culprit] + list(finding.get("also", ()))

    def cable(self, name):
        """Names of a cable's ends; of a device alone those of all its cables."""
        if ":" not in name:
            ports = [one for one in self.ends if node(one) == name]
            return {name} | {end for one in ports for end in (one, self.ends[one])}
        return {name, self.ends.get(name, name)}

    def drop_faults(self, kinds, places):
        """Faults of these kinds at these ports, or at the whole of a host or switch there."""
        whole = {place for place in places if ":" not in place} | {node(place) for place in places if node(place).startswith("h")}

        def is_there(fault):
            for kind in kinds:
                if kind in fault and (fault[kind] in places or fault[kind] in whole):
                    return True
            return False

        self.document["faults"] = [fault for fault in self.document.get("faults", []) if not is_there(fault)]
        if not self.document["faults"]:
            del self.document["faults"]

    def unset(self, places, *paths):
        """Settings of ports and of the devices that they are of, whatever layer says them."""
        devices = self.document.get("devices", {})
        for place in places:
            said = devices.get(node(place), {})
            for path in paths:
                forget(said, path)
                for index in list(said.get("ports", {})):
                    if ":" not in place or place == f"{node(place)}:{index}":
                        forget(said["ports"][index], path)

    def unset_all(self, *paths):
        """The same where it is set for all devices, or for those of a role."""
        for layer in [self.document.get("switches", {}), self.document.get("nics", {})] + list(self.document.get("roles", {}).values()):
            for path in paths:
                forget(layer, path)


def forget(said, path):
    *above, last = path.split(".")
    for key in above:
        said = said.get(key)
        if not isinstance(said, dict):
            return
    said.pop(last, None)


def cables(repair):
    repair.drop_faults(("corrupt", "hot-optics", "drop"), set().union(*map(repair.cable, repair.named)))
    return [repair.document]


def rates(repair):
    places = repair.cable(repair.culprit)
    repair.drop_faults(("lanes", "slow"), places)
    repair.unset(places, "rate")
    return [repair.document]


def paths(repair):
    """A link or switch that is down, comes and goes, or loses what it is given; a route that leads nowhere."""
    places = set().union(*map(repair.cable, repair.named))
    repair.drop_faults(("down", "flap", "reset", "drain", "withdraw", "misroute", "drop", "flood"), places | {node(place) for place in places})
    return [repair.document]


def links(repair):
    """Links that are down, or more of them: as fast as what is below can send."""
    if "is down" in repair.finding["what"] or "went down" in repair.finding["what"]:
        return paths(repair)
    repair.unset(repair.cable(repair.culprit), "rate")
    document, shape = repair.document, repair.document["topology"].get("leaf-spine")
    if shape:
        host = float(document["links"]["host"]["rate"][:-1])
        need = host * shape["hosts"] * shape.get("gpus", 1) / shape["spines"]
        document["links"]["fabric"]["rate"] = f"{next((rate for rate in (25, 50, 100, 200, 400, 800) if rate >= need), 1600)}G"
    return [document]


def lossless(repair):
    """PFC and room for what comes after a pause: of both ends where the finding speaks of PFC."""
    what, places = repair.finding["what"], repair.named
    if "PFC" in what:
        repair.unset([end for place in places for end in repair.cable(place)], "pfc")
        repair.unset_all("pfc")
    if "headroom" in what or "memory" in what:
        settings = ("headroom-cable", "headroom-mtu", "headroom-pool", "classes.rdma.headroom", "classes.rdma.alpha", "classes.rdma.xoff")
        repair.unset(places, *settings)
        repair.unset([node(place) for place in places], *settings)
        repair.unset_all(*settings)
    if "memory" in what and repair.document["switches"].get("buffer"):
        repair.document["switches"]["buffer"] = "32MB"
    return [repair.document]


def mtus(repair):
    repair.unset(repair.cable(repair.culprit), "mtu")
    return [repair.document]


def circle(repair):
    repair.drop_faults(("misroute", "flood"), set(repair.named) | {node(place) for place in repair.named})
    return [repair.document]


def storms(repair):
    repair.drop_faults(("pause",), repair.cable(repair.culprit))
    return [repair.document]


def hosts(repair):
    """A host that takes or gives data slowly: its bus and its receiving; of all hosts where all are alike."""
    for place in repair.named:
        repair.drop_faults(("receive",), repair.cable(place))
        repair.unset([node(place)], "pcie", "receive")
    repair.unset_all("pcie", "receive")
    return [repair.document]


def incasts(repair):
    """Other jobs send to that host no more; or what is sent there is spread over hosts to which nobody sends."""
    host = node(next((end for end in repair.cable(repair.culprit) if node(end).startswith("h")), repair.culprit))
    spread, gone = repair.document, copy.deepcopy(repair.document)
    gone["jobs"] = [job for job in gone["jobs"] if job["name"] == "main" or node(job.get("to", "")) != host]
    hosts = sorted({node(end) for end in repair.ends if node(end).startswith("h")}, key=lambda name: int(name[1:]))
    for job in spread["jobs"]:
        if node(job.get("to", "")) == host and "incast" in job:
            senders = [name for name in job.pop("ranks", hosts) if name != host][:job.pop("incast")]
            size = job.pop("size")
            del job["to"]
            job["flows"] = [{"src": name, "dst": host, "size": size} for name in senders]
        taken = {flow["dst"] for flow in job.get("flows", ())}
        for flow in [flow for flow in job.get("flows", ()) if flow["dst"] == host][1:]:
            free = [name for name in hosts if name not in taken and name != flow["src"]]
            if free:
                flow["dst"] = free[0]
                taken.add(free[0])
    return [spread, gone]


def hashes(repair):
    """Packets by all links alike, and adapters that can order them; or tiers that hash apart, and no route by hand."""
    even, apart = repair.document, copy.deepcopy(repair.document)
    for one in (even, apart):
        one["switches"].pop("ecmp", None)
    even["switches"]["balance"] = "adaptive"
    even["nics"]["reorder"] = True
    by_hand = Repair(apart, repair.finding, repair.ends)
    places = set(repair.named) | {node(place) for place in repair.named}
    by_hand.document["faults"] = [fault for fault in by_hand.document.get("faults", []) if fault.get("misroute") not in places and
                                  not (fault.get("misroute") and repair.culprit == node(fault["misroute"]))]
    return [even, by_hand.document]


def maps(repair):
    settings = ("dscp-map", "pcp-map", "queue-map", "group-map", "trust")
    repair.unset([node(place) for place in repair.named], *settings)
    repair.unset_all(*settings)
    return [repair.document]


def marks(repair):
    """ECN as it is by default, on the switches that were named; or so low that it marks before any pause."""
    low = copy.deepcopy(repair.document)
    low["switches"].setdefault("classes", {}).setdefault("rdma", {})["ecn"] = {"min": "50KB", "max": "150KB", "probability": "10%"}
    repair.unset([node(place) for place in repair.named], "classes.rdma.ecn")
    repair.unset_all("classes.rdma.ecn")
    return [repair.document, low]


def notification(repair):
    """CNPs in a class of their own; who sends none, or obeys none, does."""
    repair.unset([node(place) for place in repair.named] + [node(end) for place in repair.named for end in repair.cable(place)],
                 "cnp-class", "classes.cnp.strict", "classes.cnp.share", "classes.cnp.limit", "classes.rdma.share", "congestion")
    repair.unset_all("cnp-class", "classes.cnp.strict", "classes.cnp.share", "classes.cnp.limit", "classes.rdma.share")
    if repair.document["nics"].get("congestion") == "none":
        repair.document["nics"]["congestion"] = "dcqcn/connectx"
    return [repair.document]


def control(repair):
    """Nobody is held back; or the thresholds and parameters by default, which is what one would rather do."""
    settings = ("classes.rdma.ecn", "window", "window-packets")
    repair.unset_all(*settings)
    for device in repair.document.get("devices", {}).values():
        for path in settings:
            forget(device, path)
    default, none = repair.document, copy.deepcopy(repair.document)
    said = default["nics"].get("congestion")
    default["nics"]["congestion"] = said["use"] if isinstance(said, dict) else said
    none["nics"]["congestion"] = "none"
    return [default, none]


def order(repair):
    ordered, hashed = repair.document, copy.deepcopy(repair.document)
    ordered["nics"]["reorder"] = True
    hashed["switches"]["balance"] = "ecmp"
    return [ordered, hashed]


def pairs(repair):
    """All that may be wrong with one cable or adapter."""
    places = set().union(*map(repair.cable, repair.named))
    repair.drop_faults(("corrupt", "hot-optics", "drop", "lanes", "slow", "down", "flap", "receive", "pause"), places)
    repair.unset(places, "rate", "mtu", "pfc")
    return [repair.document]


def gpus(repair):
    repair.drop_faults(("slow-gpu",), {place for name in repair.named for place in (name, node(name))})
    return [repair.document]


def nvlinks(repair):
    repair.document["links"].pop("gpu", None)
    return [repair.document]


def software(repair):
    repair.unset([node(place) for place in repair.named], "software")
    repair.unset_all("software")
    return [repair.document]


def stages(repair):
    """As many layers as stages can share evenly."""
    for job in repair.document["jobs"]:
        training = job.get("training", {})
        if "pp" in training.get("groups", {}):
            training["model"]["layers"] -= training["model"]["layers"] % training["groups"]["pp"]
    return [repair.document]


def watchdogs(repair):
    repair.unset(repair.named, "watchdog")
    repair.unset_all("watchdog")
    return [repair.document]


def classes(repair):
    """What is beside the job travels in another class than RDMA's, if the file has one for it."""
    others = [one["name"] for one in repair.document.get("classes", []) if not one.get("lossless") and one["name"] != "cnp"]
    for job in repair.document["jobs"]:
        if job["name"] == repair.culprit or job["name"] in repair.named:
            job["class"] = others[0] if others else "default"
    return [repair.document]


REPAIRS = {
    "D13": cables, "D19": paths, "D06": rates, "D08": lossless, "D14": paths, "D16": mtus, "D01": circle, "D02": storms, "D03": hosts, "D23": hosts,
    "D04": incasts, "D05": hashes, "D07": links, "D15": maps, "D09": marks, "D10": notification, "D11": notification, "D22": control, "D12": order,
    "D18": pairs, "D17": gpus, "D27": nvlinks, "D28": software, "D29": stages, "D30": classes, "D31": watchdogs, "D24": maps,
}


def repaired(document, finding, ends):
    """Fabric files without what the finding names, any of which is right; none: no repair is known, and nothing was changed."""
    made = REPAIRS[finding["rule"]](Repair(document, finding, ends)) if finding["rule"] in REPAIRS else []
    return [one for one in made if one != document]
