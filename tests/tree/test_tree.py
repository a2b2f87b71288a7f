# SPDX-License-Identifier: Apache-2.0
"""Runs the tree's rules over the tree, and each rule over a tree that breaks it."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"

# rule -> files of a tree in which this rule, at least, must complain
BROKEN = {
    "includes": [
        {"src/base/a.c": SPDX + '#include "packet/pkt.h"\n'},
        {"src/nic/a.c": SPDX + '#include "packet/codec.h"\n'},
        {"src/fabric/a.c": SPDX + '#include "switch/switch.h"\n'},
        {"src/packet/a.c": SPDX + '#include "pkt.h"\n'},
        {"src/attic/a.c": SPDX},
        {"src/packet/capfile/a.c": SPDX + '#include "packet/codec.h"\n'},
        {"src/config/eos/a.c": SPDX + '#include "config/nxos/nxos_int.h"\n'},
        {"src/config/a.c": SPDX + '#include "config/nxos/lines.h"\n'},
    ],
    "private": [
        {"src/sim/a.c": SPDX + '#include "engine/engine_int.h"\n'},
        {"src/verbs/rsocket/a.c": SPDX + '#include "verbs/rdmacm/rdmacm_int.h"\n'},
        {"src/config/a.c": SPDX + '#include "config/junos/junos_int.h"\n'},
        {"src/base/a_priv.h": SPDX},
    ],
    "seen_by": [{"src/fabric/fabric.h": SPDX, "src/fabric/more.h": SPDX + '#include "fabric/fabric.h"\n',
                 **{f"src/cli/{number}.c": SPDX + '#include "fabric/more.h"\n' for number in range(251)}}],
    "struct_names": [{"src/base/a.h": SPDX + "struct pool {\n    int x;\n};\n", "src/cli/b.h": SPDX + "struct pool {\n    int y;\n};\n"}],
    "function_names": [{f"src/cli/{number}.c": SPDX + "static int take(int x)\n{\n    return x;\n}\n" for number in range(17)}],
    "folder_size": [{f"src/base/{number}.c": SPDX for number in range(26)}],
    "function_length": [{"src/base/a.c": SPDX + "void f(void)\n{\n" + "    g();\n" * 81 + "}\n"}],
    "file_length": [{"src/base/a.c": SPDX + "int x;\n" * 801}],
    "banned_calls": [{"src/cli/a.c": SPDX + "int f(char *s)\n{\n    return atoi(s);\n}\n"}],
    "no_float": [
        {"src/nic/a.c": SPDX + "double rate;\n"},
        {"src/base/a.c": SPDX + "int x = 1.5 * 2;\n"},
    ],
    "own_sockets": [{"src/live/a.c": SPDX + "int f(void)\n{\n    return socket(1, 2, 0);\n}\n"}],
    "no_clock": [{"src/switch/a.c": SPDX + "long f(void)\n{\n    return time(0);\n}\n"}],
    "no_allocation": [
        {"src/nic/a.c": SPDX + "void *f(void)\n{\n    return malloc(1);\n}\n"},
        {"src/packet/codec_x.c": SPDX + "void *f(void)\n{\n    return calloc(1, 1);\n}\n"},
    ],
    "wire_numbers": [{"src/live/a.c": SPDX + "int port = 4791;\n"}],
    "built": [
        {"src/base/a.c": SPDX, "src/base/meson.build": "x = ['b.c']\n"},
        {"tests/base/test_a.py": "# SPDX-License-Identifier: Apache-2.0\n"},
    ],
    "text": [
        {"src/base/a.c": "int x;\n"},
        {"src/base/a.c": SPDX + "int x; \n"},
        {"src/base/a.c": SPDX + "int x;"},
        {"src/base/a.c": SPDX + "int " + "x" * 120 + ";\n"},
        {"src/base/a.c": SPDX + "\tint x;\n"},
        {"README.md": "see /" + "home/me/notes\n"},
        {"src/base/a.c": SPDX + "/* " + "TO" + "DO: later */\n"},
    ],
    "prose_columns": [
        {"README.md": "word " * 20 + "word.\n"},
        {"docs/a.md": "- one:\n\n  " + "word " * 20 + "word.\n"},
        {"docs/a.md": "- one:\n\n      code\n\n  " + "word " * 20 + "word.\n"},
    ],
    "docs_words": [{"docs/a.md": "word\n" * 80_000, "docs/internals/b.md": "word\n" * 80_000}],
    "links": [
        {"README.md": "[a](docs/none.md)\n"},
        {"docs/README.md": "nothing\n", "docs/a.md": "a\n"},
        {"docs/README.md": "nothing\n", "docs/internals/a.md": "a\n"},
    ],
    "installed": [
        {"docs/README.md": "(a.md)\n", "docs/a.md": "Run `tests/b.py`.\n", "tests/b.py": SPDX},
        {"man/rocelab.1": ".Pa tests/b.py\n", "tests/b.py": SPDX},
        {"man/rocelab.1": ".Pa docs/none.md\n"},
        {"src/cli/a_options.def": "OPTION(\"html\", NULL, \"a page: docs/none.md\", FLAG(html))\n"},
    ],
    "map": [{"CONTRIBUTING.md": "no map\n", "src/base/a.c": SPDX + "int x;\n"}],
    "version": [
        {"meson.build": "project('rocelab', 'c',\n  version: '2.0.0',\n", "debian/changelog": "rocelab (1.0.0) unstable; urgency=medium\n"},
        {"meson.build": "project('rocelab', 'c',\n  version: '2.0.0',\n", "CITATION.cff": "version: 1.0.0\n"},
        {"meson.build": "project('rocelab', 'c',\n  version: '2.0.0',\n", "CHANGELOG.md": "# Changelog\n\n## 1.0.0, 2026\n\n## 2.0.0\n"},
    ],
    "format": [{"src/base/a.c": SPDX + "int   x ;\n"}],
    "shell": [
        {"tool": "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\n"},
        {"tool": "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\nrm -rf $1/x\n"},
    ],
}


class Tree(unittest.TestCase):
    def test_tree_keeps_its_rules(self):
        for rule, complaints in rules.check(ROOT).items():
            with self.subTest(rule=rule):
                self.assertEqual([], complaints, "\n" + "\n".join(complaints))

    def test_every_rule_has_a_broken_tree(self):
        self.assertEqual(set(rules.RULES), set(BROKEN))

    def test_rules_see_what_breaks_them(self):
        for rule, trees in BROKEN.items():
            for index, tree in enumerate(trees):
                with self.subTest(rule=rule, tree=index), tempfile.TemporaryDirectory() as folder:
                    root = pathlib.Path(folder).resolve()
                    for file, text in tree.items():
                        path = root / file
                        path.parent.mkdir(parents=True, exist_ok=True)
                        path.write_text(text, encoding="utf-8")
                    self.assertTrue(list(rules.RULES[rule](root)), f"{rule} accepts {sorted(tree)}")

    def test_comments_and_strings_are_no_code(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            path = root / "src" / "nic" / "a.c"
            path.parent.mkdir(parents=True)
            path.write_text(SPDX + '/* double */\nconst char *s = "malloc(1.5)";\n', encoding="utf-8")
            self.assertEqual([], list(rules.RULES["no_float"](root)) + list(rules.RULES["no_allocation"](root)))

    def test_code_tables_and_long_words_are_no_prose(self):
        long = "word " * 30 + "word\n"
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            (root / "README.md").write_text(f"text\n\n    {long}\n- one\n\n      {long}\n```\n{long}```\n| {long}- `{'x ' * 60}`\n", encoding="utf-8")
            self.assertEqual([], list(rules.RULES["prose_columns"](root)))


if __name__ == "__main__":
    unittest.main()
