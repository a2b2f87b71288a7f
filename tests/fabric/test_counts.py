# SPDX-License-Identifier: Apache-2.0
"""As many hosts and switches are built as the page's formulas say, and every topology that is built has one.

    test_counts.py ROCELAB PAGE"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

ROCELAB, PAGE = sys.argv[1], pathlib.Path(sys.argv[2])
USUAL = {"sites": 1, "planes": 1, "nics": 1}
CASES = {
    "single": [{"hosts": 5}, {"hosts": 3, "gpus": 4}],
    "dumbbell": [{"hosts": 3}, {"hosts": 2, "nics": 2}],
    "leaf-spine": [{"leaves": 4, "spines": 2, "hosts": 3}, {"leaves": 3, "spines": 2, "hosts": 2, "gpus": 8},
                   {"leaves": 2, "spines": 3, "hosts": 4, "planes": 2, "sites": 3}],
    "rail": [{"hosts": 6, "gpus": 4, "leaves": 4, "spines": 2}, {"hosts": 8, "gpus": 8, "leaves": 16, "spines": 3},
             {"hosts": 4, "gpus": 8, "leaves": 4, "spines": 2, "planes": 2, "sites": 2}],
    "fat-tree": [{"k": 4}, {"k": 8}, {"k": 6, "nics": 2}, {"k": 16, "gpus": 8}, {"k": 16, "nics": 3}, {"k": 4, "gpus": 8}],
}


def formulas():
    """{topology: [formula of hosts, leaves, spines, cores]}"""
    row = re.compile(r"^\| `([a-z-]+)` \| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|$", re.M)
    text = PAGE.read_text(encoding="utf-8").split("How many of each there are", 1)[1]
    return {name: rest for name, *rest in row.findall(text)}


def built(kind, shape):
    keys = ", ".join(f"{key}: {value}" for key, value in shape.items())
    keys += ", distance: 1km" if shape.get("sites", 1) > 1 else ""
    text = f"rocelab: 1\ntopology: {{{kind}: {{{keys}}}}}\nlinks: {{host: {{rate: 400G, cable: 3m}}}}\n"
    done = subprocess.run([ROCELAB, "config", "--bom", "--json", "-"], input=text, capture_output=True, text=True, check=True)
    parts = json.loads(done.stdout)["parts"]
    switches = [sum(part["count"] for part in parts if part["part"] == "switch" and part["what"].startswith(role))
                for role in ("leaf", "spine", "core")]
    return [sum(part["count"] for part in parts if part["part"] == "host"), *switches]


class Counts(unittest.TestCase):
    def test_what_is_built_is_what_the_page_says(self):
        page = formulas()
        self.assertEqual(set(page), set(CASES))
        for kind, shapes in CASES.items():
            for shape in shapes:
                values = {**USUAL, **shape, "nics": shape.get("nics", shape.get("gpus", 1))}
                with self.subTest(kind=kind, **shape):
                    wanted = [eval(formula, {"max": max, "__builtins__": {}}, values) for formula in page[kind]]
                    self.assertEqual(wanted, built(kind, shape))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
