# SPDX-License-Identifier: Apache-2.0
"""The kernel's Soft-RoCE as a host of a fabric: `rocelab up --port h0=tap0`, a guest behind the tap, our programs on another host.

    ROCELAB_GUEST_KERNEL=DIR python3 tests/interop/test_foreign.py BUILD [PATTERN]

Exits 77 (skipped) with a word on what is missing.  Each program runs with its server on either side; both must end well, what they check of
their data must be right, and the capture of the cable must be without a malformed packet or a wrong ICRC."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import guest as guests

FABRIC = """rocelab: 1
fabric: outside
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 2}}
links: {host: {rate: 10G, cable: 3m}, fabric: {rate: 10G, cable: 10m}}
nics: {mtu: 4096}
"""
GUEST, OURS, HOST = "10.0.0.1", "10.0.0.3", "h2"  # as the fabric numbers them
LIFE, PATIENT = 100, "18"
LISTENS = "for i in $(seq 100); do rdma resource show cm_id | grep -q LISTEN && break; sleep 0.3; done"
WORDS = ("mismatch", "data corruption", "invalid data", "failed", "error")


def perftest(name, *extra):
    return lambda address, rxe: [name, "-R", "-F", "-u", PATIENT, *extra, *(["-d", "rxe0"] if rxe else []), *([address] if address else [])]


CASES = [
    ("rping: CM, SEND, READ, WRITE (checks data)", lambda address, _: ["rping", "-c" if address else "-s", "-V", "-C", "20", "-S", "4000", "-a", address or "0.0.0.0"]),
    ("ib_send_bw", perftest("ib_send_bw", "-n", "300", "-s", "16384")),
    ("ib_write_bw", perftest("ib_write_bw", "-n", "300", "-s", "65536")),
    ("ib_read_bw", perftest("ib_read_bw", "-n", "200", "-s", "65536")),
    ("ib_atomic_bw", perftest("ib_atomic_bw", "-A", "FETCH_AND_ADD", "-n", "200")),
    ("ib_write_lat", perftest("ib_write_lat", "-n", "200", "-s", "64")),
]


class Behind(guests.Guest):
    """A guest whose tap is in no bridge: the fabric has it."""

    def network(self):
        guests.run("ip", "netns", "add", self.namespace)
        for line in ("link set lo up", "tuntap add tap0 mode tap", f"link set tap0 mtu {self.mtu} up"):
            guests.run("ip", "-n", self.namespace, *line.split())

    def move_in(self):
        status, output = self.sh(f"/sbin/ip addr flush dev eth0; /sbin/ip addr add {GUEST}/8 dev eth0")
        if status:
            raise RuntimeError(output)


class Fabric:
    def __init__(self, guest, rocelab, folder):
        self.guest, self.rocelab, self.folder = guest, rocelab, folder
        (folder / "outside.yaml").write_text(FABRIC)
        self.env = dict(os.environ, XDG_RUNTIME_DIR=str(folder))

    def __enter__(self):
        self.up = subprocess.Popen(self.guest.host_command([self.rocelab, "up", "outside.yaml", "--clock", "real", "--port", "h0=tap0", "--json"]),
                                   cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while "is up" not in (line := self.up.stderr.readline()):
            if not line:
                raise RuntimeError("the fabric did not come up")
        return self

    def __exit__(self, *_):
        self.up.send_signal(signal.SIGINT)
        output, errors = self.up.communicate(timeout=60)
        print(errors, end="")
        self.document = json.loads(output)

    def ours(self, command):
        return [self.rocelab, "run", "--fabric", "outside", "--host", HOST, "--", *command]

    def start(self, command):
        return subprocess.Popen(self.ours(command), env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(program):
    try:
        output, _ = program.communicate(timeout=LIFE)
    except subprocess.TimeoutExpired:
        program.kill()
        output = program.communicate()[0] + "did not end"
    return program.returncode, output


def run_case(fabric, command, we_serve):
    theirs = " ".join(command(None if not we_serve else OURS, True))
    if we_serve:
        ours = fabric.start(command(None, False))
        for _ in range(10):
            time.sleep(1.5)
            status, output = fabric.guest.sh(f"timeout -k 5 {LIFE} {theirs}", 2 * LIFE)
            if "REJECTED" not in output:  # else it came before our program listened
                break
    else:
        fabric.guest.sh(f"(timeout -k 5 {LIFE} {theirs} >/tmp/its.log 2>&1; echo $? >/tmp/its.rc) & {LISTENS}", 2 * LIFE)
        ours = fabric.start(command(GUEST, False))
    code, text = ended(ours)
    if not we_serve:
        _, output = fabric.guest.sh(f"for i in $(seq {LIFE}); do [ -s /tmp/its.rc ] && break; sleep 1; done; cat /tmp/its.log; echo RC $(cat /tmp/its.rc); rm -f /tmp/its.rc", 2 * LIFE)
        status = 0 if output.rstrip().endswith("RC 0") else 1
    return status, code, output + "\n--- ours\n" + text


def watched(guest, path, run):
    """Runs it with a capture of the cable."""
    if shutil.which("dumpcap") is None:
        return run()
    capture = subprocess.Popen(guest.host_command(["dumpcap", "-q", "-P", "-i", "tap0", "-w", str(path)]), stderr=subprocess.PIPE, text=True)
    try:
        while "File:" not in (line := capture.stderr.readline()):
            if not line:
                raise RuntimeError("dumpcap ended")
        return run()
    finally:
        time.sleep(0.5)
        capture.terminate()
        capture.communicate()


def capture_wrong(rocelab, path):
    if not path.exists():
        return ""
    told = json.loads(subprocess.run([rocelab, "capture", "--json", str(path)], capture_output=True, text=True, check=False).stdout)
    wrong = {key: told["files"][0][key] for key in ("malformed", "icrc_errors") if told["files"][0][key]}
    return f"the capture has {wrong}" if wrong else ""


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    rocelab, pattern = str(pathlib.Path(sys.argv[1]).resolve() / "rocelab"), sys.argv[2] if len(sys.argv) > 2 else ""
    failed = ran = 0
    try:
        with Behind() as guest, tempfile.TemporaryDirectory() as held:
            guest.move_in()
            folder = pathlib.Path(held)
            with Fabric(guest, rocelab, folder) as fabric:
                for name, command in CASES:
                    for we_serve in (True, False):
                        if pattern not in name:
                            continue
                        began, path = time.monotonic(), folder / f"{ran}.pcap"
                        status, code, output = watched(guest, path, lambda c=command, w=we_serve: run_case(fabric, c, w))
                        wrong = capture_wrong(rocelab, path)
                        good = status == 0 and code == 0 and not wrong and not any(word in output for word in WORDS)
                        print(f"{'ok  ' if good else 'FAIL'} {name}, {'we serve' if we_serve else 'they serve'} ({time.monotonic() - began:.1f} s)", flush=True)
                        ran += 1
                        failed += not good
                        if not good:
                            print(f"  theirs {status}, ours {code} {wrong}\n" + "\n".join("  | " + line[:200] for line in output.splitlines()[-30:]), flush=True)
            print(json.dumps(fabric.document["interfaces"][0]))
    except guests.Missing as missing:
        print(f"skipped: {missing}")
        return 77
    print(f"{ran - failed} of {ran} passed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
