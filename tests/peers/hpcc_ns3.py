# SPDX-License-Identifier: Apache-2.0
"""Runs of the HPCC authors' ns-3 fork: a folder a case, with config.txt, fct.txt and pfc.txt; inputs beside them.

DCQCN (CC_MODE 1) and HPCC (3).  Settings of config.txt that a fabric file has are carried over; one that it has not,
with a value other than what `model: hpcc-ns3` stands for, makes a case that cannot be run.
"""
import pathlib
import random
import re
import tempfile

from common import CannotRun, Row, call, deciles, mean, simulate

SEEDS = 20
SINGLE, MEAN, DECILE, LINES = 0.015, 0.03, 0.05, 0.15  # how far apart the two may be, as shares
APART_NS = 40  # flows under HPCC that begin at one instant: its outcome depends on the order of such events
FIXED = {"ENABLE_QCN": "1", "USE_DYNAMIC_PFC_THRESHOLD": "1", "L2_ACK_INTERVAL": "1", "L2_BACK_TO_ZERO": "0",
         "MULTI_RATE": "0", "SAMPLE_FEEDBACK": "0", "ALPHA_RESUME_INTERVAL": "1", "RATE_DECREASE_INTERVAL": "4",
         "CLAMP_TARGET_RATE": "0", "EWMA_GAIN": "0.00390625", "LINK_DOWN": "0 0 0"}
FIXED_HPCC = {"HAS_WIN": "1", "VAR_WIN": "1", "FAST_REACT": "1", "RATE_BOUND": "1"}


def is_case(case):
    return (case / "config.txt").is_file() and (case / "fct.txt").is_file()


def settings(case):
    lines = (case / "config.txt").read_text(encoding="utf-8").splitlines()
    config = dict(line.split(maxsplit=1) for line in lines if len(line.split()) > 1)
    hpcc = {"1": False, "3": True}.get(config.get("CC_MODE", ""))
    if hpcc is None:
        raise CannotRun(f"CC_MODE {config.get('CC_MODE')}")
    for key, value in {**FIXED, **(FIXED_HPCC if hpcc else {"HAS_WIN": "0"})}.items():
        if config.get(key, value).split() != value.split():
            raise CannotRun(f"{key} {config[key]}")
    if float(config.get("ERROR_RATE_PER_LINK", "0")):
        raise CannotRun(f"ERROR_RATE_PER_LINK {config['ERROR_RATE_PER_LINK']}")
    return config, hpcc


def rate(text):
    """As ns-3 writes rates: 20Mb/s, 100Gbps."""
    return re.sub(r"(b/s|bps)$", "", text)


def congestion(config, hpcc):
    keys = {"hpcc_ai_rate": "RATE_AI", "hpcc_min_rate": "MIN_RATE"} if hpcc else {
        "rpg_ai_rate": "RATE_AI", "rpg_hai_rate": "RATE_HAI", "rpg_min_rate": "MIN_RATE"}
    answer = [f"{ours}: {rate(config[theirs])}" for ours, theirs in keys.items() if theirs in config]
    if hpcc:
        answer += [f"hpcc_eta: {float(config.get('U_TARGET', '0.95')) * 100:g}%",
                   f"hpcc_max_stage: {config.get('MI_THRESH', '0')}"]
    else:
        answer += [f"rpg_time_reset: {config.get('RP_TIMER', '300')}us",
                   f"rpg_threshold: {config.get('FAST_RECOVERY_TIMES', '1')}"]
    return ", ".join(answer)


def marks(config, fastest):
    """ECN of the rate that its three maps have, given for 100 Gb/s."""
    maps = [config[name].split()[1:] for name in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP") if name in config]
    if len(maps) < 3:
        return ""
    least, most, share = (dict(zip(each[::2], each[1::2])) for each in maps)
    at = str(fastest)
    if at not in least or at not in most or at not in share:
        raise CannotRun(f"no marking of {fastest} b/s in KMIN_MAP, KMAX_MAP and PMAX_MAP")
    return (f"ecn: {{min: {least[at]}KB, max: {most[at]}KB, probability: {float(share[at]) * 100:g}%, "
            f"per: {fastest // 10**9}G}}")


def fabric(topology, flows, config, hpcc):
    text = call("import", "--from", "hpcc", topology, flows, "--congestion", "hpcc" if hpcc else "dcqcn", "--buffer",
                config.get("BUFFER_SIZE", "32"))
    found = re.search(r"nics: \{mtu: 1000, congestion: (?:\{use: ([^,}]+)(.*?)\}|([^,}]+))\}", text)
    name, rest = (found.group(1), found.group(2)) if found.group(1) else (found.group(3), "")
    rest = re.sub(r", (rpg_ai_rate|rpg_hai_rate|hpcc_ai_rate): [^,}]+", "", rest)
    nics = (f"nics: {{mtu: {config.get('PACKET_PAYLOAD_SIZE', '1000')}, "
            f"congestion: {{use: {name}{rest}, {congestion(config, hpcc)}}}}}")
    text = text[:found.start()] + nics + text[found.end():]
    rates = [int(each) for each in re.findall(r" (\d+)Gbps ", topology.read_text(encoding="utf-8"))]
    return re.sub(r"ecn: \{[^}]*\}", marks(config, max(rates) * 10**9) or r"\g<0>", text)


def later(flows, draw, folder):
    """The flow list with starts up to APART_NS later, each by its own."""
    lines = flows.read_text(encoding="utf-8").split("\n")
    count = int(lines[0].split()[0])
    moved = [lines[0]]
    for line in lines[1:count + 1]:
        words = line.split()
        words[5] = f"{float(words[5]) + draw.randint(0, APART_NS) / 1e9:.9f}"
        moved.append(" ".join(words))
    path = folder / "flows.txt"
    path.write_text("\n".join(moved) + "\n", encoding="utf-8")
    return path


def runs(root, config, hpcc, flows_expected, seeds):
    topology, flows = root / config["TOPOLOGY_FILE"], root / config["FLOW_FILE"]
    if hpcc and flows_expected == 1:
        seeds = 1
    with tempfile.TemporaryDirectory(prefix="rocelab-peers-") as name:
        for seed in range(1, seeds + 1):
            draw = random.Random(seed)
            moved = later(flows, draw, pathlib.Path(name)) if hpcc and flows_expected > 1 else flows
            document = simulate(fabric(topology, moved, config, hpcc), "--seed", seed)
            times = [flow["fct_ps"] / 1000 for flow in document["flows"]]
            if len(times) != flows_expected or document["state"] != "done":
                raise RuntimeError(f"seed {seed}: {len(times)} flows of {flows_expected}, {document['state']}")
            # Every XOFF is followed by one XON, and each arrives once.
            yield times, sum(port["pfc_rx"] for port in document["ports"])


def rows(root, case, seeds):
    config, hpcc = settings(case)
    theirs = [int(line.split()[6]) for line in (case / "fct.txt").read_text(encoding="utf-8").splitlines()]
    pauses = (case / "pfc.txt").read_text(encoding="utf-8") if (case / "pfc.txt").is_file() else ""
    ours = list(runs(root, config, hpcc, len(theirs), seeds or SEEDS))
    single = len(theirs) == 1
    yield Row("mean, ns", mean(mean(times) for times, _ in ours), mean(theirs), SINGLE if single else MEAN)
    if not single:
        tenths = [mean(each) for each in zip(*(deciles(times) for times, _ in ours))]
        for at, (our, their) in enumerate(zip(tenths, deciles(theirs))):
            yield Row(f"decile {at + 1}, ns", our, their, DECILE)
    yield Row("pfc lines", mean(lines for _, lines in ours), len(pauses.splitlines()), LINES)
