# SPDX-License-Identifier: Apache-2.0
"""`import` and `check` on configurations, from outside: places, what is listed, odd and hostile files, exit status."""
import json
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["ROCELAB"]
MOST = 16 << 20
PORTS = "".join(f"interface Ethernet1/{p}\n  mtu 9216\n  priority-flow-control mode on\n"
                "  service-policy type qos input P\n" for p in range(1, 5))
LEAF = ("hostname leaf1\nclass-map type qos match-any R\n  match dscp 26\npolicy-map type qos P\n  class R\n"
        "    set qos-group 3\npolicy-map type network-qos N\n  class type network-qos c-8q-nq3\n    pause pfc-cos 3\n"
        "system qos\n  service-policy type network-qos N\n" + PORTS)


class Import(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        (self.folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    def run_here(self, *arguments, status=0, stdin=None):
        result = subprocess.run([PROGRAM, *arguments], cwd=self.folder, input=stdin, capture_output=True, check=False)
        out, err = result.stdout.decode(), result.stderr.decode()
        self.assertEqual(result.returncode, status, out + err)
        return out, err

    def findings(self, name, rule, *more):
        result = subprocess.run([PROGRAM, "check", "--json", *more, name], cwd=self.folder, capture_output=True, check=False)
        return [item for item in json.loads(result.stdout)["findings"] if item["rule"] == rule]

    def test_places_of_what_is_missing(self):
        """Nothing has to do with a watchdog: that is told at the head of what turns PFC on, not in line 1."""
        self.file("leaf.cfg", LEAF)
        lines = LEAF.splitlines()
        watchdog = self.findings("leaf.cfg", "WD001")
        self.assertEqual([lines[item["line"] - 1] for item in watchdog], ["interface Ethernet1/1"])
        marking = self.findings("leaf.cfg", "ECN001")
        self.assertEqual(len(marking), 1)
        self.assertEqual(marking[0]["also"], 3)

    def test_a_port_of_its_own(self):
        """What ports have alike stands once in the fabric file; a finding of one port is told at that port's line."""
        text = LEAF.replace("Ethernet1/4\n  mtu 9216\n", "Ethernet1/4\n  mtu 1500\n")
        self.file("leaf.cfg", text)
        found = self.findings("leaf.cfg", "MTU001")
        self.assertEqual([text.splitlines()[item["line"] - 1] for item in found], ["  mtu 1500"])
        self.assertTrue(found[0]["message"].startswith("leaf1 Ethernet1/4: "))

    def test_nothing_of_roce(self):
        """Switches of a network without a lossless class: trust and paths of BGP are nobody's business here."""
        for name, other in (("a", "b"), ("b", "a")):
            self.file(f"{name}.cfg", f"! device: {name} (DCS-7050SX3, EOS-4.30.1F)\nhostname {name}\ninterface Ethernet1\n"
                      f"   description {other} Ethernet1\n   switchport mode trunk\ninterface Ethernet2\n   no switchport\n"
                      "   description host\nrouter bgp 1\n   neighbor 10.0.0.1 remote-as 2\n   neighbor 10.0.0.3 remote-as 2\n")
        out, _ = self.run_here("check", "--json", "a.cfg", "b.cfg")
        self.assertEqual(json.loads(out)["findings"], [])

    def test_notes_alike_are_one(self):
        self.file("leaf.cfg", LEAF.replace("mode on\n", "mode on\n  flowcontrol receive on\n"))
        found = self.findings("leaf.cfg", "PFC005")
        self.assertEqual([(item["port"], item["also"]) for item in found], [("Ethernet1/1", 3)])
        lines = json.loads(self.run_here("import", "--json", "leaf.cfg")[0])["lines"]
        self.assertEqual(sum(item["rule"] == "PFC005" for item in lines), 4)  # import lists each

    def test_what_is_listed(self):
        self.file("leaf.cfg", LEAF + "qos odd\n")
        out, err = self.run_here("import", "leaf.cfg")
        number = len(LEAF.splitlines()) + 1
        self.assertIn(f"leaf.cfg:{number}: leaf1: not understood: qos odd\n", err)
        self.assertIn("leaf.cfg:1: leaf1: assumed: the rate of its ports is not said", err)
        self.assertNotIn("not understood: the rate", err)
        self.assertTrue(out.startswith("rocelab: 1\n"))
        document = json.loads(self.run_here("check", "--json", "leaf.cfg", status=1)[0])
        self.assertEqual([item["line"] for item in document["not_understood"]], [number])
        self.assertEqual(len(document["assumed"]), 1)
        out, _ = self.run_here("check", "--quiet", "leaf.cfg", status=1)
        self.assertIn("leaf.cfg: 1 line not understood\n", out)

    def test_a_device_without_configuration(self):
        """Of a switch and a host that only links speak of nothing is found but where they are cabled."""
        good = (LEAF.replace("    set qos-group 3\n", "    set qos-group 3\n  class C\n    set qos-group 7\n")
                + "class-map type qos match-any C\n  match dscp 48\npriority-flow-control watch-dog-interval on\n"
                "policy-map type queuing Q\n  class type queuing c-out-8q-q3\n    bandwidth percent 50\n"
                "    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn\n"
                "  class type queuing c-out-8q-q-default\n    bandwidth percent 50\n"
                "  class type queuing c-out-8q-q7\n    priority level 1\n"
                "system qos\n  service-policy type queuing output Q\n")
        good = good.replace("mode on\n", "mode on\n  priority-flow-control watch-dog-interval on\n")
        self.file("leaf.cfg", good)
        self.assertEqual(self.run_here("check", "--quiet", "leaf.cfg")[0], "")
        self.file("lab.clab.yml", "topology:\n  nodes: {leaf1: {kind: n}, spine1: {kind: n}, spine2: {kind: n}, h: {kind: linux}}\n"
                  "  links:\n    - endpoints: [leaf1:eth1, spine1:eth1]\n    - endpoints: [leaf1:eth2, spine2:eth1]\n"
                  "    - endpoints: [leaf1:eth3, h:eth1]\n")
        document = json.loads(self.run_here("check", "--json", "leaf.cfg", "--links", "lab.clab.yml", status=0)[0])
        self.assertEqual({item["rule"] for item in document["findings"]}, {"HR002"})
        self.assertEqual(sum("no configuration" in item["message"] for item in document["assumed"]), 2)

    def test_escapes_of_the_terminal(self):
        self.file("leaf.cfg", LEAF.encode() + b"qos \x1b[31m \x07 odd\n")
        out, _ = self.run_here("check", "leaf.cfg", status=1)
        self.assertNotIn("\x1b", out)
        self.assertNotIn("\x1b", self.run_here("import", "leaf.cfg")[1])

    def test_exit_status(self):
        self.file("leaf.cfg", LEAF)
        self.file("good.sh", "mlnx_qos -i eth0 --trust dscp --pfc 0,0,0,1,0,0,0,0\n")
        self.run_here("import", "leaf.cfg")  # findings are check's
        self.run_here("check", "leaf.cfg", status=1)
        self.run_here("check", "good.sh")
        self.run_here("import", "gone.cfg", status=2)
        for verb in ("import", "check"):
            out, err = self.run_here(verb, "--from", "sonic", "leaf.cfg", status=2)
            self.assertEqual(out, "")
            self.assertIn("leaf.cfg:", err)

    def test_kind_that_is_not_plain(self):
        self.file("prose.cfg", "Some words that a person wrote.\n")
        for verb in ("import", "check"):
            _, err = self.run_here(verb, "prose.cfg", status=2)
            self.assertIn("--from", err)
            self.assertNotIn("YAML", err)
        self.file("headless.yaml", "fabric: x\ntopology: {}\n")  # a fabric file that does not say so
        self.assertIn("rocelab", self.run_here("check", "headless.yaml", status=2)[1])

    def test_byte_order_mark_and_line_ends(self):
        self.file("plain.cfg", LEAF)
        self.file("odd.cfg", b"\xef\xbb\xbf" + LEAF.replace("\n", "\r\n").encode())
        plain, odd = self.run_here("import", "plain.cfg")[0], self.run_here("import", "odd.cfg")[0]
        self.assertEqual(plain, odd)
        places = [[(item["rule"], item["line"]) for item in self.findings(name, "WD001")] for name in ("plain.cfg", "odd.cfg")]
        self.assertEqual(places[0], places[1])
        tables = '{"PORT": {"Ethernet0": {"speed": "100000"}}, "DEVICE_METADATA": {"localhost": {"hostname": "a"}}}'
        self.file("odd.json", b"\xef\xbb\xbf" + tables.replace(", ", ",\r\n").encode())
        self.assertIn("nos: sonic", self.run_here("import", "odd.json")[0])

    def test_text_cut_short(self):
        """A last character without its end, a table without its."""
        self.file("cut.cfg", LEAF.encode() + b"description \xe2\x82")
        self.run_here("import", "cut.cfg")
        tables = b'{"PORT": {"Ethernet0": {"alias": "\xe2\x82"}}}'
        self.file("cut.json", tables)
        self.assertIn("UTF-8", self.run_here("import", "--from", "sonic", "cut.json", status=2)[1])
        self.file("half.json", tables[:20])
        self.assertIn("half.json:", self.run_here("import", "--from", "sonic", "half.json", status=2)[1])

    def test_words_that_yaml_would_take_for_more(self):
        """What is printed can be read, and means the same."""
        (self.folder / "pair.yaml").write_text("rocelab: 1\nfabric: pair\ntopology: {single: {hosts: 2}}\n"
                                               "links: {host: {rate: 100G, cable: 3m}}\nnics: {nccl: {NCCL_WORD: here}}\n")
        script = self.run_here("config", "--device", "h0", "pair.yaml")[0]
        self.assertEqual(script.count("export NCCL_WORD=here"), 1)
        for word in ("%s", "[x", "[a]", "[", "[a]b", "@3", "-x", "x:y", "#x", "*x", "&x", "!x", "{x", "~", "true",
                     "^mlx5_0 mlx5_1;x", "it's", 'a"b'):
            self.file("h0.sh", script.replace("NCCL_WORD=here", f"NCCL_WORD={shlex.quote(word)}"))
            self.file("again.yaml", self.run_here("import", "--from", "host", "h0.sh")[0])
            again = self.run_here("config", "--nos", "host", "--device", "h0", "again.yaml")[0]
            self.assertIn(["export", f"NCCL_WORD={word}"],
                          [shlex.split(line) for line in again.splitlines() if line.startswith("export NCCL_WORD=")])

    def test_references_in_a_circle(self):
        self.file("a.yaml", "- set:\n    qos: &a\n      pfc: *a\n    interface: {swp1: {}}\n")
        self.assertIn("anchor", self.run_here("import", "--from", "nvue", "a.yaml", status=2)[1])
        self.file("laugh.yaml", "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi")))
        self.assertIn("anchor", self.run_here("import", "--from", "nvue", "laugh.yaml", status=2)[1])
        self.file("p.cfg", LEAF + "policy-map type qos A\n  class A\n    service-policy A\nclass-map type qos A\n  match class-map A\n")
        self.run_here("import", "p.cfg")

    def test_size(self):
        head = b"hostname big\ninterface Ethernet1/1\n  priority-flow-control mode off\n"
        remarks = (b"!" * 4095 + b"\n") * (MOST // 4096)
        self.file("most.cfg", head + remarks[:MOST - len(head)])
        self.file("over.cfg", head + remarks[:MOST - len(head) + 1])
        self.assertIn("big", self.run_here("import", "--from", "nxos", "most.cfg")[0])
        for verb in ("import", "check"):
            out, err = self.run_here(verb, "--from", "nxos", "over.cfg", status=2)
            self.assertEqual(out, "")
            self.assertIn("larger than 16 MiB", err)
        with open(self.folder / "huge.cfg", "wb") as file:  # 100 MB, of which nothing is stored
            file.write(head)
            file.truncate(100 << 20)
        self.assertIn("larger than 16 MiB", self.run_here("import", "--from", "nxos", "huge.cfg", status=2)[1])
        self.run_here("check", "huge.cfg", status=2)

    def test_standard_input(self):
        out, _ = self.run_here("check", "-", stdin=LEAF.encode(), status=1)
        self.assertIn("-:12:1: error[WD001]", out)


if __name__ == "__main__":
    unittest.main()
