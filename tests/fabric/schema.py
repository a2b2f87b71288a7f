#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes fabric.schema.json: a JSON Schema of the fabric file, by asking its reader.

    schema.py ASKED PAGES > fabric.schema.json

ASKED is the program of asked.c: it loads documents and prints what the reader asked of each value (a map of which keys, a
time within which limits, one of which words) and what was wrong.  So nothing of the reader is written down a second time
here: each key is found in the map above it, and given a word, numbers, a list and a map to see what is taken.  What it is
for is what PAGES, the folder docs/, say of it.
"""
import json
import pathlib
import re
import subprocess
import sys

MAP, ANY_MAP, LIST, UNIT, BYTES, BOOL, TEXT, CHOICE, FRACTION, BITS = range(10)  # enum read_how
TIME, RATE, SIZE, LENGTH, SHARE, COUNT, F_BYTES, F_BOOL, F_TEXT, F_CHOICE, F_CALL, F_IGNORE = range(12)  # enum field_kind
NUMBER = r"[0-9]+(\.[0-9]+)?"
BITS_A_SECOND = "(bps|b/s|bit/s)"
PATTERNS = {TIME: "(ps|ns|us|ms|s)", RATE: f"([KMGT]{BITS_A_SECOND}?|{BITS_A_SECOND})", SIZE: "([KMGT]i?)?B", LENGTH: "(mm|cm|m|km)",
            SHARE: "%", COUNT: "[KMG]"}
BASE_UNITS = {TIME: [("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3), ("ps", 1)], RATE: [("T", 10**12), ("G", 10**9), ("M", 10**6), ("K", 10**3), ("bps", 1)],
              SIZE: [("GB", 10**9), ("MB", 10**6), ("KB", 10**3), ("B", 1)], LENGTH: [("km", 10**6), ("m", 10**3), ("mm", 1)], SHARE: [("%", 10**4), ("ppm", 1)]}
UNIT_NAMES = {TIME: "time", RATE: "rate", SIZE: "size", LENGTH: "length", SHARE: "share"}
UNIT_EXAMPLES = {TIME: "2us", RATE: "400G", SIZE: "1500KB", LENGTH: "30m", SHARE: "10%"}
UNSAID = 1 << 62  # limits as large are none
SCALARS = ("zz9", "7", "true", "false", "2us", "400G", "1MB", "2m", "50%", "1/2", "1.5")
UNKNOWN = "zz9"
SHARED = 110  # letters of a part that is written once where it occurs twice
LISTED = re.compile(r"(?:write one of|[Tt]here are|known are) ([a-z0-9-]+(?:, [a-z0-9-]+)+(?: (?:and|or) [a-z0-9-]+)?)$")
NO_SCALAR = re.compile(r"found '?.* where .* (is|are) expected")
NAMES = ("h0", "leaf0", "rdma", "0", "ecn", "NCCL_X", "nic", "jct-ratio", "time", "26")  # keys of maps that are not a list's
SYSTEMS = (None, "infiniband", "uet", "tcp", "iwarp", "rocev1")


# What a reader takes apart itself, and asks nobody: of a text, or before it asks.
BY_HAND = {"sizes": {"type": "string", "pattern": r"^\S+\.\.\S+ [x+]\S+$"}, "ranks": {"const": "storage"},
           "system": {"type": "string", "pattern": "^([Rr][Oo][Cc][Ee]|[Ii][Bb]|[Uu]ltra-[Ee]thernet)$"}}
# Maps in which something has to stand until the rest is looked at.
WHOLE = {"training": {"model": "llama3-70b", "compute": {"tflops": 400}}, "inference": {"model": "llama3-70b", "compute": {"tflops": 400}},
         "links": {"hosts": 2, "switches": 1, "links": [["h0", "sw0"], ["h1", "sw0"]]}}


def base_of(system):
    base = {"rocelab": 1, "topology": {"rail": {"hosts": 2, "gpus": 2, "leaves": 2, "spines": 2}, "storage": {"hosts": 2}},
            "links": {"host": {"rate": "100G"}}, "converge": "true"}
    return dict(base, system=system) if system else base


def larger(base):
    """The same with more of all, where that is known."""
    if "rail" not in base.get("topology", {}):
        return base
    return dict(base, topology={"rail": {"hosts": 4, "gpus": 4, "leaves": 4, "spines": 2}, "storage": {"hosts": 4}})


class Probe:
    """A value that is looked at: on a line of its own, behind a line with its key."""

    def __init__(self, text):
        self.text = text


def written(value, lines):
    """As YAML; lines: what is written so far, of which the last is not ended."""
    if isinstance(value, Probe):
        lines.append(value.text)
        lines.append("")
    elif isinstance(value, dict):
        lines[-1] += "{"
        for number, (key, one) in enumerate(value.items()):
            lines[-1] += ", " if number else ""
            if holds_probe(one):
                lines.append("")
            lines[-1] += key + ": "
            written(one, lines)
        lines[-1] += "}"
    elif isinstance(value, list):
        lines[-1] += "["
        for number, one in enumerate(value):
            lines[-1] += ", " if number else ""
            written(one, lines)
        lines[-1] += "]"
    else:
        lines[-1] += str(value)
    return lines


def holds_probe(value):
    if isinstance(value, dict):
        return any(holds_probe(one) for one in value.values())
    return isinstance(value, Probe) or (isinstance(value, list) and any(holds_probe(one) for one in value))


def placed(document, path, value):
    """The document with the value at that path."""
    if not path:
        return value
    if isinstance(path[0], int):
        return [placed(document[0] if isinstance(document, list) and document else None, path[1:], value)]
    document = dict(document) if isinstance(document, dict) else {}
    document[path[0]] = placed(document.get(path[0]), path[1:], value)
    return document


class Reader:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.jobs = json.loads(self.process.stdout.readline())
        self.documents = 0

    def ask(self, base, path, text):
        """(what was asked of the value, of its key, what is wrong with the value, with its key)"""
        lines = written(placed(base, path, Probe(text)), [""])
        document = ("\n".join(lines)).encode()
        self.process.stdin.write(b"%d\n%s" % (len(document), document))
        self.process.stdin.flush()
        self.documents += 1
        text_of_answer = self.process.stdout.readline()
        if not text_of_answer:
            raise SystemExit(f"the reader ended over:\n{document.decode()}")
        answer = json.loads(text_of_answer)
        line = max(number for number, one in enumerate(lines) if one == text) + 1
        asked = {-1: [], 0: []}
        wrong = {-1: [], 0: []}
        for one in answer["asked"]:
            at = one["line"] - line
            if (at == 0 and one["column"] == 1) or at == -1:
                asked[at].append(one)
        for one in answer["errors"]:
            at = one["line"] - line
            if (at == 0 and one["column"] == 1) or at == -1:
                wrong[at].append(one["text"])
        return asked[0], asked[-1] if isinstance(path[-1], str) else [], wrong[0], wrong[-1] if isinstance(path[-1], str) else []


def shown(unit, value):
    for name, size in BASE_UNITS[unit]:
        if value >= size or size == 1:
            text = f"{value / size:.6g}"
            return text + name
    return "0"


def limits_of(unit, least, most):
    said = [f"at least {shown(unit, least)}"] if least > 1 and unit != COUNT else []
    said += [f"at most {shown(unit, most)}"] if 0 < most < UNSAID and unit != COUNT else []
    return ", ".join(said)


def quantity(unit, least, most):
    if unit == COUNT:
        whole = {"type": "integer", "minimum": least}
        if 0 < most < UNSAID:
            whole["maximum"] = most
        return [whole, {"$ref": "#/definitions/count"}]
    return [{"$ref": f"#/definitions/{UNIT_NAMES[unit]}" + ("-or-0" if least == 0 else "")}]


def unit_definitions():
    made = {"count": {"description": "A large number: 10K, 1M.", "type": "string", "pattern": f"^{NUMBER}{PATTERNS[COUNT]}$"}}
    for unit, name in UNIT_NAMES.items():
        made[name] = {"description": f"A {name}, as in {UNIT_EXAMPLES[unit]}.", "type": "string", "pattern": f"^{NUMBER}{PATTERNS[unit]}$"}
        made[name + "-or-0"] = {"description": f"A {name}, as in {UNIT_EXAMPLES[unit]}, or 0.",
                                "anyOf": [{"type": "string", "pattern": f"^({NUMBER}{PATTERNS[unit]}|0)$"}, {"const": 0}]}
    return made


TRUTH = {"enum": [True, False, "yes", "no"]}
ANY_TEXT = {"type": ["string", "number", "boolean"]}


def taken(asked):
    """What a single value may be, by what was asked of it."""
    how = asked["how"]
    if how == UNIT:
        return quantity(asked["unit"], asked["min"], asked["max"])
    if how == BYTES:
        return quantity(COUNT, asked["min"], asked["max"])[:1] + quantity(SIZE, 1, 0)
    if how == BITS:
        return quantity(COUNT, 0, asked["max"])[:1]
    return {BOOL: [TRUTH], TEXT: [ANY_TEXT], CHOICE: [{"enum": asked.get("choices")}],
            FRACTION: [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": f"^{NUMBER}(/[0-9]+|:1)?$"}]}.get(how, [])


def joined(alternatives):
    alone = []
    for one in alternatives:
        if one and one not in alone:
            alone.append(one)
    words = [word for one in alone if set(one) == {"enum"} for word in one["enum"]]
    if ANY_TEXT in alone:  # any word
        alone = [one for one in alone if one == ANY_TEXT or one.get("type") in ("object", "array") or "anyOf" in one]
    elif sum(set(one) == {"enum"} for one in alone) > 1:
        alone = [one for one in alone if set(one) != {"enum"}] + [{"enum": list(dict.fromkeys(words))}]
    return alone[0] if len(alone) == 1 else {"anyOf": alone}


class Schema:
    def __init__(self, reader, pages):
        self.reader, self.pages, self.known, self.silent, self.bare = reader, pages, {}, [], []

    def ask(self, bases, path, text):
        """The first of the documents in which the reader looks at the value."""
        for base in bases:
            asked, keys, wrong, wrong_key = self.reader.ask(base, path, text)
            if asked or keys:
                return base, asked, keys, wrong, wrong_key
        return None, [], [], wrong, wrong_key

    def field(self, bases, path, field):
        """Of a key in a list of fields, which says what it is, or that somebody else reads it."""
        kind = field["kind"]
        if kind <= COUNT:
            found = joined(quantity(kind, field["min"], field["max"]))
        elif kind == F_BYTES:
            found = joined(taken({"how": BYTES, **field}))
        elif kind == F_BOOL:
            found = TRUTH
        elif kind == F_TEXT:
            found = ANY_TEXT
        elif kind == F_CHOICE:
            found = {"enum": field["choices"]}
        else:
            key = (field.get("call"), field["name"]) if kind == F_CALL else tuple(path)
            if key not in self.known:
                self.known[key] = self.value(bases, path)
            found = self.known[key]
        return found

    def asked(self, bases, path, text):
        """As ask(); limits that come from how large the fabric is are left out."""
        base, asked, keys, wrong, wrong_key = self.ask(bases, path, text)
        if any(one["how"] == UNIT and one["unit"] == COUNT for one in asked):
            others = self.reader.ask(larger(base), path, text)[0]
            for one, other in zip(asked, others):
                if one["max"] != other["max"]:
                    one["max"] = 0
        return asked, wrong

    def value(self, bases, path):
        alternatives, heard = [BY_HAND.get([name for name in path if name != 0][-1])], False
        taken_so = []  # texts that are looked at by nobody, and are right
        for text in SCALARS:
            asked, wrong = self.asked(bases, path, text)
            heard |= bool(asked) or bool(wrong)
            lists = [match.group(1) for match in map(LISTED.search, wrong) if match]
            found = [one for ask in asked for one in taken(ask) if one != ANY_TEXT or not lists]
            found += [{"enum": re.findall(r"[a-z0-9][a-z0-9-]*", re.sub(" (and|or) ", ", ", words))} for words in lists]
            if not asked and not wrong:
                taken_so.append(text)
            elif not found and not any(NO_SCALAR.search(one) for one in wrong):
                found = [ANY_TEXT]  # by a reader of its own
            alternatives += found
        alternatives += [ANY_TEXT] if len(taken_so) == len(SCALARS) else [{"enum": [json.loads(text) if text in ("true", "false") else text]} for text in taken_so]
        for text, hows, make in (("[zz9]", (LIST, BITS), self.list_of), ("{zz9: 7}", (MAP, ANY_MAP), self.map_of)):
            asked, wrong = self.asked(bases, path, text)
            if any("found a " in one for one in wrong):
                heard = True
            elif any(ask["how"] in hows for ask in asked):
                heard = True
                alternatives.append(make(bases, path))
            else:  # by a reader of its own
                below = text == "[zz9]" and self.heard(bases, path + [0])
                alternatives.append(self.list_of(bases, path) if below else {"type": "array" if text == "[zz9]" else "object"})
        if not heard:
            self.silent.append(".".join(map(str, path)))
            return {}
        return joined(alternatives)

    def heard(self, bases, path):
        return any(asked or wrong for _, asked, _, wrong, _ in (self.ask(bases, path, text) for text in ("zz9", "[zz9]", "{zz9: 7}")))

    def list_of(self, bases, path):
        return {"type": "array", "items": self.value(bases, path + [0])}

    def variants(self, path):
        """Maps of which one key says what they are."""
        if path == ["jobs", 0]:
            return self.reader.jobs
        if path == ["topology"]:
            base = dict(base_of(None), topology={})
            return re.search(r"known are ([a-z, -]+)$", self.reader.ask(base, path + [UNKNOWN], "7")[3][0]).group(1).split(", ")
        return None

    def map_of(self, bases, path):
        kinds = self.variants(path)
        if kinds:
            return {"type": "object", "anyOf": [self.kind_of(bases, path, kind) for kind in kinds]}
        fields, what = {}, None
        for base in bases:
            for one in self.reader.ask(base, path, "{down: h0, zz9: 7}" if path == ["faults", 0] else "{zz9: 7}")[0]:
                if one["how"] == MAP:
                    what = one["what"]
                    fields.update({field["name"]: field for field in one["fields"]})
        if path == ["faults", 0]:
            words = [name for name, field in fields.items() if field["kind"] == F_IGNORE and name != "every"]
            return {"type": "object", "anyOf": [self.fault_of(path, word, words, fields) for word in words]}
        if what:
            return self.object_of(bases, path, what, fields)
        return self.any_keys(bases, path)

    def object_of(self, bases, path, what, fields):
        properties = {}
        for name, field in fields.items():
            properties[name] = self.described(what, path, name, self.field(bases, path + [name], field), field)
        made = {"title": what, "type": "object", "properties": properties, "additionalProperties": False}
        needed = self.needed(bases[0], path, fields) if path else []
        return dict(made, required=needed) if needed else made

    def needed(self, base, path, fields):
        """What the reader misses in a map with nothing in it."""
        wrong = self.reader.ask(base, path, "{}")[2]
        named = [re.search(r" needs (.*?)(?:, as in|$)", one).group(1) for one in wrong if " needs " in one and "(or " not in one and " or " not in one]
        return [name for name in fields if any(name in re.split(r", | and |\ban? ", re.sub(r" \(.*| for .*", "", one)) for one in named)]

    def kind_of(self, bases, path, kind):
        """One of the variants: `{rail: ...}`, `{allreduce: ring, ...}`."""
        job = path[0] == "jobs"
        own = [placed(base, path, {kind: WHOLE.get(kind, "7")}) for base in bases]
        if not job:
            own = [dict(base, topology={kind: WHOLE.get(kind, {})}) for base in bases]
            found = {kind: self.described("topology", path, kind, self.value(own, path + [kind]))}
            own = bases  # which have one
            found["storage"] = self.described("topology", path, "storage", self.value(own, path + ["storage"]))
            return {"title": "topology." + kind, "properties": found, "required": [kind], "additionalProperties": False}
        for one in self.reader.ask(bases[0], path, "{%s: 7, zz9: 7}" % kind)[0]:
            if one["how"] == MAP:
                fields = {field["name"]: field for field in one["fields"]}
        made = self.object_of(own, path, kind, fields)
        return dict(made, required=[kind])

    def fault_of(self, path, word, words, fields):
        """A fault's word, and the keys that mean something to it."""
        base = [placed(base_of(None), path, {word: "leaf0:0"})]
        properties = {word: self.described("fault", path, word, ANY_TEXT)}
        for name, field in fields.items():
            if name == word or (name in words and (name, word) != ("down", "flap")):
                continue
            if any("means nothing" in one for text in SCALARS for one in self.reader.ask(base[0], path + [name], text)[3]):
                continue
            made = self.value(base, path + [name]) if field["kind"] == F_IGNORE else self.field(base, path + [name], field)
            properties[name] = self.described("fault", path, name, made, field)
        return {"title": "faults." + word, "properties": properties, "required": [word], "additionalProperties": False}

    def any_keys(self, bases, path):
        """Keys that are names: of nodes, classes, ports; or one of a list of words, as the reader asks them."""
        words, alternatives = None, []
        for name in NAMES:
            base, asked, keys, wrong, wrong_key = self.ask(bases, path + [name], "zz9")
            words = next((one["choices"] for one in keys if one["how"] == CHOICE), words)
            if not wrong_key:
                alternatives.append(self.value(bases, path + [name]))
        for name in words or []:
            alternatives.append(self.value(bases, path + [name]))
        found = {"type": "object", "additionalProperties": joined(alternatives) if alternatives else True}
        if words:
            found["propertyNames"] = {"enum": words}
        return found

    def described(self, what, path, name, schema, field=None):
        """With what the pages say of it, and the limits that a pattern cannot hold."""
        said = [self.pages.of(what, path, name)]
        if field and field["kind"] < COUNT:
            limits = limits_of(field["kind"], field["min"], field["max"])
            said.append(limits[:1].upper() + limits[1:] + "." if limits else None)
        self.bare += [f"{what}: {name}"] if said[0] is None else []
        said = " ".join(one for one in said if one)
        return dict({"description": said}, **schema) if said else schema

    def make(self):
        bases = [base_of(system) for system in SYSTEMS] + [dict(base_of(None), switches={"balance": {"use": "pin"}})]
        made = self.map_of_root(bases)
        return dict({"$schema": "http://json-schema.org/draft-07/schema#", "title": "rocelab fabric file", "description": "A fabric: topology, cables, switches, classes, adapters, jobs, faults."}, **shared(made))

    def map_of_root(self, bases):
        fields = {}
        for base in bases:
            lines = written(placed(base, ["seed"], Probe("7")), [""])
            document = "\n".join(lines).encode()
            self.reader.process.stdin.write(b"%d\n%s" % (len(document), document))
            self.reader.process.stdin.flush()
            for one in json.loads(self.reader.process.stdout.readline())["asked"]:
                if one["how"] == MAP and one["line"] == 1 and one["column"] == 1:
                    fields.update({field["name"]: field for field in one["fields"]})
        made = self.object_of(bases, [], "a fabric file", fields)
        del made["title"]
        made["properties"]["rocelab"] = {"description": "Version of the format: 1. The first key of the file.", "const": 1}
        return dict(made, required=["rocelab", "topology"])


def shared(made):
    """Parts that occur again stand once, under definitions."""
    counts = {}

    def count(part):
        if isinstance(part, dict):
            text = json.dumps(part, sort_keys=True)
            counts[text] = counts.get(text, 0) + 1
            if counts[text] > 1:
                return
            if "description" in part:
                count({name: one for name, one in part.items() if name != "description"})
            else:
                for one in part.values():
                    count(one)
        elif isinstance(part, list):
            for one in part:
                count(one)

    count(made)
    names, definitions = {}, unit_definitions()

    def name_of(part, key):
        title = part.get("title") or next((one["title"] for one in part.get("anyOf", []) if one.get("title")), key)
        title, number = re.sub(r"[^a-z0-9.-]+", "-", title), 2
        name = title
        while name in definitions:
            name, number = f"{title}-{number}", number + 1
        definitions[name] = None
        return name

    def replaced(part, key=None):
        if isinstance(part, list):
            return [replaced(one, key) for one in part]
        if not isinstance(part, dict):
            return part
        text = json.dumps(part, sort_keys=True)
        again = key is not None and counts.get(text, 0) > 1 and len(text) > SHARED
        if "description" in part and not again:
            return dict({"description": part["description"]}, **replaced({name: one for name, one in part.items() if name != "description"}, key))
        if again:
            if text not in names:
                names[text] = name_of(part, key)
                definitions[names[text]] = {name: {one: replaced(what, one) for one, what in under.items()} if name == "properties" else replaced(under, key)
                                            for name, under in part.items()}
            return {"$ref": "#/definitions/" + names[text]}
        return {name: {one: replaced(what, one) for one, what in under.items()} if name == "properties" else replaced(under, key)
                for name, under in part.items()}

    whole = replaced(made)
    return dict(whole, definitions=dict(sorted(definitions.items())))


class Pages:
    """What docs/ say of keys, by section: `- `key` (default): text`, and rows of tables that begin with a key."""
    WHERE = {  # a map, as the reader calls it: pages and sections, the first that knows the key
        "a fabric file": ["fabric.md#Top level", "system-infiniband.md"], "class": ["fabric.md#Classes"],
        "topology": ["fabric.md#Topology"], "links": ["fabric.md#Links"], "nics": ["fabric.md#NICs", "fabric.md#QoS", "fabric.md#Operations"],
        "switches": ["fabric.md#Switches", "fabric.md#QoS"], "pcie": ["fabric.md#NICs"], "training": ["training.md#The keys"], "inference": ["training.md#The keys"],
        "model": ["training.md#The keys"], "trace": ["training.md#Traces"], "uet": ["system-uet.md"], "tcp": ["system-tcp.md"], "reliability": ["fabric.md#Operations"]}
    ROLES = ["fabric.md#Switches", "fabric.md#QoS", "fabric.md#NICs", "fabric.md#Links", "fabric.md#Operations"]

    def __init__(self, folder, jobs):
        self.said, self.jobs = {}, jobs
        self.rest = dict(re.findall(r"(?m)^([a-z.-]+ [a-z0-9-]+): (.*)", (pathlib.Path(__file__).parent / "keys.txt").read_text(encoding="utf-8")))
        for page in sorted(folder.glob("*.md")):
            section = ""
            text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
            for part in re.split(r"\n(?=#+ )", text):
                section = re.match(r"#+ (.*)", part).group(1) if part.startswith("#") else ""
                self.section(f"{page.name}#{section}", part)

    def section(self, name, part):
        for keys, text in re.findall(r"(?m)^- ((?:`[a-z][a-z0-9-]*`(?:, | and | or )?)+)((?:.*\n)(?:  .*\n|\n(?=  ))*)", part + "\n"):
            self.note(name, keys, text)
        for keys, text in re.findall(r"(?m)^\| ((?:`[a-z][a-z0-9-]*`(?:, )?)+) \| (.*) \|$", part):
            self.note(name, keys, text.replace(" | ", "; default "))

    def note(self, name, keys, text):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))
        text = re.sub(r"^(\([^()]*(?:\([^()]*\)[^()]*)*\))[:,] ", r"\1 ", text.strip(" ,:"))
        text = text.replace("`", "").replace("\\|", "|")
        for key in re.findall(r"`([a-z0-9-]+)`", keys):
            self.said.setdefault(name.split(" (")[0].split(":")[0], {}).setdefault(key, text[:1].upper() + text[1:])

    def of(self, what, path, name):
        places = self.WHERE.get(what) or self.WHERE.get(what.split(".")[0]) or []
        if what in ("role", "port", "device") or (path and path[0] in ("roles", "devices")):
            places = self.ROLES
        if path[:1] == ["jobs"] and len(path) == 2:
            places = ["fabric.md#Collectives", "fabric.md#Jobs"]
        for place in places:
            for section, keys in self.said.items():
                if section == place or ("#" not in place and section.startswith(place + "#")):
                    if name in keys:
                        return keys[name]
        return self.rest.get(f"{self.kind(what, name)} {name}")

    def kind(self, what, name):
        """The maps that have a key in common."""
        if what in self.jobs or what in ("poisson", "trace"):
            return "job"
        if re.fullmatch(r"links\.(host|fabric|core|site|storage)", what) or (what == "port" and name in ("rate", "cable", "delay", "errors", "llr")):
            return "link"
        if what in ("role", "port", "nics", "switches") or re.fullmatch(r"[a-z]+[0-9]+", what):
            return "layer"
        return "rate" if name in ("failures", "repair") else what.split(".")[0] if what.startswith("topology") else what


def main():
    reader = Reader(sys.argv[1])
    schema = Schema(reader, Pages(pathlib.Path(sys.argv[2]), reader.jobs))
    made = schema.make()
    parts = ("properties", "definitions")
    head = [f"{json.dumps(key)}: {json.dumps(one)}" for key, one in made.items() if key not in parts]
    lists = [f"{json.dumps(part)}: {{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(one, ensure_ascii=False)}" for key, one in made[part].items()) + "\n }" for part in parts]
    print("{\n " + ",\n ".join(head + lists) + "\n}")
    if len(sys.argv) > 3:
        print(schema.reader.documents, "documents; nothing is asked of", schema.silent, "and said of", schema.bare, file=sys.stderr)


if __name__ == "__main__":
    main()
