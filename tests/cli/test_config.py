# SPDX-License-Identifier: Apache-2.0
"""config, import and diff from outside: files, documents, drift."""
import csv
import io
import json
import re
import unittest
import xml.etree.ElementTree as xml

from support import SOURCE, Case, rocelab

FABRIC = b"""rocelab: 1
fabric: pod
topology: {rail: {hosts: 2, gpus: 2, leaves: 2, spines: 2}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
switches: {model: tomahawk5, watchdog: true}
owners: {ecn: "fabric team", pfc: ops}
"""
SVG = "{http://www.w3.org/2000/svg}"


class Config(Case):
    def setUp(self):
        super().setUp()
        self.file("pod.yaml", FABRIC)

    def run_here(self, *arguments, status=0):
        result = rocelab(*arguments, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def test_systems_that_have_no_such_configuration(self):
        for system, nos, words in (("infiniband", "sonic", "sonic configures Ethernet; this fabric is of InfiniBand"),
                                   ("tcp", "host", "settings of hosts are those of RoCE; this fabric is of TCP")):
            self.file("other.yaml", FABRIC.replace(b", watchdog: true", b"") + f"system: {system}\n".encode())
            result = self.run_here("config", "other.yaml", "--nos", nos, "--out", "none", status=2)
            self.assertIn(words, result.stderr)
            self.assertFalse((self.folder / "none").exists())
        self.file("other.yaml", FABRIC.replace(b"watchdog: true", b"nos: eos") + b"system: tcp\n")
        self.run_here("config", "other.yaml", "--out", "switches")
        self.assertEqual(len(list((self.folder / "switches").iterdir())), 4)

    def test_every_switch_of_every_system_and_back(self):
        for nos in ("nxos", "eos"):
            self.run_here("config", "pod.yaml", "--nos", nos, "--out", nos)
            files = sorted(path.name for path in (self.folder / nos).iterdir())
            self.assertEqual(files, ["leaf0.cfg", "leaf1.cfg", "spine0.cfg", "spine1.cfg"])
            running = [f"{nos}/{name}" for name in files]
            result = self.run_here("diff", "pod.yaml", *running)
            self.assertIn("0 differences in 12 ports of 4 devices", result.stdout)
            result = self.run_here("import", *running)
            self.assertEqual([line for line in result.stderr.splitlines() if "is not said" not in line and "no known other end" not in line], [])
            self.file("again.yaml", result.stdout.encode())
            self.run_here("config", "again.yaml", "--device", "leaf1")

    def test_comments_name_rules_and_can_be_left_out(self):
        with_them = self.run_here("config", "pod.yaml", "--nos", "nxos", "--device", "leaf0").stdout
        without = self.run_here("config", "pod.yaml", "--nos", "nxos", "--device", "leaf0", "--no-comments").stdout
        self.assertIn("! WD001", with_them)
        kept = [line for line in with_them.splitlines() if not line.startswith("!")]
        self.assertEqual(kept, without.splitlines())

    def test_sonic_is_json(self):
        arguments = ("config", "pod.yaml", "--nos", "sonic", "--device", "leaf0")
        self.assertIn("PORT", json.loads(self.run_here(*arguments).stdout))
        asked = self.run_here(*arguments, "--comments").stdout
        self.assertIn("// MAP001", asked)
        kept = "".join(line + "\n" for line in asked.splitlines() if not line.lstrip().startswith("//"))
        self.assertEqual(kept, self.run_here(*arguments).stdout)
        self.assertEqual(kept, self.run_here(*arguments, "--comments", "--no-comments").stdout)

    def test_sonic_ports_without_a_cable_have_a_speed(self):
        fabric = str(SOURCE / "examples" / "links.yaml")
        devices = json.loads(self.run_here("config", fabric, "--nos", "sonic", "--json").stdout)["devices"]
        ports = [port for device in devices for port in json.loads(device["text"])["PORT"].values()]
        self.assertTrue(any(port["admin_status"] == "down" for port in ports))
        self.assertTrue(all(int(port["speed"]) > 0 for port in ports))

    def test_lengths_of_cables_are_whole_metres_or_not_written(self):
        """Ports without a cable have no length, one of half a metre has 1: what is written is what is read."""
        self.file("short.yaml", FABRIC.replace(b"3m", b"0.5m").replace(b"tomahawk5", b"generic"))
        for nos in ("junos", "junos-set", "nvue", "nvue-set"):
            for fabric, shortest in (("short.yaml", "1"), (str(SOURCE / "examples" / "links.yaml"), "3")):
                folder = f"{nos}-{shortest}"
                self.run_here("config", fabric, "--nos", nos, "--out", folder)
                files = sorted(str(path) for path in (self.folder / folder).iterdir())
                text = "".join(open(path).read() for path in files)
                lengths = set(re.findall(r"cable-length:? (\d+)", text))
                self.assertIn(shortest, lengths, nos)
                self.assertNotIn("0", lengths, nos)
                result = self.run_here("import", *files)
                self.assertNotIn("cable-length", result.stderr, nos)

    def test_several_devices_need_a_place(self):
        result = self.run_here("config", "pod.yaml", "--nos", "eos", status=2)
        self.assertIn("4 devices", result.stderr)
        self.assertEqual(result.stdout, "")
        document = json.loads(self.run_here("config", "pod.yaml", "--nos", "eos", "--json").stdout)
        self.assertEqual([device["device"] for device in document["devices"]], ["leaf0", "leaf1", "spine0", "spine1"])

    def test_what_a_system_cannot_say_is_a_warning(self):
        result = self.run_here("config", "pod.yaml", "--nos", "nxos", "--device", "leaf0")
        self.assertIn("warning: not written for nxos: alpha and headroom", result.stderr)
        self.assertIn("! Not written for this system:\n!   alpha and headroom", result.stdout)
        self.assertEqual(self.run_here("config", "pod.yaml", "--nos", "nxos", "--device", "leaf0", "--quiet").stderr, "")
        self.run_here("config", "pod.yaml", "--nos", "nxos", "--device", "leaf0", "--strict", status=1)
        device = json.loads(self.run_here("config", "pod.yaml", "--nos", "nxos", "--json").stdout)["devices"][0]
        self.assertIn({"what": "reserved", "instead": "the switch's default is used", "ports": 4}, device["not_written"])
        # SONiC says all of it
        self.assertEqual(self.run_here("config", "pod.yaml", "--nos", "sonic", "--device", "leaf0", "--strict").stderr, "")

    def test_shares_add_up(self):
        classes = ["{name: rdma, priority: 3, lossless: true, share: 16.6%}"]
        classes += [f"{{name: c{p}, priority: {p}, share: 16.6%}}" for p in (0, 1, 2, 4, 5)]
        self.file("six.yaml", b"rocelab: 1\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"
                  b"classes: [" + ", ".join(classes).encode() + b"]\n")
        for nos, pattern in (("nxos", r"remaining percent (\d+)"), ("eos", r"bandwidth percent (\d+)"),
                             ("nvue", r"bw-percent: (\d+)"), ("sonic", r'"weight": "(\d+)"')):
            result = self.run_here("config", "six.yaml", "--nos", nos, "--device", "leaf0")
            percents = [int(found) for found in re.findall(pattern, result.stdout)]
            self.assertLessEqual(sum(percents), 100, nos)
            self.assertTrue({16, 17} <= set(percents), nos)
            self.assertIn("shares that are no whole percents", result.stderr)

    def test_chips_that_do_not_run_it(self):
        self.file("spectrum.yaml", FABRIC.replace(b"tomahawk5", b"spectrum4"))
        result = self.run_here("config", "spectrum.yaml", "--nos", "eos", "--device", "leaf0")
        self.assertIn("eos does not run on spectrum4, which leaf0 has", result.stderr)
        result = self.run_here("config", "pod.yaml", "--nos", "nvue", "--out", "nvue")
        self.assertIn("nvue does not run on tomahawk5, which leaf0 has (4 devices)", result.stderr)
        for fabric, nos in (("spectrum.yaml", "nvue"), ("spectrum.yaml", "sonic"), ("pod.yaml", "sonic"), ("pod.yaml", "eos")):
            self.assertNotIn("does not run", self.run_here("config", fabric, "--nos", nos, "--device", "leaf0").stderr)

    def test_all_files_or_none(self):
        (self.folder / "taken" / "spine0.cfg").mkdir(parents=True)
        (self.folder / "taken" / "leaf0.cfg").write_text("as it was")
        result = self.run_here("config", "pod.yaml", "--nos", "eos", "--out", "taken", status=2)
        self.assertIn("taken/spine0.cfg: Is a directory", result.stderr)
        self.assertEqual(sorted(path.name for path in (self.folder / "taken").iterdir()), ["leaf0.cfg", "spine0.cfg"])
        self.assertEqual((self.folder / "taken" / "leaf0.cfg").read_text(), "as it was")
        self.file("file", b"")
        self.assertIn("--out file: Not a directory",
                      self.run_here("config", "pod.yaml", "--nos", "eos", "--out", "file", status=2).stderr)
        self.assertIn("Not a directory", self.run_here("config", "pod.yaml", "--nos", "eos", "--out", "file/b", status=2).stderr)
        self.run_here("config", "pod.yaml", "--nos", "eos", "--out", "a/b//c/")
        self.assertEqual(len(list((self.folder / "a/b/c").iterdir())), 4)
        self.run_here("config", "pod.yaml", "--nos", "eos", "--out", str(self.folder / "d" / "e"))
        self.assertEqual(len(list((self.folder / "d/e").iterdir())), 4)
        self.run_here("config", "pod.yaml", "--nos", "eos", "--out", "f/" + "g" * 300, status=2)
        self.assertFalse((self.folder / "f").exists())
        self.run_here("config", "pod.yaml", "--nos", "eos", "--out", "new")
        self.run_here("config", "pod.yaml", "--nos", "eos", "--out", "new")  # written over
        self.assertEqual(len(list((self.folder / "new").iterdir())), 4)

    def test_variables_of_nccl_are_checked(self):
        """They stand in a here-document of a script that root runs."""
        for entry, words in ((b'NCCL_X: "a\\nEOT\\nreboot"', "a control character"), (b'"NCCL_X=1; reboot": 1', "a variable is expected"),
                             (b'NCCL_X: "a\\x7f"', "a control character")):
            self.file("nccl.yaml", FABRIC + b"nics: {nccl: {" + entry + b"}}\n")
            result = self.run_here("config", "nccl.yaml", "--nos", "host", "--out", "nccl", status=2)
            self.assertIn(words, result.stderr)
            self.assertFalse((self.folder / "nccl").exists())

    def test_names_of_ports_are_checked(self):
        for name, words in ((b"Ethernet1\\n   shutdown", "a control character"), (b"Ethernet1 shutdown", "'leaf0:0' has the name")):
            self.file("names.yaml", FABRIC + b'devices: {leaf0: {ports: {0: {name: "' + name + b'"}}}}\n')
            result = self.run_here("config", "names.yaml", "--nos", "eos", "--device", "leaf0", status=2)
            self.assertIn(words, result.stderr)

    def test_wrong_use(self):
        for arguments, part in ((("config", "pod.yaml"), "of which system"),
                                (("config", "pod.yaml", "--nos", "ios"), "--nos 'ios'"),
                                (("config", "pod.yaml", "--nos", "eos", "--device", "leef1"), "no such device; is it 'leaf1'?"),
                                (("config", "pod.yaml", "--nos", "eos", "--device", "h0"), "is a host"),
                                (("config", "pod.yaml", "--cabling", "xml"), "csv or table"),
                                (("config", "pod.yaml", "--svg", "--json"), "takes no --json"),
                                (("config", "pod.yaml", "--svg", "--device", "leaf0"), "takes no --device"),
                                (("config", "pod.yaml", "--svg", "--out", "x"), "takes no --out"),
                                (("config",), "One FABRIC"),
                                (("diff", "pod.yaml"), "RUNNING"),
                                (("import",), "which files"),
                                (("import", "pod.yaml"), "is a fabric file; a configuration is expected"),
                                (("import", "--from", "ios", "pod.yaml"), "--from 'ios'"),
                                (("import", "nothing.cfg"), "No such file"),
                                (("import", "--from", "htsim", "a", "--links", "b"), "belong to configurations")):
            result = self.run_here(*arguments, status=2)
            self.assertIn(part, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_copper_that_does_not_reach_is_told(self):
        """64 hosts of eight GPUs on one leaf; at 30 m the cables are fibre, and ten of them stand in three racks."""
        self.file("long.yaml", FABRIC.replace(b"hosts: 2, gpus: 2, leaves: 2, spines: 2", b"hosts: 64, gpus: 8, leaves: 8, spines: 4"))
        text = "leaf0 has 64 hosts on 3m of copper, which reaches 12 of their size (3 racks), and it is not the only one"
        def said(*options):
            result = self.run_here("config", *options)
            return text in " ".join(result.stdout.split()), text in result.stderr
        self.assertEqual(said("long.yaml", "--bom"), (True, False))
        self.assertEqual(said("long.yaml", "--cabling", "csv"), (False, True))
        self.assertEqual(said("long.yaml", "--cabling", "csv", "--quiet"), (False, False))
        for name, old, new in (("fibre.yaml", b"cable: 3m", b"cable: 30m"), ("few.yaml", b"hosts: 64", b"hosts: 10")):
            self.file(name, (self.folder / "long.yaml").read_bytes().replace(old, new))
            self.assertNotIn("copper, which", self.run_here("config", name, "--bom").stdout)

    def test_cabling(self):
        rows = list(csv.DictReader(io.StringIO(self.run_here("config", "pod.yaml", "--cabling", "csv").stdout)))
        self.assertEqual(len(rows), 8)
        self.assertEqual(rows[1], {"rail": "1", "nic": "h0:1", "leaf": "leaf1", "port": "0", "rate": "400G", "length": "3m"})
        self.assertEqual({row["length"] for row in rows if not row["rail"]}, {"30m"})
        table = self.run_here("config", "pod.yaml", "--cabling", "table").stdout
        self.assertEqual(len(table.splitlines()), 9)
        named = self.run_here("config", "pod.yaml", "--cabling", "csv", "--nos", "sonic").stdout.splitlines()
        self.assertIn(",spine1:Ethernet8,leaf1,Ethernet24,400G,30m", named)
        self.file("quoted.yaml", FABRIC + b"devices: {leaf0: {ports: {1: {name: 'left, \"upper\"'}}}}\n")
        quoted = list(csv.DictReader(io.StringIO(self.run_here("config", "quoted.yaml", "--cabling", "csv").stdout)))
        self.assertIn('left, "upper"', [row["port"] for row in quoted])
        cables = json.loads(self.run_here("config", "pod.yaml", "--cabling", "csv", "--json").stdout)["cables"]
        self.assertEqual(len(cables), 8)

    def drawn(self, text):
        """The picture as XML: names of its boxes, and titles of its lines."""
        self.file("drawn.yaml", text)
        root = xml.fromstring(self.run_here("config", "drawn.yaml", "--svg").stdout)
        self.assertEqual({element.tag.split("}")[1] for element in root.iter()},
                         {"svg", "title", "desc", "style", "rect", "text", "g", "line"})
        boxes = [group.find(SVG + "text").text for group in root.iter(SVG + "g") if group.find(SVG + "rect") is not None]
        lines = [group.find(SVG + "title").text for group in root.iter(SVG + "g") if group.find(SVG + "rect") is None]
        self.assertEqual(len(boxes) + len(lines), len(list(root.iter(SVG + "g"))))
        return root, boxes, lines

    def test_picture(self):
        root, boxes, lines = self.drawn(FABRIC)
        self.assertEqual(sorted(boxes), ["h0", "h1", "leaf0", "leaf1", "spine0", "spine1"])
        self.assertIn("h0 to leaf1: 1 \u00d7 400G, rail 1", lines)
        self.assertEqual(len(lines), 8)
        self.assertEqual(root.find(SVG + "title").text, "pod")
        self.assertIn("2 leaves, joined to those above by 4 \u00d7 400G", root.find(SVG + "desc").text)
        self.assertIn("prefers-color-scheme:dark", root.find(SVG + "style").text)
        for rect in root.iter(SVG + "rect"):
            if rect.get("class") is None:
                continue  # the ground
            self.assertLess(int(rect.get("x")) + int(rect.get("width")), int(root.get("width")))

    def test_picture_of_many(self):
        _, boxes, lines = self.drawn(b"rocelab: 1\ntopology: {rail: {hosts: 1280, gpus: 8, leaves: 160, spines: 32}}\n"
                                     b"links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}\n")
        self.assertIn("h64 \u2013 h127", boxes)
        self.assertIn("leaf8 \u2013 leaf15", boxes)
        self.assertEqual(len(boxes), 41)
        self.assertIn("h0 \u2013 h63 to leaf0 \u2013 leaf7: 512 \u00d7 400G", lines)
        self.assertEqual(sum(int(line.rsplit(": ", 1)[1].split()[0]) for line in lines), 10240 + 5120)

    def test_picture_of_a_mesh(self):
        """64 leaves with 32 spines would be a row of 4,258 pixels, and 2,048 lines that nobody can tell apart."""
        text = b"rocelab: 1\ntopology: {rail: {hosts: 512, gpus: 8, leaves: 64, spines: %d}}\nlinks: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}\n"
        root, boxes, lines = self.drawn(text % 32)
        self.assertLess(int(root.get("width")), 1400)
        self.assertEqual([name for name in boxes if name.startswith(("leaf", "spine"))], [f"leaf{8 * i} \u2013 leaf{8 * i + 7}" for i in range(8)] + ["spine0 \u2013 spine31"])
        self.assertEqual(sum(int(line.rsplit(": ", 1)[1].split()[0]) for line in lines), 4096 + 2048)
        self.assertEqual(len(self.drawn(text % 16)[1]), 16 + 64 + 8)

    def test_picture_of_hostile_names(self):
        name = 'a <b> & "c" </title><script>alert(1)</script>'
        root, _, _ = self.drawn(FABRIC.replace(b"fabric: pod", f"fabric: '{name}'".encode()))
        self.assertEqual(root.find(SVG + "title").text, name)

    def test_bill_of_materials(self):
        parts = json.loads(self.run_here("config", "pod.yaml", "--bom", "--json").stdout)["parts"]
        counts = {(part["part"], part["what"]): part["count"] for part in parts}
        self.assertEqual(counts["switch", "leaf, tomahawk5"], 2)
        self.assertEqual(counts["cable", "400G, 30m, fibre"], 4)
        self.assertEqual(counts["NIC port", "400G"], 4)
        # a fat tree of k = 4 by hand: 16 hosts, 8 + 8 + 4 switches, three times 16 cables
        self.file("tree.yaml", b"rocelab: 1\ntopology: {fat-tree: {k: 4}}\n"
                               b"links: {host: {rate: 100G, cable: 2m}, fabric: {rate: 100G}}\n"
                               b"devices: {leaf0: {installed: {optics: DR4}}, h0: {installed: {nic: CX7}}}\n")
        parts = json.loads(self.run_here("config", "tree.yaml", "--bom", "--json").stdout)["parts"]
        counts = {(part["part"], part["what"]): part["count"] for part in parts}
        self.assertEqual(counts, {("switch", "leaf, generic"): 8, ("switch", "spine, generic"): 8,
                                  ("switch", "core, generic"): 4, ("host", "1 GPU, 1 NIC port"): 16,
                                  ("switch port", "100G"): 80, ("NIC port", "100G, CX7"): 1, ("NIC port", "100G"): 15,
                                  ("cable", "100G, 2m, copper"): 14, ("cable", "100G, 2m, fibre"): 2,
                                  ("cable", "100G, 30m (assumed), fibre"): 32, ("optics", "DR4"): 4, ("optics", "100G"): 64})

    def bill(self, text, status=0):
        self.file("bill.yaml", text)
        result = self.run_here("config", "bill.yaml", "--bom", "--json", status=status)
        return json.loads(result.stdout) if status == 0 else result.stderr

    def test_prices_of_parts(self):
        """Two hosts on one switch, by hand: two ports, two NICs, two cables."""
        pair = b"rocelab: 1\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 400G, cable: %s}}\n"
        near, far = self.bill(pair % b"3m"), self.bill(pair % b"30m")
        self.assertEqual(near["usd"], 2 * (1090 + 1499 + 440))
        self.assertEqual(near["watts"], 2 * (7.1 + 25))
        self.assertEqual(far["usd"], 2 * (1090 + 1499 + 47 + 30) + 4 * 659)
        self.assertEqual(far["watts"], near["watts"] + 4 * 9)
        self.assertEqual(far["usd_year"], int(far["watts"]) * 1.2)
        for bill in (near, far):
            for total in ("usd", "watts"):
                self.assertAlmostEqual(bill[total], sum(part[total] for part in bill["parts"]))
        self.assertEqual({price["price"] for price in near["prices"]},
                         {"switch-port-400G", "nic-400G", "copper-400G", "switch-port-watt-400G", "nic-watt-400G", "watt-year"})
        self.assertTrue(all(price["source"] and price["year"] > 2000 for price in near["prices"]))

    def test_prices_of_infiniband(self):
        """Over Ethernet's sum by a factor, with both ends of what sources say; the switch draws its own power."""
        pair = b"rocelab: 1\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 400G, cable: 3m}}\n"
        plain, bill = self.bill(pair), self.bill(pair + b"system: infiniband\n")
        self.assertEqual([bill[key] for key in ("usd", "usd_least", "usd_most")], [plain["usd"] * 1.5, plain["usd"], round(plain["usd"] * 2.3, 3)])
        self.assertEqual((plain["usd_least"], plain["usd_most"]), (plain["usd"], plain["usd"]))
        self.assertAlmostEqual(bill["usd"], sum(part["usd"] for part in bill["parts"]))
        self.assertEqual(bill["watts"], 2 * (11.7 + 25))
        self.assertEqual(self.bill(pair + b"system: infiniband\nprices: {infiniband: 2 x}\n")["usd"], plain["usd"] * 2)

    def test_cores_of_tcp(self):
        """400G in packets of 9000 bytes at 60G a core: seven cores, both ways, on each of two hosts."""
        bill = self.bill(b"rocelab: 1\nsystem: tcp\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 400G, cable: 3m}}\n")
        cores = next(part for part in bill["parts"] if part["part"] == "core")
        self.assertEqual((cores["count"], cores["usd"], cores["watts"]), (28, 0, 123.2))

    def test_bill_as_text(self):
        text = self.run_here("config", "pod.yaml", "--bom").stdout
        bill = json.loads(self.run_here("config", "pod.yaml", "--bom", "--json").stdout)
        self.assertIn(f"All: {round(bill['usd']):,} USD, {round(bill['watts']):,} W, ", text)
        for price in bill["prices"]:
            self.assertRegex(text, rf"{price['price']} +[0-9.,]+  {price['unit']} +{price['year']}  ")

    def test_prices_of_the_file(self):
        pair = b"rocelab: 1\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 400G, cable: 3m}}\n"
        bill = self.bill(pair + b"prices: {nic-400G: 100 USD, nic: 7 USD, copper: 0.5USD, nic-watt: 1 W}\n")
        self.assertEqual(bill["usd"], 2 * (1090 + 100 + 0.5))
        self.assertEqual(bill["watts"], 2 * (7.1 + 1))
        self.assertEqual({price["price"]: price.get("line") for price in bill["prices"]}["nic-400G"], 4)
        for prices, place, words in (
                (b"nic: 1499", "4:15", "has no unit; a price in dollars is expected, as in 1499 USD"),
                (b"nic: 1499 W", "4:15", "has another unit"),
                (b"nic: -1 USD", "4:15", "is negative"),
                (b"nic: [1]", "4:15", "a list is no number"),
                (b"nic: 99999999999999999999 USD", "4:15", "no number that can be used"),
                (b"nics: 1 USD", "4:10", "there is no price 'nics'; did you mean 'nic'?"),
                (b"nic-500G: 1 USD", "4:10", "there is no price 'nic-500G'; did you mean 'nic-")):
            error = self.bill(pair + b"prices: {%s}\n" % prices, status=2)
            self.assertIn(f"bill.yaml:{place}: error: prices:", error)
            self.assertIn(words, error)

    def test_breakouts(self):
        """128 ports of 400G on a chip of 64 cages of 800G: two ports share a cage, its optic and its price."""
        self.assertEqual(self.bill(b"rocelab: 1\ntopology: {single: {hosts: 4}}\nswitches: {model: tomahawk5}\n"
                                   b"links: {host: {rate: 400G, cable: 30m}}\n")["usd"], 4 * (1090 + 1499 + 77 + 2 * 659))
        bill = self.bill(b"rocelab: 1\ntopology: {single: {hosts: 128}}\nswitches: {model: tomahawk5}\n"
                         b"links: {host: {rate: 400G, cable: 30m}}\n")
        counts = {(part["part"], part["what"]): part["count"] for part in bill["parts"]}
        self.assertEqual(counts["breakout", "800G in 2"], 64)
        self.assertEqual((counts["optics", "800G"], counts["optics", "400G"]), (64, 128))
        self.assertEqual(bill["usd"], 128 * (700 + 1499 + 77 + 659) + 64 * (1399 + 47))

    def test_drift_has_place_and_owner(self):
        text = self.run_here("config", "pod.yaml", "--nos", "nxos", "--device", "leaf0").stdout
        lines = text.replace(" 500 kbytes", " 600 kbytes").splitlines()
        port = lines.index("interface Ethernet1/2")
        pause = next(n for n in range(port, len(lines)) if "mode on" in lines[n])
        lines[pause] = "  priority-flow-control mode off"
        ecn = next(n for n, line in enumerate(lines) if "600 kbytes" in line)
        self.file("leaf0.cfg", "\n".join(lines).encode())
        result = self.run_here("diff", "pod.yaml", "leaf0.cfg", status=1)
        self.assertIn(f"leaf0.cfg:{pause + 1}: leaf0 Ethernet1/2: pfc is [], approved is [3] (pod.yaml:", result.stdout)
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
        self.assertEqual(len(result.stdout.splitlines()), 2 + sum(result.stdout.count(key) for key in ("headroom", "xon", "reserved")))
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
        self.assertIn('{a: "leaf0:2", b: "spine0:0", rate: 400G, cable: ', result.stdout)

    def test_too_large(self):
        self.file("big.cfg", b"interface Ethernet1/1\n" * 800000)
        result = self.run_here("import", "--from", "nxos", "big.cfg", status=2)
        self.assertIn("larger than 16 MiB", result.stderr)


if __name__ == "__main__":
    unittest.main()
