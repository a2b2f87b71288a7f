# SPDX-License-Identifier: Apache-2.0
"""What `rocelab diagnose` says of a labelled case (examples/cases), held against the head of its file."""
import json
import os
import re
import subprocess

PROGRAM = os.environ.get("ROCELAB", "")
DUMPS = os.environ.get("ROCELAB_DUMPS", "")  # tests/gen/dump: it has --as SYSTEM
SYSTEMS = ("sonic", "nxos", "eos", "cumulus")
JACCARD = 0.8


def run(*arguments, program=PROGRAM):
    """Standard output; the exit status may say that something was found."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"{' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def document_of(case, folder):
    """The case's run: the document's file, and the document."""
    path = folder / f"{case.name}.json"
    path.write_text(run("sim", "--json", *case.options, case.path), encoding="utf-8")
    return path, json.loads(path.read_text(encoding="utf-8"))


def bundle_of(case, system, end_ps, folder):
    """The case's run as dumps of three times: its beginning, its middle and its end."""
    path = folder / f"{case.name}-{system}"
    if not path.exists():
        run("sim", "--quiet", *case.options, "--dump", path, "--as", system, "--dump-at", f"{end_ps // 2000}ns", case.path,
            program=DUMPS)
    return path


def peers_of(document):
    return {one: other for link in document["links"] for one, other in ((link["a"], link["b"]), (link["b"], link["a"]))}


def device(name):
    return name.split(":")[0]


def causes(findings):
    return [found for found in findings if found["severity"] != "info" and found["consequence_of"] is None]


def places(found, peers):
    """Ends of the cable and the devices that a finding is about."""
    names = {found["culprit"], *found.get("also", ())}
    names |= {peers[name] for name in names if name in peers}
    return names | {device(name) for name in names if ":" in name}


def agrees(found, document, peers):
    """Whether the document has it, as a cause, a consequence or a remark."""
    return any(found["rule"] == one["rule"] and places(found, peers) & places(one, peers) for one in document)


# Port 4 of a switch, as its system calls it: what an answer without the fabric file has for names.
OWN_NAMES = {"sonic": (r"Ethernet(\d+)", lambda number: number // 4), "nxos": (r"Ethernet1/(\d+)", lambda number: number - 1),
             "eos": (r"Ethernet(\d+)(?:/1)?", lambda number: number - 1), "cumulus": (r"swp(\d+)", lambda number: number - 1)}


def canonical(name, system):
    """h0:eth1 is h0:1, leaf0:Ethernet16 is leaf0:4; a name that is not the system's own stays, and is wrong."""
    pattern, port = OWN_NAMES[system]
    host, switch = re.fullmatch(r"(\w+):eth(\d+)", name), re.fullmatch(rf"(\w+):{pattern}", name)
    if host:
        return f"{host[1]}:{host[2]}"
    return f"{switch[1]}:{port(int(switch[2]))}" if switch else f"{name}?" if ":" in name else name


def in_canonical_names(answer, system):
    """The answer with the fabric file's names instead of the systems'."""
    findings = [dict(finding, culprit=canonical(finding["culprit"], system), victims=[canonical(name, system) for name in finding["victims"]],
                     evidence=[dict(row, object=canonical(row["object"], system)) for row in finding["evidence"]])
                for finding in answer["findings"]]
    return dict(answer, findings=findings)


def without_counter(finding, peers):
    """Whether no counter of the culprit, of the other end of its cable, of its device or of a rank on it is among the evidence."""
    culprit = finding["culprit"]
    near = {culprit, peers.get(culprit, culprit)}
    return not any(row["object"] in near or device(row["object"]) in near or row["object"] == device(culprit) or
                   row["object"].startswith("rank ") for row in finding["evidence"])


def same_findings(document, answer):
    """Whether a run's own verdict has the findings of this answer: the same rules about the same, in the same order."""
    outcomes = sum("victims" not in one for one in document["verdict"])
    own = [(one["id"], one["severity"], one["job"] or one["objects"][0], one["what"], one["victims"], one["confidence"],
            None if one["consequence_of"] is None else one["consequence_of"] - outcomes) for one in document["verdict"][outcomes:]]
    return own == [(one["rule"], one["severity"], one["culprit"], one["what"], one["victims"], one["confidence"], one["consequence_of"])
                   for one in answer["findings"]]


def complaints(case, answer, peers):
    """What is wrong with the answer: nothing, where it is right."""
    wrong, used, victims = [], [], set()
    for rule, names in case.causes:
        found = [finding for finding in answer["findings"]
                 if finding["rule"] == rule and (finding["culprit"] in names or peers.get(finding["culprit"]) in names)]
        if not found:
            wrong.append(f"{rule} {' '.join(names)} is not named")
        elif found[0]["consequence_of"] is not None:
            wrong.append(f"{rule} {found[0]['culprit']} is called a consequence")
        else:
            used.append(found[0])
            victims |= set(found[0]["victims"])
    places = [answer["findings"].index(finding) for finding in used]
    if places != sorted(places):
        wrong.append("causes are not in their order")
    wanted = set(case.victims)
    if wanted and len(wanted & victims) < JACCARD * len(wanted | victims):
        wrong.append(f"victims: {' '.join(sorted(wanted - victims))} lack, {' '.join(sorted(victims - wanted))} are none")
    for finding in answer["findings"]:
        said = f"{finding['rule']} {finding['culprit']}"
        if finding["severity"] == "critical" and finding not in used and finding["consequence_of"] is None:
            wrong.append(f"{said} is critical besides")
        if not case.causes and finding["severity"] != "info":
            wrong.append(f"{said} in a healthy fabric")
        if finding["rule"] != "D20" and without_counter(finding, peers):
            wrong.append(f"{said}: no counter of it")
    return wrong
