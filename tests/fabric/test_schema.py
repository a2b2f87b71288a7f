# SPDX-License-Identifier: Apache-2.0
"""fabric.schema.json is what its reader makes of it; it takes every good file, and of wrong ones refuses what a schema can.

    test_schema.py ASKED   the program of asked.c; PAGES is docs/"""
import json
import os
import pathlib
import random
import re
import string
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import yaml

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
ASKED, PROGRAM = os.environ["ROCELAB_ASKED"], os.environ["ROCELAB"]
SCHEMA = SOURCE / "fabric.schema.json"
TOPOLOGY = "rocelab: 1\ntopology: {single: {hosts: 4}}\n"
LINKS = "links: {host: {rate: 100G, cable: 3m}}\n"
GOOD = TOPOLOGY + LINKS


class Core(yaml.SafeLoader):
    """YAML 1.2's core schema, as editors and rocelab read it: 3:1 and yes are texts."""
    yaml_implicit_resolvers = {}


for tag, pattern, first in (("bool", "true|True|TRUE|false|False|FALSE", "tTfF"), ("int", "[-+]?[0-9]+", "-+0123456789"),
                            ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+0123456789."), ("null", "~|null|Null|NULL|", ["~", "n", "N", ""])):
    Core.add_implicit_resolver("tag:yaml.org,2002:" + tag, re.compile(f"^(?:{pattern})$"), list(first))
Core.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))
Core.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(loader.construct_scalar(node)))
Core.add_constructor("tag:yaml.org,2002:map", lambda loader, node: {str(key.value): loader.construct_object(value, deep=True) for key, value in node.value})


# Of wrong files those that a schema refuses, each with the reader's complaint in a word or two ...
REFUSED = [
    ("unknown key", GOOD + "swiches: {model: tomahawk5}\n"), ("another version", "rocelab: 2\ntopology: {single: {hosts: 4}}\n" + LINKS),
    ("no topology", "rocelab: 1\n" + LINKS), ("two topologies", "rocelab: 1\ntopology: {single: {hosts: 4}, rail: {hosts: 4}}\n" + LINKS),
    ("an unknown topology", "rocelab: 1\ntopology: {ring: {hosts: 4}}\n" + LINKS), ("a word for a topology", "rocelab: 1\ntopology: single\n" + LINKS),
    ("no hosts", "rocelab: 1\ntopology: {single: {}}\n" + LINKS), ("no k", "rocelab: 1\ntopology: {fat-tree: {gpus: 8}}\n" + LINKS),
    ("hosts as a word", "rocelab: 1\ntopology: {single: {hosts: many}}\n" + LINKS), ("no hosts at all", "rocelab: 1\ntopology: {single: {hosts: 0}}\n" + LINKS),
    ("a key of another topology", "rocelab: 1\ntopology: {single: {hosts: 4, spines: 2}}\n" + LINKS), ("too many GPUs", "rocelab: 1\ntopology: {single: {hosts: 4, gpus: 300}}\n" + LINKS),
    ("too many planes", "rocelab: 1\ntopology: {rail: {hosts: 4, gpus: 2, spines: 1, planes: 9}}\n" + LINKS),
    ("a ratio of words", "rocelab: 1\ntopology: {leaf-spine: {leaves: 2, hosts: 4, oversubscription: two}}\n" + LINKS),
    ("a rate without a unit", TOPOLOGY + "links: {host: {rate: 400}}\n"), ("a rate with another's unit", TOPOLOGY + "links: {host: {rate: 400GB}}\n"),
    ("a length with another's unit", TOPOLOGY + "links: {host: {rate: 1G, cable: 3us}}\n"), ("a link of an unknown kind", TOPOLOGY + "links: {hosts: {rate: 1G}}\n"),
    ("a key of a link", TOPOLOGY + "links: {host: {speed: 1G}}\n"), ("a list of links", TOPOLOGY + "links: [400G]\n"),
    ("a system", GOOD + "system: roce3\n"), ("a model", GOOD + "model: ns4\n"), ("a seed", GOOD + "seed: -1\n"), ("an end", GOOD + "stop: 5\n"),
    ("switches as a list", GOOD + "switches: [tomahawk5]\n"), ("a buffer without a unit", GOOD + "switches: {buffer: 64}\n"), ("truth", GOOD + "switches: {cut-through: maybe}\n"),
    ("a mark", GOOD + "switches: {mark: egress}\n"), ("what is hashed", GOOD + "switches: {ecmp: {hash: [source]}}\n"), ("an operating system", GOOD + "switches: {nos: ios}\n"),
    ("a watchdog's key", GOOD + "switches: {watchdog: {interval: 1ms}}\n"), ("a watchdog's action", GOOD + "switches: {watchdog: {action: reboot}}\n"),
    ("a threshold's unit", GOOD + "switches: {classes: {rdma: {ecn: {min: 5us, max: 1MB}}}}\n"), ("a key of a class", GOOD + "classes: [{name: a, priority: 1, colour: red}]\n"),
    ("a priority", GOOD + "classes: [{name: a, priority: 8}]\n"), ("a DSCP", GOOD + "classes: [{name: a, priority: 1, dscp: 64}]\n"), ("a class without a name", GOOD + "classes: [{priority: 1}]\n"),
    ("a share above the whole", GOOD + "classes: [{name: a, priority: 1, share: 1/2}]\n"), ("classes as a map", GOOD + "classes: {rdma: {priority: 3}}\n"),
    ("an MTU below all", GOOD + "nics: {mtu: 10}\n"), ("a timeout beyond", GOOD + "nics: {timeout: 32}\n"), ("a recovery", GOOD + "nics: {recovery: go-back-m}\n"),
    ("ACKs of nothing", GOOD + "nics: {ack: {every: 0}}\n"), ("a window", GOOD + "nics: {reorder: {window: 5000}}\n"), ("a PCIe key", GOOD + "nics: {pcie: {lanes: 16}}\n"),
    ("a role", GOOD + "roles: {tor: {mtu: 9000}}\n"), ("a role's key", GOOD + "roles: {leaf: {colour: red}}\n"), ("a port's key", GOOD + "devices: {leaf0: {ports: {0: {colour: red}}}}\n"),
    ("a job of no kind", GOOD + "jobs: [{size: 1MB}]\n"), ("a kind of job", GOOD + "jobs: [{allreduse: ring, size: 1MB}]\n"), ("two kinds", GOOD + "jobs: [{allreduce: ring, alltoall: auto, size: 1MB}]\n"),
    ("a key of another job", GOOD + "jobs: [{allreduce: ring, size: 1MB, root: 1}]\n"), ("an algorithm", GOOD + "jobs: [{allreduce: rnig, size: 1MB}]\n"), ("a size", GOOD + "jobs: [{incast: 3, size: 1}]\n"),
    ("senders", GOOD + "jobs: [{incast: all, size: 1MB}]\n"), ("a time", GOOD + "jobs: [{incast: 3, size: 1MB, at: soon}]\n"), ("queue pairs", GOOD + "jobs: [{allreduce: ring, size: 1MB, qps: 65}]\n"),
    ("an order", GOOD + "jobs: [{allreduce: ring, size: 1MB, order: rails}]\n"), ("a flow without its end", GOOD + "jobs: [{flows: [{src: h0, size: 1MB}]}]\n"), ("arrivals without an end", GOOD + "jobs: [{poisson: {sizes: websearch, load: 50%}}]\n"),
    ("jobs as a map", GOOD + "jobs: {incast: 3}\n"), ("a training's key", GOOD + "jobs: [{training: {model: llama3-70b, optimiser: sharded}}]\n"), ("a type", GOOD + "jobs: [{training: {model: llama3-70b, dtype: fp12}}]\n"),
    ("a fault of no kind", GOOD + "faults: [{at: 1ms}]\n"), ("a fault", GOOD + "faults: [{brake: leaf0:0}]\n"), ("what means nothing to a fault", GOOD + "faults: [{down: leaf0:0, share: 1%}]\n"), ("how often", GOOD + "faults: [{drop: h0, every: 1ms}]\n"),
    ("a direction", GOOD + "faults: [{corrupt: h0, share: 1%, way: up}]\n"), ("a criterion", GOOD + "validate: {jct: 1.1}\n"), ("a weight", GOOD + "decision: {money: 3}\n"), ("how routes are made", GOOD + "routing: fastest\n"),
]
# ... and those that the program alone refuses: limits of quantities with a unit, names of what is in the file, sums, keys that
# go with each other or with the system, and files beside it.
ACCEPTED = [
    ("the first key", "topology: {single: {hosts: 4}}\nrocelab: 1\n" + LINKS), ("a rate above the most", TOPOLOGY + "links: {host: {rate: 101T}}\n"), ("a time above the most", GOOD + "nics: {latency: 2s}\n"),
    ("an odd k", "rocelab: 1\ntopology: {fat-tree: {k: 5}}\n" + LINKS), ("uplinks that do not spread", "rocelab: 1\ntopology: {leaf-spine: {leaves: 2, hosts: 4, spines: 4, uplinks: 6}}\n" + LINKS),
    ("too many hosts", "rocelab: 1\ntopology: {single: {hosts: 1000000000}}\n" + LINKS), ("a switch model", GOOD + "switches: {model: catalyst}\n"), ("an ECN curve upside down", GOOD + "switches: {classes: {rdma: {ecn: {min: 2MB, max: 1MB}}}}\n"),
    ("a class that is not there", GOOD + "switches: {classes: {rmda: {lossless: false}}}\n"), ("shares above the whole", GOOD + "classes: [{name: a, priority: 1, share: 60%}, {name: b, priority: 2, share: 60%}]\n"),
    ("a priority of two classes", GOOD + "classes: [{name: a, priority: 1}, {name: b, priority: 1}]\n"), ("a device that is not there", GOOD + "devices: {laef0: {mtu: 9000}}\n"), ("a key of another system", GOOD + "uet: {paths: 64}\n"),
    ("congestion control", GOOD + "nics: {congestion: dcqcn/}\n"), ("a job after none", GOOD + "jobs: [{incast: 3, size: 1MB, after: x}]\n"), ("too many senders", GOOD + "jobs: [{incast: 9, size: 1MB}]\n"),
    ("size and sizes", GOOD + "jobs: [{allreduce: ring, size: 1MB, sizes: [1MB]}]\n"), ("a fault's target", GOOD + "faults: [{down: leaf7:0}]\n"), ("a file beside it", GOOD + "jobs: [{flows: {file: none.flows}}]\n"),
]


def bare(schema):
    """With all parts where they are used, and without what is for people."""
    def look(part):
        if isinstance(part, list):
            return [look(one) for one in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return look(schema["definitions"][part["$ref"].split("/")[-1]])
        return {key: {name: look(value) for name, value in one.items()} if key == "properties" else look(one)
                for key, one in part.items() if key not in ("description", "title", "definitions")}

    return look(schema)


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = SCHEMA.read_text(encoding="utf-8")
        cls.judge = jsonschema.Draft7Validator(json.loads(cls.text))

    def complaint(self, text):
        return jsonschema.exceptions.best_match(self.judge.iter_errors(yaml.load(text, Core)))

    def read(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            return subprocess.run([PROGRAM, "check", "--quiet", file.name], capture_output=True, text=True, check=False)

    def test_it_is_what_the_reader_makes_of_it(self):
        """But for descriptions: a page that says something in other words does not make it wrong."""
        made = subprocess.run([sys.executable, HERE / "schema.py", ASKED, SOURCE / "docs"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(bare(json.loads(made)), bare(json.loads(self.text)), "run tests/fabric/schema.py BUILD/tests/fabric/fabric-asked docs > fabric.schema.json")

    def test_it_is_a_schema(self):
        jsonschema.Draft7Validator.check_schema(json.loads(self.text))
        self.assertEqual(subprocess.run([PROGRAM, "help", "schema"], stdout=subprocess.PIPE, check=True).stdout.decode(), self.text)

    def test_every_key_is_described(self):
        silent = []

        def look(part, name):
            if isinstance(part, dict):
                for key, one in part.get("properties", {}).items():
                    target = json.loads(self.text)["definitions"][one["$ref"].split("/")[-1]] if set(one) == {"$ref"} else one
                    if not target.get("description"):
                        silent.append(f"{part.get('title', name)}: {key}")
                for key, one in part.items():
                    look(one, key)
            elif isinstance(part, list):
                for one in part:
                    look(one, name)

        look(json.loads(self.text), "")
        self.assertEqual(silent, [], "tests/fabric/keys.txt says what a list in docs/ does not")

    def good_files(self):
        for folder in ("examples", "experiments", "tests", "bench", "fuzz"):
            for path in sorted((SOURCE / folder).rglob("*.yaml")):
                text = path.read_text(encoding="utf-8", errors="replace")
                if re.search(r"(?m)^rocelab:", text):
                    yield str(path.relative_to(SOURCE)), text
                elif re.search(r"(?m)^experiment:", text):
                    whole = yaml.load(text, Core)
                    for name, values in (whole.get("runs") or {"": {}}).items():
                        made = string.Template(whole.get("fabric", "$")).safe_substitute({key: json.dumps(value) if isinstance(value, bool) else str(value) for key, value in (values or {}).items()})
                        if "$" not in made:
                            yield f"{path.relative_to(SOURCE)} {name}", made

    def test_good_files_are_taken(self):
        count = 0
        for name, text in self.good_files():
            count += 1
            with self.subTest(name):
                self.assertIsNone(self.complaint(text))
        self.assertGreater(count, 150)

    def test_what_init_writes_is_taken(self):
        chance = random.Random(int(os.environ.get("SCHEMA_SEED", "3")))
        for _ in range(20):
            words = ["--topology", chance.choice(("rail", "leaf-spine", "fat-tree", "planes")), "--job", chance.choice(("allreduce", "alltoall", "training", "inference", "storage", "incast")),
                     "--system", chance.choice(("rocev2", "rocev1", "infiniband", "uet", "tcp", "iwarp")), "--gpus", str(chance.randint(16, 200))]
            text = subprocess.run([PROGRAM, "init", "--yes", *words, "-"], stdout=subprocess.PIPE, text=True, check=True).stdout
            with self.subTest(words=words):
                self.assertIsNone(self.complaint(text))

    def test_wrong_files(self):
        self.assertGreaterEqual(len(REFUSED), 50)
        for wanted, list_ in ((True, REFUSED), (False, ACCEPTED)):
            for name, text in list_:
                with self.subTest(name):
                    self.assertEqual(self.complaint(text) is not None, wanted)
                    self.assertRegex(self.read(text).stderr, r":\d+:\d+: error: ")


if __name__ == "__main__":
    unittest.main()
