# SPDX-License-Identifier: Apache-2.0
"""Congestion control from outside of the tree: what is built against rocelab/cc.h alone, loaded, run and refused.

    test_plugin.py [CLASS[.TEST]...]     ROCELAB names the program
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["ROCELAB"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = SOURCE / "examples" / "congestion"
BROUGHT_DOWN = 3
WRONGS = re.findall(r"^ +X\((\w+)\)", (HERE / "wrong.c").read_text(encoding="utf-8"), re.M)

# Marks, losses, telemetry, several switches and a slow receiver: each call of each algorithm has something to say.
FABRIC = """rocelab: 1
topology: {{leaf-spine: {{leaves: 2, spines: 2, hosts: 4}}}}
links: {{host: {{rate: 100G, cable: 3m}}, fabric: {{rate: 100G, cable: 30m}}}}
classes:
  - {{name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {{min: 50KB, max: 200KB, probability: 50%}}, share: 90%}}
  - {{name: cnp, dscp: 48, priority: 6, strict: true}}
nics: {{mtu: 1024, timeout: 8, ack: {{every: 4}}, congestion: {congestion}}}
jobs: [{{incast: 6, size: 300KB}}, {{permutation: random, size: 300KB}}]
faults: [{{corrupt: h1, share: 0.5%, at: 0us}}]
"""
SMALL = """rocelab: 1
topology: {{single: {{hosts: 5}}}}
links: {{host: {{rate: 100G, delay: 1us}}}}
switches: {{buffer: 64MB, latency: 0ns}}
nics: {{mtu: 4096, latency: 0ns, congestion: {congestion}}}
jobs: [{{incast: 4, to: h0, size: {size}}}]
"""


class Plugin(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name).resolve()
        self.env = dict(os.environ, LC_ALL="C.UTF-8")
        for name in ("ROCELAB_PLUGINS", "ROCELAB_CC_CHECK"):
            self.env.pop(name, None)

    def build(self, source, name, *flags, sources=()):
        """As docs/congestion.md says, with the header of this tree."""
        to = self.folder / name
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", f"-I{SOURCE / 'include'}", *flags, str(source), *map(str, sources),
                        "-o", str(to)], check=True)
        return to

    def fabric(self, text, name="fabric.yaml"):
        to = self.folder / name
        to.write_text(text, encoding="utf-8")
        return str(to)

    def rocelab(self, *arguments, **env):
        return subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, env=dict(self.env, **env),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=100)

    def run_of(self, *arguments, **env):
        run = self.rocelab("sim", "--json", *arguments, **env)
        self.assertIn(run.returncode, (0, 1), run.stderr)
        return json.loads(run.stdout)

    def refused(self, status, *arguments, **env):
        """What it says; and nothing looks like a result."""
        run = self.rocelab(*arguments, **env)
        self.assertEqual(status, run.returncode, run.stderr)
        self.assertEqual("", run.stdout)
        return run.stderr


# The algorithm, what it needs, the calls that it has, and its presets as the adapter must know them.
COPIES = {
    "dcqcn": ("CNP", "HAS_CNP|HAS_SENT|HAS_TIMER",
              {"dcqcn/paper": "50us, cnp_remember: true", "dcqcn/connectx": "2us"}),
    "timely": ("RTT", "HAS_ACK", {"timely/paper": None, "timely/patched": None, "timely/hpcc-sim": None}),
    "swift": ("RTT|WINDOW", "HAS_ACK|HAS_LOSS", {"swift/paper": None}),
    "hpcc": ("TELEMETRY|WINDOW", "HAS_ACK", {"hpcc/paper": None, "hpcc/hpcc-sim": None}),
    "dctcp": ("ECHO|WINDOW", "HAS_ACK|HAS_LOSS", {"dctcp/paper": None, "dctcp/hpcc-sim": None}),
}


class Copies(Plugin):
    """The very code of the built-in ones behind rocelab/cc.h gives the same digests: nothing is lost on the way."""

    def copy(self, algorithm):
        needs, has, presets = COPIES[algorithm]
        needs = "|".join(f"ROCELAB_CC_{word}" for word in needs.split("|"))
        path = self.build(HERE / "copy.c", f"{algorithm}.so", f"-I{SOURCE / 'src'}", "-D_GNU_SOURCE", "-fms-extensions",
                          "-fvisibility=hidden", f"-DALGORITHM={algorithm}", f"-DNEEDS=({needs})", f"-DHAS=({has})",
                          sources=[SOURCE / "src" / "nic" / "cc" / f"{algorithm}.c"])
        digests = set()
        for number, (preset, adapter) in enumerate(presets.items()):
            built_in = self.run_of(self.fabric(FABRIC.format(congestion=preset)))
            more = f", min_time_between_cnps: {adapter}" if adapter else ""
            name = self.fabric(FABRIC.format(congestion=f"{{use: ./{algorithm}.so, preset: {number}{more}}}"))
            copied = self.run_of(name, "--threads", str(1 + number), ROCELAB_PLUGINS=str(path.parent))
            self.assertEqual(built_in["digest"], copied["digest"], preset)
            digests.add(built_in["digest"])
        self.assertNotIn(self.run_of(self.fabric(FABRIC.format(congestion="none")))["digest"], digests)

    def test_dcqcn(self):
        self.copy("dcqcn")

    def test_timely(self):
        self.copy("timely")

    def test_swift(self):
        self.copy("swift")

    def test_hpcc(self):
        self.copy("hpcc")

    def test_dctcp(self):
        self.copy("dctcp")


class Examples(Plugin):
    def test_swift_is_the_built_in_one(self):
        """The file of examples/, which was written by hand, with the defaults and with other values."""
        self.build(EXAMPLES / "swift.c", "swift.so", "-Wall", "-Wextra", "-Werror")
        fabric = self.fabric(FABRIC.format(congestion="none"))
        values = ("", ",base_target=12us", ",base_target=40us,hop=2us,ai=5%,beta=60%,max_mdf=40%,reset_after=1",
                  ",fs_range=9us,fs_min=20%,fs_max=50,min_window=1%,first_window=64KB,max_window=300KB")
        digests = set()
        for given in values:
            own = self.run_of("--cc", "swift/paper" + re.sub(r",", ",swift_", given), fabric)
            outside = self.run_of("--cc", "./swift.so" + given, fabric, "--threads", "2")
            self.assertEqual(own["digest"], outside["digest"], given)
            digests.add(own["digest"])
        self.assertEqual(len(values), len(digests))

    def test_threads(self):
        """Whatever the number, and with each call made twice."""
        self.build(EXAMPLES / "aimd.c", "aimd.so")
        fabric = self.fabric(FABRIC.format(congestion="none"))
        digests = {self.run_of("--cc", "aimd.so", fabric, "--threads", n)["digest"] for n in (1, 2, 4)}
        digests.add(self.run_of("--cc", "aimd.so", fabric, ROCELAB_CC_CHECK="1")["digest"])
        self.assertEqual(1, len(digests))

    def test_reacts(self):
        self.build(EXAMPLES / "aimd.c", "aimd.so", "-Wall", "-Wextra", "-Werror", "-std=c99", "-pedantic")
        fabric = self.fabric(SMALL.format(congestion="none", size="20MB"))
        queue, time = {}, {}
        for control in ("none", "aimd.so", "aimd.so,target=100us"):
            run = self.run_of("--cc", control, fabric)
            queue[control] = max(port["queue_max_bytes"] for port in run["ports"])
            time[control] = run["virtual_ps"]
            self.assertEqual(0, sum(nic["cnps_sent"] for nic in run["nics"]))  # it asks for none
        self.assertTrue(queue["aimd.so"] < queue["none"] / 4, queue)
        self.assertTrue(queue["aimd.so"] < queue["aimd.so,target=100us"] < queue["none"], queue)
        self.assertLess(time["aimd.so"], 1.3 * time["none"])  # the line is still used

    def test_parameters(self):
        self.build(EXAMPLES / "aimd.c", "aimd.so")
        fabric = self.fabric(SMALL.format(congestion="{use: ./aimd.so, cut: 100%}", size="1MB"))
        here = {"ROCELAB_PLUGINS": str(self.folder)}
        self.assertIn("fabric.yaml:5:51: error: cut: is 0 to 99%", self.refused(2, "sim", fabric, **here))
        for given, said in (("targt=30us", "no parameter 'targt'; did you mean 'target'?"),
                            ("target=30m", "target: m is not a time: use ps, ns, us, ms or s, as in 2us"),
                            ("target=2s", "target: is 1ns to 1s"), ("target", "'target': write PARAM=VALUE"),
                            ("rpg_ai_rate=3M", "'rpg_ai_rate' is a parameter of dcqcn, and "),
                            ("rpg_ai_rates=3M", "no parameter 'rpg_ai_rates'")):
            self.assertIn(said, self.refused(2, "sim", "--cc", f"./aimd.so,{given}", fabric))
        listed = self.rocelab("help", "congestion", "./aimd.so")
        self.assertIn("aimd, of ./aimd.so: parameters, their values and limits\n\n  target: 20us (1ns to 1s)\n"
                      "      round trip above which the rate falls\n", listed.stdout)
        listed = self.rocelab("help", "congestion", "dcqcn")
        self.assertIn("\n  rpg_threshold: 5, 1, 1\n      increases in fast recovery", listed.stdout)
        self.assertEqual(2, self.rocelab("help", "congestion", "./fabric.yaml").returncode)
        # One that the adapter has for all: a window on top.
        free = self.run_of("--cc", "aimd.so", fabric)["digest"]
        self.assertNotEqual(free, self.run_of("--cc", "aimd.so,window=20KB", fabric)["digest"])

    def test_sweep(self):
        """Its parameters are varied as any others; a file that is built anew is run anew."""
        self.build(EXAMPLES / "aimd.c", "aimd.so")
        fabric = self.fabric(SMALL.format(congestion="none", size="1MB"))
        sweep = ("sweep", "--cc", "aimd.so", "--vary", "nics.congestion.target=5us,50us", "--out", "kept", "--csv", fabric)
        first = self.rocelab(*sweep)
        self.assertEqual(0, first.returncode, first.stderr)
        rows = first.stdout.splitlines()
        self.assertEqual(["5us", "50us"], [row.split(",")[0] for row in rows[1:]])
        self.assertNotEqual(rows[1].split(",")[1:], rows[2].split(",")[1:])
        self.assertEqual(first.stdout, self.rocelab(*sweep).stdout)
        text = (EXAMPLES / "aimd.c").read_text(encoding="utf-8")
        (self.folder / "slower.c").write_text(text.replace("qp->line_bps / 10;", "qp->line_bps / 50;"), encoding="utf-8")
        (self.folder / "aimd.so").unlink()
        self.build(self.folder / "slower.c", "aimd.so")
        anew = self.rocelab(*sweep)
        self.assertEqual(0, anew.returncode, anew.stderr)
        self.assertNotEqual(first.stdout, anew.stdout)

    def test_a_tuned_file_has_it(self):
        """What is tuned with --cc runs with it; a file beside another is named by its path elsewhere."""
        self.build(EXAMPLES / "aimd.c", "aimd.so")
        fabric = self.fabric(SMALL.format(congestion="{use: ./aimd.so, target: 10us}", size="100KB"))
        for out, given, target in (("a", [], "10us"), ("b", ["--cc", "./aimd.so,target=9us"], "9us")):
            run = self.rocelab("tune", "--for", "time", "--runs", "10", "--out", out, *given, fabric, ROCELAB_PLUGINS=".")
            self.assertEqual(0, run.returncode, run.stderr)
            written = (self.folder / out / "tuned.yaml").read_text(encoding="utf-8")
            self.assertRegex(written, rf'congestion: {{use: "{self.folder}/(\./)?aimd\.so", target: {target}}}')
            self.assertEqual(self.run_of(f"{out}/tuned.yaml", ROCELAB_PLUGINS=".")["digest"],
                             self.run_of(*given, fabric, ROCELAB_PLUGINS=".")["digest"])

    def test_header_is_c_and_cxx(self):
        (self.folder / "a.cc").write_text("#include <rocelab/cc.h>\nint main() { return rocelab_cc.abi != ROCELAB_CC_ABI; }\n",
                                          encoding="utf-8")
        if shutil.which("g++"):
            subprocess.run(["g++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                            f"-I{SOURCE / 'include'}", str(self.folder / "a.cc")], check=True)


class Named(Plugin):
    """Only what the user names is loaded."""

    def test_a_file_alone_loads_nothing(self):
        marker = self.folder / "ran"
        source = self.folder / "evil.c"
        source.write_text('#include <stdio.h>\n__attribute__((constructor)) static void run(void)\n'
                          f'{{ FILE *f = fopen("{marker}", "w"); if (f) fclose(f); }}\n', encoding="utf-8")
        self.build(source, "evil.so")
        fabric = self.fabric(SMALL.format(congestion="./evil.so", size="1MB"))
        for verb in ("sim", "check", "validate", "sweep"):
            more = ("--vary", "nics.mtu=1024,4096") if verb == "sweep" else ()
            run = self.rocelab(verb, *more, fabric)
            self.assertEqual(2, run.returncode)
            self.assertIn("is code, which is not run because a file names it: name it yourself with --cc, or its folder in "
                          "ROCELAB_PLUGINS", run.stderr)
        self.assertFalse(marker.exists())
        elsewhere = {"ROCELAB_PLUGINS": f"{self.folder}x::{self.folder}/nothing"}
        self.assertIn("is code", self.refused(2, "sim", fabric, **elsewhere))
        self.assertFalse(marker.exists())
        self.assertIn("has no 'rocelab_cc'", self.refused(2, "sim", fabric, ROCELAB_PLUGINS=f"nowhere:{self.folder}"))
        self.assertTrue(marker.exists())

    def test_beside_the_fabric_file(self):
        (self.folder / "in").mkdir()
        self.build(EXAMPLES / "aimd.c", "in/aimd.so")
        (self.folder / "in" / "f.yaml").write_text(SMALL.format(congestion="./aimd.so", size="1MB"), encoding="utf-8")
        beside = self.run_of("in/f.yaml", ROCELAB_PLUGINS=".")
        self.assertEqual(beside["digest"], self.run_of("--cc", "./in/aimd.so", "in/f.yaml")["digest"])
        self.assertIn("f.yaml:5:45: error: cannot open 'in/nope.so'", self.refused(
            2, "sim", self.fabric(SMALL.format(congestion="./nope.so", size="1MB"), "in/f.yaml").replace(f"{self.folder}/", "")))
        self.assertIn("--cc './nope.so': No such file", self.refused(2, "sim", "--cc", "./nope.so", "in/f.yaml"))
        os.mkfifo(self.folder / "pipe.so")
        (self.folder / "folder.so").mkdir()
        for name in ("./pipe.so", "./folder.so"):
            with self.subTest(name=name):
                self.assertIn(f"{name[2:]}: is no file with code", self.refused(2, "sim", "--cc", name, "in/f.yaml"))


class Unfit(Plugin):
    """What is no congestion control, or another ABI's, or contradicts itself, is said when it is loaded."""

    def said(self, *lines, size="1MB"):
        source = self.folder / "unfit.c"
        source.write_text("\n".join(["#include <rocelab/cc.h>", *lines, ""]), encoding="utf-8")
        (self.folder / "unfit.so").unlink(missing_ok=True)
        self.build(source, "unfit.so")
        fabric = self.fabric(SMALL.format(congestion="none", size=size))
        return self.refused(2, "sim", "--cc", "./unfit.so", fabric)

    def test_abi(self):
        said = self.said("const struct rocelab_cc rocelab_cc = {.abi = ROCELAB_CC_ABI + 1, .bytes = sizeof rocelab_cc, .name = \"new\"};")
        self.assertRegex(said, r"^rocelab: --cc: \S+unfit\.so: was built for version 2 of rocelab/cc\.h, and this rocelab \([\d.]+\) has version 1; "
                               r"build it anew against this one's header: cc -O2 -shared -fPIC mine\.c -o mine\.so")

    def test_parameters_are_the_options(self):
        """What is wrong with --cc is told of --cc, not of the file's line that it stands for."""
        fabric = self.fabric(SMALL.format(congestion="dcqcn/paper", size="1MB"))
        self.build(EXAMPLES / "aimd.c", "aimd.so")
        for given, said in (("./aimd.so,ad=3", "congestion control has no parameter 'ad'; did you mean 'add'?"),
                            ("./aimd.so,add=much", "add: "), ("dcqcm/paper", "no congestion control is called 'dcqcm/paper'"),
                            ("dcqcn/paper,swift_base_target=1us", "congestion: 'swift_base_target' is a parameter of swift"),
                            ("dcqcn/paper,rpg_ai_rat=1M", "congestion control has no parameter 'rpg_ai_rat'; did you mean ")):
            found = self.refused(2, "sim", "--cc", given, fabric)
            self.assertTrue(found.startswith(f"rocelab: --cc: {said}"), found)
            self.assertNotIn("fabric.yaml", found)

    def test_no_object(self):
        self.assertIn("has no 'rocelab_cc', so it is no congestion control", self.said("int other;"))
        (self.folder / "text.so").write_text("no object\n", encoding="utf-8")
        fabric = self.fabric(SMALL.format(congestion="none", size="1MB"))
        self.assertRegex(self.refused(2, "sim", "--cc", "./text.so", fabric), "text.so: cannot be loaded: .*(short|header)")
        self.assertRegex(self.said("int missing(void); int call(void) { return missing(); }"), "undefined symbol: missing")

    def test_contradictions(self):
        begin = "static void cnp(struct rocelab_cc_qp *qp, uint64_t now) { (void)qp, (void)now; }\n"
        for members, said in ((".name = \"a b\", .cnp = cnp", "its name is letters, digits, - and _"),
                              (".name = \"x\"", "has none of ack(), cnp(), loss(), sent() and timer()"),
                              (".name = \"x\", .cnp = cnp, .state_bytes = 5000", "wants to keep 5000 bytes of each queue pair; 4096"),
                              (".name = \"x\", .cnp = cnp, .needs = 64", "needs have bits that this rocelab does not know (0x40)"),
                              (".name = \"x\", .cnp = cnp, .params = 33, .param = p", "it has 33 parameters; 32 are the most"),
                              (".name = \"x\", .cnp = cnp, .params = 2, .param = p", "two parameters are called 'a'"),
                              (".name = \"x\", .cnp = cnp, .params = 1, .param = p + 2", "b: its own value is not within its limits")):
            params = ("static const struct rocelab_cc_param p[] = {{\"a\", ROCELAB_CC_COUNT, 1, 0, 0, \"h\"}, "
                      "{\"a\", ROCELAB_CC_COUNT, 1, 0, 0, \"h\"}, {\"b\", ROCELAB_CC_COUNT, 9, 1, 8, \"h\"}};\n")
            found = self.said("__attribute__((unused))", params, "__attribute__((unused))", begin,
                              f"const struct rocelab_cc rocelab_cc = {{ROCELAB_CC_HEAD, {members}}};")
            self.assertIn(said, found)
        self.assertIn("unfit.so: loading at 0 ended with SIGSEGV",
                      self.crash_in("__attribute__((constructor)) static void run(void) { *(volatile int *)8 = 1; }\nint x;"))

    def crash_in(self, text):
        source = self.folder / "unfit.c"
        source.write_text(text, encoding="utf-8")
        self.build(source, "unfit.so", "-w")
        return self.refused(BROUGHT_DOWN, "sim", "--cc", "./unfit.so", self.fabric(SMALL.format(congestion="none", size="1MB")))


class Wrong(Plugin):
    """What it does wrong in a run is told as its doing, and nothing of the run is kept."""
    SAID = {
        "SEGV": "ended with SIGSEGV (Segmentation fault) at address 0x10",
        "FPE": "ended with SIGFPE",
        "ABORT": "called abort() (SIGABRT)",
        "EXIT": "called exit()",
        "GLOBAL": "wrote to a global or static variable (SIGSEGV): what it keeps of a queue pair belongs into qp->state",
        "RECURSION": "ended with SIGSEGV",
        "LOOP": "has not come back for half a second of processor time: is it an endless loop?",
        "NAN": "left rate_bps at ",
        "NEGATIVE": "left rate_bps at -100000000000; 10 kb/s is the least",
        "WINDOW": "left window_bytes at 0; 1 is the least",
        "UNSAID": "left window_bytes at 1000; but its `needs` do not say ROCELAB_CC_WINDOW",
        "DEADLINE": "left deadline_ps at a time that is over",
        "ALPHA": "left alpha_ppm at 1000001; 1000000 is all",
    }
    CHECKED = {
        "CLOCK": "answers otherwise when it is asked the same again",
        "MARGIN": "wrote past the end of qp->state: state_bytes says how much there is",
        "PARAM": "wrote to its parameters, which are to be read alone",
        "TOLD": "wrote to what it was told, which is to be read alone",
    }

    def setUp(self):
        super().setUp()
        self.build(HERE / "wrong.c", "wrong.so", "-Wno-infinite-recursion")
        self.small = self.fabric(SMALL.format(congestion="none", size="1MB"))

    def wrong(self, name):
        return f"./wrong.so,wrong={WRONGS.index(name)}"

    def test_in_a_run(self):
        self.assertEqual(set(WRONGS), {"NOTHING", *self.SAID, *self.CHECKED})
        self.run_of("--cc", self.wrong("NOTHING"), self.small)
        (self.folder / "old.html").write_text("before", encoding="utf-8")
        for name, said in self.SAID.items():
            call = "timer()" if name == "DEADLINE" else "ack()"
            found = self.refused(BROUGHT_DOWN, "sim", "--json", "--threads", "2", "--html", "old.html", "--events", "new.csv",
                                 "--cc", self.wrong(name), self.small)
            self.assertRegex(found, rf"^rocelab: congestion control {self.folder}/wrong\.so: {re.escape(call)} at [\d.]+us ")
            self.assertIn(said, found)
            self.assertIn("; nothing of this run is kept\n", found)
        self.assertEqual("before", (self.folder / "old.html").read_text(encoding="utf-8"))
        self.assertEqual({"fabric.yaml", "old.html", "wrong.so"}, {path.name for path in self.folder.iterdir()})

    def test_checked(self):
        for name, said in self.CHECKED.items():
            self.assertIn(said, self.refused(BROUGHT_DOWN, "sim", "--cc", self.wrong(name), self.small, ROCELAB_CC_CHECK="1"))

    def test_a_point_of_a_sweep(self):
        """The others go on."""
        run = self.rocelab("sweep", "--cc", "./wrong.so", "--vary", f"nics.congestion.wrong=0,{WRONGS.index('SEGV')}", "--csv",
                           self.small)
        rows = run.stdout.splitlines()
        self.assertIn("its congestion control, a plug-in, brought it down", rows[2])
        self.assertNotIn("plug-in", rows[1])
        self.assertIn("wrong.so: ack() at ", run.stderr)


if __name__ == "__main__":
    unittest.main()
