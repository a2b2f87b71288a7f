# SPDX-License-Identifier: Apache-2.0
"""The option lists against what repeats them, --help and man pages, and against what is made of them, completions."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import PROGRAM, SOURCE, Case, rocelab, verbs

LISTS = {path.name: path.read_text() for path in (SOURCE / "src" / "cli").rglob("*_options.def")}


def options(name):
    return re.findall(r'^OPTION\("([^"]+)", (?:NULL|"[^"]+"),', LISTS[name], re.M)


def valued(name):
    return re.findall(r'^OPTION\("([^"]+)", "([^"]+)",', LISTS[name], re.M)


COMMON = options("common_options.def")
OWN = {verb: options(f"{verb}_options.def") if f"{verb}_options.def" in LISTS else [] for verb in verbs()}
VALUED = {verb: valued(f"{verb}_options.def") if OWN[verb] else [] for verb in OWN}
ALL = set(COMMON).union(*OWN.values())


class Lists(Case):
    def test_the_lists_were_read(self):
        self.assertIn("json", COMMON)
        self.assertIn("max-connections", OWN["capture"])
        self.assertIn(("until", "TIME"), VALUED["sim"])
        self.assertNotIn("no-tiles", dict(VALUED["sim"]))

    def test_the_front_page_shows_what_check_prints(self):
        text = rocelab("check", "examples/disagreement.yaml", cwd=SOURCE).stdout
        page = (SOURCE / "README.md").read_text(encoding="utf-8")
        self.assertEqual(page.split("<!-- output of: rocelab check examples/disagreement.yaml -->\n```\n")[1].split("```\n")[0], text)

    def test_help(self):
        for verb, own in OWN.items():
            text = rocelab("help", verb).stdout
            self.assertEqual(sorted(re.findall(r"(?m)^  --([a-z-]+)", text)), sorted(own + COMMON), verb)

    def test_man(self):
        front = (self.man / "rocelab.1").read_text()
        self.assertEqual(re.findall(r"(?m)^\.It Fl Fl ([a-z-]+)", front), COMMON)
        for verb, own in OWN.items():
            self.assertRegex(front, rf"(?m)^\.It Cm {verb}\b")
            if verb not in ("help", "version"):  # which the front page says all about
                page = (self.man / f"rocelab-{verb}.1").read_text()
                self.assertEqual(re.findall(r"(?m)^\.It Fl Fl ([a-z-]+)", page), own + COMMON)
                self.assertRegex(front[front.index(".Sh SEE ALSO"):], rf"(?m)^\.Xr rocelab-{verb} 1")

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc here")
    def test_man_pages_are_clean(self):
        for page in sorted(self.man.glob("*.1")):
            result = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True,
                                    check=False)
            self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_man_pages_are_installed(self):
        text = (SOURCE / "man" / "meson.build").read_text()
        self.assertEqual(set(re.findall(r"'([^']+\.1)'", text)), {page.name for page in (SOURCE / "man").glob("*.1")})

    @classmethod
    def setUpClass(cls):
        """Made once: each asks the program a hundred times."""
        cls.made = tempfile.TemporaryDirectory(prefix="rocelab-lists-")
        cls.addClassCleanup(cls.made.cleanup)
        cls.completions, cls.man = (pathlib.Path(cls.made.name) / name for name in ("completions", "man"))
        for folder in (cls.completions, cls.man):
            folder.mkdir()
            subprocess.run([sys.executable, SOURCE / folder.name / "make.py", folder, PROGRAM], check=True)

    def test_topics(self):
        """Each prints its list whole: models and products, variables, statements."""
        def rows(path, name):
            return re.findall(rf'(?m)^{name}\((?:\w+, )?"?([^",]+)"?, (.*)', (SOURCE / "src" / path).read_text())

        text = rocelab("help", "models").stdout
        chips, _, products = text.partition("\n\nProducts")
        found = re.findall(r"(?m)^([\w+-]+) +(\d+)([* ]) +(\d+)([* ])  +(any|\d+ x \d+G) +(\d+)([* ]) +(\d+)([* ])   (.*)$", chips)
        listed = []
        for name, rest in rows("fabric/qos/models.def", "MODEL"):
            buffer, b, cell, c, ports, rate, most, m, latency, l, source = rest.rstrip(")").split(", ", 10)
            star = {"A": "*", "S": " "}
            listed.append((name, buffer, star[b], cell, star[c], f"{ports} x {rate}G" if ports != "0" else "any", most, star[m], latency, star[l], source.strip('"')))
        self.assertEqual(found, listed)
        self.assertEqual(re.findall(r"(?m)^  (\S+) +(\S+)$", products),
                         [(part, model.strip('")')) for part, model in rows("fabric/qos/products.def", "PRODUCT")])
        text = rocelab("help", "variables").stdout
        names = re.findall(r"(?m)^VARIABLE\((\w+),", (SOURCE / "src" / "live" / "environment.def").read_text())
        self.assertEqual(re.findall(r"(?m)^  (ROCELAB_\w+)", text), names)
        page = (SOURCE / "docs" / "live.md").read_text().partition("## Variables")[2]
        self.assertEqual(set(re.findall(r"`(ROCELAB_\w+)`", page)), set(names))
        for topic, path, name in (("criteria", "fabric/criteria.def", "CRITERION"), ("rates", "fabric/rates.def", "RATE")):
            names = [rest.split('"')[1] for rest in re.findall(rf"(?m)^{name}\((.*)", (SOURCE / "src" / path).read_text())]
            self.assertEqual(re.findall(r"(?m)^  ([a-z][\w-]*)(?::| ) ", rocelab("help", topic).stdout), names)
        kinds = re.findall(r'(?m)^EVENT\(\w+, "([\w-]+)", (?:"(\w+)"|NULL), (?:"(\w+)"|NULL)', (SOURCE / "src" / "record" / "events.def").read_text())
        self.assertEqual(re.findall(r"(?m)^  ([a-z][\w-]*)(?: \*)?(?: \((\w+)(?:, (\w+))?\))?(?:  |$)", rocelab("help", "events").stdout), kinds)
        page = (SOURCE / "docs" / "events.md").read_text()
        self.assertEqual([kind for kind, *_ in kinds if f"`{kind}`" not in page], [])
        names = re.findall(r'(?m)^X\(\w+, "(CAP\d+)"', (SOURCE / "src" / "capture" / "verdict.def").read_text())
        self.assertEqual(re.findall(r"(?m)^(CAP\d+) \((?:ERROR|WARNING|INFO)\): .", rocelab("help", "findings").stdout), names)
        prices = re.findall(r'(?m)^PRICE\(\w+, "([\w-]+)", (\d+), (\d+), (\w+)', (SOURCE / "src" / "fabric" / "prices.def").read_text())
        self.assertEqual(re.findall(r"(?m)^  ([a-z][\w-]*) +([\d.]+) (USD|W|x) +.+, \d{4}$", rocelab("help", "prices").stdout),
                         [(name + (f"-{rate}G" if rate != "0" else ""), f"{int(milli) / 1000:g}", {"X": "x"}.get(unit, unit)) for name, rate, milli, unit in prices])
        for system, lists in (("nxos", ["system", "interface", "foreign"]), ("eos", ["system", "interface", "qos", "queue", "foreign"])):
            text = rocelab("help", "statements", system).stdout
            self.assertIn("  shutdown, no shutdown           `up`\n", text)
            self.assertLessEqual(max(map(len, text.splitlines())), 100)
            self.assertIn(text, rocelab("help", "statements").stdout)
            for name in lists:
                for pattern, _ in rows(f"config/{system}/{name}.def", "FOREIGN" if name == "foreign" else "STATEMENT"):
                    self.assertRegex(text, rf"(?m)(^  |, ){re.escape(pattern)}(,|  |$)")
        self.assertEqual(rocelab("help", "--json", "models").returncode, 2)
        self.assertIn("of eos and nxos, not of 'sonic'", rocelab("help", "statements", "sonic").stderr)

    def test_completions_name_all_and_nothing_else(self):
        named = {
            "rocelab": r"--([a-z][a-z-]+)",
            "_rocelab": r"'\*?--([a-z][a-z-]+)",
            "rocelab.fish": r"complete .*-l ([a-z][a-z-]+)",
        }
        for name, pattern in named.items():
            text = (self.completions / name).read_text()
            self.assertEqual(set(re.findall(pattern, text)), ALL | {"version"}, name)
            for verb in verbs():
                self.assertRegex(text, rf"\b{verb}\b")

    def test_zsh_knows_each_verbs_own(self):
        text = (self.completions / "_rocelab").read_text()
        for verb, own in OWN.items():
            block = re.search(rf"(?ms)^    {verb}\)\n(.*?)^        ;;", text)
            self.assertIsNotNone(block, verb)
            self.assertEqual(sorted(re.findall(r"'\*?--([a-z-]+)", block.group(1))), sorted(own), verb)
            self.assertRegex(text, rf"(?m)^        '{verb}:")

    def test_fish_knows_each_verbs_own(self):
        text = (self.completions / "rocelab.fish").read_text()
        for verb, own in OWN.items():
            named = re.findall(rf'(?m)seen_subcommand_from {verb}".*? -l ([a-z-]+)', text)
            self.assertEqual(sorted(named), sorted(own), verb)
            self.assertRegex(text, rf"(?m)^complete .*-a {verb} -d ")
        self.assertEqual(set(re.search(r"(?m)^set -l verbs (.*)$", text).group(1).split()), set(OWN))

    def test_completions_know_every_wire(self):
        wires = re.search(r"how packets travel: (.*?)\",", LISTS["run_options.def"], re.S).group(1)
        wires = set(re.findall(r"\b(auto|udp|shm|packet)\b", wires))
        self.assertEqual(len(wires), 4)
        named = {"rocelab.fish": r"-l wire -x -a '([^']*)'", "_rocelab": r"'--wire\[[^]]*\]:NAME:\(([^)]*)\)"}
        for name, pattern in named.items():
            found = re.search(pattern, (self.completions / name).read_text()).group(1)
            self.assertEqual(set(found.split()), wires, name)
        self.assertEqual(set(self.bash("rocelab", "run", "--wire", "")), wires)

    def known_systems(self, *words):
        """What a message says of a name that is none: it is made of config_formats[]."""
        text = rocelab(*words).stderr.split("'none': ")[1]
        return re.findall(r"[a-z-]+", re.split(r"[;(\n]", text)[0].replace(" or ", ", "))

    def test_systems_are_the_same_everywhere(self):
        read = self.known_systems("check", "--from", "none", "a.cfg")
        written = self.known_systems("config", "--nos", "none", "a.yaml")
        self.assertGreater(len(read), 7)
        self.assertLess({"nvue", "nvue-set", "host"}, set(written))
        self.assertEqual(self.known_systems("import", "--from", "none", "a.cfg"), read)
        self.assertEqual(self.known_systems("tune", "--nos", "none", "a.yaml"), written)
        texts = {name: (self.completions / name).read_text() for name in ("_rocelab", "rocelab.fish")}
        for verb, option, systems in (("check", "from", read), ("diff", "from", read), ("import", "from", read),
                                      ("config", "nos", written), ("tune", "nos", written)):
            named = ", ".join(systems[:-1]) + " or " + systems[-1]
            text = re.search(rf"--{option} (.*?)\n  --", rocelab("help", verb).stdout, re.S).group(1)
            self.assertIn(named, " ".join(text.split()), verb)
            every = systems + (["hpcc", "htsim"] if verb == "import" else [])
            page = (self.man / f"rocelab-{verb}.1").read_text()
            self.assertIn(named, re.search(rf"(?ms)^\.It Fl Fl {option} Ar \w+\n(.*?)^\.(?:It|El)\b", page).group(1).lower())
            self.assertEqual(self.bash("rocelab", verb, f"--{option}", ""), every, verb)
            block = re.search(rf"(?ms)^    {verb}\)\n(.*?)^        ;;", texts["_rocelab"]).group(1)
            self.assertEqual(re.search(rf"--{option}\[[^]]*\]:\w+:\(([^)]*)\)", block).group(1).split(), every, verb)
            found = re.search(rf"seen_subcommand_from {verb}\" -l {option} -x -a '([^']*)'", texts["rocelab.fish"])
            self.assertEqual(found.group(1).split(), every, verb)
        switches = [system for system in read if system in written and system != "host"]
        row = re.search(r"(?ms)^- `nos` \(unknown\): (.*?):", (SOURCE / "docs" / "fabric.md").read_text()).group(1)
        self.assertEqual(re.findall(r"`([a-z]+)`", row), switches)
        self.assertEqual(self.bash("rocelab", "diagnose", "--from", ""), [])

    def bash(self, *words):
        script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _rocelab; ' \
                 'printf "%s\\n" "${COMPREPLY[@]}"'
        result = subprocess.run(["bash", "-c", script, self.completions / "rocelab", *words],
                                capture_output=True, text=True, check=True, cwd=self.folder)
        return result.stdout.split()

    def test_bash_completes(self):
        self.assertEqual(sorted(self.bash("rocelab", "")), sorted(list(OWN) + ["--help", "--version"]))
        topics = re.findall(r"(?m)^TOPIC\((\w+),", (SOURCE / "src" / "cli" / "topics.def").read_text())
        self.assertEqual(sorted(self.bash("rocelab", "help", "")), sorted(list(OWN) + topics))
        for verb, own in OWN.items():
            self.assertIn(verb, self.bash("rocelab", verb[:-1]))
            self.assertEqual(sorted(self.bash("rocelab", verb, "--")), sorted("--" + o for o in own + COMMON), verb)
            for option, argument in VALUED[verb]:
                self.file("some.yaml", b"")
                named = self.bash("rocelab", verb, "--" + option, "")
                self.assertEqual("some.yaml" in named, argument in ("FILE", "FABRIC", "PORT=FILE"), (verb, option))
        self.assertEqual(self.bash("rocelab", "capture", "--max"), ["--max-connections"])
        self.assertEqual(self.bash("rocelab", "sim", "som"), ["some.yaml"])
        self.assertEqual(self.bash("rocelab", "help", "ver"), ["version"])

    def test_examples_are_completed(self):
        """By the names that the program lists; bash divides words at colons."""
        self.assertEqual(self.bash(PROGRAM, "sim", "exa"), ["example:"])
        self.assertEqual(self.bash(PROGRAM, "capture", "exa"), [])
        names = re.findall(r"(?m)^  example:(\S+)", rocelab("help", "examples").stdout)
        self.assertGreater(len(names), 10)
        for verb in ("sim", "check", "sweep", "up"):
            self.assertEqual(sorted(self.bash(PROGRAM, verb, "example", ":")), sorted(names))
            self.assertEqual(self.bash(PROGRAM, verb, "example", ":", "incas"), ["incast"])
        for name in ("_rocelab", "rocelab.fish"):
            self.assertIn("rocelab help examples", (self.completions / name).read_text())


if __name__ == "__main__":
    unittest.main()
