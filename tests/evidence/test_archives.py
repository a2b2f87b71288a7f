# SPDX-License-Identifier: Apache-2.0
"""Archives: read as a folder of their name is, whatever order their entries stand in; what is hostile in them is said."""
import gzip
import io
import os
import pathlib
import struct
import subprocess
import tarfile
import tempfile
import unittest
import zipfile

from shown import Evidence

ROCELAB = os.environ["ROCELAB"]
PFC = """  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0     {}       0       0       0       0
"""
LOOKS = [(f"{time}/{device}/pfc.txt", PFC.format(count).encode()) for time, count in ((60, 19), (0, 7)) for device in ("leaf2", "leaf1")]
ZEROS = bytes(1 << 20)


def tar(entries, mode="w:gz", form=tarfile.GNU_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=form) as archive:
        for name, data in entries:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Unseekable(io.RawIOBase):
    """So that sizes stand behind entries."""

    def __init__(self):
        super().__init__()
        self.bytes = b""

    def writable(self):
        return True

    def write(self, data):
        self.bytes += bytes(data)
        return len(data)


def packed(entries, how=zipfile.ZIP_DEFLATED, stream=False):
    out = Unseekable() if stream else io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return out.bytes if stream else out.getvalue()


class Archives(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def two_looks(self, path, name):
        seen = Evidence(path)
        for leaf in ("leaf1", "leaf2"):
            value = seen.value[f"{leaf}:Ethernet0", 3, "rx_pause_frames"]
            self.assertEqual((2, 12, 60), (value.looks, value.grown, value.span), name)
        self.assertEqual({"leaf1", "leaf2"}, set(seen.device), name)
        return seen

    def test_as_a_folder(self):
        below = [(f"dumps/{name}", data) for name, data in LOOKS]
        for name, data in (("a.tgz", tar(LOOKS)), ("a.tar.gz", tar(below)), ("a.tar", tar(LOOKS, "w")), ("pax.tar", tar(below, "w", tarfile.PAX_FORMAT)), ("ustar.tar", tar(below, "w", tarfile.USTAR_FORMAT)),
                           ("a.zip", packed(LOOKS)), ("stored.zip", packed(below, zipfile.ZIP_STORED)), ("stream.zip", packed(LOOKS, stream=True)), ("in.zip", packed([("in/a.tgz", tar(LOOKS))])),
                           ("gz.tar", tar([(f"{path}.gz", gzip.compress(text)) for path, text in LOOKS], "w")), ("members.tgz", gzip.compress(tar(LOOKS, "w")[:1000]) + gzip.compress(tar(LOOKS, "w")[1000:]))):
            seen = self.two_looks(self.file(name, data), name)
            self.assertTrue(seen.value["leaf1:Ethernet0", 3, "rx_pause_frames"].file.startswith(str(self.folder / name) + "/"))
        run = subprocess.run([ROCELAB, "diagnose", "-"], input=tar(LOOKS), capture_output=True, check=False)
        self.assertIn(b"2 devices with 2 ports, 2 times in 60s", run.stdout)

    def test_devices_and_files(self):
        """Without looks: a folder a device, or files whose names say it; one file; an archive of a device's folder."""
        text = PFC.format(7).encode()
        for name, data, devices in (("a.tgz", tar([("leaf1/pfc.txt", text), ("leaf2/pfc.txt", text)]), {"leaf1", "leaf2"}), ("a.tgz", tar([("a/leaf1/pfc.txt", text), ("a/leaf2/pfc.txt", text)]), {"leaf1", "leaf2"}),
                                    ("a.zip", packed([("leaf1_show_pfc_counters.txt", text), ("leaf2.log", text)]), {"leaf1", "leaf2"}), ("leaf1.tgz", tar([("show_pfc_counters.txt", text)]), {"leaf1"}),
                                    ("leaf1.txt.gz", gzip.compress(text), {"leaf1"}), ("a.zip", packed([("x/leaf1.log.gz", gzip.compress(text)), ("__MACOSX/x/._y", b"?"), (".DS_Store", b"?")]), {"x"})):
            seen = Evidence(self.file(name, data))
            self.assertEqual(devices, set(seen.device), (name, seen.remark))
        self.file("d/leaf9/logs.tgz", tar([("x/pfc.txt", text)]))
        self.assertEqual({"leaf9"}, set(Evidence(self.folder / "d").device))
        long = "leaf1/" + "/".join(["a" * 90] * 4) + "/pfc.txt"
        for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            self.assertEqual({"leaf1"}, set(Evidence(self.file("long.tar", tar([(long, text)], "w", form))).device))

    def said(self, data, *words, name="a.tgz", status=2):
        run = subprocess.run([ROCELAB, "diagnose", self.file(name, data)], capture_output=True, text=True, timeout=60, check=False)
        said = " ".join((run.stdout + run.stderr).split())
        self.assertEqual(status, run.returncode, said)
        for word in words:
            self.assertIn(word, said)

    def test_too_much(self):
        """Nothing is unpacked without end."""
        self.said(gzip.compress(ZEROS * 40), "it unpacks to more than 1 GB, or than 100 times its size")
        self.said(packed([("a.txt", ZEROS * 40)]), "it unpacks to more than 1 GB, or than 100 times its size", name="a.zip")
        inner = packed([("0/leaf1/a.txt", ZEROS * 40)])
        self.said(tar([("a.zip", inner)]), "it unpacks to more than 1 GB, or than 100 times its size")
        nested = PFC.format(7).encode()
        for depth in range(4):
            nested = packed([(f"{depth}.zip" if depth else "leaf1/pfc.txt", nested)])
        self.said(nested, "more archives inside each other than are read", name="a.zip")
        for _ in range(5):
            nested = gzip.compress(nested)
        self.said(nested, "compressed too often", name="a.gz")
        self.said((struct.pack("<IHHHHHIIIHH", 0x04034b50, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0) + b"x") * 200100, "more than 200,000 entries", name="a.zip")

    def test_paths_that_lead_out(self):
        for path in ("../leaf1/pfc.txt", "leaf1/../../pfc.txt", "/../leaf1/pfc.txt"):
            for data, name in ((tar([(path, b"x"), ("leaf2/pfc.txt", PFC.format(7).encode())]), "a.tgz"), (packed([(path, b"x"), ("leaf2/pfc.txt", PFC.format(7).encode())]), "a.zip")):
                seen = Evidence(self.file(name, data))
                self.assertEqual({"leaf2"}, set(seen.device))
                self.assertTrue(any("leads out of the archive" in text for _, text in seen.remark), seen.remark)
        self.assertEqual({"leaf2"}, set(Evidence(self.file("a.tar", tar([("/leaf2/pfc.txt", PFC.format(7).encode()), ("./leaf2/b.txt", b"x")], "w"))).device))

    def test_what_is_no_file(self):
        entries = [("leaf2/pfc.txt", PFC.format(7).encode())]
        for kind, word in ((tarfile.SYMTYPE, "a link in an archive"), (tarfile.LNKTYPE, "a link in an archive"), (tarfile.CHRTYPE, "not a file"), (tarfile.FIFOTYPE, "not a file")):
            info = tarfile.TarInfo("leaf1/pfc.txt")
            info.type, info.linkname = kind, "/etc/passwd"
            seen = Evidence(self.file("a.tgz", tar([(info, b""), *entries])))
            self.assertEqual({"leaf2"}, set(seen.device))
            self.assertTrue(any(word in text for _, text in seen.remark), seen.remark)

    def test_damage(self):
        """Cut or changed anywhere: it is said, or what was read is all the same."""
        whole = {"a.tgz": tar(LOOKS), "a.tar": tar(LOOKS, "w"), "a.zip": packed(LOOKS), "s.zip": packed(LOOKS, stream=True)}
        for name, data in whole.items():
            damaged = [data[:len(data) * cut // 20] for cut in range(1, 20)]
            damaged += [data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:] for at in range(0, len(data), max(1, len(data) // 60))]
            seen = Evidence(*(self.file(f"{number}.{name}", text) for number, text in enumerate(damaged)))
            self.assertIn(seen.status, (0, 1), name)
            self.assertTrue(any("it is" in text for _, text in seen.remark), name)
        self.said(tar(LOOKS)[:-30], "it is", "the answer is not whole")
        self.said(packed([("0/leaf1/a.txt", PFC.format(7).encode())]).replace(struct.pack("<I", 0x04034b50), b"PK\3\5"), name="a.zip")

    def test_other_compressions(self):
        for begin in (b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"BZh9", b"Rar!"):
            self.said(begin + bytes(600), "unpack it first (gzip, tar and zip are read)")


if __name__ == "__main__":
    unittest.main()
