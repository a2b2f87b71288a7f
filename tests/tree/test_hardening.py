# SPDX-License-Identifier: Apache-2.0
"""What is installed, as ELF files: what docs/security.md says of them ("Built programs and libraries")."""
import json
import os
import pathlib
import re
import struct
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["ROCELAB_BUILD"])
CC = os.environ["ROCELAB_CC"].split()
PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 4, 0x6474E551, 0x6474E552
DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_TEXTREL, DT_FLAGS, DT_FLAGS_1 = 5, 6, 10, 22, 30, 0x6FFFFFFB
DF_TEXTREL, DF_BIND_NOW, DF_1_NOW, DF_1_PIE = 4, 8, 1, 0x08000000
ET_DYN, EM_X86_64 = 3, 62
MARK = b"\xf3\x0f\x1e\xfa"  # endbr64: where an indirect call may lead
MARKS_LEAST = 20  # what the compiler links with has up to ten
# It has libc's checked functions itself, for the programs that call them.
NOT_CHECKED = {"librocelab-fabric.so"}


class Elf:
    """A 64-bit ELF file of this machine's byte order: headers, the dynamic section, the names and starts of symbols."""

    def __init__(self, data):
        self.data = data
        self.type, self.machine = struct.unpack_from("=HH", data, 16)
        at, = struct.unpack_from("=Q", data, 32)
        size, count = struct.unpack_from("=HH", data, 54)
        fields = [struct.unpack_from("=IIQQQQQQ", data, at + i * size) for i in range(count)]
        self.headers = [(at + i * size, *one) for i, one in enumerate(fields)]
        self.dynamic, self.places = {}, {}
        offset, length = next((one[3], one[6]) for one in self.headers if one[1] == PT_DYNAMIC)
        for place in range(offset, offset + length, 16):
            tag, value = struct.unpack_from("=QQ", data, place)
            self.dynamic.setdefault(tag, value)
            self.places.setdefault(tag, place)
        self.symbols = list(self._symbols())

    def of(self, kind):
        return [one for one in self.headers if one[1] == kind]

    def at(self, address):
        """Where in the file an address of memory is."""
        return next(address - one[4] + one[3] for one in self.of(PT_LOAD) if one[4] <= address < one[4] + one[6])

    def _symbols(self):
        names, place = self.at(self.dynamic[DT_STRTAB]), self.at(self.dynamic[DT_SYMTAB])
        while place + 24 <= names:  # the names follow the table, as GNU's and LLVM's linkers lay them out
            name, info, _, section, value, _ = struct.unpack_from("=IBBHQQ", self.data, place)
            end = self.data.index(b"\0", names + name)
            yield self.data[names + name:end].decode(), info & 15, section, value
            place += 24

    def flag(self, tag, bit):
        return bool(self.dynamic.get(tag, 0) & bit)


def compiled_with_marks(elf):
    """Do the functions that others call begin with the mark?  A program may have none, but functions of its own."""
    starts = [elf.at(value) for _, kind, section, value in elf.symbols if kind == 2 and section]
    return elf.data.count(MARK) >= MARKS_LEAST and all(elf.data[start:start + 4] == MARK for start in starts)


def complaints(data, name, program):
    elf = Elf(data)
    if elf.type != ET_DYN or program != elf.flag(DT_FLAGS_1, DF_1_PIE):
        yield "neither position-independent program nor library"
    if not elf.of(PT_GNU_RELRO):
        yield "no RELRO"
    if not (elf.flag(DT_FLAGS, DF_BIND_NOW) or elf.flag(DT_FLAGS_1, DF_1_NOW)):
        yield "no BIND_NOW"
    if len(elf.of(PT_GNU_STACK)) != 1 or elf.of(PT_GNU_STACK)[0][2] & 1:
        yield "an executable stack"
    if DT_TEXTREL in elf.dynamic or elf.flag(DT_FLAGS, DF_TEXTREL):
        yield "TEXTREL"
    if any(one[2] & 3 == 3 for one in elf.of(PT_LOAD)):
        yield "memory that is written and run"
    needed = [symbol for symbol, _, section, _ in elf.symbols if not section]
    if "__stack_chk_fail" not in needed:
        yield "no canaries"
    if name not in NOT_CHECKED and not any(re.fullmatch(r"__\w+_chk", symbol) for symbol in needed):
        yield "no checked lengths"
    if elf.machine == EM_X86_64 and not compiled_with_marks(elf):
        yield "no CET"


def products():
    """What is installed and has code, as the build says."""
    with open(BUILD / "meson-info" / "intro-targets.json", encoding="utf-8") as file:
        for target in json.load(file):
            if target["installed"] and target["type"] in ("executable", "shared library"):
                yield pathlib.Path(target["filename"][0]), target["type"] == "executable"


def marks_of_the_system():
    """Has what the compiler itself links with (crti.o) the marks?  Else the linker leaves the note out."""
    path = subprocess.run(CC + ["-print-file-name=crti.o"], capture_output=True, text=True, check=True).stdout.strip()
    return shadow_stack(pathlib.Path(path).read_bytes())


def shadow_stack(data):
    """NT_GNU_PROPERTY_TYPE_0 with GNU_PROPERTY_X86_FEATURE_1_AND = IBT | SHSTK."""
    return struct.pack("=III", 0xC0000002, 4, 3) in data


class Hardening(unittest.TestCase):
    def test_products(self):
        names = []
        for path, program in products():
            names.append(path.name)
            data = path.read_bytes()
            with self.subTest(path.name):
                self.assertEqual(list(complaints(data, path.name, program)), [])
                if Elf(data).machine == EM_X86_64 and marks_of_the_system():
                    self.assertTrue(shadow_stack(data), "no note of IBT and SHSTK")
        self.assertIn("rocelab", names)
        self.assertIn("librocelab-fabric.so", names)

    def test_each_is_seen(self):
        """The program, spoilt."""
        path = next(path for path, program in products() if program)
        good = path.read_bytes()
        elf = Elf(good)
        stack = elf.of(PT_GNU_STACK)[0][0]
        relro = elf.of(PT_GNU_RELRO)[0][0]

        def spoilt(*writes):
            data = bytearray(good)
            for place, form, value in writes:
                struct.pack_into(form, data, place, value)
            return list(complaints(bytes(data), path.name, True))

        self.assertEqual(spoilt((stack + 4, "=I", 7)), ["an executable stack"])
        self.assertEqual(spoilt((relro, "=I", 0)), ["no RELRO"])
        flags = [(elf.places[tag] + 8, "=Q", value) for tag, value in
                 ((DT_FLAGS, 0), (DT_FLAGS_1, DF_1_PIE)) if tag in elf.places]
        self.assertEqual(spoilt(*flags), ["no BIND_NOW"])
        self.assertEqual(spoilt((elf.places[DT_FLAGS] + 8, "=Q", DF_BIND_NOW | DF_TEXTREL)), ["TEXTREL"])
        for name, complaint in ((b"\0__stack_chk_fail\0", "no canaries"), (b"_chk\0", "no checked lengths")):
            self.assertEqual(list(complaints(good.replace(name, name.replace(b"chk", b"xhk")), path.name, True)), [complaint])
        self.assertEqual(list(complaints(good.replace(MARK, b"\x90" * 4), path.name, True)),
                         ["no CET"] if elf.machine == EM_X86_64 else [])


if __name__ == "__main__":
    unittest.main()
