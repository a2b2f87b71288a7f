# SPDX-License-Identifier: Apache-2.0
"""What docs/compatibility.md promises is still there: promised.txt has it, a line of names each.

    test_promises.py            a name that is gone is a failure; one that is new is promised by the next version, of
                                which the list is made anew: a list of another version than the program's is a failure
    UPDATE=1 test_promises.py   writes the list anew; a commit that takes a name out of it says since when the name was
                                deprecated, and CHANGELOG.md has it

ROCELAB names the program, ROCELAB_LIBRARY librocelab.so.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["ROCELAB"]
LIBRARY = os.environ["ROCELAB_LIBRARY"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).with_name("promised.txt")
HEAD = "# What docs/compatibility.md promises of version {}, by name: made by test_promises.py with UPDATE=1.\n"
FABRIC = """rocelab: 1
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
jobs: [{incast: 2, to: h0, size: 10KB}]
"""


def said(*words):
    run = subprocess.run([PROGRAM, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                         env=dict(os.environ, LC_ALL="C.UTF-8"), timeout=60)
    if run.returncode > 1:
        raise RuntimeError(f"{words}: {run.stderr}")
    return run.stdout


def verbs():
    """Their options and what each takes."""
    for verb in json.loads(said("help", "--json"))["verbs"]:
        about = json.loads(said("help", "--json", verb["name"]))
        yield f"options {verb['name']}", {f"--{one['name']}" + ("=" if "argument" in one else "") for one in about["options"]}


def keys(line):
    """Of a line of `help fields`: its own, and those of what is in it."""
    for one in line.get("keys", []):
        yield one
    for part in ("lines", "parts"):
        for inner in line.get(part, []):
            yield from keys(inner)


def documents():
    for document in json.loads(said("help", "--json", "fields"))["documents"]:
        kind = document["document"]
        for part in json.loads(said("help", "--json", "fields", kind))["parts"]:
            yield f"json {kind} {part['at'] or part['part'] or '.'}", set(keys(part))


def runs(folder):
    """Metrics with their types, columns of CSV files."""
    fabric = folder / "f.yaml"
    fabric.write_text(FABRIC, encoding="utf-8")
    metrics = re.findall(r"^# TYPE (\S+) (\S+)$", said("sim", "--counters", "prometheus", fabric), re.M)
    yield "metrics", {f"{name}:{kind}" for name, kind in metrics}
    said("sim", "--csv", folder / "csv", "--series", "1us", "--events", folder / "csv" / "events.csv", fabric)
    for path in sorted((folder / "csv").glob("*.csv")):
        yield f"csv {path.name}", set(path.read_text(encoding="utf-8").splitlines()[0].split(","))
    yield "csv sweep", set(said("sweep", "--csv", "--vary", "nics.mtu=1024,4096", fabric).splitlines()[0].split(",")) - {"mtu"}


def symbols():
    shown = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    yield "librocelab", set(re.findall(r" T (rocelab_\w+@@ROCELAB_[\d.]+)$", shown, re.M))


def fabric_keys():
    """Of the schema, which is made from the reader's own lists; what it calls its definitions is not promised."""
    schema = json.loads(said("help", "schema"))

    def walk(part, path, inside):
        if isinstance(part, list):
            for inner in part:
                yield from walk(inner, path, inside)
        if not isinstance(part, dict):
            return
        for key, inner in part.items():
            if key == "$ref" and inner not in inside:
                yield from walk(schema["definitions"][inner.rsplit("/", 1)[1]], path, inside | {inner})
            elif key == "properties":
                yield f"fabric {'.'.join(path) or '.'}", set(inner)
                for name, of in inner.items():
                    yield from walk(of, [*path, name], inside)
            elif key in ("items", "anyOf", "oneOf", "allOf", "additionalProperties"):
                yield from walk(inner, path, inside)

    yield from walk(schema, [], frozenset())


def python():
    """The module's names, and those of what it shows: methods, fields, parameters of functions."""
    asked = ("import inspect, json, rocelab\n"
             "def of(thing):\n"
             "    if inspect.isclass(thing): return [name for name in dir(thing) if name[0] != '_']\n"
             "    return list(inspect.signature(thing).parameters)\n"
             "print(json.dumps({name: of(getattr(rocelab, name)) for name in rocelab.__all__}))\n")
    run = subprocess.run([sys.executable, "-c", asked], cwd=SOURCE / "python", capture_output=True, text=True, check=True)
    names = json.loads(run.stdout)
    yield "python rocelab", set(names)
    for name, inner in names.items():
        base = set(dir(BaseException))
        yield f"python rocelab.{name}", set(inner) - base


def layout(folder):
    """Where each member of a struct of the installed headers lies, and what each constant is: what programs were compiled with."""
    for header in ("rocelab.h", "cc.h"):
        text = re.sub(r"/\*.*?\*/", "", (SOURCE / "include" / "rocelab" / header).read_text(encoding="utf-8"), flags=re.S)
        asks = []
        for struct, body in re.findall(r"^struct (\w+) \{\s*?\n(.*?)^\};", text, re.M | re.S):
            members = re.findall(r"(?:\(\*|\b)(\w+)(?=\)\(|\[[^]]*\]|[,;])", re.sub(r"\)\([^;]*\);", ")();", body))
            asks += [f'printf("{struct} {member}@%zu\\n", offsetof(struct {struct}, {member}));' for member in members]
        for enum, body in re.findall(r"^enum (\w+) \{\s*?\n(.*?)^\};", text, re.M | re.S):
            asks += [f'printf("{enum} {name}=%d\\n", (int){name});' for name in re.findall(r"\b([A-Z][A-Z0-9_]+)\b(?=\s*[,=}])", body + "}")]
        asks += [f'printf("constants {name}=%lld\\n", (long long){name});'
                 for name in re.findall(r"^#define (ROCELAB_\w+) [^.\"\n]+$", text, re.M)]
        source = folder / "ask.c"
        source.write_text(f"#include <rocelab/{header}>\n#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{{\n" +
                          "\n".join(asks) + "\nreturn 0;\n}\n", encoding="utf-8")
        subprocess.run(["gcc", "-w", f"-I{SOURCE / 'include'}", source, "-o", folder / "ask"], check=True)
        found = {}
        for line in subprocess.run([folder / "ask"], capture_output=True, text=True, check=True).stdout.splitlines():
            of, one = line.split()
            found.setdefault(of, set()).add(one)
        for of, names in found.items():
            yield f"{header} {of}", names


def there():
    with tempfile.TemporaryDirectory() as held:
        folder = pathlib.Path(held)
        found = {}
        for part in (verbs(), documents(), runs(folder), symbols(), fabric_keys(), python(), layout(folder)):
            for of, names in part:
                if names:
                    found.setdefault(of, set()).update(names)
        return found


class Promises(unittest.TestCase):
    @unittest.skipUnless(shutil.which("nm") and shutil.which("gcc"), "nm or gcc is not here")
    def test_names(self):
        now = there()
        head = HEAD.format(json.loads(said("version", "--json"))["rocelab"])
        self.assertGreater(len(now), 60)
        if os.environ.get("UPDATE"):
            LIST.write_text(head + "".join(f"{of}: {' '.join(sorted(names))}\n" for of, names in sorted(now.items())), encoding="utf-8")
        promised = {}
        lines = LIST.read_text(encoding="utf-8").splitlines()
        self.assertEqual(head, lines[0] + "\n", "a version promises what it has: UPDATE=1 in the environment makes its list")
        for line in lines[1:]:
            of, names = line.split(": ", 1)
            promised[of] = set(names.split())
        gone = [f"{of}: {name}" for of, names in promised.items() for name in sorted(names - now.get(of, set()))]
        self.assertEqual([], gone, "promised in docs/compatibility.md and gone: it is deprecated for a minor release first")

    def test_exit_statuses(self):
        with tempfile.TemporaryDirectory() as held:
            fabric = pathlib.Path(held, "f.yaml")
            fabric.write_text(FABRIC, encoding="utf-8")
            failing = pathlib.Path(held, "g.yaml")
            failing.write_text(FABRIC + "nics: {timeout: 1, retry: 1}\nfaults: [{down: h1, at: 0us}]\n", encoding="utf-8")
            wrong = pathlib.Path(held, "w.yaml")
            wrong.write_text(FABRIC.replace("jobs", "jbs"), encoding="utf-8")
            full = "/dev/full"
            for status, words in ((0, ("sim", fabric)), (1, ("sim", failing)), (2, ("sim", wrong)), (2, ("sim", held)),
                                  (2, ("sim", "--nothing", fabric)), (2, ("nothing",)), (0, ("check", fabric)),
                                  (1, ("check", SOURCE / "examples" / "disagreement.yaml")), (2, ("check", wrong)),
                                  (2, ("sim", "--html", f"{full}/page", fabric)), (0, ("version",))):
                run = subprocess.run([PROGRAM, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
                self.assertEqual(status, run.returncode, (words, run.stderr))
                self.assertEqual(status == 2, b"error" in run.stderr or run.stderr.startswith(b"rocelab: "), (words, run.stderr))

    def test_the_page_says_them(self):
        page = (SOURCE / "docs" / "compatibility.md").read_text(encoding="utf-8")
        for word in ("rocelab: 1", "--json", "--csv", "librocelab.so.0", "rocelab/cc.h", "ROCELAB_CC_ABI", "Exit status"):
            self.assertIn(word, page)
        self.assertLessEqual(len(page.split()), 700)


if __name__ == "__main__":
    unittest.main()
