# SPDX-License-Identifier: Apache-2.0
"""A first fabric file: of many answers drawn at random each passes `check` without a warning and runs; asked on a terminal, and where there is none."""
import json
import os
import pathlib
import pty
import random
import re
import subprocess
import unittest

from support import PROGRAM, SAMPLED, SOURCE, Case, environment, once, patience, rocelab

SEED = int(os.environ.get("INIT_SEED", "7"))
ROUNDS = int(os.environ.get("INIT_ROUNDS", "24"))
LIST = (SOURCE / "src" / "cli" / "plan" / "init_options.def").read_text(encoding="utf-8")
QUESTIONS = re.findall(r'(?m)^OPTION\("([a-z-]+)", "', LIST)
JOBS = ("allreduce", "alltoall", "training", "inference", "storage", "incast")
SWITCHES = ("tomahawk5", "tomahawk4", "tomahawk6", "spectrum4", "SN5600", "64x800G", "32x400G", "generic", "g200", "jericho3-ai", "48x100G", "DCS-7060X6-64PE")
PRESETS = ("dcqcn/paper", "dcqcn/connectx", "hpcc/paper", "timely/paper", "swift/paper", "none")


def some_answers(chance):
    """Options, each given or not."""
    systems = ("rocev2", "rocev2", "rocev2", "rocev1", "infiniband", "uet", "tcp", "iwarp")
    drawn = {"gpus": chance.choice((2, 7, 16, 64, 100, 256, chance.randint(2, 700))), "per-server": chance.choice((1, 2, 4, 6, 8, 8, 16)),
             "nic": chance.choice(("100G", "200G", "400G", "800G")), "topology": chance.choice(("rail", "leaf-spine", "fat-tree", "planes")),
             "switch": chance.choice(SWITCHES), "oversubscription": chance.choice(("1:1", "2:1", "3:1", "4", "3:2")),
             "system": chance.choice(systems), "congestion": chance.choice(PRESETS), "job": chance.choice(JOBS)}
    given = {key: value for key, value in drawn.items() if chance.random() < 0.6}
    given["gpus"], given["job"] = drawn["gpus"], drawn["job"]
    if given.get("system", "rocev2") != "rocev2":
        given.pop("congestion", None)
    return [word for key, value in given.items() for word in ("--" + key, str(value))]


class Init(Case):
    def written(self, *words, name="f.yaml"):
        path = pathlib.Path(self.folder) / name
        result = rocelab("init", "--yes", "--force", *words, path)
        self.assertEqual((result.returncode, result.stderr), (0, ""), words)
        return path

    def test_any_answers(self):
        chance = random.Random(SEED)
        good = 0
        for number in range(ROUNDS):
            words = some_answers(chance)
            with self.subTest(seed=SEED, number=number, words=" ".join(words)):
                path = pathlib.Path(self.folder) / f"{number}.yaml"
                result = rocelab("init", *words, path, stdin=b"")
                if result.returncode == 2:  # they do not go together: nothing is left behind
                    self.assertRegex(result.stderr, r"^rocelab: init: (\d+ GPUs .* are too many for|\d+ GPUs are one server|ports of .* are slower than)")
                    self.assertFalse(path.exists())
                    continue
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                good += 1
                checked = rocelab("check", "--json", path)
                self.assertEqual(checked.returncode, 0, checked.stderr)
                self.assertEqual([finding for finding in json.loads(checked.stdout)["findings"] if finding["severity"] != "info"], [])
                run = rocelab("sim", "--json", "--until", "20us", path)
                self.assertIn(run.returncode, (0, 1), run.stderr)
                self.assertGreater(len(json.loads(run.stdout)["jobs"]), 0)
        self.assertGreater(good, ROUNDS // 2)

    def test_large(self):
        for gpus, words in ((10000, []), (8192, ["--topology", "rail"]), (16384, ["--topology", "planes"])):
            text = self.written("--gpus", gpus, *words, "--job", "incast").read_text()
            self.assertIn(f"fabric: gpus-{10368 if gpus == 10000 else gpus}\n", text)
        self.assertIn("fat-tree", self.written("--gpus", "10000").read_text())

    def test_what_nobody_chose_is_marked(self):
        text = self.written().read_text()
        self.assertRegex(text, r"\n  rail: +# assumed\n")
        self.assertRegex(text, r"congestion: swift/paper +# assumed\n")
        text = self.written("--topology", "rail", "--congestion", "hpcc/paper", "--oversubscription", "2:1").read_text()
        self.assertRegex(text, r"\n  rail:\n")
        self.assertRegex(text, r"congestion: hpcc/paper\n")
        self.assertRegex(text, r"oversubscription: 2:1 +# what")
        document = json.loads(rocelab("init", "--json", "--force", "--gpus", "32", pathlib.Path(self.folder) / "j.yaml").stdout)
        self.assertEqual((document["kind"], document["gpus"], document["servers"]), ("init", 32, 4))
        self.assertEqual(document["assumed"], [name for name in QUESTIONS if name != "gpus"])

    @once
    def test_large_ones_check_clean(self):
        for words in (["--gpus", "512"], ["--gpus", "256", "--job", "storage"], ["--gpus", "512", "--topology", "leaf-spine", "--nic", "100G"],
                      ["--topology", "fat-tree", "--oversubscription", "2:1"], ["--topology", "fat-tree", "--oversubscription", "2:1", "--job", "storage"]):
            document = json.loads(rocelab("check", "--json", self.written(*words)).stdout)
            self.assertEqual((document["findings"], words), ([], words))

    @once
    def test_what_it_assumes_runs_well(self):
        """The shares in the remark about the default are those of the file as it is written."""
        path = self.written()
        said = dict(re.findall(r"([a-z/]+) (\d+) %", re.search(r"(?s)# AllReduce.*?\nnics:", path.read_text()).group(0)))
        self.assertEqual(list(said), ["none", "swift/paper", "dcqcn/connectx"])
        for name in said:
            job, = json.loads(rocelab("sim", "--json", "--cc", name, path).stdout)["jobs"]
            self.assertEqual(f"{100 * job['ideal_ps'] / job['time_ps']:.0f}", said[name])
        self.assertGreater(int(said["swift/paper"]), 85)

    def test_what_its_comments_say_works(self):
        for job in ("incast", "alltoall") if SAMPLED else JOBS:
            path = self.written("--job", job, "--gpus", "16", name=f"{job}.yaml")
            text = path.read_text()
            faults = "".join(line[2:] + "\n" for line in re.findall(r"(?m)^# faults:$|^#   - .*", text))
            self.assertEqual(faults.count("\n"), 4)
            broken = self.file("faults.yaml", (text + faults).encode())
            self.assertIn(rocelab("sim", "--until", "100us", broken).returncode, (0, 1))
            commands = re.findall(r"(?m)^#   rocelab (.*)", text)
            self.assertEqual([command.split()[0] for command in commands], ["check", "sim", "sweep", "config"])
            for command in commands if job in ("incast", "inference") else commands[2:3]:
                result = rocelab(*command.split(), cwd=self.folder)
                self.assertEqual((result.returncode, result.stderr), (0, ""), command)

    def test_a_file_that_is_there_stays(self):
        path = self.file("there.yaml", b"mine\n")
        result = rocelab("init", "--yes", path)
        self.assertEqual((result.returncode, result.stderr), (2, f"rocelab: init: {path} is there already: name another file, or --force to replace it\n"))
        self.assertEqual(path.read_text(), "mine\n")
        self.assertEqual(rocelab("init", "--yes", "--force", path).returncode, 0)
        self.assertIn("rocelab: 1", path.read_text())
        self.assertEqual(rocelab("init", "--yes", "/dev/full", "--force").returncode, 2)
        self.assertIn("rocelab: 1\n", rocelab("init", "--yes", "-").stdout)

    def test_wrong(self):
        for words, says in ((["--switch", "tomahwk5"], "--switch 'tomahwk5': unknown; did you mean 'tomahawk5'?"),
                            (["--switch", "2x400G"], "--switch '2x400G': PORTSxRATE is 4 to 1024 ports of 1G or more, as in 64x800G"),
                            (["--switch", "tomahawk1"], "init: ports of tomahawk1 are slower than NICs of 400G: a faster switch, or slower NICs"),
                            (["--oversubscription", "1:2"], "--oversubscription '1:2': 1:1 to 64:1"),
                            (["--gpus", "8", "--per-server", "8"], "init: 8 GPUs are one server of 8, and nothing of it would cross the network: more GPUs, or fewer a server"),
                            (["--system", "uet", "--congestion", "none"], "--congestion is of rocev2: Ultra Ethernet has its own"),
                            (["--congestion", "dcqcn/papr"], "--congestion 'dcqcn/papr': no such preset; did you mean 'dcqcn/paper'?"),
                            (["--system", "roce3"], "--system 'roce3': rocev2, rocev1, infiniband, uet, tcp or iwarp"),
                            (["--gpus", "20000", "--topology", "rail"], "init: 20000 GPUs, 8 a server, are too many for rail of switches with 128 ports of 400G; these have room: fat-tree, planes"),
                            (["--gpus", "20000", "--switch", "32x400G"], "init: 20000 GPUs, 8 a server, are too many for fat-tree of switches with 32 ports of 400G: larger ones"),
                            (["--topology", "ring"], "--topology 'ring': rail, leaf-spine, fat-tree or planes"),
                            (["a.yaml", "b.yaml"], "init: one file at a time")):
            result = rocelab("init", "--yes", *words, cwd=self.folder)
            self.assertEqual((result.returncode, result.stderr), (2, f"rocelab: {says}\n"))
        self.assertEqual(os.listdir(self.folder), [])

    def on_a_terminal(self, *words, answers):
        """What it prints; each answer is given when it waits for one."""
        controller, terminal = pty.openpty()
        process = subprocess.Popen([PROGRAM, "init", *words], stdin=terminal, stdout=terminal, stderr=terminal, cwd=self.folder, env=environment())
        os.close(terminal)
        text = ""
        with patience("questions"):
            while True:
                try:
                    got = os.read(controller, 65536).decode()
                except OSError:  # the other end is closed
                    break
                text += got
                if text.endswith("> ") and answers:
                    os.write(controller, answers.pop(0).encode())
        os.close(controller)
        self.assertEqual(answers, [])
        return process.wait(), text.replace("\r\n", "\n")

    def test_asked(self):
        status, text = self.on_a_terminal(answers=["32\n", "4\n", "fast\n", "200G\n", "\n", "SN5600\n", "2:1\n", "\n", "none\n", "incast\n"])
        self.assertEqual(status, 0, text)
        self.assertEqual(re.findall(r"(?m)^([a-z-]+): .*\(", text), QUESTIONS[:3] + QUESTIONS[2:])
        self.assertIn("rocelab: --nic 'fast': ", text)
        written = (pathlib.Path(self.folder) / "fabric.yaml").read_text()
        for part in ("hosts: 8 ", "gpus: 4 ", "rate: 200G", "model: spectrum4 ", "oversubscription: 2:1 ", "congestion: none\n", "incast: 31"):
            self.assertIn(part, written)

    def test_answers_that_do_not_fit_are_asked_again(self):
        status, text = self.on_a_terminal("--gpus", "4096", "--nic", "400G", "--system", "uet", "f.yaml",
                                          answers=["\n", "leaf-spine\n", "32x400G\n", "\n", "alltoall\n", "\n", "tomahawk5\n", "\n"])
        self.assertEqual(status, 0, text)
        self.assertIn("are too many for leaf-spine of switches with 32 ports of 400G", text)
        self.assertIn("4096 GPUs", text)

    def test_no_more_answers(self):
        status, text = self.on_a_terminal(answers=["32\n", "\x04"])
        self.assertEqual((status, os.listdir(self.folder)), (2, []))
        self.assertIn("rocelab: init: no more answers: nothing was written\n", text)

    def test_the_schema_is_named_where_it_is(self):
        first = self.written().read_text().splitlines()[0]
        path = re.fullmatch(r"# yaml-language-server: \$schema=(/.*)", first)
        self.assertEqual(path is not None, (SOURCE / "fabric.schema.json").exists())
        if path:
            self.assertTrue(pathlib.Path(path.group(1)).exists())

    def test_list(self):
        self.assertEqual(rocelab("init", "--list").stdout, rocelab("help", "examples").stdout)


if __name__ == "__main__":
    unittest.main()
