# SPDX-License-Identifier: Apache-2.0
"""Random fabrics with a job, and faults to plant in them: tests/diagnose/interventions.py runs them.

A fabric is a fabric file as a dictionary.  A fault is a change of that dictionary; some need a fabric that has what they harm (a
training job, three tiers, a busy port), and say so in NEEDS.  Nothing here knows what diagnose says of a fault."""
import copy
import random


def merge(into, said):
    for key, value in said.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


class Fabric:
    """A fabric with one job, drawn from a seed, as the faults that are to be planted need it."""

    def __init__(self, seed, kinds):
        self.draw = random.Random(seed)
        self.needs = {need for kind in kinds for need in NEEDS.get(kind, ())}
        draw = self.draw
        self.tree = "tree" in self.needs
        self.gpus = draw.choice((2, 4)) if "gpus" in self.needs else 1
        self.leaves, self.spines, self.hosts = draw.choice((2, 2, 3, 4)), draw.choice((1, 2, 2, 4)), draw.choice((2, 4, 4, 8))
        if "spines" in self.needs:
            self.spines = max(2, self.spines)
        if self.gpus > 1:
            self.leaves, self.hosts = 2, draw.choice((2, 4))
        if "stages" in self.needs:
            self.leaves, self.hosts = draw.choice((2, 4)), draw.choice((2, 4))
        if "flows" in self.needs:
            self.hosts = max(4, self.hosts)
        if self.tree:
            self.leaves, self.spines, self.hosts = 8, 8, 2
        self.rate = draw.choice((25, 100, 100, 400))
        need = self.rate * self.gpus * self.hosts / self.spines * draw.choice((1, 1, 2))
        self.uplink = self.rate if self.tree else next((rate for rate in (25, 50, 100, 200, 400, 800) if rate >= need), 1600)
        self.buffer = draw.choice((16, 32, 64))
        self.size = max(1, self.rate // 25) * draw.choice((1, 2))
        self.document = self.make()

    @property
    def all_hosts(self):
        return self.leaves * self.hosts

    def host(self):
        return self.draw.randrange(self.all_hosts)

    def uplink_port(self):
        return f"leaf{self.draw.randrange(self.leaves)}:{self.hosts * self.gpus + self.draw.randrange(2 if self.tree else self.spines)}"

    def leaf_of(self, host):
        return f"leaf{host // self.hosts}"

    def leaf_port(self, host):
        return f"leaf{host // self.hosts}:{host % self.hosts * self.gpus}"

    def make(self):
        draw = self.draw
        balance = draw.choice(("ecmp", "ecmp", "flowlet", "adaptive"))
        if "ecmp" in self.needs:
            balance = "ecmp"
        congestion = draw.choice(("dcqcn/connectx", "dcqcn/connectx", "dcqcn/paper", "hpcc/paper", "none"))
        if "dcqcn" in self.needs:
            congestion = draw.choice(("dcqcn/connectx", "dcqcn/paper"))
        if "pauses" in self.needs:
            congestion = "none"
        shape = {"leaves": self.leaves, "spines": self.spines, "hosts": self.hosts}
        if self.gpus > 1:
            shape["gpus"] = self.gpus
        document = {
            "rocelab": 1, "fabric": "random",
            "topology": {"fat-tree": {"k": 4}} if self.tree else {"leaf-spine": shape},
            "links": {"host": {"rate": f"{self.rate}G", "cable": "3m"}, "fabric": {"rate": f"{self.uplink}G", "cable": "30m"}},
            "switches": {"buffer": f"{self.buffer}MB", "balance": balance},
            "nics": {"congestion": congestion, "timeout": 6},
            "seed": draw.randrange(1000), "jobs": [self.job()],
        }
        if balance == "adaptive":
            document["nics"]["reorder"] = True
        if "converge" in self.needs or draw.random() < 0.3:
            document["converge"] = {"detect": "20us", "step": "10us"}
        return document

    def job(self):
        draw, kind = self.draw, None
        for need, of in JOBS.items():
            if need in self.needs:
                kind = of
        if "coupled" in self.needs:
            kind = draw.choice(("allreduce", "alltoall", "training"))
        kind = kind or draw.choice(("allreduce", "alltoall", "permutation", "training", "incast", "groups"))
        if kind == "allreduce":
            return {"name": "main", "allreduce": draw.choice(("ring", "ring", "auto")), "size": f"{4 * self.size}MB"}
        if kind == "alltoall":
            return {"name": "main", "alltoall": "auto", "size": f"{2 * self.size}MB"}
        if kind == "permutation":
            return {"name": "main", "permutation": self.hosts * self.gpus, "size": f"{4 * self.size}MB"}
        if kind == "incast":
            return {"name": "main", "incast": min(4, self.all_hosts - 1), "size": f"{self.size}MB", "to": f"h{self.host()}"}
        if kind == "groups":  # hosts of a leaf to one of another: two of them share what is behind the spine
            pairs = [(a, (a + self.hosts) % self.all_hosts) for a in range(self.all_hosts)]
            return {"name": "main", "flows": [{"src": f"h{a}", "dst": f"h{b // 2 * 2}", "size": f"{2 * self.size}MB"} for a, b in pairs]}
        if kind == "small":
            return {"name": "main", "allreduce": "ring", "size": f"{draw.choice((16, 64, 256))}KB", "iterations": 20}
        if kind == "stages":
            stages = draw.choice((2, 4))
            return {"name": "main", "training": {
                "model": {"layers": stages * draw.choice((1, 2)), "hidden": 256, "sequence": 256}, "groups": {"pp": stages, "dp": self.all_hosts // stages},
                "compute": {"forward": "40us"}, "micro-batches": 2 * stages, "optimizer": "replicated", "steps": 8}}
        if kind == "tensor":
            return {"name": "main", "training": {
                "model": {"layers": 2, "hidden": 1024, "sequence": 1024}, "groups": {"tp": self.gpus, "dp": self.all_hosts},
                "compute": {"forward": "100us"}, "optimizer": "replicated", "steps": 4}}
        return {"name": "main", "training": {
            "model": {"layers": 2, "hidden": 128 if self.rate < 400 else 256, "sequence": 256}, "groups": {"dp": self.all_hosts * self.gpus},
            "compute": {"forward": "20us"}, "optimizer": "replicated", "steps": 20}}


JOBS = {"training": "training", "pairs": "groups", "small": "small", "stages": "stages", "tensor": "tensor", "all": "alltoall", "ring": "allreduce"}


def fault(document, **said):
    document.setdefault("faults", []).append({key.replace("_", "-"): value for key, value in said.items()})


def device(document, name, said):
    merge(document.setdefault("devices", {}).setdefault(name, {}), said)


def port(document, name, said):
    node, index = name.split(":")
    device(document, node, {"ports": {index: said}})


def others_to(fabric, host, share=1.0):
    names = [f"h{i}" for i in range(fabric.all_hosts) if i != host]
    return names[:max(2, int(share * len(names)))]


def slow_uplink(fabric, document):
    fault(document, lanes=fabric.uplink_port(), lost=fabric.draw.choice((2, 3)), of=4, at="20us")


def slow_host_link(fabric, document):
    fault(document, lanes=f"h{fabric.host()}:0", lost=fabric.draw.choice((1, 2, 3)), of=4, at="20us")


def slow_host(fabric, document):
    fault(document, slow=f"h{fabric.host()}", share=fabric.draw.choice(("20%", "50%")))


def low_rate(fabric, document):
    """A link that came up at a lower rate than it should have."""
    port(document, fabric.uplink_port(), {"rate": f"{fabric.uplink / 4:g}G"})


def bad_uplink(fabric, document):
    fault(document, corrupt=fabric.uplink_port(), ber=fabric.draw.choice(("1e-7", "1e-6")))


def bad_host_cable(fabric, document):
    fault(document, corrupt=f"h{fabric.host()}", ber=fabric.draw.choice(("1e-7", "1e-6")), way=fabric.draw.choice(("in", "out")))


def hot_optic(fabric, document):
    fault(document, **{"hot-optics": fabric.uplink_port()}, temperature="82C", pre_fec_ber="5e-4", ber="1e-7")


def silent_loss(fabric, document):
    """Packets vanish at a NIC and no counter of errors sees it."""
    fault(document, drop=f"h{fabric.host()}:0", every=fabric.draw.choice((64, 256)))


def down(fabric, document):
    fault(document, down=fabric.uplink_port(), at="50us")


def down_converged(fabric, document):
    fault(document, down=fabric.uplink_port(), at="20us")


def host_down(fabric, document):
    fault(document, down=f"h{fabric.host()}:0", at="50us", **{"for": "3ms"})


def flap(fabric, document):
    fault(document, flap=fabric.uplink_port(), at="50us", every="200us", down="60us", times=6)


def spine_reset(fabric, document):
    fault(document, reset=f"spine{fabric.draw.randrange(fabric.spines)}", at="50us", **{"for": "400us"})


def mtu(fabric, document):
    port(document, f"spine{fabric.draw.randrange(fabric.spines)}:{fabric.draw.randrange(2 if fabric.tree else fabric.leaves)}", {"mtu": 1500})


def wrong_class_leaf(fabric, document):
    device(document, f"leaf{fabric.draw.randrange(fabric.leaves)}", {"dscp-map": {"26": 0, "24": 3}})


def wrong_class_spine(fabric, document):
    device(document, f"spine{fabric.draw.randrange(fabric.spines)}", {"dscp-map": {"26": 0, "24": 3}})


def ecn_off(fabric, document):
    device(document, fabric.draw.choice((fabric.leaf_of(0), "spine0")), {"classes": {"rdma": {"ecn": False}}})


def ecn_high(fabric, document):
    merge(document["switches"], {"classes": {"rdma": {"ecn": {"min": "14MB", "max": "15MB"}}}})


def ecn_low(fabric, document):
    merge(document["switches"], {"classes": {"rdma": {"ecn": {"min": "5KB", "max": "15KB", "probability": "100%"}}}})


def no_pfc(fabric, document):
    port(document, fabric.uplink_port() if fabric.draw.random() < 0.5 else fabric.leaf_port(fabric.host()), {"pfc": False})


def no_headroom(fabric, document):
    name = fabric.draw.choice([f"leaf{i}" for i in range(fabric.leaves)] + ["spine0"])
    device(document, name, {"classes": {"rdma": {"headroom": "1KB"}}})


def long_cable(fabric, document):
    port(document, fabric.uplink_port(), {"cable": "300m", "headroom-cable": "3m"})


def small_buffer(fabric, document):
    document["switches"]["buffer"] = "3MB"


def slow_receiver(fabric, document):
    fault(document, receive=f"h{fabric.host()}", rate=f"{fabric.rate * fabric.draw.choice((0.1, 0.25, 0.5))}G", at="20us")


def slow_pcie(fabric, document):
    device(document, f"h{fabric.host()}", {"pcie": f"{fabric.rate * fabric.draw.choice((0.25, 0.5)):g}G"})


def few_reads(fabric, document):
    document["nics"]["pcie"] = {"reads": max(1, int(fabric.rate * fabric.draw.choice((0.25, 0.5)) / 4.096))}


def ordered_writes(fabric, document):
    merge(document["nics"], {"pcie": {"use": f"{1.15 * fabric.rate:g}G", "relaxed-ordering": False, "ordered": max(2, fabric.rate // 16),
                                      "writes": 1024, "reads": 1024}})


def slow_gpu(fabric, document):
    fault(document, **{"slow-gpu": f"h{fabric.host()}"}, factor=fabric.draw.choice((1.5, 2, 3)), at="50us")


def wrong_route(fabric, document):
    """A leaf sends what is for all hosts elsewhere over one of its links."""
    name = fabric.uplink_port()
    for host in range(fabric.all_hosts):
        if fabric.leaf_of(host) != name.split(":")[0]:
            fault(document, misroute=name, to=f"h{host}")


def polarised(fabric, document):
    document["switches"]["ecmp"] = {"seed": 7}


def oversubscribed(fabric, document):
    document["links"]["fabric"]["rate"] = f"{fabric.uplink / fabric.draw.choice((4, 8)):g}G"


def control(document):
    said = document["nics"]["congestion"]
    return said if isinstance(said, dict) else {"use": said}


def slow_recovery(fabric, document):
    document["nics"]["congestion"] = {**control(document), "rpg_ai_rate": "1M", "rpg_hai_rate": "1M", "rpg_time_reset": "3ms",
                                      "rpg_byte_reset": "200MB"}


def few_cuts(fabric, document):
    document["nics"]["congestion"] = {**control(document), "rpg_gd": 10, "rpg_min_dec_fac": "10%", "rate_reduce_monitor_period": "1us"}


def small_window(fabric, document):
    document["nics"]["window"] = fabric.draw.choice(("8KB", "16KB"))


def cnp_with_data(fabric, document):
    document["nics"]["cnp-class"] = "rdma"


def cnp_lost(fabric, document):
    device(document, f"leaf{fabric.draw.randrange(fabric.leaves)}", {"classes": {"cnp": {"strict": False, "share": "1%", "limit": "100B"}, "rdma": {"share": "89%"}}})


def eager_watchdog(fabric, document):
    merge(document.setdefault("roles", {}), {"leaf": {"watchdog": {"poll": "5us", "detect": "10us", "restore": "50us"}}})


def storm(fabric, document):
    fault(document, pause=f"h{fabric.host()}", at="50us")


def incast(fabric, document):
    host = fabric.host()
    others = others_to(fabric, host)
    document["jobs"].append({"name": "others", "incast": len(others), "size": f"{max(1, fabric.size)}MB", "to": f"h{host}", "ranks": [f"h{host}"] + others})


STORAGE = [{"name": "rdma", "dscp": 26, "priority": 3, "lossless": True, "ecn": {"min": "500KB", "max": "1500KB", "probability": "10%"}, "share": "85%"},
           {"name": "cnp", "dscp": 48, "priority": 6, "strict": True}, {"name": "storage", "dscp": 10, "priority": 1, "share": "5%"},
           {"name": "default", "priority": 0, "share": "10%"}]


def storage(fabric, document):
    """Copies between hosts, in RDMA's class instead of the one that is theirs."""
    for job in document["jobs"]:
        if job["name"] == "storage":
            job["class"] = "rdma"


def spray(fabric, document):
    document["switches"]["balance"] = "spray"
    document["nics"].pop("reorder", None)


def unequal_stages(fabric, document):
    for job in document["jobs"]:
        model = job.get("training", {}).get("model")
        if model:
            model["layers"] += fabric.draw.choice((1, 1, 2)) if job["training"]["groups"]["pp"] > 2 else 1


def slow_nvlink(fabric, document):
    document["links"]["gpu"] = {"use": "h100", "rate": f"{fabric.draw.choice((25, 50, 100))}G"}


def slow_software(fabric, document):
    said = {"software": {"post": fabric.draw.choice(("5us", "10us", "20us")), "poll": "5us"}}
    if fabric.draw.random() < 0.5:
        device(document, f"h{fabric.host()}", said)
    else:
        merge(document["nics"], said)


# What a fabric must have for a fault to harm anybody.
NEEDS = {
    "slow_gpu": ("training",), "polarised": ("tree", "ecmp", "all"), "unequal_stages": ("stages",), "slow_nvlink": ("gpus", "tensor"),
    "slow_software": ("small",), "ecn_off": ("dcqcn", "pairs"), "ecn_high": ("dcqcn", "pairs"), "ecn_low": ("dcqcn", "pairs"),
    "slow_recovery": ("dcqcn", "pairs"), "few_cuts": ("dcqcn", "pairs"), "cnp_with_data": ("dcqcn", "pairs"), "cnp_lost": ("dcqcn", "pairs"),
    "no_pfc": ("pairs", "pauses"), "no_headroom": ("pairs", "pauses"), "long_cable": ("pairs", "pauses"), "small_buffer": ("dcqcn", "pairs"),
    "eager_watchdog": ("pairs", "pauses"), "spray": ("spines",), "wrong_route": ("spines", "flows", "ecmp", "all"), "down_converged": ("converge", "spines"),
    "storage": ("storage", "coupled"),
}
FAULTS = (slow_uplink, slow_host_link, slow_host, low_rate, bad_uplink, bad_host_cable, hot_optic, silent_loss, down, down_converged, host_down, flap,
          spine_reset, mtu, wrong_class_leaf, wrong_class_spine, ecn_off, ecn_high, ecn_low, no_pfc, no_headroom, long_cable, small_buffer,
          slow_receiver, slow_pcie, few_reads, ordered_writes, slow_gpu, wrong_route, polarised, oversubscribed, slow_recovery, few_cuts, small_window,
          cnp_with_data, cnp_lost, eager_watchdog, storm, incast, storage, spray, unequal_stages, slow_nvlink, slow_software)
KINDS = {made.__name__: made for made in FAULTS}
# Those whose needs contradict each other are not planted together.
APART = ({"tree", "stages"}, {"tree", "tensor"}, {"tree", "gpus"}, {"dcqcn", "pauses"}, {"gpus", "small"})
ONE_JOB = {*JOBS, "coupled"}


def together(kinds):
    needs = {need for kind in kinds for need in NEEDS.get(kind, ())}
    return len(needs & ONE_JOB) <= 1 and not any(apart <= needs for apart in APART)


def with_storage(fabric, document):
    """Copies beside the job, in a class of their own that may have next to nothing of a busy line."""
    document["classes"] = copy.deepcopy(STORAGE)
    flows = [{"src": f"h{a}", "dst": f"h{(a + fabric.hosts) % fabric.all_hosts}", "size": f"{8 * fabric.size}MB"} for a in range(fabric.all_hosts)]
    document["jobs"].append({"name": "storage", "flows": flows, "class": "storage"})
    return document


def drawn(seed, count, only=()):
    """A healthy fabric, and `count` faults as functions of a document."""
    draw = random.Random(seed)
    kinds = draw.sample(only or sorted(KINDS), count)
    while not together(kinds):
        kinds = draw.sample(only or sorted(KINDS), count)
    fabric = Fabric(seed, kinds)
    document = with_storage(fabric, fabric.document) if "storage" in fabric.needs else fabric.document
    plants = []
    for kind in kinds:
        state = draw.randrange(1 << 30)
        plants.append((kind, lambda said, kind=kind, state=state: planted(fabric, said, kind, state)))
    return document, plants


def planted(fabric, document, kind, state):
    """The same place however often it is planted."""
    fabric.draw = random.Random(state)
    document = copy.deepcopy(document)
    KINDS[kind](fabric, document)
    return document
