# SPDX-License-Identifier: Apache-2.0
"""Connections by rdma_cm, rsockets, the pingpongs and forks through a fabric: programs, unmodified, in fabric time.

Each pair runs twice, and both runs are the same to the last packet."""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["ROCELAB"]
FABRIC = """rocelab: 1
fabric: pair
topology: {single: {hosts: 2}}
links: {host: {rate: 400G, cable: 3m}}
nics: {mtu: 4096, congestion: none}
"""
RAILS = FABRIC.replace("{single: {hosts: 2}}", "{rail: {hosts: 2, gpus: 2, leaves: 2, spines: 1}}")
LIMIT = 120  # seconds: a guard against hanging


class Case(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        (self.folder / "pair.yaml").write_text(FABRIC, encoding="utf-8")
        (self.folder / "run").mkdir(mode=0o700)

    def up(self, script, *options, status=0):
        (self.folder / "x.up").write_text(script, encoding="utf-8")
        with open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
            result = subprocess.run([PROGRAM, "up", "pair.yaml", "--script", "x.up", *options], cwd=self.folder,
                                    env=dict(os.environ, XDG_RUNTIME_DIR=str(self.folder / "run"), LC_ALL="C.UTF-8"),
                                    stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False,
                                    timeout=LIMIT)
        text = (self.folder / "out").read_text(encoding="utf-8")
        errors = (self.folder / "err").read_text(encoding="utf-8")
        self.assertEqual(status, result.returncode, text + errors)
        return text if "--json" in options else text + errors

    def need(self, *programs):
        for program in programs:
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed")

    def pair(self, server, client, *says, status=0):
        """A server on h0 and a client on h1, twice; what must be said, by whom.  Answers the text."""
        script = f"h0: {server}\nh1 after 1ms: {client}\n"
        first = self.up(script, status=status)
        for line in says:
            self.assertRegex(first, re.compile(line, re.M))
        second = self.up(script, status=status)
        digest = re.compile(r"digest [0-9a-f]{16}")
        self.assertEqual(digest.search(first)[0], digest.search(second)[0])
        return first


class Connections(Case):
    def test_rping(self):
        """Both rkeys and private data go along with the connection; data is checked (-V)."""
        self.need("rping")
        self.pair("rping -s -C 20 -V -v", "rping -c -a 10.0.0.1 -C 20 -V -v", r"^h0: server ping data: rdma-ping-19",
                  r"^h1: ping data: rdma-ping-19")

    def test_receives_that_are_flushed_have_not_failed(self):
        """Both ends leave a posted receive behind when they say goodbye."""
        self.need("rping")
        text = self.up("h0: rping -s -C 2\nh1 after 1ms: rping -c -a h0 -C 2\n")
        columns, total = re.search(r"^ADAPTERS\n(.*)\n  total (.*)$", text, re.M).groups()
        self.assertNotIn("failed", columns)
        self.assertEqual(("flushed", "2"), (columns.split()[-1], total.split()[-1]))

    def test_names(self):
        self.need("ucmatose")
        self.pair("ucmatose -c 3 -C 5", "ucmatose -s h0 -c 3 -C 5", r"^h0: return status 0", r"^h1: return status 0")

    def test_datagrams(self):
        """SIDR, and address handles from completions."""
        self.need("udaddy")
        self.pair("udaddy -c 2 -C 20", "udaddy -s h0 -c 2 -C 20", r"^h0: return status 0", r"^h1: return status 0")

    @unittest.skipUnless("ROCELAB_CM_TOOL" in os.environ, "built without verbs")
    def test_late_receives(self):
        """No receive and no RNR retry: the first message ends the connection, as with hardware, and at once."""
        tool = os.environ["ROCELAB_CM_TOOL"]
        text = self.pair(f"timeout 2 {tool} serve 7000 4 || true", f"{tool} send 10.0.0.1 7000")
        after = re.search(r"(?m)^h1: RNR retry counter exceeded after (\S+) ms", text)
        self.assertTrue(after and float(after[1]) < 1, text)

    def test_two_of_a_host(self):
        self.need("rping")
        text = self.up("h0: rping -s -C 3 -v\nh0 after 1ms: rping -c -a h0 -C 3 -v\n")
        self.assertIn("h0: ping data: rdma-ping-2", text)

    def test_ports_are_a_hosts(self):
        """Both hosts listen at one port."""
        self.need("rping")
        text = self.up("h0: rping -s -C 2 -v\nh1: rping -s -C 2 -v\n"
                       "h1 after 1ms: rping -c -a h0 -C 2\nh0 after 1ms: rping -c -a h1 -C 2\n")
        self.assertIn("h0: server ping data: rdma-ping-1", text)
        self.assertIn("h1: server ping data: rdma-ping-1", text)

    def test_rails(self):
        """The second address of a host is reached by the second adapter."""
        self.need("rping")
        (self.folder / "pair.yaml").write_text(RAILS, encoding="utf-8")
        document = json.loads(self.up("h0: rping -s -C 2\nh1 after 1ms: rping -c -a 10.0.0.2 -C 2\n", "--json"))
        sent = {nic["nic"]: nic["tx_packets"] for nic in document["nics"]}
        self.assertEqual((0, 0), (sent["h0:0"], sent["h1:0"]))
        self.assertTrue(sent["h0:1"] > 0 and sent["h1:1"] > 0)

    def test_nobody_listens(self):
        """Refused by the host, after the asking again that a client does: in fabric time, not in ours."""
        self.need("rping")
        document = json.loads(self.up("h1: rping -c -a h0 -C 1\n", "--json", status=1))
        program = document["programs"][0]
        self.assertNotEqual(0, program["exit"])
        self.assertLess(program["end_ps"], 1e12)

    def test_who_waits_for_a_peer_that_gave_up(self):
        """The goodbye of the server is lost with its cable, so the client waits for ever: it is told who will not come."""
        self.need("rping")
        text = self.up("h0: rping -s -C 100000\nh1 after 1ms: rping -c -a h0 -C 100000\nat 2ms: down h1:0 for 30s\n",
                       "--turn-limit", "1", status=1)
        self.assertIn("STUCK at 30s: 1 of 2 programs ended, and no event is left", text)
        self.assertRegex(" ".join(text.split()), r"critical stuck: h1: 'rping -c -a h0 -C 100000' waits, and no event is left; its "
                         r"peer on h0, 'rping -s -C 100000', ended at [\d.]+s with status 255\.")
        self.assertRegex(text, r"thread 0\) waits for a semaphore since [\d.]+ms; nothing will end it")

    def test_a_peer_that_dies(self):
        """Killed: its host says goodbye for it, and the server ends as if the client had."""
        self.need("rping")
        text = self.up("h0: rping -s -C 100000\nh1 after 1ms: timeout -s KILL 0.002 rping -c -a h0 -C 100000\n",
                       status=1)
        self.assertIn("h0: server DISCONNECT EVENT", text)
        self.assertNotIn("STUCK", text)


class Perftest(Case):
    """-R: queue pairs by rdma_cm."""

    def test_bandwidth(self):
        self.need("ib_write_bw", "ib_read_bw")
        for program in ("ib_write_bw", "ib_read_bw"):
            with self.subTest(program=program):
                text = self.pair(f"{program} -R -n 500 --report_gbits", f"{program} -R -n 500 --report_gbits h0")
                rate = float(re.search(r"(?m)^h1:  65536 +500 +\S+ +(\S+)", text)[1])
                self.assertTrue(385 < rate < 393, text)

    def test_latency(self):
        self.need("ib_send_lat")
        text = self.pair("ib_send_lat -R -n 200", "ib_send_lat -R -n 200 h0")
        self.assertRegex(text, r"(?m)^h1:  2\s+200\s+(\S+)\s+\1\s+\1\s+\1\s+0.00")


class Rsockets(Case):
    def test_stream(self):
        self.need("rstream")
        for optimization in ("", "-T b", "-T n", "-T v"):
            with self.subTest(optimization=optimization):
                self.pair(f"rstream {optimization} -S 4096 -C 50", f"rstream {optimization} -s h0 -S 4096 -C 50",
                          r"^h1: custom +4k +50 ")

    def test_mapped_memory(self):
        self.need("riostream")
        self.pair("riostream -S 65536 -C 20", "riostream -s h0 -S 65536 -C 20", r"^h1: custom +64k +20 ")

    def test_a_file(self):
        """What arrives is what was sent; the server has to be ended."""
        self.need("rcopy", "timeout")
        data = random.Random(1).randbytes(1000000)
        (self.folder / "a").write_bytes(data)
        self.up(f"h0: timeout 1 rcopy\nh1 after 1ms: rcopy {self.folder}/a h0:{self.folder}/b\n", status=1)
        self.assertEqual(data, (self.folder / "b").read_bytes())


class Storage(Case):
    def test_fio(self):
        """Its threads, and the child that each job is; what is written, read and sent arrives."""
        self.need("fio")
        job = "fio --name=job --ioengine=rdma --port=7501 --bs=64k --size=1m --iodepth=8"
        for verb in ("write", "read", "send"):
            with self.subTest(verb=verb):
                text = self.pair(f"{job} --rw=read", f"{job} --rw=write --hostname=h0 --verb={verb}",
                                 r"^h0: .*: err= 0: ", r"^h1: .*: err= 0: ", r"^h1: +WRITE: .* io=1024KiB ")
                self.assertNotIn("fio: ", text.replace("fio: waiting for connection", ""))


class Libfabric(Case):
    def test_pingpong(self):
        """Messages on a connection, and datagrams that are reliable over connections (RxM): data is checked."""
        self.need("fi_pingpong")
        for kind in ("-p verbs -e msg", "-p 'verbs;ofi_rxm' -e rdm"):
            with self.subTest(kind=kind):
                command = f"fi_pingpong {kind} -c -I 20 -S 4096"
                self.pair(command, f"{command} h0", r"^h0: 4k +20 +=20 ", r"^h1: 4k +20 +=20 ")


class Fork(Case):
    def test_memory_is_each_ones_own(self):
        """Registered memory is shared with the fabric, and with nobody else."""
        self.need("cc")
        program = self.folder / "fork_memory"
        built = subprocess.run(["cc", "-o", program, os.environ["ROCELAB_FORK_MEMORY"], "-libverbs", "-lpthread"],
                               capture_output=True, text=True, check=False)
        if built.returncode != 0:
            self.skipTest("libibverbs-dev is not installed")
        self.assertIn("h0: fork_memory: right", self.up(f"h0: {program}\n"))


class Pingpong(Case):
    def test_all(self):
        for kind in ("rc", "uc", "ud", "srq"):
            with self.subTest(kind=kind):
                self.need(f"ibv_{kind}_pingpong")
                verify = "" if kind == "ud" else " -c"
                text = self.pair(f"ibv_{kind}_pingpong -g 0{verify}", f"ibv_{kind}_pingpong -g 0{verify} h0",
                                 r"^h1: 1000 iters in ")
                self.assertNotIn("invalid", text)

    def test_events(self):
        self.need("ibv_rc_pingpong")
        self.pair("ibv_rc_pingpong -g 0 -e", "ibv_rc_pingpong -g 0 -e h0", r"^h0: 1000 iters in ",
                  r"^h1: 1000 iters in ")


if __name__ == "__main__":
    if sys.maxsize < 2**32 or os.uname().machine != "x86_64":
        print("skipped: the virtual clock is for x86-64")
        sys.exit(77)
    unittest.main()
