# SPDX-License-Identifier: Apache-2.0
"""The golden list: `check` and `import` on configurations that others published.

They lie in data/configs of the folder that ROCELAB_SHARED names, or else in ../shared beside this tree; without them the
test is skipped, and says so.  A finding more, a finding less, a finding at another line, a file that the list does not
have: each fails."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("ROCELAB_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
PROGRAM = os.environ["ROCELAB"]
SHARED = pathlib.Path(os.environ.get("ROCELAB_SHARED") or SOURCE.parent / "shared")
CONFIGS = SHARED / "data" / "configs"
SKIPPED = 77  # of meson
VERDICTS = {"true", "by-rule", "follows"}


def read_list():
    """Files by name: kind or None, lines listed (None: the file is refused), and (rule, line) of the findings."""
    files = {}
    for number, text in enumerate((SOURCE / "tests/check/golden_findings").read_text().splitlines(), 1):
        words = text.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "file":
            found = []
            files[words[1]] = (words[2] if len(words) == 4 else None, None if words[-1] == "refused" else int(words[-1]), found)
            continue
        rule, line, verdict = words[0], int(words[1]), words[2]
        assert verdict in VERDICTS and len(words) > 3, f"golden_findings:{number}: a verdict and why"
        if rule != "none":
            found.append((rule, line))
    return files


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)


def check(path, kind=None):
    result = run("check", "--json", *(["--from", kind] if kind else []), path)
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)


def told(path, kind=None):
    """(rule, line) of what is told, each once."""
    text = run("check", *(["--from", kind] if kind else []), path).stdout
    found = re.findall(r"(?m)^" + re.escape(str(path)) + r":(\d+):\d+: \w+\[(\w+)\]:", text)
    return collections.Counter({(rule, int(line)) for line, rule in found})


class Golden(unittest.TestCase):
    def test_every_file_is_listed(self):
        there = {str(path.relative_to(CONFIGS)) for path in CONFIGS.glob("*/*") if path.is_file()}
        self.assertEqual(there, set(read_list()))

    def test_findings(self):
        for name, (kind, listed, golden) in read_list().items():
            if listed is None:
                self.assertEqual(run("check", "--from", kind, CONFIGS / name).returncode, 2, name)
                continue
            document = check(CONFIGS / name, kind)
            found = told(CONFIGS / name, kind)
            wanted = collections.Counter(set(golden))
            with self.subTest(name):
                self.assertEqual(found - wanted, {}, "found and not in the list")
                self.assertEqual(wanted - found, {}, "in the list and not found")
                self.assertEqual(len(document["not_understood"]), listed)

    def test_import_agrees(self):
        """`import` reads them all; what it writes is a fabric that loads."""
        for name, (kind, listed, _) in read_list().items():
            if listed is None:
                continue
            result = run("import", "--json", *(["--from", kind] if kind else []), CONFIGS / name)
            with self.subTest(name):
                self.assertEqual(result.returncode, 0, result.stderr)
                lines = json.loads(result.stdout)["lines"]
                self.assertEqual(sum(not item["rule"] and not item.get("assumed") for item in lines), listed)
                with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                    file.write(json.loads(result.stdout)["fabric"])
                    file.flush()
                    self.assertIn(run("check", file.name).returncode, (0, 1))

    def test_kind_that_is_not_plain(self):
        for name, (kind, _, _) in read_list().items():
            if kind:
                result = run("check", CONFIGS / name)
                self.assertEqual(result.returncode, 2)
                self.assertIn("--from", result.stderr)

    def test_default_marking_on_the_small_switch(self):
        """The SN2700's pool with SONiC's default curve: paused before anything is marked."""
        tables = json.loads((CONFIGS / "sonic/dbmig-acs-msn2700-t1-version_1_0_1.json").read_text())
        ports = [key.split("|")[1] for key in tables if key.startswith("PORT|")]
        tables["WRED_PROFILE|W"] = {"ecn": "ecn_all", "wred_green_enable": "true", "green_drop_probability": "5",
                                    "green_min_threshold": "1048576", "green_max_threshold": "2097152"}
        tables["DSCP_TO_TC_MAP|M"] = {str(dscp): {26: "3", 4: "4"}.get(dscp, "0") for dscp in range(64)}
        for port in ports:
            tables[f"QUEUE|{port}|3-4"] = {"wred_profile": "[WRED_PROFILE|W]"}
            tables[f"PORT_QOS_MAP|{port}"] = {"pfc_enable": "3,4", "dscp_to_tc_map": "[DSCP_TO_TC_MAP|M]"}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "sn2700.json"
            path.write_text(json.dumps(tables, indent=1))
            found = [item for item in check(path)["findings"] if item["rule"] == "ECN003"]
            self.assertEqual([item["severity"] for item in found], ["warning"])  # how many ports are congested is assumed
            self.assertIn("all of them into one queue hold 2.0", found[0]["message"])  # MB, of the 2.1 it takes
            line = path.read_text().splitlines()[found[0]["line"] - 1]
            self.assertIn("green_max_threshold", line)

    def test_two_halves_of_a_switch(self):
        """QoS and buffers are published apart.  Together they are one switch, whose lossless groups are made by itself."""
        tables = json.loads((CONFIGS / "sonic/qos-mellanox4600c-c64.json").read_text())
        tables.update(json.loads((CONFIGS / "sonic/buffers-mellanox4600c-t1.json").read_text()))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "both.json"
            path.write_text(json.dumps(tables, indent=1))
            rules = collections.Counter(rule for rule, _ in told(path).elements())
            self.assertEqual(rules, {"MAP001": 2, "MAP005": 1, "PFC003": 2})


if __name__ == "__main__":
    if not CONFIGS.is_dir():
        print(f"skipped: no configurations in {CONFIGS}; ROCELAB_SHARED names the folder that has data/configs")
        sys.exit(SKIPPED)
    unittest.main()
