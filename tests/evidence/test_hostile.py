# SPDX-License-Identifier: Apache-2.0
"""Texts that mean harm: whatever is in them, `diagnose` ends in time linear in their length, within 2 GB, says what it made of them, and
prints nothing that a terminal obeys.

ROCELAB_SOAK=1: the same with a gigabyte of each (a quarter, and no limit of memory, where sanitizers are)."""
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import unittest

ROCELAB = os.environ["ROCELAB"]
SOAK = os.environ.get("ROCELAB_SOAK")
SANITIZED = b"__asan_init" in pathlib.Path(ROCELAB).read_bytes()  # whose memory no limit on addresses fits
BYTES = (1 << 28 if SANITIZED else 1 << 30) if SOAK else 1 << 20
PORTS = 1000000 if SOAK else 5000
LIMIT = 2 << 30
CPU_SECONDS = 3600 if SOAK else 60 if SANITIZED else 15
UNKNOWN = (2, "no known counter in it")
NOTHING = (3, "answer: not enough")
ESCAPE = b"\x1b[2J\x1b]0;title\x07\x9b31m"
PFC = b"  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7\n-----------  ------  ------  ------  ------  ------  ------  ------  ------\n"


def bounded():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


class Hostile(unittest.TestCase):
    def diagnose(self, said, *pieces, name="0/h0/text.txt", options=()):
        """Of one text made of pieces, which is then gone.  Said: the exit status and words of which one is printed."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as out:
                for piece in pieces:
                    out.write(piece)
            run = subprocess.run([ROCELAB, "diagnose", *options, folder if "/" in name else str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, preexec_fn=bounded, timeout=3000 if SOAK else 300, check=False)
        words = [one for one in said if not isinstance(one, int)]
        self.assertIn(run.returncode, [one for one in said if isinstance(one, int)], run.stderr[-500:])
        output = run.stdout.decode("utf-8") + run.stderr.decode("utf-8")
        self.assertTrue(any(word in output for word in words), (words, output[:500]))
        bad = [char for char in output if (ord(char) < 32 and char != "\n") or 127 <= ord(char) < 160]
        self.assertEqual([], bad[:5], output[:300])
        return run

    def fill(self, piece, length=BYTES):
        return (piece * (65536 // len(piece) + 1) for _ in range(length // 65536))

    def test_noise(self):
        noise = bytes((i * i * 31 + i * 7 + (i >> 3)) % 256 for i in range(65537))
        self.diagnose(UNKNOWN, *(noise for _ in range(BYTES // len(noise))))
        self.diagnose(UNKNOWN, *self.fill(b"\xff\xfe\xc0\x80\xed\xa0\x80\n"))
        self.diagnose(UNKNOWN, *self.fill(b"\0"))

    def test_escape_sequences(self):
        row = b"Ethernet0" + ESCAPE + b"       0       0       0     900       0       0       0       0\n"
        self.diagnose(NOTHING, PFC, row * 100)
        self.diagnose(UNKNOWN, ESCAPE * 100)
        self.diagnose((2, "broken JSON: not a value"), b'{"' + ESCAPE + b'": [' + ESCAPE + b"]}")
        self.diagnose((3, "1 device with 1 port"), b'# TYPE rocelab_link_up gauge\nrocelab_link_crc_errors_total{port="a' + ESCAPE + b':0"} 9\n')
        name = ESCAPE.decode("latin-1")
        port = {"port": f"leaf{name}:0", "rate_bps": 100, "rate_now_bps": 50, "crc_errors": 10**6, "up": False, "link_downs": 9}
        for options, word in (((), "D06: degraded link, leaf?[2J"), (("--json",), '"culprit": "leaf\\u001b[2J'), (("--quiet",), "D06: degraded link, leaf?[2J")):
            self.diagnose((1, word), json.dumps({"kind": "sim", "virtual_ps": 10**9, "ports": [port]}).encode(), name="run.json", options=options)

    def test_long_lines(self):
        length = max(10 << 20, BYTES // 8)
        self.diagnose((3, "1 device with 1 port"), PFC, b"Ethernet0 ", b"9" * length, b"\n", b"A" * length, b"\n", b"link mlx5_0/1 ", b"out_of_sequence 5 " * (length // 18), b"\n")
        self.diagnose((2, "a name without its end"), b'{"' + b"x" * length)
        self.diagnose(UNKNOWN, b'# TYPE a gauge\na{b="' + b"x" * length + b'"} 1\n')

    def test_deep_json(self):
        for text in (b"[", b'{"a":', b'[{"a":'):
            self.diagnose((2, "too many levels", *UNKNOWN[1:]), *self.fill(text), name="run.json")
        self.diagnose((2, "too many levels"), b'{"kind": "sim", "virtual_ps": 5, "ports": ', *self.fill(b'[{"port":'), name="run.json")
        self.diagnose((2, "a string without its end", *UNKNOWN[1:]), b'{"header": {"rank": 1}, "metadata": {}, "coll_perf": {"a": "', *self.fill(b"x"), name="run.json")

    def test_many_ports(self):
        devices = (PORTS + 63) // 64
        self.diagnose((3, f"1 device with {PORTS} ports"), PFC, *(b"Ethernet%d      0       0       0     %d       0       0       0       0\n" % (i, i) for i in range(PORTS)))
        self.diagnose((3, f"{devices} devices with {PORTS} ports"), b"# TYPE rocelab_link_up gauge\n",
                      *(b'rocelab_link_up{port="s%d:%d"} 0\n' % (i // 64, i % 64) for i in range(PORTS)), name="x.prom")
        ports = (b'{"port":"s%d:%d","line_bytes":5,"rate_bps":100,"priorities":[{"priority":3,"tx_bytes":4}]},\n' % (i // 64, i % 64) for i in range(PORTS))
        self.diagnose((0, f"{devices} devices with {PORTS} ports"), b'{"kind":"sim","virtual_ps":1000000,"ports":[', *ports, b"{}]}", name="run.json")

    def test_many_ranks(self):
        """Communicators and ranks without end, and numbers that are too large."""
        line = b'{"header":{"id":"0x%x","rank":%d,"n_ranks":4},"metadata":{"hostname":"h%d"},"coll_perf":{"coll_sn":18446744073709551615,"coll_exec_time_us":1e300}}\n'
        self.diagnose((3, "1000 jobs"), *(line % (i % 1000, i * 7919 % (1 << 32), i % 50) for i in range(PORTS)), name="x.log")
        waits = json.dumps([[10**25] * 50] * 50)
        self.diagnose((0, "1 job,"), b'{"kind":"sim","virtual_ps":18446744073709551615,"training":[{"job":"j","rank_waits_ps":' + waits.encode() + b',"ranks_listed":[4294967295,99999999999]}]}',
                      name="run.json")

    @unittest.skipIf(SANITIZED and not SOAK, "once is enough: as shipped")
    def test_no_square(self):
        """Each has many of two things, and one of them for each of the others would take minutes of a processor."""
        sim = b'{"kind":"sim","virtual_ps":1000000,'
        self.diagnose((0, "1 device with 1 port"), sim, b'"thresholds":[[', b'{"priority":3},' * 40000, b'{}]],"ports":[', b'{"port":"a:0","thresholds":0},' * 40000, b"{}]}", name="run.json")
        self.diagnose(UNKNOWN, sim, b'"nodes":[{"node":"b",', b'"buffer_bytes":1,' * 300000, b'"x":1}],"ports":[', b'{"port":"a:0","thresholds":0},{"port":"b:0","thresholds":0},' * 100000, b"{}]}",
                      name="run.json")
        groups = b",".join(b'"g%d":{}' % i for i in range(100000))
        entry = b'{"collective_seq_id":1,"process_group":["z"]},'
        self.diagnose((3, "1 job,"), b'{"pg_status":{},"pg_config":{', groups, b'},"entries":[', entry * 100000, b"{}]}", name="trace_rank_1.json")
        self.diagnose((3, "1 job,"), b'{"pg_status":{},"pg_config":{"z":{"ranks":"', b"1," * 100000, b'"}},"entries":[', entry * 100000, b"{}]}", name="trace_rank_1.json")
        self.diagnose(UNKNOWN, b'{"pg_config":{', groups, b'},"pg_status":{', groups.replace(b'"g', b'"h'), b"}}", name="trace_rank_1.json")
        ports = b",".join(b"Ethernet%d" % (i % 1000) for i in range(100000))
        members = b",".join(b'"m%d":1' % i for i in range(100000))
        profile, entry = b'"BUFFER_PROFILE":{"p":{%s"xoff":"1"}}', b'"BUFFER_PG":{"' + ports + b'|0-7":{%s"profile":"p"}}'
        for text in ((profile % (members + b","), entry % b""), (profile % b"", entry % (members + b",")), (members, profile % b"", entry % b"")):
            self.diagnose((3, "1 device with 1000 ports"), b"{" + b",".join(text) + b"}", name="0/s0/config_db.json")
        for piece in (b"[", b"[0", b"[0]a"):
            self.diagnose(NOTHING, (b"h0:1:2 [0] NCCL INFO NET/IB : Using " + piece * (900000 // len(piece)) + b"\n") * 6, name="0/h0/nccl.log")
        communicators = (b"#0-0 (%x) MISMATCH\n  65000 ranks have launched up to operation 5\n" % (i % 7 + 1) for i in range(20000))
        self.diagnose((3, "more than 262144 ranks"), b"Job summary\n  0  1  4  8  65000  32  RUNNING  MISMATCH\n", *communicators, name="0/h0/ras.txt")

    def cost(self, *text, **how):
        """Seconds of processor time, which are the same however busy the machine is."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.diagnose(*text, **how)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    @unittest.skipIf(SANITIZED and not SOAK, "once is enough: as shipped")
    def test_time_is_linear(self):
        """A text eight times as long takes about eight times as long: the square would take 64 times."""
        length = max(8 << 20, BYTES // 4)
        for name, said, piece in (("text.txt", UNKNOWN, b"\xff\xfe\n"), ("text.txt", UNKNOWN, b"Ethernet0 9 9\n"), ("run.json", (2, "too many levels", *UNKNOWN[1:]), b'[{"a":'),
                                  ("x.prom", UNKNOWN, b'a{b="c"} 1\n'), ("text.txt", UNKNOWN, b"x")):
            with self.subTest(piece=piece):
                short = self.cost(said, *self.fill(piece, length // 8), name=name)
                self.assertLess(self.cost(said, *self.fill(piece, length), name=name), 24 * short + 1)

    @unittest.skipIf(SANITIZED and not SOAK, "once is enough: as shipped")
    def test_sessions_are_linear(self):
        """Tables, prompts, heads and dates, devices, JSON that has no end: again and again, likewise."""
        for said, piece in (((0, 3, "1 device with 1 port"), PFC + b"Ethernet0 0 0 0 7 0 0 0 0\n"), (UNKNOWN, b"leaf1# show pfc counters\n===== leaf2 =====\n2026-11-19 10:00:00\n"),
                            ((2, "broken JSON", "JSON that is cut"), b'{"a": 1,\n'), (UNKNOWN, b'x\n{"a": 1}\n[0] NCCL\n'), (UNKNOWN, None)):
            with self.subTest(piece=piece):
                short, longer = ((b"leaf%d# show pfc counters\n" % i for i in range(count)) if piece is None else self.fill(piece, count * 32) for count in (1 << 13, 1 << 16))
                cost = self.cost(said, *short)
                self.assertLess(self.cost(said, *longer), 24 * cost + 1)


if __name__ == "__main__":
    unittest.main()
