# SPDX-License-Identifier: Apache-2.0
"""config, import and diff from outside: files, documents, drift, and the configurations of others where they are at hand."""
import csv
import io
import json
import unittest

from support import SOURCE, Case, rocelab

FABRIC = b"""rocelab: 1
fabric: pod
topology: {rail: {hosts: 2, gpus: 2, leaves: 2, spines: 2}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
switches: {model: tomahawk5, watchdog: true}
owners: {ecn: "fabric team", pfc: ops}
"""
CORPUS = SOURCE.parent / "shared" / "data" / "configs"
# Rules and lines of what importers note in files that others wrote, each looked at once by a person.
GOLDEN = {
    "nxos/azlocal-fully-converged.cfg": "MAP007:33 MAP007:69",
    "nxos/azlocal-qos-reference.cfg": "",
    "nxos/batfish-nxos-policy-map": "MAP007:42",
    "nxos/n93180-azlocal-full.cfg": "",
    "nxos/n93180-azlocal-qos-only.cfg": "MAP007:4 MAP007:7 MAP007:9 MAP007:18",
    "nxos/paregupt-roce-rendered.cfg": "",
    "eos/avd-platform.cfg": "",
    "eos/avd-qos.cfg": "MAP007:5 MAP007:21 ECN009:53 ECN007:57 ECN008:57 ECN009:57 MAP007:59 MAP007:79 ECN007:85 ECN007:95 "
                       "ECN008:95 MAP007:110 ECN008:126 MAP007:146 MAP004:233",
    "eos/rocm-arista-7388-dcqcn.cfg": "ECN007:10",
    "negative/nxos-invalid-syntax.txt": "SYN001:2 SYN001:3 SYN001:4 SYN001:5 SYN001:6 SYN001:7",
    "negative/eos-invalid-syntax.txt": "SYN001:2 SYN001:3 SYN001:4 SYN001:5 SYN001:6 SYN001:7",
}
# The same of what `check` finds in them, importers' notes left out.
FOUND = {
    "nxos/azlocal-fully-converged.cfg": "",
    "nxos/azlocal-qos-reference.cfg": "",
    "nxos/batfish-nxos-policy-map": "",
    "nxos/n93180-azlocal-full.cfg": "WD001:1",
    "nxos/n93180-azlocal-qos-only.cfg": "",
    "nxos/paregupt-roce-rendered.cfg": "",
    "eos/avd-platform.cfg": "",
    "eos/avd-qos.cfg": "WD002:275 WD007:275 WD005:278",
    "eos/rocm-arista-7388-dcqcn.cfg": "WD001:1 MAP008:13",
    "negative/nxos-invalid-syntax.txt": "",
    "negative/eos-invalid-syntax.txt": "",
}


def places(found):
    return sorted({(item["rule"], item["line"]) for item in found if item["rule"]}, key=lambda pair: (pair[1], pair[0]))


def listed(found):
    return " ".join(f"{rule}:{line}" for rule, line in found)


def kind_of(name):
    return name.split("/")[0] if "negative" not in name else name.split("/")[1].split("-")[0]


class Config(Case):
    def setUp(self):
        super().setUp()
        self.file("pod.yaml", FABRIC)

    def run_here(self, *arguments, status=0):
        result = rocelab(*arguments, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def test_every_switch_of_every_system_and_back(self):
        for nos in ("nxos", "eos"):
            self.run_here("config", "pod.yaml", "--nos", nos, "--out", nos)
            files = sorted(path.name for path in (self.folder / nos).iterdir())
            self.assertEqual(files, ["leaf0.cfg", "leaf1.cfg", "spine0.cfg", "spine1.cfg"])
            running = [f"{nos}/{name}" for name in files]
            result = self.run_here("diff", "pod.yaml", *running)
            self.assertIn("0 differences in 12 ports of 4 devices", result.stdout)
            result = self.run_here("import", *running)
            self.assertEqual([line for line in result.stderr.splitlines() if "is not said" not in line], [])
            self.file("again.yaml", result.stdout.encode())
            self.run_here("config", "again.yaml", "--device", "leaf1")

    def test_comments_name_rules_and_can_be_left_out(self):
        with_them = self.run_here("config", "pod.yaml", "--nos", "nxos", "--device", "leaf0").stdout
        without = self.run_here("config", "pod.yaml", "--nos", "nxos", "--device", "leaf0", "--no-comments").stdout
        self.assertIn("! WD001", with_them)
        kept = [line for line in with_them.splitlines() if not line.startswith("!")]
        self.assertEqual(kept, without.splitlines())

    def test_several_devices_need_a_place(self):
        result = self.run_here("config", "pod.yaml", "--nos", "eos", status=2)
        self.assertIn("4 devices", result.stderr)
        self.assertEqual(result.stdout, "")
        document = json.loads(self.run_here("config", "pod.yaml", "--nos", "eos", "--json").stdout)
        self.assertEqual([device["device"] for device in document["devices"]], ["leaf0", "leaf1", "spine0", "spine1"])

    def test_wrong_use(self):
        for arguments, part in ((("config", "pod.yaml"), "of which system"),
                                (("config", "pod.yaml", "--nos", "ios"), "--nos 'ios'"),
                                (("config", "pod.yaml", "--nos", "eos", "--device", "leaf9"), "no such device"),
                                (("config", "pod.yaml", "--nos", "eos", "--device", "h0"), "is a host"),
                                (("config", "pod.yaml", "--cabling", "xml"), "csv or table"),
                                (("config",), "one FABRIC"),
                                (("diff", "pod.yaml"), "RUNNING"),
                                (("import",), "which files"),
                                (("import", "pod.yaml"), "not plain"),
                                (("import", "--from", "ios", "pod.yaml"), "--from 'ios'"),
                                (("import", "nothing.cfg"), "No such file"),
                                (("import", "--from", "htsim", "a", "--links", "b"), "belongs to configurations")):
            result = self.run_here(*arguments, status=2)
            self.assertIn(part, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_cabling(self):
        rows = list(csv.DictReader(io.StringIO(self.run_here("config", "pod.yaml", "--cabling", "csv").stdout)))
        self.assertEqual(len(rows), 8)
        self.assertEqual(rows[1], {"rail": "1", "nic": "h0:1", "leaf": "leaf1", "port": "0", "rate": "400G", "length": "3m"})
        self.assertEqual({row["length"] for row in rows if not row["rail"]}, {"30m"})
        table = self.run_here("config", "pod.yaml", "--cabling", "table").stdout
        self.assertEqual(len(table.splitlines()), 9)
        cables = json.loads(self.run_here("config", "pod.yaml", "--cabling", "csv", "--json").stdout)["cables"]
        self.assertEqual(len(cables), 8)

    def test_bill_of_materials(self):
        parts = json.loads(self.run_here("config", "pod.yaml", "--bom", "--json").stdout)["parts"]
        counts = {(part["part"], part["what"]): part["count"] for part in parts}
        self.assertEqual(counts["switch", "leaf, tomahawk5"], 2)
        self.assertEqual(counts["cable", "400G, 30m"], 4)
        self.assertEqual(counts["NIC port", "400G"], 4)

    def test_drift_has_place_and_owner(self):
        text = self.run_here("config", "pod.yaml", "--nos", "nxos", "--device", "leaf0").stdout
        lines = text.replace(" 500 kbytes", " 600 kbytes").splitlines()
        port = lines.index("interface Ethernet1/2")
        pause = next(n for n in range(port, len(lines)) if "mode on" in lines[n])
        lines[pause] = "  priority-flow-control mode off"
        ecn = next(n for n, line in enumerate(lines) if "600 kbytes" in line)
        self.file("leaf0.cfg", "\n".join(lines).encode())
        result = self.run_here("diff", "pod.yaml", "leaf0.cfg", status=1)
        self.assertIn(f"leaf0.cfg:{pause + 1}: leaf0:1: pfc is [], approved is [3] (pod.yaml:", result.stdout)
        self.assertIn("; owner: ops", result.stdout)
        drifts = json.loads(self.run_here("diff", "pod.yaml", "leaf0.cfg", "--json", status=1).stdout)["drifts"]
        marks = [drift for drift in drifts if drift["key"] == "classes.rdma.ecn.min"]
        self.assertEqual(len(marks), 4)
        self.assertEqual((marks[0]["running"]["value"], marks[0]["approved"]["value"]), ("600KB", "500KB"))
        self.assertEqual(marks[0]["running"]["line"], ecn + 1)
        self.assertEqual(marks[0]["owner"], "fabric team")
        self.assertEqual(len(drifts), 5)

    def test_drift_between_fabric_files(self):
        self.file("running.yaml", FABRIC + b"devices: {spine1: {watchdog: false, ports: {0: {mtu: 1500}}}}\n")
        self.run_here("diff", "pod.yaml", "pod.yaml")
        result = self.run_here("diff", "pod.yaml", "running.yaml", "--quiet", status=1)
        self.assertEqual(len(result.stdout.splitlines()), 2 + result.stdout.count("headroom") + result.stdout.count("xon"))
        self.assertIn("running.yaml:7:", result.stdout)
        self.assertIn("spine1: watchdog is false, approved is true", result.stdout)
        self.assertIn("spine1:0: mtu is 1500, approved is 9216", result.stdout)

    def test_import_lists_lines(self):
        self.file("a.cfg", b"hostname a\nsystem qos\n  service-policy type network-qos gone\nqos shape\ninterface Ethernet1/1\n")
        result = self.run_here("import", "--from", "nxos", "a.cfg")
        self.assertIn("a.cfg:3: note[MAP007]: a: policy-map gone is not defined", result.stderr)
        self.assertIn("a.cfg:4: a: not understood: qos shape", result.stderr)
        self.assertEqual(self.run_here("import", "--from", "nxos", "a.cfg", "--quiet").stderr, "")
        document = json.loads(self.run_here("import", "--from", "nxos", "a.cfg", "--json").stdout)
        self.assertEqual(document["fabric"], result.stdout)
        self.assertIn({"file": "a.cfg", "line": 3, "rule": "MAP007", "device": "a", "port": None,
                       "message": "policy-map gone is not defined"}, document["lines"])

    def test_links(self):
        self.run_here("config", "pod.yaml", "--nos", "eos", "--out", "eos")
        self.file("lab.clab.yml", b"topology:\n  nodes: {leaf0: {kind: ceos}, spine0: {kind: ceos}}\n"
                                  b"  links:\n    - endpoints: [leaf0:eth3, spine0:eth1]\n")
        result = self.run_here("import", "eos/leaf0.cfg", "eos/spine0.cfg", "--links", "lab.clab.yml")
        self.assertIn('{a: "leaf0:2", b: "spine0:0", rate: 400G}', result.stdout)

    def test_too_large(self):
        self.file("big.cfg", b"interface Ethernet1/1\n" * 800000)
        result = self.run_here("import", "--from", "nxos", "big.cfg", status=2)
        self.assertIn("larger than 16 MiB", result.stderr)

    @unittest.skipUnless(CORPUS.exists(), "the configurations of others are not here")
    def test_files_of_others(self):
        for name, golden in GOLDEN.items():
            document = json.loads(self.run_here("import", "--json", "--from", kind_of(name), CORPUS / name).stdout)
            with self.subTest(name):
                self.assertEqual(listed(places(document["lines"])), golden)
            self.file("imported.yaml", document["fabric"].encode())
            self.run_here("config", "imported.yaml", "--bom")

    @unittest.skipUnless(CORPUS.exists(), "the configurations of others are not here")
    def test_findings_in_files_of_others(self):
        for name, golden in FOUND.items():
            result = rocelab("check", "--json", "--from", kind_of(name), CORPUS / name)
            found = places(json.loads(result.stdout)["findings"])
            notes = set(GOLDEN[name].split())
            with self.subTest(name):
                self.assertEqual(listed(pair for pair in found if f"{pair[0]}:{pair[1]}" not in notes), golden)
                self.assertEqual(notes - set(listed(found).split()), set())


if __name__ == "__main__":
    unittest.main()
