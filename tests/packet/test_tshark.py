#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our dissection against tshark's: every packet of every recorded capture, of a generated one with IPv6, RoCEv1,
tags, VXLAN, pause frames and all CM messages, and of one with frames that have passed a switch.

usage: test_tshark.py DISSECT GEN_FRAMES PCAP_DIR
"""

import glob
import ipaddress
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

DISSECT, GEN_FRAMES, PCAP_DIR = sys.argv[1:4]

# our key -> tshark's field; the first occurrence counts
ROCE = {
    "opcode": "infiniband.bth.opcode",
    "destqp": "infiniband.bth.destqp",
    "psn": "infiniband.bth.psn",
    "a": "infiniband.bth.a",
    "se": "infiniband.bth.se",
    "m": "infiniband.bth.m",
    "pad": "infiniband.bth.padcnt",
    "pkey": "infiniband.bth.p_key",
    "resv7": "infiniband.bth.reserved7",
    "syndrome": "infiniband.aeth.syndrome",
    "msn": "infiniband.aeth.msn",
    "qkey": "infiniband.deth.q_key",
    "srcqp": "infiniband.deth.srcqp",
    "va": "infiniband.reth.va",
    "rkey": "infiniband.reth.r_key",
    "dmalen": "infiniband.reth.dmalen",
    "swap": "infiniband.atomiceth.swapdt",
    "compare": "infiniband.atomiceth.cmpdt",
    "original": "infiniband.atomicacketh.origremdt",
    "imm": "infiniband.immdt",
    "ieth": "infiniband.ieth",
}
HEX = ("imm", "ieth")  # bytes to tshark: hexadecimal without 0x
PAUSE = {"quanta": "macc.pause_time", "enable": "macc.cbfc.enbv"}
PAUSE.update({"quanta%d" % i: "macc.cbfc.pause_time.c%d" % i for i in range(8)})

# innermost header: the last occurrence counts
NET = {
    "ipv4": {"src": "ip.src", "dst": "ip.dst", "tos": "ip.dsfield", "ttl": "ip.ttl", "ip_id": "ip.id",
             "sport": "udp.srcport", "dport": "udp.dstport"},
    "ipv6": {"src": "ipv6.src", "dst": "ipv6.dst", "tos": "ipv6.tclass", "ttl": "ipv6.hlim", "flow": "ipv6.flow",
             "sport": "udp.srcport", "dport": "udp.dstport"},
    "v1": {"src": "infiniband.grh.sgid", "dst": "infiniband.grh.dgid", "tos": "infiniband.grh.tclass",
           "ttl": "infiniband.grh.hoplmt", "flow": "infiniband.grh.flowlabel"},
}
TAG_IDS = ["vlan.id", "ieee8021ad.id", "ieee8021ad.svid", "ieee8021ad.cvid"]
TAG_PRIORITIES = ["vlan.priority", "ieee8021ad.priority"]
OTHER = ["frame.number", "ip.checksum.status", "vxlan.vni", "eth.src", "eth.dst", "infiniband.mad.transactionid",
         "infiniband.mad.attributeid"] + TAG_IDS + TAG_PRIORITIES

# tshark 4.0 has no fields for MRA and the SIDR messages.
CM_PREFIX = {"REQ": "req", "REP": "rep", "RTU": "rtu", "REJ": "rej", "DREQ": "dreq", "DREP": "drsp"}
CM_PLAIN = {
    "REQ": "localcaguid localqkey localqpn responderres localeecn initdepth remoteeecn remoteresptout transpsvctype "
           "e2eflowctrl startpsn localresptout retrcount pkey pppmtu rdcexist rnrretrcount maxcmretr srq ext_transport "
           "prim_locallid prim_remotelid prim_tfcclass prim_hoplim prim_sl prim_subnetlocal prim_localacktout "
           "alt_locallid alt_remotelid alt_tfcclass alt_hoplim alt_sl alt_subnetlocal alt_localacktout",
    "REP": "remotecommid localqkey localqpn localeecn startpsn respres initdepth tgtackdelay failoveracc e2eflowctrl "
           "rnrretrcount srq localcaguid",
    "RTU": "localcommid remotecommid",
    "REJ": "localcommid remotecommid msgrej rejinfolen reason",
    "DREQ": "localcommid remotecommid",
    "DREP": "localcommid remotecommid",
}
CM_FIELDS = {kind: {key: "infiniband.cm.%s.%s" % (CM_PREFIX[kind], key) for key in keys.split()}
             for kind, keys in CM_PLAIN.items()}
CM_FIELDS["REQ"]["localcommid"] = "infiniband.cm.req"
CM_FIELDS["REP"]["localcommid"] = "infiniband.cm.rep"
CM_FIELDS["DREQ"]["remoteqpneecn"] = "infiniband.cm.req.remoteqpneecn"
CM_SPECIAL = ["infiniband.cm.req." + name for name in (
    "serviceid serviceid.protocol serviceid.dport prim_localgid prim_remotegid prim_localgid_ipv4 "
    "prim_remotegid_ipv4 alt_localgid alt_remotegid prim_flowlabel alt_flowlabel private ip_cm.sport ip_cm.sip4 "
    "ip_cm.dip4 ip_cm.private").split()] + ["infiniband.cm.rej.ari"]
CM_SPECIAL += ["infiniband.cm.%s.private" % CM_PREFIX[kind] for kind in CM_PREFIX if kind != "REQ"]


def number(text):
    if text in ("True", "False"):
        return int(text == "True")
    return int(text, 0)


def run_tshark(path):
    """One dictionary a packet: field -> list of its occurrences."""
    names = list(dict.fromkeys(
        OTHER + list(ROCE.values()) + list(PAUSE.values()) + [f for net in NET.values() for f in net.values()]
        + [f for kind in CM_FIELDS.values() for f in kind.values()] + CM_SPECIAL))
    command = ["tshark", "-n", "-r", path, "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a",
               "-E", "aggregator=,", "-o", "ip.defragment:FALSE", "-o", "ip.check_checksum:TRUE"]
    for name in names:
        command += ["-e", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("tshark failed: " + done.stderr)
    packets = []
    for line in done.stdout.splitlines():
        values = line.split("\t")
        packets.append({name: value.split(",") for name, value in zip(names, values) if value})
    return packets


def run_dissect(path):
    """One pair a packet: the packet's words, and those of its CM message or None."""
    text = subprocess.run([DISSECT, path], stdout=subprocess.PIPE, text=True, check=True).stdout
    packets = []
    for line in text.splitlines():
        parts = [dict(word.split("=", 1) for word in part.split()) for part in line.split(" | ")]
        packets.append((parts[0], parts[1] if len(parts) > 1 else None))
    return packets


def join_captures(directory, path):
    """All captures as one file, so that tshark starts once; they share one file header."""
    header, count = None, 0
    with open(path, "wb") as out:
        for name in sorted(glob.glob(os.path.join(directory, "*.pcap"))):
            with open(name, "rb") as capture:
                data = capture.read()
            if header is None:
                header = data[:24]
                out.write(header)
            if data[:24] != header:
                sys.exit(name + ": another pcap header than the rest")
            out.write(data[24:])
            count += 1
    return count


class Dissection(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        recorded = os.path.join(cls.directory.name, "recorded.pcap")
        generated = os.path.join(cls.directory.name, "generated.pcap")
        cls.files = join_captures(PCAP_DIR, recorded)
        subprocess.run([GEN_FRAMES, generated], check=True)
        cls.recorded = (run_dissect(recorded), run_tshark(recorded))
        rewritten = os.path.join(cls.directory.name, "rewritten.pcap")
        subprocess.run([GEN_FRAMES, rewritten, "rewritten"], check=True)
        cls.rewritten = (run_dissect(rewritten), run_tshark(rewritten))
        cls.generated = (run_dissect(generated), run_tshark(generated))

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def same(self, where, key, ours, theirs):
        if ours != theirs:
            self.fail("packet %s, %s: ours %r, tshark's %r" % (where, key, ours, theirs))

    def compare_fields(self, where, fields, ours, theirs):
        """Equal where either side has the field; returns how many were compared."""
        compared = 0
        for key, field in fields.items():
            if key not in ours and field not in theirs:
                continue
            if key not in ours or field not in theirs:
                self.fail("packet %s: %s is only in %s" % (where, key, "ours" if key in ours else "tshark's"))
            text = theirs[field][0]
            self.same(where, key, int(ours[key]), int(text, 16) if key in HEX else number(text))
            compared += 1
        return compared

    def compare_network(self, where, ours, theirs):
        for key, field in NET[ours["net"]].items():
            if field not in theirs:
                self.fail("packet %s: tshark has no %s" % (where, field))
            text = theirs[field][-1]
            if key in ("src", "dst"):
                # IPv4 stands as itself in our words, mapped in a GID
                mine = ipaddress.ip_address(ours[key])
                self.same(where, key, mine, ipaddress.ip_address(text))
            else:
                self.same(where, key, int(ours[key]), number(text))

    def compare_link(self, where, ours, theirs):
        for key, field in (("smac", "eth.src"), ("dmac", "eth.dst")):
            self.same(where, key, ours[key], theirs[field][-1].replace(":", ""))
        # tshark has several families of tag fields, so the order among them is not known
        tags = [tuple(map(int, tag.split("/"))) for tag in ours["vlan"].split(",")] if "vlan" in ours else []
        gather = lambda names: sorted(number(text) for name in names for text in theirs.get(name, []))
        self.same(where, "VLAN ids", sorted(tag[0] for tag in tags), gather(TAG_IDS))
        self.same(where, "VLAN priorities", sorted(tag[1] for tag in tags), gather(TAG_PRIORITIES))
        self.same(where, "vni", int(ours.get("vni", -1)), number(theirs.get("vxlan.vni", ["-1"])[0]))

    def compare_packets(self, ours_all, theirs_all):
        counts = {"other": 0, "roce": 0, "pfc": 0, "pause": 0}
        self.assertEqual(len(ours_all), len(theirs_all))
        for (ours, _), theirs in zip(ours_all, theirs_all):
            where = ours["n"]
            self.assertEqual(ours["n"], theirs["frame.number"][0])
            self.assertNotEqual(ours["kind"], "fault", "packet " + where)
            counts[ours["kind"]] += 1
            if ours["kind"] == "other":
                self.assertNotIn("infiniband.bth.opcode", theirs)
                continue
            self.compare_link(where, ours, theirs)
            if ours["kind"] == "roce":
                self.assertEqual(ours["icrc"], "good", "packet " + where)
                self.compare_network(where, ours, theirs)
                self.assertGreaterEqual(self.compare_fields(where, ROCE, ours, theirs), 9)
            else:
                self.compare_fields(where, PAUSE, ours, theirs)
        return counts

    def compare_gid(self, where, message, theirs, key):
        raw = bytes.fromhex(message[key])
        mapped = theirs.get("infiniband.cm.req.%s_ipv4" % key)
        plain = theirs.get("infiniband.cm.req." + key)
        if mapped:  # over IPv4 tshark shows the last four bytes, whatever the rest is
            self.same(where, key, raw[12:], ipaddress.ip_address(mapped[0]).packed)
        elif key.startswith("prim"):
            self.same(where, key, raw, ipaddress.ip_address(plain[0]).packed)
        else:
            self.same(where, key, raw.hex(), plain[0].replace(":", ""))

    def compare_req(self, where, message, theirs):
        field = lambda name: theirs.get("infiniband.cm.req." + name, [None])[0]
        for key in ("prim_localgid", "prim_remotegid", "alt_localgid", "alt_remotegid"):
            self.compare_gid(where, message, theirs, key)
        for key in ("prim_flowlabel", "alt_flowlabel"):
            # tshark 4.0 masks three bytes as if they were four: it loses the low 8 bits (and finds
            # the packet rate in the wrong byte, so that is not compared)
            self.assertIn(number(field(key)), (int(message[key]), int(message[key]) >> 8), "packet " + where)
        private = bytes.fromhex(message["private"])
        if field("serviceid.dport") is None:
            self.same(where, "serviceid", int(message["serviceid"]), number(field("serviceid")))
            self.same(where, "private", private.hex(), field("private").replace(":", ""))
            return
        self.same(where, "port", int(message["port"]), number(field("serviceid.dport")))
        self.same(where, "serviceid", int(message["serviceid"]) >> 16, 1 << 8 | number(field("serviceid.protocol")))
        self.same(where, "source port", int.from_bytes(private[2:4], "big"), number(field("ip_cm.sport")))
        self.same(where, "source", private[16:20], ipaddress.ip_address(field("ip_cm.sip4")).packed)
        self.same(where, "destination", private[32:36], ipaddress.ip_address(field("ip_cm.dip4")).packed)
        self.same(where, "private", private[36:].hex(), field("ip_cm.private").replace(":", ""))

    def compare_messages(self, ours_all, theirs_all):
        counts = {}
        for (ours, message), theirs in zip(ours_all, theirs_all):
            where = ours["n"]
            self.assertEqual(message is not None, "infiniband.mad.attributeid" in theirs, "packet " + where)
            if message is None:
                continue
            kind = message["cm"]
            counts[kind] = counts.get(kind, 0) + 1
            self.same(where, "tid", int(message["tid"]), number(theirs["infiniband.mad.transactionid"][0]))
            if kind not in CM_PREFIX:
                continue
            self.assertEqual(self.compare_fields(where, CM_FIELDS[kind], message, theirs), len(CM_FIELDS[kind]))
            if kind == "REQ":
                self.compare_req(where, message, theirs)
            else:
                private = theirs["infiniband.cm.%s.private" % CM_PREFIX[kind]][0].replace(":", "")
                self.same(where, "private", message["private"], private)
            if kind == "REJ":
                self.same(where, "ari", message["ari"], theirs["infiniband.cm.rej.ari"][0].replace(":", ""))
        return counts

    def test_recorded(self):
        counts = self.compare_packets(*self.recorded)
        self.assertEqual(self.files, 74)
        self.assertEqual(counts, {"other": 1, "roce": 9102, "pfc": 0, "pause": 0})

    def test_generated(self):
        # 38 opcodes and one unknown, 3 networks, 3 tunnels, 3 tag depths; 9 messages, 3 networks
        counts = self.compare_packets(*self.generated)
        self.assertEqual(counts, {"other": 0, "roce": 39 * 27 + 27, "pfc": 3, "pause": 3})

    def test_rewritten(self):
        # 38 opcodes, 3 networks, 3 tag depths; TCP and ARP.  The ICRC is looked at by compare_packets().
        ours, theirs = self.rewritten
        counts = self.compare_packets(ours, theirs)
        self.assertEqual(counts, {"other": 2, "roce": 38 * 9, "pfc": 0, "pause": 0})
        sums = [status for packet in theirs for status in packet.get("ip.checksum.status", [])]
        self.assertEqual(sums, ["1"] * (38 * 3 + 1), "1: tshark finds the IPv4 checksum right")
        for packet in theirs:
            self.assertEqual((packet["eth.dst"][0], packet["eth.src"][0]), ("02:01:02:03:04:05", "02:06:07:08:09:0a"))
            for field in ("ip.dsfield", "ipv6.tclass", "infiniband.grh.tclass"):
                for text in packet.get(field, []):
                    self.assertEqual(number(text) & 3, 3)

    def test_recorded_messages(self):
        counts = self.compare_messages(*self.recorded)
        self.assertEqual(set(counts), {"REQ", "REP", "RTU", "DREQ", "DREP"})
        self.assertGreaterEqual(min(counts.values()), 3)

    def test_generated_messages(self):
        counts = self.compare_messages(*self.generated)
        self.assertEqual(counts, {kind: 3 for kind in (
            "REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP")})


if __name__ == "__main__":
    if shutil.which("tshark") is None:
        sys.exit("tshark is not installed: this test needs it (Debian: apt-get install tshark)")
    unittest.main(argv=sys.argv[:1])
