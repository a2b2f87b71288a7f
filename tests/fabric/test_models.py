# SPDX-License-Identifier: Apache-2.0
"""The table of switch models that the program is built from, and the page that names them.

    test_models.py MODELS_DEF PAGE"""
import pathlib
import re
import sys
import unittest

DEF, PAGE = (pathlib.Path(p) for p in sys.argv[1:3])


def models():
    pattern = re.compile(
        r'MODEL\("([\w+-]+)", (\d+), ([SA]), (\d+), ([SA]), (\d+), (\d+), (\d+), ([SA]), (\d+), ([SA]), "([^"]*)"\)')
    return pattern.findall(DEF.read_text(encoding="utf-8"))


class Models(unittest.TestCase):
    def test_page_names_every_model(self):
        page = PAGE.read_text(encoding="utf-8").split("The columns:")[0]
        self.assertEqual([name for name, *_ in models() if f"`{name}`" not in page and not re.search(rf"`-{name.partition('-')[2]}`", page)
                          and not re.fullmatch(r"(tomahawk|trident|spectrum)\d", name)], [])

    def test_models_of_the_design_are_there(self):
        names = {model[0] for model in models()}
        wanted = {*(f"tomahawk{n}" for n in range(1, 7)), "trident3", "trident4", "trident5", *(f"spectrum{n}" for n in range(1, 6)),
                  "jericho2", "jericho2c+", "jericho3", "jericho3-ai", "qumran3d", "q200", "g100", "g200", "g300", "generic",
                  *(f"cloudscale-{kind}" for kind in ("ex", "fx", "fx2", "fx3", "9364c", "gx", "gx2a", "gx2b"))}
        self.assertEqual(wanted - names, set())

    def test_products_have_a_model_and_longer_names_come_first(self):
        products = re.findall(r'PRODUCT\("([^"]+)", "([^"]+)"\)', (DEF.parent / "products.def").read_text(encoding="utf-8"))
        self.assertGreater(len(products), 100)
        self.assertEqual({model for _, model in products} - {model[0] for model in models()}, set())
        for i, (part, model) in enumerate(products):
            for longer, other in products[i + 1:]:
                self.assertFalse(part in longer and model != other, f"{longer} is taken for {part}")

    def test_every_line_is_read(self):
        lines = [line for line in DEF.read_text(encoding="utf-8").splitlines() if line.startswith("MODEL(")]
        self.assertEqual(len(lines), len(models()))

    def test_where_nothing_is_measured_it_says_so(self):
        for model in models():
            self.assertTrue(model[-1], f"{model[0]} has no source")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
