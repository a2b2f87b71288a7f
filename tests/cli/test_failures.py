# SPDX-License-Identifier: Apache-2.0
"""Phases 5 and 6 of rocelab validate: failures, bad hosts, owners, diagnosis; what a defect fails."""
import json
import unittest

from support import Case, rocelab

OWNERS = ("owners: {ecn: a, pfc: a, buffer: a, watchdog: a, maps: a, scheduling: a, mtu: a, cabling: a, nics: b, "
          "baseline: c}\n")
GOOD = """rocelab: 1
fabric: small
topology: {leaf-spine: {leaves: 3, spines: 3, hosts: 1}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
switches: {balance: adaptive, watchdog: {poll: 1ms, detect: 2ms, restore: 2ms}}
nics: {reorder: true, timeout: 8}
converge: {detect: 50us, step: 10us}
""" + OWNERS


class Failures(Case):
    def rows(self, *arguments, text=GOOD, status=0, level=("--quick",)):
        result = rocelab("validate", self.file("small.yaml", text.encode()), "--json", *level, *arguments, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return {f"{row['test']}: {row['subject']}": row for row in json.loads(result.stdout)["rows"]}

    def failed(self, rows):
        return sorted(name for name, row in rows.items() if row["verdict"] == "fail")

    def test_good(self):
        rows = self.rows("--phase", "5,6", "--soak", "1ms")
        self.assertEqual(self.failed(rows), [])
        for name in ("every link: each link down: the slowest", "flap, reset, drain: drain of a spine: packets lost",
                     "rolling update: ", "a bad host or cable: NIC storm: from its begin", "networks apart: side by side",
                     "diagnosis: NIC storm", "ownership: ", "soak: soak: rounds"):
            found = [row for key, row in rows.items() if key.startswith(name) and row["verdict"] == "pass"]
            self.assertTrue(found, f"{name}: {list(rows)}")

    def test_no_watchdog(self):
        text = GOOD.replace(", watchdog: {poll: 1ms, detect: 2ms, restore: 2ms}", "")
        self.assertIn("a bad host or cable: NIC storm: the watchdog acts", self.failed(self.rows("--phase", "5", text=text, status=1)))

    def test_retries_end_before_routes_follow(self):
        text = GOOD.replace("balance: adaptive, ", "").replace("timeout: 8", "timeout: 8, retry: 1").replace("50us", "30ms")
        names = self.failed(self.rows("--phase", "5", text=text, status=1, level=()))
        self.assertTrue([name for name in names if name.startswith("every link: ") and "do not complete" in name], names)

    def test_no_owner(self):
        names = self.failed(self.rows("--phase", "6", text=GOOD.replace("watchdog: a, ", ""), status=1))
        self.assertEqual(names, ["ownership: settings that nobody owns"])


if __name__ == "__main__":
    unittest.main()
