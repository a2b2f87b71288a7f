# SPDX-License-Identifier: Apache-2.0
"""Every fabric among the examples runs, and shows what its first lines say."""
import json
import os
import pathlib
import subprocess
import unittest

PROGRAM = os.environ["ROCELAB"]
EXAMPLES = pathlib.Path(os.environ["ROCELAB_SOURCE"]) / "examples"


def run(name, *arguments):
    result = subprocess.run([PROGRAM, "sim", "--json", *arguments, str(EXAMPLES / name)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, check=False)
    return result.returncode, json.loads(result.stdout or b"{}"), result.stderr.decode()


class Examples(unittest.TestCase):
    def done(self, name):
        status, document, errors = run(name)
        self.assertEqual((status, errors, document.get("state")), (0, "", "done"), name)
        for job in document["jobs"]:
            self.assertGreater(job["time_ps"], 0, (name, job))
        self.assertEqual(0, sum(port["drops"] for port in document["ports"]), name)
        return document

    def busbw(self, document, job):
        return next(row["busbw_GBps"] for row in document["collectives"] if row["job"] == job)

    def used(self, document, prefix):
        return sum(port["frames"] for port in document["ports"] if port["port"].startswith(prefix))

    def test_all_are_here(self):
        tested = {"rail-256", "ecmp-256", "rail-4way", "dual-plane", "storage", "two-sites", "nvl72", "pcie", "nccl-tests"}
        elsewhere = {"pod64", "incast", "leaf-spine", "fat-tree-128", "links", "disagreement"}
        self.assertEqual(set(), (tested | elsewhere) - {path.stem for path in self.fabrics()})

    def fabrics(self):
        return [path for path in EXAMPLES.glob("*.yaml") if path.read_text(encoding="utf-8").count("topology:")]

    def test_all_begin(self):
        """Without an error; this alone is run under sanitizers."""
        for path in self.fabrics():
            status, _, errors = run(path.name, "--until", "20us")
            self.assertEqual((status, errors), (0, ""), path.name)

    def test_rails_or_ecmp(self):
        """On rails nothing sees a spine and nothing is marked; over ECMP flows meet, and the ring is slower by far."""
        rail, ecmp = self.done("rail-256.yaml"), self.done("ecmp-256.yaml")
        self.assertEqual(0, self.used(rail, "spine"))
        self.assertEqual(0, sum(port["ecn_marked"] for port in rail["ports"]))
        self.assertGreater(self.used(ecmp, "spine"), 0)
        self.assertGreater(sum(port["ecn_marked"] for port in ecmp["ports"]), 0)
        self.assertGreater(self.busbw(rail, "allreduce0"), 2 * self.busbw(ecmp, "allreduce0"))

    def test_four_ways(self):
        """A group stays below its four leaves; all together cross the spines."""
        document = self.done("rail-4way.yaml")
        self.assertGreater(self.busbw(document, "group"), self.busbw(document, "all"))
        self.assertGreater(self.used(document, "spine"), 0)

    def test_dual_plane(self):
        """Both ports of every NIC carry the same."""
        document = self.done("dual-plane.yaml")
        sent = {}
        for nic in document["nics"]:
            host, port = nic["nic"].split(":")
            sent.setdefault(int(port) % 2, []).append(nic["tx_payload_bytes"])
        self.assertEqual(len(sent[0]), 64)
        self.assertEqual(sorted(sent[0]), sorted(sent[1]))

    def test_storage(self):
        """Gradients on the one network, checkpoints on the other, neither on both."""
        document = self.done("storage.yaml")
        self.assertGreater(self.used(document, "storage-leaf"), 0)
        for flow in document["flows"]:
            for end in (flow["src"], flow["dst"]):
                self.assertTrue(end.startswith("store") or end.endswith(":8"), flow)
        gradients = sum(nic["tx_payload_bytes"] for nic in document["nics"] if not nic["nic"].startswith("store") and
                        not nic["nic"].endswith(":8"))
        self.assertGreaterEqual(gradients, 8 * 2 * 64000000 * 63 // 64)

    def test_two_sites(self):
        """Fibre of ten kilometres costs a ring more than its bandwidth."""
        document = self.done("two-sites.yaml")
        self.assertGreater(self.busbw(document, "one-site"), 1.5 * self.busbw(document, "both"))
        times = {job["name"]: job["time_ps"] for job in document["jobs"]}
        self.assertGreater(times["both"], 10 * 50_000_000)

    def test_nvl72(self):
        """Within a rack no frame is sent; NVLink is faster than the rails."""
        document = self.done("nvl72.yaml")
        rack, racks = document["collectives"]
        self.assertEqual((rack["ranks"], racks["ranks"]), (72, 288))
        self.assertGreater(rack["algbw_GBps"], racks["algbw_GBps"])

    def test_pcie(self):
        """One host's bus takes half of what the others' give: its NICs pause their leaves, and only they."""
        document = self.done("pcie.yaml")
        paused = {port["port"].split(":")[0] for port in document["ports"] if port["pfc_tx"]}
        self.assertEqual(paused & {"h0", "h1", "h2", "h3"}, {"h3"})

    def test_nccl_tests(self):
        """A row a size, in order; larger sizes reach more; NCCL goes from LL to others."""
        rows = self.done("nccl-tests.yaml")["collectives"]
        self.assertEqual([row["size"] for row in rows], [1024 * 4 ** i for i in range(9)])
        self.assertEqual({row["runs"] for row in rows}, {3})
        self.assertEqual({(row["type"], row["redop"], row["root"]) for row in rows}, {("float", "sum", None)})
        for row in rows:
            self.assertEqual(row["count"], row["size"] // 4)
            self.assertAlmostEqual(row["algbw_GBps"], row["size"] / row["time_us"] / 1000, delta=row["algbw_GBps"] * 0.01)
            self.assertAlmostEqual(row["busbw_GBps"], row["algbw_GBps"] * 62 / 32, places=5)
        self.assertEqual(rows[0]["protocol"], "ll")
        self.assertGreater(len({(row["algorithm"], row["protocol"]) for row in rows}), 2)
        self.assertGreater(rows[-1]["busbw_GBps"], 10 * rows[0]["busbw_GBps"])


if __name__ == "__main__":
    unittest.main()
