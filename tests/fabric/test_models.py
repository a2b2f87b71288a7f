# SPDX-License-Identifier: Apache-2.0
"""The page of switch models and the table the program is built from say the same.

    test_models.py MODELS_DEF PAGE"""
import pathlib
import re
import sys
import unittest

DEF, PAGE = (pathlib.Path(p) for p in sys.argv[1:3])


def models():
    pattern = re.compile(
        r'MODEL\("(\w+)", (\d+), ([SA]), (\d+), ([SA]), (\d+), (\d+), (\d+), ([SA]), (\d+), ([SA]), "([^"]*)"\)')
    return pattern.findall(DEF.read_text(encoding="utf-8"))


def row(model):
    name, buffer, buffer_from, cell, cell_from, ports, rate, most, most_from, latency, latency_from, source = model

    def value(text, evidence):
        return f"{text} *" if evidence == "A" else text

    shape = f"{ports} x {rate}G" if int(ports) else "any"
    return (f"| `{name}` | {value(f'{int(buffer):,}', buffer_from)} | {value(cell, cell_from)} | {shape} | "
            f"{value(most, most_from)} | {value(latency + ' ns', latency_from)} | {source} |")


class Models(unittest.TestCase):
    def test_page_has_every_row(self):
        rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
        self.assertEqual([row(model) for model in models()], rows)

    def test_models_of_the_design_are_there(self):
        names = {model[0] for model in models()}
        wanted = {"tomahawk3", "tomahawk4", "tomahawk5", "tomahawk6", "trident4", "spectrum1", "spectrum2", "spectrum3",
                  "spectrum4", "spectrum5", "jericho2", "jericho3", "g200", "g300", "generic"}
        self.assertEqual(wanted, names)

    def test_every_line_is_read(self):
        lines = [line for line in DEF.read_text(encoding="utf-8").splitlines() if line.startswith("MODEL(")]
        self.assertEqual(len(lines), len(models()))

    def test_where_nothing_is_measured_it_says_so(self):
        for model in models():
            self.assertTrue(model[-1], f"{model[0]} has no source")


if __name__ == "__main__":
    if "--print" in sys.argv:
        print("\n".join(row(model) for model in models()))
    else:
        unittest.main(argv=sys.argv[:1])
