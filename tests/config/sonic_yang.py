# SPDX-License-Identifier: Apache-2.0
"""usage: sonic_yang.py BUILD [FABRICS]

What rocelab writes for SONiC, of all examples and of so many random fabrics (200), held against the published YANG models by
yanglint.  SONIC_YANG is their folder, with yang-models and yang-templates (src/sonic-yang-models of sonic-buildimage); without it,
or without yanglint, nothing is done and the status is 77.

A table's rows become XML by the shape that its model gives them.  What belongs to the unit and is not written, `lanes`, is put in.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'[^\']*\'|[{};]|[^\s{};"\']+', re.S)


def plain(text):
    """A template without what is for another program: of {% if %} the part behind {% else %}."""
    return re.sub(r"\{% if .*? %\}.*?(?:\{% else %\}(.*?))?\{% endif %\}", lambda found: found.group(1) or "", text, flags=re.S)


def statements(tokens):
    """[(keyword, argument, [statements])]"""
    found = []
    while tokens:
        word = tokens.pop()
        if word == "}":
            return found
        argument = ""
        while tokens[-1] not in "{;":
            part = tokens.pop()
            if part != "+":
                argument += part[1:-1] if part[0] in "\"'" else part
        found.append((word, argument, statements(tokens) if tokens.pop() == "{" else []))
    return found


def parsed(text):
    return statements([token for token in TOKEN.findall(text) if not token.startswith(("/*", "//"))][::-1])


def of(kind, inside):
    return [(name, below) for keyword, name, below in inside if keyword == kind]


def expanded(inside, groupings):
    """The same with the module's groupings in place of what uses them."""
    found = []
    for keyword, name, below in inside:
        if keyword == "uses" and name in groupings:
            found += expanded(groupings[name], groupings)
        else:
            found.append((keyword, name, expanded(below, groupings)))
    return found


def tables(folder):
    """{table: (module, its top container, namespace, what is inside the table)}"""
    found = {}
    for path in sorted(folder.glob("*.yang")):
        for module, inside in of("module", parsed(path.read_text(encoding="utf-8"))):
            groupings = dict(of("grouping", inside))
            for top, below in of("container", expanded(inside, groupings)):
                for table, rows in of("container", below):
                    found[table] = (module, top, of("namespace", inside)[0][0], rows)
    return found


def leaves(inside):
    """Leaves of a list or container, those of choices too."""
    names = set()
    for keyword, name, below in inside:
        if keyword in ("leaf", "leaf-list"):
            names.add(name)
        elif keyword in ("choice", "case"):
            names |= leaves(below)
    return names


def row_xml(key, fields, rows):
    """The row by the container of its name, or by the list that has as many keys."""
    parts = key.split("|")
    for name, below in of("container", rows):
        if name == key:
            return f"<{name}>{fields_xml(fields, below)}</{name}>"
    fitting = [(name, below) for name, below in of("list", rows) if len(of("key", below)[0][0].split()) == len(parts)]
    if not fitting:
        raise ValueError(f"no list of the model takes the key {key}")
    name, below = fitting[0]
    keys = "".join(f"<{leaf}>{escape(part)}</{leaf}>" for leaf, part in zip(of("key", below)[0][0].split(), parts))
    return f"<{name}>{keys}{fields_xml(fields, below)}</{name}>"


def fields_xml(fields, below):
    inner = of("list", below)
    if inner: # a map: each field is a row of a list of its own
        name, inside = inner[0]
        key = of("key", inside)[0][0]
        value = next(leaf for leaf in (leaf for leaf, _ in of("leaf", inside)) if leaf != key)
        return "".join(f"<{name}><{key}>{escape(field)}</{key}><{value}>{escape(text)}</{value}></{name}>"
                       for field, text in fields.items())
    known = leaves(below)
    found = ""
    for field, text in fields.items():
        if field not in known:
            raise ValueError(f"no leaf of the model is called {field}")
        for each in text if isinstance(text, list) else [text]:
            found += f"<{field}>{escape(each)}</{field}>"
    return found


def as_xml(config, shapes):
    used, out = set(), {}
    for index, row in enumerate(config["PORT"].values()):
        row.setdefault("lanes", str(index + 1))
    for table, rows in config.items():
        module, top, namespace, inside = shapes[table]
        used.add(module)
        body = "".join(row_xml(key, fields, inside) for key, fields in rows.items())
        out.setdefault((top, namespace), []).append(f"<{table}>{body}</{table}>")
    return used, "\n".join(f'<{top} xmlns="{namespace}">{"".join(parts)}</{top}>' for (top, namespace), parts in out.items())


def complaints(config, shapes, yang):
    """Of yanglint; warnings are about the models."""
    modules, text = as_xml(config, shapes)
    (yang / "data.xml").write_text(text, encoding="utf-8")
    done = subprocess.run(["yanglint", "-p", yang, "-t", "config", *[yang / f"{module}.yang" for module in sorted(modules)],
                           yang / "data.xml"], capture_output=True, text=True, check=False)
    wrong = [line for line in done.stderr.splitlines() if line.startswith("libyang err")]
    return wrong or ([f"status {done.returncode}"] if done.returncode else [])


def written(build, fabrics, folder):
    root = pathlib.Path(__file__).resolve().parents[2]
    for example in sorted((root / "examples").glob("*.yaml")):
        subprocess.run([build / "rocelab", "config", example, "--nos", "sonic", "--out", folder / "examples" / example.stem],
                       check=False, capture_output=True)
    (folder / "random").mkdir()
    subprocess.run([build / "tests/config/test_config_sonic_valid"], check=True, capture_output=True,
                   env=dict(os.environ, CONFIG_TRIPS=str(2 * fabrics), SONIC_KEEP=str(folder / "random")))
    return sorted(folder.glob("**/*.json"))


def main():
    models = os.environ.get("SONIC_YANG", "")
    if not models or not shutil.which("yanglint"):
        print("skipped: SONIC_YANG is not set, or there is no yanglint")
        return 77
    build, fabrics = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        yang = folder / "yang"
        yang.mkdir()
        for path in pathlib.Path(models).glob("yang-*/*.yang*"):
            (yang / path.name.removesuffix(".j2")).write_text(plain(path.read_text(encoding="utf-8")), encoding="utf-8")
        shapes = tables(yang)
        bad = good = 0
        for path in written(build, fabrics, folder):
            config = json.loads(path.read_text(encoding="utf-8"))
            if "PORT" not in config:
                continue
            wrong = complaints(config, shapes, yang)
            if good + bad == 0: # one that must be refused: else nothing was looked at
                next(iter(config["SCHEDULER"].values()))["weight"] = "4000"
                assert complaints(config, shapes, yang), "yanglint takes a weight of 4000"
            bad += bool(wrong)
            good += not wrong
            if wrong:
                print(f"{path.relative_to(folder)}: {' '.join(wrong)[:400]}")
        print(f"{good} of {good + bad} files of SONiC are valid")
        return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())
