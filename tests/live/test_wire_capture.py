#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The udp and packet wires across a cable (a veth pair between two network namespaces), seen from outside.

Segmentation is off on the cable, so a capture there shows every packet of a run by itself, with the IP identification
that the kernel gave it: each ICRC must be right for it, and tshark must find nothing malformed.  Then the wires
receive from each other, in all four combinations.  Needs root for namespaces; says so and skips (77) elsewhere."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import patience

TOOL = str(pathlib.Path(sys.argv[1]).resolve())
COUNT = 300
PAYLOAD = 1024
LIMIT_S = 60  # ends what hangs


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S, **options).stdout


class Cable:
    """Two namespaces, each held by a sleeping process, with a veth pair between them."""

    def __init__(self, folder):
        self.holders = [subprocess.Popen(["unshare", "-n", "sleep", "600"]) for _ in range(2)]
        self.environment = []
        own = os.readlink("/proc/self/ns/net")
        for holder in self.holders:
            with patience("a network of its own"):
                while os.readlink(f"/proc/{holder.pid}/ns/net") == own:
                    time.sleep(0.01)
        pids = [str(holder.pid) for holder in self.holders]
        self.inside(0, "ip", "link", "add", "rl0", "type", "veth", "peer", "name", "rl1", "netns", pids[1])
        for end in range(2):
            registry = pathlib.Path(folder, f"registry{end}")
            registry.mkdir()
            self.environment.append(dict(os.environ, ROCELAB_REGISTRY=str(registry)))
            self.inside(end, "ip", "link", "set", "lo", "up")
            self.inside(end, "ip", "addr", "add", f"10.71.0.{end + 1}/24", "dev", f"rl{end}")
            self.inside(end, "ip", "addr", "add", f"fd71::{end + 1}/64", "dev", f"rl{end}", "nodad")
            self.inside(end, "ip", "link", "set", f"rl{end}", "up", "mtu", "9000")

    def command(self, end, *command):
        return ["nsenter", "-t", str(self.holders[end].pid), "-n", *command]

    def inside(self, end, *command, **options):
        return run(*self.command(end, *command), **options)

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()


def address(end, family):
    return f"10.71.0.{end + 1}" if family == 4 else f"fd71::{end + 1}"


def send(cable, wire, family, slot=1, count=COUNT):
    return cable.inside(0, TOOL, "send", wire, "rl0", address(0, family), address(1, family), str(slot), str(count),
                        str(PAYLOAD), env=cable.environment[0])


def warm_up(cable, family):
    """The kernel drops what it cannot queue while it asks for the neighbour; sockets are not told."""
    for _ in range(200):
        send(cable, "udp", family, count=1)
        if "lladdr" in cable.inside(0, "ip", "neigh", "show", "to", address(1, family)):
            return
        time.sleep(0.05)
    raise AssertionError("the neighbour does not answer")


def check_capture(cable, folder, wire, family):
    path = os.path.join(folder, f"{wire}{family}.pcap")
    capture = subprocess.Popen(
        cable.command(1, "dumpcap", "-q", "-P", "-i", "rl1", "-c", str(COUNT), "-a", "duration:30", "-w", path,
                      "-f", "udp dst port 4791"),
        stderr=subprocess.PIPE, text=True)
    with patience("dumpcap, which listens once it says so"):
        while "File:" not in capture.stderr.readline():
            assert capture.poll() is None, "dumpcap ended"
    told = send(cable, wire, family)
    capture.wait(LIMIT_S)
    found = run(TOOL, "check", path)
    fields = dict(zip(found.split()[::2], map(int, found.split()[1::2])))
    assert fields["roce"] == COUNT, (wire, family, told, found)
    assert fields["wrong"] == 0 and fields["malformed"] == 0, (wire, family, found)
    if wire == "udp" and family == 4:
        assert fields["ids"] > COUNT // 2, found  # runs were cut by the kernel, which counted their segments
        assert int(told.split()[5]) < COUNT // 2, told  # and went out in few calls
    names = run("tshark", "-r", path, "-Y", "_ws.malformed or !infiniband", "-T", "fields", "-e", "frame.number")
    assert names.strip() == "", f"tshark: malformed {names}"
    print(f"{wire} IPv{family}: {told.strip()}; captured: {found.strip()}")


def check_delivery(cable, out, into, family):
    receiver = subprocess.Popen(cable.command(1, TOOL, "receive", into, "rl1", address(1, family), str(COUNT)),
                                env=cable.environment[1], stdout=subprocess.PIPE, text=True)
    with patience("a receiver"):
        word, slot = receiver.stdout.readline().split()
    assert word == "slot"
    told = send(cable, out, family, slot)
    found, _ = receiver.communicate(timeout=LIMIT_S)
    assert found == f"received {COUNT} right {COUNT}\n", (out, into, family, told, found)
    print(f"{out} -> {into} IPv{family}: {found.strip()}")


def main():
    if os.geteuid() != 0:
        skip("network namespaces need root")
    for program in ("unshare", "nsenter", "ip", "ethtool", "dumpcap", "tshark"):
        if not shutil.which(program) and not shutil.which(program, path="/usr/sbin:/sbin"):
            skip(f"{program} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        try:
            cable = Cable(folder)
        except subprocess.CalledProcessError as error:
            skip(f"no namespaces or veth here: {error.stderr.strip()}")
        try:
            check_delivery(cable, "packet", "packet", 4)  # cold: this one finds the neighbour itself
            for family in (4, 6):
                warm_up(cable, family)
                for out in ("udp", "packet"):
                    for into in ("udp", "packet"):
                        check_delivery(cable, out, into, family)
            for end in range(2):
                cable.inside(end, "ethtool", "-K", f"rl{end}", "tx-udp-segmentation", "off", "gro", "off")
            for family in (4, 6):
                for wire in ("udp", "packet"):
                    check_capture(cable, folder, wire, family)
        finally:
            cable.close()


main()
