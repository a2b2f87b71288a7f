# SPDX-License-Identifier: Apache-2.0
"""Fabrics that are right, and fabrics that are broken in one known way each: what `rocelab validate` says of them.

GOOD are of different kinds and pass, operated() in all six phases.  BROKEN are (name, text, phases that must fail, phases that may fail besides, why these may).
"""
CLASSES = """classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 500KB, max: 1500KB, probability: 10%}, share: 90%}
  - {name: cnp, dscp: 48, priority: 6, strict: true}
  - {name: default, priority: 0, share: 10%}
"""
NICS = "nics: {mtu: 4096, reorder: true, congestion: {use: dcqcn/connectx, rpg_time_reset: 50us, rpg_byte_reset: 32MB, " \
       "rpg_ai_rate: 200M, rpg_hai_rate: 2G}}\n"
LINKS = "links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}\n"
SWITCHES = "switches: {model: tomahawk5, balance: adaptive}\n"
TAIL = "routing: valley-free\ncheck: {fan-in: 8}\njobs: [{allreduce: ring, size: 64MB}]\n"


def fabric(topology, links=LINKS, switches=SWITCHES, classes=CLASSES, nics=NICS, more=TAIL):
    return f"rocelab: 1\nfabric: one\ntopology: {topology}\n{links}{switches}{classes}{nics}{more}"


RAIL = "{rail: {hosts: 8, gpus: 2, leaves: 2, spines: 8}}"
LEAF_SPINE = "{leaf-spine: {leaves: 4, spines: 4, hosts: 4}}"
BASE = fabric(RAIL)
PLAIN = fabric(LEAF_SPINE)


def but(text, old, new):
    if old not in text:
        raise ValueError(f"'{old}' is not in the fabric")
    return text.replace(old, new)


def with_(text, more):
    return text + more + "\n"


GOOD = [
    ("rail", BASE),
    ("leaf-spine", PLAIN),
    ("one leaf", fabric("{leaf-spine: {leaves: 1, spines: 1, hosts: 12}}")),
    ("fat tree", but(fabric("{fat-tree: {k: 4}}"), "adaptive", "{use: spray, order: round-robin}")),
    ("sprayed", but(PLAIN, "adaptive", "spray")),
    ("200G", PLAIN.replace("400G", "200G").replace("min: 500KB, max: 1500KB", "min: 250KB, max: 750KB").replace("200M", "100M")),
    ("800G", PLAIN.replace("400G", "800G").replace("min: 500KB, max: 1500KB", "min: 1MB, max: 3MB").replace("200M", "400M")),
    ("long cables", but(PLAIN, "cable: 30m", "cable: 300m")),
    ("spectrum", but(PLAIN, "tomahawk5", "spectrum4")),
    ("storage beside", but(PLAIN, "  - {name: default", "  - {name: disks, dscp: 34, priority: 4, lossless: true, ecn: {min: 500KB, max: 1500KB, probability: 10%}, share: 20%}\n"
                                  "  - {name: default").replace("share: 90%", "share: 70%")),
]

# What phases 5 and 6 ask for besides: somebody who watches, owns and moves routes, and timers that fit.
OPERATED = "owners: {ecn: a, pfc: a, headroom: a, buffer: a, watchdog: a, maps: a, scheduling: a, mtu: a, cabling: a, nics: b, baseline: c}\n" \
           "converge: {detect: 100us, step: 20us, ordered: true}\n"


def operated(text):
    return but(but(text, "switches: {", "switches: {watchdog: true, "), "nics: {", "nics: {timeout: 8, ") + OPERATED


BROKEN = [
    # Rules of `check`.
    ("PFC off at one end", with_(BASE, "devices: {leaf0: {ports: {2: {pfc: false}}}}"), {1}, {2, 3, 4}, "packets are dropped there"),
    ("headroom of 20 KB", but(BASE, "lossless: true,", "lossless: true, headroom: 20KB,"), {1}, {2, 3, 4}, "what comes after a pause is dropped"),
    ("PFC off on uplinks", with_(BASE, "roles: {spine: {pfc: false}}"), {1}, {3, 4}, "spines drop"),
    ("Kmin above Kmax of pauses", but(BASE, "min: 500KB, max: 1500KB", "min: 40MB, max: 80MB"), {1, 3}, set(), ""),
    ("DSCP 26 lossy at a leaf", with_(BASE, "devices: {leaf1: {dscp-map: {26: 0}}}"), {1, 3}, {2, 4}, "RDMA is dropped there"),
    ("MTU of 1500 at a port", with_(BASE, "devices: {leaf0: {ports: {1: {mtu: 1500}}}}"), {1, 2}, {3, 4}, "large packets vanish there"),
    ("a leaf trusts PCP", with_(BASE, "devices: {leaf1: {trust: pcp}}"), {1}, {2, 3, 4}, "RDMA is in another class"),
    ("buffer of 8 MB", but(BASE, "model: tomahawk5", "model: tomahawk5, buffer: 8MB"), {1}, {2, 3, 4}, "the headroom does not fit"),
    ("fibre of 10 km, headroom of 30 m", but(but(BASE, "lossless: true,", "lossless: true, headroom: 445KB,"), "cable: 30m", "cable: 10km"), {1},
     {2, 3, 4}, "a way of 100 us"),
    ("routes that turn", """rocelab: 1
fabric: ring
topology:
  links:
    hosts: [a, b, c, d]
    switches: [s0, s1, s2, s3]
    links: [[a, s0], [b, s1], [c, s2], [d, s3], [s0, s1], [s1, s2], [s2, s3], [s3, s0]]
""" + LINKS + SWITCHES + CLASSES + NICS + "jobs: [{permutation: 2, size: 1MB}]\n", {1}, {3, 4}, "circles of pauses"),
    # Versions and approval.
    ("a version that is not approved", with_(BASE, "roles: {leaf: {approved: {nos: 4.31.2F}}}\ndevices: {leaf0: {installed: {nos: 4.30.1F}}, "
                                                   "leaf1: {installed: {nos: 4.31.2F}}}"), {1}, set(), ""),
    ("a version that nobody knows", with_(BASE, "roles: {leaf: {approved: {nos: 4.31.2F}}}\ndevices: {leaf1: {installed: {nos: 4.31.2F}}}"), {1},
     set(), ""),
    # Cases C01 to C20, those that a file can have.
    ("C01 pause storm", with_(BASE, "faults: [{pause: \"h1:0\", priority: 3, at: 0s}]"), {2}, {3, 4}, "h1 takes nothing"),
    ("C02 slow receiver", with_(BASE, "faults: [{receive: h1, rate: 100G, at: 0s}]"), {2}, {3, 4}, "its line is slow for all"),
    ("C06 cable beyond its headroom", but(but(BASE, "cable: 30m", "cable: 300m"), "lossless: true,", "lossless: true, headroom: 150KB,"), {1},
     {2, 3, 4}, "what comes after a pause is dropped"),
    ("C08 ECN off", but(BASE, "ecn: {min: 500KB, max: 1500KB, probability: 10%}, ", ""), {3}, {1, 4}, "no mark slows anybody down"),
    ("C09 CNPs in the class of data", but(BASE, "  - {name: cnp, dscp: 48, priority: 6, strict: true}\n", ""), {3}, {1}, "CNPs wait behind data"),
    ("C10 an uplink at a quarter", with_(PLAIN, "faults: [{lanes: \"leaf0:4\", lost: 3, at: 0s}]"), {3}, {2, 4}, "flows over it are slow, one that is alone too"),
    ("C11 an uplink down, routes as before", with_(PLAIN, "faults: [{down: \"leaf0:4\", at: 0s}]\nconverge: false"), {3}, {2, 4},
     "what is sent there is lost"),
    ("C12 bit errors on a host's cable", with_(BASE, "faults: [{corrupt: \"h1:0\", ber: 1e-8, at: 0s}]"), {2}, {3, 4}, "packets are lost"),
    ("C12 bit errors on an uplink", with_(PLAIN, "faults: [{corrupt: \"leaf0:4\", ber: 1e-8, at: 0s}]"), {3}, {2, 4}, "packets are lost"),
    ("C13 tiers that hash alike", fabric("{fat-tree: {k: 8}}", switches="switches: {model: tomahawk5, ecmp: {seed: 7}}\n"), {3}, {1, 4},
     "half of the links stay empty"),
    ("C15 sprayed without order", but(PLAIN, "reorder: true, ", ""), {3}, {2, 4}, "packets that change places are sent again"),
    # Capacity.
    ("PCIe of half the line", but(BASE, "mtu: 4096,", "mtu: 4096, pcie: gen4-x16,"), {2}, {3, 4}, "no adapter takes its line's rate"),
    ("a quarter of the uplinks", fabric("{leaf-spine: {leaves: 4, spines: 1, hosts: 4, oversubscription: 4:1}}"), {4}, {1, 3}, "uplinks are the limit"),
    ("a window of 64 KB", but(BASE, "mtu: 4096,", "mtu: 4096, window: 64KB,"), {2}, {3, 4}, "no pair fills its line"),
    ("DCQCN of 2015 at 400G", but(BASE, "{use: dcqcn/connectx, rpg_time_reset: 50us, rpg_byte_reset: 32MB, rpg_ai_rate: 200M, rpg_hai_rate: 2G}",
                                  "dcqcn/paper"), {3}, {4}, "rates recover too slowly"),
    ("no congestion control", but(but(PLAIN, ", balance: adaptive", ""), "{use: dcqcn/connectx, rpg_time_reset: 50us, rpg_byte_reset: 32MB, rpg_ai_rate: 200M, rpg_hai_rate: 2G}",
                                  "none"), {3}, {4}, "pauses are all there is"),
    ("shares the wrong way round", but(but(BASE, "share: 90%", "share: 5%"), "share: 10%", "share: 95%"), {3}, {1}, "RDMA waits for others"),
    ("designed for an incast of all", but(BASE, "fan-in: 8", "fan-in: 64"), {3}, set(), ""),
]
