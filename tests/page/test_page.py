# SPDX-License-Identifier: Apache-2.0
"""The page in Debian's Chromium, through playwright-core, and that page.html is what web/ builds.

Skipped with a word where node, npm or chromium is absent, or where npm finds no packages.  What the page should say is
worked out here, from --json, by other code than the page's.  ROCELAB_SOAK=1 tries large fabrics, phones, colours and print too; ROCELAB_PAGE_SHOTS
names a folder for pictures."""
import base64
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zlib

SOURCE = pathlib.Path(os.environ["ROCELAB_SOURCE"])
PROGRAM = os.environ["ROCELAB"]
BUILD = pathlib.Path(os.environ.get("ROCELAB_PAGE_BUILD", tempfile.gettempdir())) / "web"
HERE = pathlib.Path(__file__).resolve().parent
SKIP = 77
HOSTILE = "</script><img src=x onerror=window.hit=1>\"'`&lt;<!--"

LARGE = """rocelab: 1
fabric: gpus-10240
topology: {rail: {hosts: 1280, gpus: 8, leaves: 160, spines: 32}}
links: {host: {rate: 400G, cable: 5m}, fabric: {rate: 400G, cable: 30m}}
nics: {mtu: 4096, congestion: dcqcn/connectx}
jobs: [{allreduce: ring, protocol: simple, size: 256MB, channels: 8}, {incast: 32, size: 1MB}]
"""


def finding(rule, severity, culprit, victims, consequence_of, file="dumps/10/leaf1/pfc.txt", line=4):
    return {"rule": rule, "severity": severity, "cause": f"cause of {rule}", "culprit": culprit, "priority": 3, "what": f"what {rule} saw", "victims": victims, "also": [],
            "evidence": [{"object": culprit, "priority": 3, "counter": "rx_pause_share", "value": 0.97, "unit": "share", "threshold": 0.95, "file": file, "line": line},
                         {"object": culprit, "priority": None, "counter": "worked_out", "value": 12, "unit": "", "threshold": 0, "file": None, "line": None}],
            "confidence": "strong", "owner": "fabric", "runbook": "RB02", "runbook_title": "Pause storm or deadlock", "runbook_page": "docs/runbooks/RB02.md",
            "why": "why", "fix": "fix", "consequence_of": consequence_of}


def diagnosis(findings, missing, devices, run=None):
    """A document as `diagnose --json` prints it; `run`: what the page alone has."""
    looked_at = {"devices": len(devices), "hosts": 1, "switches": len(devices) - 1, "ports": 12, "jobs": 0, "files": 9, "looks": 2, "seconds": 10, "exact": run is not None, "tied": True}
    standing = [{"object": f"{name}:1", "priority": 3, "counter": "queue_drops", "count": 7, "unit": "packets", "grew": False, "looks": 1, "cleared_s": None, "share": 0.25,
                 "means": "the queue was full", "file": "dumps/10/leaf1/queues.txt", "line": 4} for name in devices[:2]]
    asks = [{"device": devices[0], "command": "show queue counters", "why": "a second time"}] if devices else []
    return {"version": 1, "kind": "diagnose", "inputs": ["dumps"], "fabric": None, "findings": findings, "acquitted": False, "training": [], "missing": missing,
            "answer": "cause" if findings else "not-enough", "because": "" if findings else "2 counters stand out", "standing": standing, "asks": asks,
            "remarks": [{"file": "dumps/10/leaf1/pfc.txt", "line": 9, "text": "a line that is none"}], "remarks_left_out": 0, "looked_at": looked_at,
            "devices": [{"device": name, "role": None, "system": "sonic", "looked_at": True, "ports": 4} for name in devices], **({"run": json.dumps(run) if isinstance(run, dict) else run} if run else {})}


def with_document(document):
    """The template with a document in it, as page.h says."""
    packed = zlib.compressobj(wbits=-15)
    data = base64.b64encode(packed.compress(json.dumps(document).encode()) + packed.flush()).decode()
    made = base64.b64encode(json.dumps({"rocelab": "test", "command": ["rocelab", "diagnose", "dumps"], "left_out": None}).encode()).decode()
    template = (SOURCE / "src" / "report" / "page" / "page.html").read_text(encoding="utf-8")
    return template.replace("@CONNECT@", "").replace("@ABOUT@", made).replace("@DATA@", data)


def absent():
    for program in ("node", "npm"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return None if shutil.which("chromium") else "chromium is not installed"


@functools.cache
def web():
    """A copy of web/ with its packages, in the build folder; a string: why there is none."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for path in sorted((SOURCE / "web").iterdir()):
        if path.name == "node_modules":
            continue
        if path.is_dir():
            shutil.copytree(path, BUILD / path.name, dirs_exist_ok=True)
        else:
            shutil.copy(path, BUILD / path.name)
    stamp = BUILD / "node_modules" / ".made-for"
    lock = (BUILD / "package-lock.json").read_text()
    if stamp.exists() and stamp.read_text() == lock:
        return BUILD
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--prefer-offline", "--fetch-retries", "0", "--fetch-timeout", "10000"],
                          cwd=BUILD, capture_output=True, text=True, check=False)
    if done.returncode:
        return "npm finds no packages: " + (done.stderr.strip().splitlines() or ["it does not say why"])[-1]
    stamp.write_text(lock)
    return BUILD


def rocelab(*arguments, status=(0, 1)):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode in status, done.stderr
    return done.stdout


def figures(run):
    """What the strip should say, from the document."""
    ports, nics = run["ports"], run["nics"]
    slow = sorted(flow["fct_ps"] / flow["ideal_ps"] for flow in run["flows"] if flow["fct_ps"] and flow["ideal_ps"] and not flow["failed"])
    want = {
        "drops": sum(port["drops"] + port["lost"] for port in ports),
        "paused": max(port["paused_ps"] for port in ports) / run["virtual_ps"],
        "marked": sum(nic["ecn_marked"] for nic in nics) / max(sum(nic["rx_packets"] for nic in nics), 1),
        "retransmitted": sum(nic["retransmitted"] for nic in nics),
        "deadlocks": len(run["deadlocks"]),
    }
    if slow:
        want["slowdown"] = slow[-(-len(slow) * 99 // 100) - 1]
    ended = [job for job in run["jobs"] if job["time_ps"] is not None and job.get("ideal_ps")]
    if any(job["time_ps"] is None for job in run["jobs"]):
        want["jct"] = sum(job["time_ps"] is None for job in run["jobs"])
    elif ended:
        want["jct"] = max(job["time_ps"] / job["ideal_ps"] for job in ended)
    return want


class Rebuilt(unittest.TestCase):
    def test_page_is_what_web_builds(self):
        place = web()
        with tempfile.TemporaryDirectory() as folder:
            for command in (["node", "node_modules/typescript/bin/tsc", "--noEmit"], ["node", "node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"]):
                done = subprocess.run(command, cwd=place, env={**os.environ, "PAGE_OUT": folder}, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            kept = (SOURCE / "src" / "report" / "page" / "page.html").read_bytes()
            self.assertEqual((pathlib.Path(folder) / "page.html").read_bytes() == kept, True, "page.html is not what web/ builds: cd web && npm ci && npm run build")

    def test_the_lock_file_names_no_registry(self):
        self.assertNotIn("resolved", (SOURCE / "web" / "package-lock.json").read_text())


class InABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="rocelab-page-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.plan, cls.sizes = [], {}
        examples = SOURCE / "examples"
        soak = os.environ.get("ROCELAB_SOAK")
        cls.run_page("pod64", examples / "pod64.yaml", "--until", "1500us", checks=["zoom", "keys"] + (["phone", "colours", "copy", "print"] if soak else []))
        cls.run_page("deadlock", examples / "cases" / "C05-ring.yaml", checks=["circle"])
        text = (examples / "incast.yaml").read_text().replace("fabric: incast", f"fabric: {json.dumps(HOSTILE)}").replace("- {incast: 16, size: 20MB", f"- {{name: {json.dumps(HOSTILE)}, incast: 16, size: 1MB")
        (cls.folder / "hostile.yaml").write_text(text)
        cls.run_page("hostile", cls.folder / "hostile.yaml", checks=["hostile", "live"] + (["old-browser"] if soak else []))
        cls.other_page("capture", "capture", examples / "incast.pcap", checks=["phone"] if soak else [])
        cls.judged()
        cls.diagnosed()
        outputs = cls.folder / "outputs" / "h0"
        outputs.mkdir(parents=True)
        shutil.copy(SOURCE / "tests" / "data" / "evidence" / "gpu" / "perftest-bw.txt", outputs / "bw.txt")
        cls.studied()
        cls.other_page("measured", "validate", examples / "pod64-accepted.yaml", "--measured", outputs.parent, "--phase", "2,6", checks=["sources"])
        if soak:
            cls.run_page("training", examples / "cases" / "H02-training.yaml", checks=["phone"])
            cls.other_page("sweep-2", "sweep", cls.folder / "hostile.yaml", "--vary", "seed=1,2,3", "--vary", "nics.congestion=dcqcn/connectx,none")
            cls.other_page("tune", "tune", cls.folder / "hostile.yaml", "--for", "time", "--runs", "24")
            cls.other_page("validate", "validate", cls.folder / "hostile.yaml", "--quick", "--phase", "1,2")
            (cls.folder / "large.yaml").write_text(LARGE)
            cls.run_page("large", cls.folder / "large.yaml", "--until", "1ms", checks=["zoom", "phone"])
            cls.sizes["large"] = 5_000_000
            cls.run_page("whole", examples / "pod64.yaml", checks=["zoom"])
            cls.sizes["whole"] = 500_000
        (cls.folder / "plan.json").write_text(json.dumps(cls.plan))
        done = subprocess.run(["node", str(HERE / "browser.mjs"), str(web()), str(cls.folder), os.environ.get("ROCELAB_PAGE_SHOTS", "")],
                              capture_output=True, text=True, check=False)
        cls.said = done.stdout + done.stderr
        cls.results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    @classmethod
    def run_page(cls, name, fabric, *options, checks=(), **more):
        out = rocelab("sim", "--json", *options, "--html", cls.folder / f"{name}.html", fabric)
        document = json.loads(out)
        cls.plan.append({"name": name, "figures": figures(document), "checks": list(checks), "document": document, **more})

    @classmethod
    def judged(cls):
        """What a word and a sentence say is of this very run: flows that arrive one by one have no job's time to explain
        them, those of an incast have, and a slice's times are called so."""
        for name, jobs, word in (("arrivals", "{poisson: {sizes: websearch, load: 80%, until: 1ms}}", "bad"), ("bursts", "{incast: 6, size: 400KB, to: h0}", "good")):
            (cls.folder / f"{name}.yaml").write_text(f"rocelab: 1\ntopology: {{single: {{hosts: 8}}}}\nlinks: {{host: {{rate: 100G}}}}\nnics: {{congestion: none}}\njobs: [{jobs}]\n")
            cls.run_page(name, cls.folder / f"{name}.yaml", checks=["text"], text={
                "#figure-slowdown .word": {"has": [word]}, "#assumptions": {"has": ["memory are not modelled: the file has no `pcie`"]},
                "#series": {"has": ["rate of payload acknowledged"], "not": ["bytes done"]}})
        (cls.folder / "slice.yaml").write_text("rocelab: 1\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 100G}}\nnics: {pcie: gen4-x8}\njobs:\n  - {name: gpt, training: {model: {layers: 8, hidden: 64, heads: 1, sequence: 16},"
                                               " groups: {dp: 2}, micro-batches: 8, compute: {forward: 10us}, slice: {layers: 2}}}\n")
        cls.run_page("slice", cls.folder / "slice.yaml", checks=["text"], text={
            "#training": {"has": ["a step of the slice", "2 of 8 layers", "not the whole job's"], "not": ["tokens/s"]},
            "#assumptions": {"has": ["PCIe is two rates at each adapter"], "not": ["not modelled: the file"]}})

    @classmethod
    def studied(cls):
        """Systems beside each other, and points of a sweep: of names, of quantities, and one that was interrupted."""
        colours = ("colours",) if os.environ.get("ROCELAB_SOAK") else ()
        fabric = cls.folder / "studied.yaml"
        fabric.write_text("rocelab: 1\ntopology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}\nlinks: {host: {rate: 100G}, fabric: {rate: 50G}}\njobs: [{permutation: random, size: 200KB}]\n")
        cls.other_page("compare", "compare", fabric, "--vary", "jobs.0.size=100KB,200KB", checks=("compared", "phone") + colours)
        spines = "{leaf-spine: {leaves: 2, spines: %d, hosts: 2}}"
        cls.other_page("sweep", "sweep", fabric, "--vary", f"topology=two={spines % 2},{spines % 1}", "--seeds", "3", "--show", "time,p99,usd", checks=("swept",) + colours)
        cls.other_page("sizes", "sweep", fabric, "--vary", "jobs.0.size=100KB..400KB", "--seeds", "3", checks=("intervals",))
        cls.document_page("partial", {**cls.plan[-1]["document"], "partial": True}, checks=("text",), text={"#verdict-word": {"has": ["interrupted"]}})

    @classmethod
    def diagnosed(cls):
        """Causes with consequences, in any order; with the run they are of, and without; names that look like HTML."""
        run = next(page["document"] for page in cls.plan if page["name"] == "deadlock")
        (cls.folder / "run.json").write_text(json.dumps(run))
        said = json.loads(rocelab("diagnose", "--json", cls.folder / "run.json", "--html", cls.folder / "diagnose.html"))
        cls.plan.append({"name": "diagnose", "figures": {}, "checks": ["findings"], "document": {**said, "run": "there"}})
        findings = [finding("D01", "critical", "A:2", ["a0:0", "b0:0"], None), finding("D09", "warning", "B", [], 0), finding("D05", "info", "C:3", [], None), finding("D14", "critical", "c0:0", [], 1)]
        cls.document_page("diagnose-run", diagnosis(findings, [], ["A", "B", "C"], run))
        names = [f"h{number}:0" for number in range(40)]
        cls.document_page("diagnose-dumps", diagnosis([finding("D02", "critical", HOSTILE, names, None, file=HOSTILE)], ["no durations", HOSTILE], ["leaf0", HOSTILE]))
        cls.document_page("diagnose-unsure", diagnosis([], ["a second look"], ["leaf0", "leaf1"]))
        cls.document_page("diagnose-broken", diagnosis(findings[:1], [], ["A"], '{"kind": "sim", "ports": 7'), checks=["no-run"])

    @classmethod
    def document_page(cls, name, document, checks=("findings",), **more):
        (cls.folder / f"{name}.html").write_text(with_document(document), encoding="utf-8")
        cls.plan.append({"name": name, "figures": {}, "checks": list(checks) + (["phone", "colours"] if os.environ.get("ROCELAB_SOAK") else []), "document": document, **more})

    @classmethod
    def other_page(cls, name, verb, *arguments, checks=("phone",)):
        out = rocelab(verb, "--json", *arguments, "--html", cls.folder / f"{name}.html")
        cls.plan.append({"name": name, "figures": {}, "checks": list(checks), "document": json.loads(out)})

    def test_each_page(self):
        self.assertTrue(self.results and self.results[-1].get("end"), self.said[-3000:])
        for result in self.results[:-1]:
            with self.subTest(page=result["page"], check=result["check"]):
                self.assertEqual(result["wrong"], [])
        done = {(result["page"], result["check"]) for result in self.results[:-1]}
        for page in self.plan:
            for check in ["opens", "figures", "names", *page["checks"]]:
                self.assertIn((page["name"], check), done)

    def test_sizes(self):
        for name, most in self.sizes.items():
            self.assertLess((self.folder / f"{name}.html").stat().st_size, most, name)


if __name__ == "__main__":
    why = absent()
    if not why and isinstance(web(), str):
        why = web()
    if why:
        print(f"skipped: {why}")
        sys.exit(SKIP)
    unittest.main()
