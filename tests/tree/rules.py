# SPDX-License-Identifier: Apache-2.0
"""The rules of the tree, as functions from a folder to a list of complaints.

Each rule is here because breaking it costs somebody a day: a cycle between rooms, a clock in a
machine that must replay, a function nobody can hold in their head.  test_tree.py runs every rule
over the tree, and over small trees that each break one rule, so that a rule that cannot fail is
itself a failure."""
import functools
import os
import pathlib
import re
import shutil
import subprocess

# Which rooms a room may include from, besides itself.  None: everything.  A folder of a room that is named here sees
# itself and what stands here alone: folders and headers, by their path.
MAY_INCLUDE = {
    "base": set(),
    "record": {"base"},
    "packet": {"base"},
    "packet/capfile": {"base"},
    "observe": {"record", "nic/counters.h", "nic/counters.def", "switch/counters.h", "switch/counters.def", "uet/counters.h", "uet/counters.def", "tcp/counters.h", "tcp/counters.def", "base"},
    "nic": {"record", "packet", "base"},
    "nic/cc": {"nic/nic.h", "nic/nic_int.h", "packet", "base"},
    "switch": {"record", "packet", "base"},
    "uet": {"packet", "base"},
    "tcp": {"packet", "base"},
    "node": {"record", "uet", "tcp", "nic", "switch", "packet", "base"},
    "fabric": {"nic/recovery.h", "switch/config.h", "switch/lanes.h", "base"},
    "fabric/file": {"fabric/*.h", "switch/config.h", "fabric/qos/settings.h", "base"},
    "plugin": {"nic/cc", "packet", "base"},
    "plant": {"plugin/plugin.h", "fabric", "nic", "switch", "packet", "base"},
    "jobs": {"fabric", "base"},
    "load": {"jobs", "fabric", "base"},
    "workload": {"node", "nic", "jobs", "fabric", "packet", "base"},
    "check": {"fabric", "base"},
    "config": {"config/*.h", "config/drawing", "config/write", "fabric", "base"},  # no system: struct config_format is all it knows of them
    **{f"config/{system}": {"config/*.h", "fabric", "base"} for system in ("foreign", "host", "lines", "nvue", "sonic")},
    **{f"config/{system}": {"config/*.h", "config/lines", "fabric", "base"} for system in ("eos", "junos", "nxos")},  # read as lines; numbers
    "json": {"base"},
    "evidence": {"config/*.h", "json", "fabric", "base"},
    "evidence/read": {"evidence/*.h", "json", "fabric", "base"},
    "diagnose": {"evidence/*.h", "fabric", "base"},
    "capture": {"diagnose/limits.h", "packet", "base"},
    "engine": {"node", "uet", "nic", "switch", "packet", "base"},
    "sim": {"observe", "record", "uet", "tcp", "node", "engine", "jobs", "plant", "nic", "switch", "workload", "fabric", "packet", "base"},
    "wire": {"packet", "base"},
    "runtime": {"base"},
    "device": {"record", "nic", "packet", "base"},
    "live": {"device", "runtime", "observe", "record", "plant", "fabric", "wire", "nic", "packet", "base"},
    "verbs": {"device", "wire", "nic", "packet", "base"},
    "verbs/ibverbs": {"live", "device", "runtime", "wire", "nic", "packet", "base"},
    "verbs/rsocket": {"verbs/rdmacm", "wire", "base"},
    "nccl": {"runtime", "observe/sample.h", "base"},
    "attach": {"device/device.h", "nic", "packet", "base"},
    "attach/device": {"attach", "device", "nic", "packet", "base"},
    "up": {"observe", "record", "attach", "sim", "engine", "node", "plant", "workload", "jobs", "load", "device", "runtime", "nic", "switch", "fabric", "packet", "base"},
    "report": {"observe", "record", "diagnose/diagnose.h", "diagnose/walk.h", "evidence/evidence.h", "evidence/drops.h", "up", "sim", "capture", "jobs", "fabric", "packet", "base"},
    "dump": {"observe", "record", "config/*.h", "jobs", "sim", "nic/counters.h", "switch/counters.h", "switch/config.h", "fabric", "report/collectives.h", "report/json_out.h", "report/text.h", "base"},
    "study": {"plugin/plugin.h", "diagnose/limits.h", "config/bom.h", "observe", "record", "load", "jobs", "sim", "plant", "workload", "nic", "switch", "fabric", "report", "packet", "base"},
    "tune": {"study", "diagnose/limits.h", "check/check.h", "config/config.h", "config/unsupported.h", "load", "jobs", "sim", "plant", "nic", "switch", "fabric", "report/text.h", "base"},
    "validate": {"study", "json", "check", "config/*.h", "evidence", "diagnose", "observe", "record", "load", "jobs", "sim", "plant", "workload", "nic", "switch", "fabric", "report", "base"},
    "serve": {"report/page/page.h", "base"},
    "cli": None,
}
# The core sees only these headers of packet/: the descriptor, not the bytes.
CORE = ("nic", "switch", "uet", "tcp", "node")
CORE_PACKET_HEADERS = {"packet/pkt.h", "packet/opcode.h", "packet/pktpool.h", "packet/telemetry.h"}
NO_FLOAT = ("base", "record", "packet", "nic", "switch", "uet", "tcp", "node", "observe")
NO_CLOCK = ("base", "record", "packet", "nic", "switch", "uet", "tcp", "node", "observe", "engine", "fabric", "plant", "jobs", "load", "workload", "capture", "report", "dump", "check", "config", "json", "evidence", "diagnose")
# Files that never allocate: whoever calls brings the memory.
NO_ALLOCATION = re.compile(r"^src/(nic/|switch/|tcp/|node/|packet/(codec|icrc|cm|opcode|addr|frame|directory|pktpool)[^/]*$)")
# Numbers that are on the wire stand in one header: UDP ports of RoCEv2 and VXLAN, Ethertypes of RoCEv1, pauses, IPv6.
WIRE_NUMBERS = re.compile(r"\b(4791|4789|0x8915|0x8808|0x86dd)u?\b")
WIRE_NUMBERS_AT = "src/packet/protocol.h"

BANNED = {
    "strcpy": "snprintf or memcpy with a length",
    "strcat": "snprintf",
    "sprintf": "snprintf",
    "vsprintf": "vsnprintf",
    "gets": "fgets",
    "strtok": "strcspn and lengths",
    "atoi": "unit_parse, or strtoull with its errors",
    "atol": "unit_parse, or strtoull with its errors",
    "rand": "rng_u32",
    "srand": "rng_init",
    "random": "rng_u64",
    "drand48": "rng_u64",
    "alloca": "memory brought by the caller",
    "assert": "CHECK, which stays on",
    "system": "posix_spawn",
    "popen": "posix_spawn",
}
CLOCKS = ("clock_gettime", "gettimeofday", "time", "clock", "nanosleep", "usleep", "sleep", "__rdtsc")
ALLOCATORS = ("malloc", "calloc", "realloc", "free", "mmap", "arena_alloc", "strdup")
# How many sources may see a header, through others too: a line in it compiles all of them again.  They only get smaller.
SEEN_BY = {"fabric/fabric.h": 239, "switch/config.h": 232}
# Files of the tree that are not installed.
NOT_INSTALLED = r"(?<![\w/.-])((?:bench|completions|fuzz|lib|man|src|tests|web)/[\w*][\w./*-]*[\w*])"
# In how many files a function of one word may be called the same: take() in twenty says nothing.  Only ever less.
CALLED_ALIKE = 16
FUNCTION_LINES = 80
FILE_LINES = 800
FOLDER_SOURCES = 25
COLUMNS = 120
PROSE_COLUMNS = 100
DOCS_WORDS = 88_000  # of all pages in docs/: never more than 90,000
CODE_SUFFIXES = {".c", ".h", ".py", ".def", ".build", ".sh"}
FOREIGN = re.compile(
    r"/work/|/root/|/home/\w|/Users/\w|deb\.debian\.org|registry\.npmjs|pypi\.org|BEGIN [A-Z ]*PRIVATE KEY|AKIA[0-9A-Z]{16}"
)


@functools.cache
def files(root):
    """Every file of the tree, without git's own, builds and what tools leave behind."""
    found = []
    for folder, folders, names in os.walk(root):
        top = folder == str(root)
        folders[:] = [one for one in folders
                      if one not in ("__pycache__", "node_modules") and not (top and re.match(r"\.git$|build(-|$)", one))]
        found += (pathlib.Path(folder, one) for one in names)
    return sorted(path for path in found if path.is_file() and path.relative_to(root).parts[0] != ".git")


def c_files(root, *folders):
    for path in files(root):
        if path.suffix in (".c", ".h") and path.relative_to(root).parts[0] in (folders or ("src", "lib", "tests", "bench", "fuzz", "include")):
            yield path


def name(root, path):
    return path.relative_to(root).as_posix()


def room(root, path):
    parts = path.relative_to(root).parts
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def is_text(path):
    return b"\0" not in path.read_bytes()[:4096] and path.suffix not in {".pcap", ".pcapng"} and "corpus" not in path.parts


@functools.cache
def code(path):
    """A C file with comments and literals blanked out, line numbers kept."""
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)

    def blank(match):
        kept = re.sub(r"[^\n]", " ", match.group())
        return kept if match.group()[0] == "/" else match.group()[0] + kept[2:] + match.group()[-1]

    return pattern.sub(blank, text)


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if match:
            yield number, match.group(1)


def may_include(folder):
    """What a folder of src/ may include from, as paths: its own and those named for it or for the room around it.

    One that names its own headers (`config/*.h`) does not see those of the folders inside it.
    """
    own = folder
    while own not in MAY_INCLUDE and "/" in own:
        own = own.rsplit("/", 1)[0]
    allowed = MAY_INCLUDE[own]
    return allowed if allowed is None or f"{own}/*.h" in allowed else {own} | allowed


def is_below(header, allowed):
    """Whether a header is in the folder `allowed`, is the header `allowed`, or is right in its folder (`config/*.h`)."""
    if allowed.endswith("/*.h"):
        return header.rsplit("/", 1)[0] == allowed[:-4]
    return header == allowed or header.startswith(allowed + "/")


def rule_includes(root):
    """A folder includes only from those below it; the core sees only the descriptor of packet/."""
    for path in c_files(root, "src"):
        own = room(root, path)
        if own is None:
            continue
        if own not in MAY_INCLUDE:
            yield f"{name(root, path)}: src/{own} is not a room of the design"
            continue
        folder = path.parent.relative_to(root / "src").as_posix()
        allowed = may_include(folder)
        for number, header in includes(path):
            if "/" not in header:
                yield f"{name(root, path)}:{number}: write the room in front: {header}"
            elif allowed is not None and not any(is_below(header, one) for one in allowed):
                yield f"{name(root, path)}:{number}: {folder} may not include {header}"
            elif own in CORE and header.startswith("packet/") and header not in CORE_PACKET_HEADERS:
                yield f"{name(root, path)}:{number}: the core sees only the descriptor, not {header}"


def rule_private(root):
    """A header NAME_int.h is seen in its folder and in those inside it; what a folder around it needs is in another."""
    for path in c_files(root, "src"):
        if re.search(r"_(priv|private|internal)\.h$", path.name):
            yield f"{name(root, path)}: a private header is called NAME_int.h"
        folder = path.parent.relative_to(root / "src").parts
        for number, header in includes(path):
            home = tuple(header.split("/")[:-1])
            if header.endswith("_int.h") and home != folder[:len(home)]:
                yield f"{name(root, path)}:{number}: {header} is private to src/{'/'.join(home)}"


def seen_from(root, header, seen):
    """What a file of src/ includes, and what that includes."""
    for _, below in includes(root / "src" / header):
        if below not in seen and (root / "src" / below).exists():
            seen.add(below)
            seen_from(root, below, seen)
    return seen


def rule_seen_by(root):
    """A header that changes with each feature is seen by those who use it: others declare the struct, and say what they need of it."""
    seen = [seen_from(root, path.relative_to(root / "src"), set()) for path in c_files(root, "src") if path.suffix == ".c"]
    for header, most in SEEN_BY.items():
        count = sum(header in one for one in seen)
        if count > most:
            yield f"src/{header}: {count} sources see it, {most} at most: forward declarations, or a smaller header (fabric/names.h, errors.h, handle.h ...)"


def rule_struct_names(root):
    """A struct that a header shows is one thing in the whole tree; what a file has for itself may be called as it likes.

    The structs of a verbs device are declared once, in device/device.h, and each room that has a device has a body."""
    homes = {}
    for path in c_files(root, "src"):
        if path.suffix == ".h":
            for struct in re.findall(r"^(?:struct|union) (\w+) \{", code(path), re.M):
                if not re.match(r"device(_|$)", struct):
                    homes.setdefault(struct, []).append(name(root, path))
    for struct, where in sorted(homes.items()):
        if len(where) > 1:
            yield f"{where[1]}: struct {struct} is another thing in {where[0]}"


def rule_function_names(root):
    """A function that many files have by one bare word is named for what it does in each: add_fact(), take_word()."""
    homes = {}
    for path in c_files(root, "src"):
        if path.suffix == ".c":
            for word in set(re.findall(r"^static [\w *]*?\b([a-z0-9]+)\((?=[^;{}]*\)\n\{)", code(path), re.M)):
                homes.setdefault(word, []).append(name(root, path))
    for word, where in sorted(homes.items()):
        if len(where) > CALLED_ALIKE:
            yield f"{where[-1]}: {word}() is a function in {len(where)} files, {CALLED_ALIKE} at most"


def rule_folder_size(root):
    """A folder can be looked through."""
    for folder in sorted({path.parent for path in c_files(root, "src")}):
        sources = len(list(folder.glob("*.c")))
        if sources > FOLDER_SOURCES:
            yield f"{name(root, folder)}: {sources} .c files, {FOLDER_SOURCES} at most: make folders by meaning"


def rule_function_length(root):
    """A function fits a screen."""
    for path in c_files(root):
        start = None
        for number, line in enumerate(code(path).splitlines(), 1):
            if line.startswith("{"):
                start = number
            elif line.startswith("}") and start is not None:
                if number - start - 1 > FUNCTION_LINES:
                    yield f"{name(root, path)}:{start}: {number - start - 1} lines in one function, {FUNCTION_LINES} at most"
                start = None


def rule_file_length(root):
    """A file can be read in one sitting."""
    for path in files(root):
        if path.suffix in {".c", ".h", ".py"}:
            lines = len(path.read_text(encoding="utf-8").splitlines())
            if lines > FILE_LINES:
                yield f"{name(root, path)}: {lines} lines, {FILE_LINES} at most: split by meaning"


def calls(path, functions):
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(map(re.escape, functions)) + r")\s*\(")
    for number, line in enumerate(code(path).splitlines(), 1):
        for match in pattern.finditer(line):
            yield number, match.group(1)


def rule_banned_calls(root):
    """Calls that lose errors, lengths or determinism are not made."""
    for path in c_files(root):
        lines = path.read_text().splitlines()
        for number, call in calls(path, BANNED):
            if lines[number - 1].startswith("EXPORT "):
                continue  # a function of ours that stands before libc's
            yield f"{name(root, path)}:{number}: {call}() is banned: use {BANNED[call]}"


def rule_own_sockets(root):
    """A library preloaded for the program's sockets gets none of the adapter's."""
    for path in c_files(root, "src"):
        if room(root, path) in {"wire", "live", "verbs"}:
            for number, call in calls(path, ["socket"]):
                yield f"{name(root, path)}:{number}: {call}() may be somebody else's: use system_socket"


def rule_no_float(root):
    """The core and what it stands on compute in integers: the same digest on every machine."""
    for path in c_files(root, "src"):
        if room(root, path) in NO_FLOAT:
            for number, line in enumerate(code(path).splitlines(), 1):
                if re.search(r"\b(float|double|_Float\w+)\b|\b\d+\.\d*[fFlL]?\b|<math\.h>", line):
                    yield f"{name(root, path)}:{number}: floating point"


def rule_no_clock(root):
    """Time is an argument."""
    for path in c_files(root, "src"):
        if room(root, path) in NO_CLOCK:
            for number, call in calls(path, CLOCKS):
                yield f"{name(root, path)}:{number}: {call}() reads a clock or sleeps"


def rule_no_allocation(root):
    """Machines and the codec are given their memory."""
    for path in c_files(root, "src"):
        if NO_ALLOCATION.match(name(root, path)):
            for number, call in calls(path, ALLOCATORS):
                yield f"{name(root, path)}:{number}: {call}() allocates"


def rule_wire_numbers(root):
    """Who needs a number of the wire takes it from the one header that has them."""
    for path in c_files(root, "src"):
        if name(root, path) == WIRE_NUMBERS_AT:
            continue
        for number, line in enumerate(code(path).splitlines(), 1):
            match = WIRE_NUMBERS.search(line)
            if match:
                yield f"{name(root, path)}:{number}: {match.group(1)} is in {WIRE_NUMBERS_AT}, by name"


def rule_built(root):
    """Every source is named in the meson.build of its folder, or of the room around it: no dead file."""
    for path in c_files(root):
        if path.suffix != ".c":
            continue
        folder = path.parent
        while not (folder / "meson.build").exists() and folder.parent != root:
            folder = folder.parent
        build = folder / "meson.build"
        listed = build.read_text(encoding="utf-8") if build.exists() else ""
        inside = path.relative_to(folder).as_posix()
        if f"'{inside}'" not in listed and f"'{inside[:-2]}'" not in listed:
            yield f"{name(root, path)}: not in {name(root, build)}"
    for path in files(root):
        if path.name.startswith("test_") and path.suffix == ".py":
            build = path.parent / "meson.build"
            listed = build.read_text(encoding="utf-8") if build.exists() else ""
            if path.name not in listed and f"'{path.stem}'" not in listed:
                yield f"{name(root, path)}: not in {name(root, build)}"


def rule_text(root):
    """Licence line, width, white space, no path or host of one machine, no unowned promise."""
    for path in files(root):
        if not is_text(path) or path.name == "LICENSE":
            continue
        text = path.read_text(encoding="utf-8")
        where = name(root, path)
        script = text.startswith("#!")
        if text and not text.endswith("\n"):
            yield f"{where}: no newline at the end"
        if (path.suffix in {".c", ".h", ".py"} or script) and "SPDX-License-Identifier: Apache-2.0" not in text[:300]:
            yield f"{where}: no SPDX line at the top"
        wide = path.suffix in {".c", ".h"}
        for number, line in enumerate(text.splitlines(), 1):
            if wide and len(line) > COLUMNS:
                yield f"{where}:{number}: {len(line)} columns, {COLUMNS} at most"
            if "golden" not in path.parts and line != line.rstrip():
                yield f"{where}:{number}: white space at the end of the line"
            if wide and "\t" in line:
                yield f"{where}:{number}: a tab"
            if where != "tests/tree/rules.py" and where != "tests/tree/test_tree.py":
                if FOREIGN.search(line):
                    yield f"{where}:{number}: a path, host or key of one place: {FOREIGN.search(line).group()}"
                if re.search(r"\b(TODO|FIXME|XXX)\b(?!\()", line):
                    yield f"{where}:{number}: a promise without an owner: write TODO(name)"


def prose(path):
    """(number, line) of the text of a page: without blocks of code and rows of tables."""
    fence, code, blank, indent = "", False, True, 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        start = len(line) - len(line.lstrip(" "))
        ticks = re.match(r" *(```+|~~~+)", line)
        if fence or ticks:
            fence = ("" if line.strip() == fence else fence) if fence else ticks[1]
        elif line.strip():
            # A block of code stands after an empty line, four columns right of the text that it belongs to.
            indent = min(indent, start) if blank else indent
            code = (code or blank) and start >= indent + 4
            if not code and not line.lstrip().startswith("|"):
                marker = re.match(r" *(?:[-*+]|\d+[.)]) +", line)
                indent = len(marker.group()) if marker else start if blank else indent
                yield number, line
        blank = not line.strip()


def rule_prose_columns(root):
    """A line of a page's text can be read; longer are headings, and what is one word, as a command in backquotes is."""
    for path in files(root):
        if path.suffix == ".md":
            for number, line in prose(path):
                words = re.findall(r"(?:`[^`]*`|[^\s`])+", line)
                alone = 2 if re.match(r" *([-*+]|\d+[.)]) ", line) else 1
                if len(line) > PROSE_COLUMNS and len(words) > alone and not line.startswith("#"):
                    yield f"{name(root, path)}:{number}: {len(line)} columns, {PROSE_COLUMNS} at most"


def rule_docs_words(root):
    """The pages in docs/ stay a house that can be walked through: who adds one takes words out of another."""
    words = sum(len(path.read_text(encoding="utf-8").split()) for path in files(root) if path.suffix == ".md" and path.relative_to(root).parts[0] == "docs")
    if words > DOCS_WORDS:
        yield f"docs: {words} words, {DOCS_WORDS} at most"


def rule_links(root):
    """Links between our pages lead somewhere, and every page of docs/ is in its index."""
    for path in files(root):
        if path.suffix != ".md":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", line):
                if "://" not in target and not (path.parent / target).exists():
                    yield f"{name(root, path)}:{number}: link to nothing: {target}"
    index = root / "docs" / "README.md"
    listed = index.read_text(encoding="utf-8") if index.exists() else ""
    for page in sorted([*(root / "docs").glob("*.md"), *(root / "docs" / "internals").glob("*.md")]):
        if page != index and f"({name(root / 'docs', page)})" not in listed:
            yield f"docs/README.md: does not list {name(root / 'docs', page)}"


def rule_installed(root):
    """What is installed names what is installed: a page, manual, option or verb that names a file of the tree says so ("of
    the sources"); docs/internals is about them.  And what is named of docs/, examples/ and experiments/ is there."""
    there = r"(?<![\w/.-])((?:docs|examples|experiments)/[\w*][\w./*-]*[\w*])"
    for path in files(root):
        where, parts = name(root, path), path.relative_to(root).parts
        page = path.suffix == ".md" and (parts[0] == "docs" and parts[1] != "internals" or parts[0] == "examples")
        words = path.suffix == ".def" and parts[:2] in (("src", "cli"), ("src", "check"))
        if not (page or words or parts[0] == "man" and path.suffix == ".1"):
            continue
        before = ""
        for part in re.split(r"\n(?=\n)" if page else r"\n", path.read_text(encoding="utf-8")):
            text = re.sub(r"(?m)^(#include|Source:).*|cli/option\.h", "", part)
            for named in re.findall(NOT_INSTALLED, "" if page and "sources" in part + before else text):
                if sorted(root.glob(named)):
                    yield f"{where}: names {named}, which is not installed; write \"of the sources\" beside it"
            for named in re.findall(there, "" if page else text):
                if not sorted(root.glob(named)) and not sorted(root.glob(named + ".*")):
                    yield f"{where}: names {named}, which is not there"
            before = part


def rule_map(root):
    """Every room of src/ is in the map that newcomers read."""
    page = root / "CONTRIBUTING.md"
    there = page.read_text(encoding="utf-8") if page.exists() else ""
    for folder in sorted({path.relative_to(root).parts[1] for path in c_files(root, "src") if room(root, path)}):
        if there and f"`src/{folder}/`" not in there:
            yield f"CONTRIBUTING.md: the map does not have src/{folder}"


def rule_version(root):
    """The version is meson.build's: what has to name it too, names that one."""
    build = root / "meson.build"
    found = re.search(r"^ *version: '([^']*)',$", build.read_text(encoding="utf-8"), re.M) if build.exists() else None
    version = found.group(1) if found else None
    for page, line in (("debian/changelog", r"^rocelab \(([^)]*)\) "), ("CITATION.cff", r"^version: (.*)$"),
                       ("CHANGELOG.md", r"^## ([^ ,]*)")):
        there = root / page
        named = re.search(line, there.read_text(encoding="utf-8"), re.M) if there.exists() else None
        if there.exists() and (named is None or named.group(1) != version):
            yield f"{page}: names version {named and named.group(1)} first, meson.build has {version}"


def rule_format(root):
    """clang-format has nothing to change."""
    sources = [str(path) for path in c_files(root)]
    if not sources:
        return
    style = root / ".clang-format"
    command = ["clang-format", "--dry-run", f"--style=file:{style}" if style.exists() else "--style=LLVM"]
    parts = min(os.cpu_count() or 1, 8, len(sources))
    runs = [subprocess.Popen(command + sources[part::parts], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for part in range(parts)]
    for run in runs:
        said = run.communicate()[1]
        if run.returncode:
            yield f"clang-format: status {run.returncode}"
        for line in said.splitlines():
            if "warning:" in line:
                yield line.replace(f"{root}/", "")


def rule_shell(root):
    """Scripts are POSIX sh and shellcheck-clean."""
    scripts = [p for p in files(root) if is_text(p) and p.read_text(encoding="utf-8").startswith("#!/bin/sh")]
    for path in files(root):
        if is_text(path) and re.match(r"#!.*\b(ba|z|k)sh\b", path.read_text(encoding="utf-8")):
            yield f"{name(root, path)}: not POSIX sh"
    if scripts:
        if not shutil.which("shellcheck"):
            yield "shellcheck is not installed"
            return
        result = subprocess.run(["shellcheck", "-s", "sh", "-f", "gcc"] + [str(p) for p in scripts],
                                capture_output=True, text=True, check=False)
        for line in result.stdout.splitlines():
            yield line.replace(f"{root}/", "")


RULES = {key[5:]: value for key, value in sorted(globals().items()) if key.startswith("rule_")}


def check(root):
    root = pathlib.Path(root).resolve()
    return {key: list(rule(root)) for key, rule in RULES.items()}
