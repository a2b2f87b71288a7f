# SPDX-License-Identifier: Apache-2.0
"""--html: the page holds the document that --json prints, whatever its names are, and is refused before the run where it
cannot be written.  What a browser makes of it is tried in tests/page."""
import base64
import json
import pathlib
import re
import unittest
import zlib

from support import PCAPS, SOURCE, Case, rocelab

EXAMPLES = SOURCE / "examples"


def element(page, name):
    return base64.b64decode(re.search(rf'<script type="text/plain" id="{name}">([^<]*)</script>', page)[1], validate=False)


def document(page):
    return json.loads(zlib.decompress(element(page, "data"), -15))


class Page(Case):
    def page(self, *arguments, status=0, **how):
        path = self.folder / "page.html"
        result = rocelab(*arguments, "--html", path, **how)
        self.assertEqual(result.returncode, status, result.stderr)
        return path.read_text(encoding="utf-8"), result.stdout

    def fabric(self, name="pair"):
        text = (EXAMPLES / "incast.yaml").read_text()
        text = re.sub(r"(?m)^fabric:.*$", f"fabric: {json.dumps(name)}", text)
        return self.file("fabric.yaml", text.encode())

    def test_sim(self):
        fabric = self.fabric()
        page, printed = self.page("sim", "--json", fabric)
        held, said = document(page), json.loads(printed)
        for key in said:
            if key not in ("setup_s", "wall_s"):
                self.assertEqual(held[key], said[key], key)
        about = json.loads(element(page, "about"))
        self.assertEqual(about["command"][:2], ["rocelab", "sim"])
        self.assertIn(str(fabric), about["command"])

    def test_sweep(self):
        page, printed = self.page("sweep", "--json", self.fabric(), "--vary", "seed=1,2")
        self.assertEqual(document(page), json.loads(printed))

    def test_tune(self):
        page, printed = self.page("tune", "--json", self.fabric(), "--for", "time", "--vary", "ecn", "--runs", "12")
        self.assertEqual(document(page), json.loads(printed))
        self.assertEqual(document(page)["kind"], "tune")

    def test_capture(self):
        names = ["read.pcap", "nothing-here.pcap"] if (PCAPS / "read.pcap").exists() else [EXAMPLES / "incast.pcap", "no.pcap"]
        page, printed = self.page("capture", "--json", *names, status=2)
        self.assertEqual(document(page), json.loads(printed))
        self.assertIsNotNone(document(page)["files"][1]["error"])

    def test_diagnose(self):
        run = self.file("run.json", rocelab("sim", "--json", EXAMPLES / "cases" / "C01-storm.yaml").stdout.encode())
        result = rocelab("diagnose", "--json", run, "--html", self.folder / "page.html")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        held = document((self.folder / "page.html").read_text(encoding="utf-8"))
        self.assertEqual(held.pop("run"), run.read_text())
        self.assertEqual(held, json.loads(result.stdout))
        run.write_bytes(run.read_bytes() + b" " * (16 << 20)) # the same document, and too much for a page
        rocelab("diagnose", run, "--html", self.folder / "page.html")
        page = (self.folder / "page.html").read_text(encoding="utf-8")
        self.assertNotIn("run", document(page))
        self.assertIn("16 MB", json.loads(element(page, "about"))["left_out"])

    def test_text_is_printed_as_without(self):
        fabric = self.fabric()
        mask = lambda text: re.sub(r"(?m)^.*(packet-hops|setup).*$", "", text)
        self.assertEqual(mask(self.page("sim", fabric)[1]), mask(rocelab("sim", fabric).stdout))

    def test_hostile_names(self):
        name = "</script><img src=x onerror=alert(1)>\"'&amp;<!--"
        page, _ = self.page("sim", self.fabric(name))
        self.assertEqual(document(page)["fabric"], name)
        template = (SOURCE / "src" / "report" / "page" / "page.html").read_text(encoding="utf-8")
        self.assertNotIn("onerror=alert", page)
        self.assertEqual(page.count("</script>"), template.count("</script>"))

    def test_the_page_reaches_nothing(self):
        page, _ = self.page("sim", self.fabric())
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
        self.assertEqual(policy, "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:")
        self.assertNotRegex(page, r'(src|href)="(?!#|data:,")')
        self.assertIn("Permission is hereby granted, free of charge", page)
        self.assertNotIn("@DATA@", page)

    def test_refused_before_the_run(self):
        fabric = self.fabric()
        self.wrong(rocelab("sim", "--html", self.folder / "no" / "page.html", fabric), "--html", "No such file")
        self.wrong(rocelab("sim", "--html", self.folder, fabric), "--html", "Is a directory")
        self.wrong(rocelab("sim", "--html", "-", fabric), "--html", "a file to write")
        self.wrong(rocelab("sim", "--html", "", fabric), "--html", "a file to write")
        self.wrong(rocelab("sim", "--html", "x.html", "--seeds", 2, fabric), "--html", "for one run")
        self.wrong(rocelab("sim", "--html", "x.html", "--each", "link", fabric), "--html", "for one run")
        self.wrong(rocelab("sweep", "--html", self.folder / "no" / "x", "--vary", "seed=1,2", fabric), "--html", "No such file")
        self.wrong(rocelab("capture", "--html", self.folder / "no" / "x", EXAMPLES / "incast.pcap"), "--html", "No such file")

    def test_what_was_there_stays_until_there_is_a_page(self):
        old, new = self.file("old.html", b"old"), self.folder / "new.html"
        for path in (old, new):
            self.wrong(rocelab("sweep", self.fabric(), "--html", path, "--vary", "no.such.key=1,2"))
        self.assertEqual(old.read_bytes(), b"old")
        self.assertFalse(new.exists())

    def test_a_page_is_not_written_over_what_is_read(self):
        capture = self.file("kept.pcap", (EXAMPLES / "incast.pcap").read_bytes())
        fabric, again = self.fabric(), self.folder / "again"
        again.symlink_to(capture)
        for arguments in (["capture", capture, "--html", capture], ["capture", "--html", again, capture],
                          ["capture", f"--html={capture}", capture], ["sim", "--html", fabric, fabric]):
            kept = pathlib.Path(arguments[-1]).read_bytes()
            self.wrong(rocelab(*arguments), "names that file twice")
            self.assertEqual(pathlib.Path(arguments[-1]).read_bytes(), kept)

    def test_a_shorter_page_replaces_a_longer_one_whole(self):
        path = self.file("page.html", b"x" * 3_000_000)
        self.assertEqual(rocelab("sim", "--html", path, self.fabric()).returncode, 0)
        self.assertTrue(path.read_bytes().startswith(b"<!doctype html>"))
        self.assertTrue(path.read_bytes().endswith(b"</html>\n"))

    def test_a_full_disk_is_told(self):
        result = rocelab("sim", "--html", "/dev/full", self.fabric())
        self.assertEqual(result.returncode, 2)
        self.assertIn("/dev/full: not all of it could be written", result.stderr)

    def test_a_large_fabric_has_samples_of_what_matters(self):
        fabric = self.file("large.yaml", b"""rocelab: 1
fabric: large
topology: {rail: {hosts: 64, gpus: 8, leaves: 8, spines: 4}}
links: {host: {rate: 400G, cable: 5m}, fabric: {rate: 400G, cable: 30m}}
jobs: [{permutation: random, size: 100KB}, {incast: 32, size: 200KB, to: h0}]
faults: [{pause: h9, priority: 3, at: 5us, for: 40us}]
""")
        page, printed = self.page("sim", "--json", "--until", "60us", fabric)
        held, said = document(page), json.loads(printed)
        self.assertGreater(len(said["ports"]), 1024)
        self.assertEqual(held["ports"], said["ports"])
        sampled = {column["object"] for column in held["series"]["columns"] if ":" in column["object"] and ">" not in column["object"]}
        self.assertLess(len(sampled), 400)
        self.assertGreater(held["series"]["left_out"], 0)
        longest = max(said["ports"], key=lambda port: port["queue_max_bytes"])["port"]
        self.assertIn(longest, sampled)
        self.assertIn("h9:0", [pause["port"] for pause in said["pauses"]])
        for pause in said["pauses"]:
            self.assertIn(pause["paused"], sampled)
        self.assertIn("ports", json.loads(element(page, "about"))["left_out"])

    def test_pod64_is_small(self):
        page, _ = self.page("sim", "--until", "2ms", EXAMPLES / "pod64.yaml")
        self.assertLess(len(page), 500_000)


if __name__ == "__main__":
    unittest.main()
