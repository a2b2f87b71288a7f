# SPDX-License-Identifier: Apache-2.0
"""Our adapter against the kernel's Soft-RoCE, in both roles, with the programs people use.

    ROCELAB_GUEST_KERNEL=DIR python3 tests/interop/test_interop.py BUILD [PATTERN]

Exits 77 (skipped) with a word on what is missing.  Every case runs a server on one side and a client on the other and wants exit
status 0 of both; the programs named `checks data` compare what arrived with what was sent.  The cases run
twice: on a clean cable, where what our side captured must be without fault (judge.py: no malformed packet, no wrong ICRC,
nothing of ours sent twice before its time; what the kernel sends twice is told, not judged), and with 1 % of the packets lost in each
direction: ours by `--fault`, the kernel's by netem on its interface.  What a run that fails said, and its captures, stay under
BUILD/interop-failed.
"""
import contextlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import guest as guests
import judge

HERE = pathlib.Path(__file__).resolve().parent

RXE, OURS = ["-d", "rxe0", "-g", "1"], ["-g", "0"]
PERF_RXE, PERF_OURS = ["-d", "rxe0", "-x", "1"], ["-x", "0"]


def pingpong(kind, extra=()):
    def command(ours, address):
        return [f"ibv_{kind}_pingpong", "-c", "-n", "200", *extra, *(OURS if ours else RXE), *([address] if address else [])]
    return command


def perftest(name, *extra):
    def command(ours, address):
        return [name, "-F", *extra, *(PERF_OURS if ours else PERF_RXE), *([address] if address else [])]
    return command


def rping(count, size, v6=False):
    def command(ours, address):
        any_address = "::" if v6 else "0.0.0.0"
        return ["rping", "-c" if address else "-s", "-V", "-C", str(count), "-S", str(size), "-a", address or any_address]
    return command


def verify(mtu, v6=False):
    def command(ours, address):
        script = HERE / "verify.py" if ours else f"/mnt{HERE}/verify.py"
        gid = (1 if v6 else 0) if ours else (2 if v6 else 1)
        return ["/usr/bin/python3", "-B", str(script), "rocelab0" if ours else "rxe0", str(gid), str(mtu), *([address] if address else [])]
    return command


# name, command(ours, address of the server or None), IPv6, also with loss
CASES = [
    ("every operation, MTU 4096 (checks data)", verify(4096), False, True),
    ("every operation, MTU 1024 (checks data)", verify(1024), False, True),
    ("every operation over IPv6 (checks data)", verify(4096, True), True, False),
    ("rc pingpong (checks data)", pingpong("rc"), False, True),
    ("rc pingpong 64 KB, MTU 4096 (checks data)", pingpong("rc", ["-s", "65536", "-m", "4096"]), False, True),
    ("uc pingpong (checks data)", pingpong("uc"), False, False),
    ("ud pingpong (checks data)", pingpong("ud"), False, False),
    ("srq pingpong", lambda ours, address: ["ibv_srq_pingpong", "-n", "200", *(OURS if ours else RXE), *([address] if address else [])], False, True),
    ("rping: CM, SEND, READ, WRITE (checks data)", rping(20, 4000), False, True),
    ("rping over IPv6 (checks data)", rping(10, 1000, True), True, False),
    ("ib_send_bw", perftest("ib_send_bw", "-n", "500", "-s", "16384"), False, True),
    ("ib_write_bw", perftest("ib_write_bw", "-n", "500", "-s", "65536"), False, True),
    ("ib_read_bw", perftest("ib_read_bw", "-n", "300", "-s", "65536"), False, True),
    ("ib_send_bw UD", perftest("ib_send_bw", "-c", "UD", "-n", "300", "-s", "1024"), False, False),
    ("ib_atomic_bw compare and swap", perftest("ib_atomic_bw", "-A", "CMP_AND_SWAP", "-n", "300"), False, True),
    ("ib_atomic_bw fetch and add", perftest("ib_atomic_bw", "-A", "FETCH_AND_ADD", "-n", "300"), False, True),
    ("ib_write_bw MTU 1024", perftest("ib_write_bw", "-m", "1024", "-n", "300", "-s", "65536"), False, True),
    ("ib_write_bw UC", perftest("ib_write_bw", "-c", "UC", "-n", "300", "-s", "16384"), False, False),
    ("ib_send_bw with SRQ", perftest("ib_send_bw", "-r", "128", "--use-srq", "-n", "300", "-s", "4096"), False, True),
    ("ib_write_lat", perftest("ib_write_lat", "-n", "300", "-s", "64"), False, True),
    ("ib_send_bw -R (CM)", lambda ours, address: ["ib_send_bw", "-R", "-F", "-n", "300", *([] if ours else ["-d", "rxe0"]), *([address] if address else [])], False, True),
]
# Refusals and RNR NAKs are meant there, or a slow receiver makes them: these captures are not clean.
NOT_PURE = ("every operation", "ib_send_bw", "srq")
# Whoever has all it waits for ends, and its last ACK may be the one that is lost.  Its peer then repeats in vain: ours seven times, as
# these programs ask; Soft-RoCE for ever, since it takes a retry count of 7 for endless.  Such a run is done again, if the
# captures show that this is what happened, and so is one in which the guest answered when our retries were used up.
WAITS, AGAIN_MAX = -2, 2
GAVE_UP = ("transport retry counter exceeded", "completion status 12,")
LIFE = 100  # seconds, of a program
SLOW_END = 10  # seconds after our program's end: told
REPEATS = "/sys/class/infiniband/rxe0/ports/1/hw_counters/completer_retry_err"
# In the guest: until a program listens, on TCP or through the connection manager, or half a minute has gone by.
LISTENS = ("for i in $(seq 100); do cat /proc/net/tcp /proc/net/tcp6 | grep -q ' 0A ' && break; rdma resource show cm_id | grep -q LISTEN && break; "
           "sleep 0.3; done")
TIMEOUT, PATIENT = 14, 18  # of the pingpongs and rping; of perftest on the clean cable, as it is told below
WORDS = ("mismatch", "wrong data", "data corruption", "invalid data", "Failed", "failed", "error")


class Pair:
    def __init__(self, guest, rocelab, fault, pcap, kept):
        self.guest, self.rocelab, self.fault, self.pcap, self.kept = guest, rocelab, fault, pcap, kept
        self.cable, self.ended, self.behind = pcap.with_name("cable.pcap"), 0.0, 0.0

    @contextlib.contextmanager
    def watched(self):
        """What goes over the cable is captured: it shows whom the kernel waits for, if it does."""
        self.pcap.unlink(missing_ok=True)
        self.cable.unlink(missing_ok=True)
        if shutil.which("dumpcap") is None:
            yield
            return
        capture = subprocess.Popen(self.guest.host_command(["dumpcap", "-q", "-P", "-s", "128", "-i", "tap0", "-w", str(self.cable)]),
                                   stderr=subprocess.PIPE, text=True)
        try:
            while "File:" not in (line := capture.stderr.readline()):  # it listens from then on
                if not line:
                    raise RuntimeError("dumpcap ended")
            yield
        finally:
            capture.terminate()
            capture.communicate()

    def ours(self, command):
        options = ["--pcap", str(self.pcap), *(["--fault", self.fault] if self.fault else [])]  # the capture is made before the loss
        return self.guest.host_command([self.rocelab, "run", *options, "--", *command])

    def start_theirs(self, command):
        """In files of its own: what an earlier program leaves late is not taken for this one's."""
        self.its = f"/tmp/its.{self.guest.number}"
        self.guest.sh(f"(timeout -k 5 {LIFE} {' '.join(command)} >{self.its}.log 2>&1 & echo $! >{self.its}.pid; wait $!; echo $? >{self.its}.rc) & sleep 0.1")

    def end_of_theirs(self):
        """Its exit status, or WAITS where it does not end and the kernel repeats something in vain; and its output.

        There is a status at the latest when its life is over.  Where there is none the guest has stopped, and its state is what there is to
        tell.
        """
        its, began, self.behind = self.its, time.monotonic(), 0.0
        while time.monotonic() - began < 2 * LIFE:
            _, output = self.guest.sh(f"for i in 1 2 3 4 5; do [ -s {its}.rc ] && break; sleep 1; done; cat {its}.log; echo RC $(cat {its}.rc 2>/dev/null)")
            text = output.rsplit("RC ", 1)[-1].strip()
            if text.isdigit():
                self.behind = time.monotonic() - began
                return int(text), output
            _, counts = self.guest.sh(f"cat {REPEATS}; sleep 2; cat {REPEATS}")
            before, after = (int(word) for word in counts.split()[:2])
            if after > before:
                self.guest.sh(f"kill $(cat {its}.pid); sleep 1")
                return WAITS, output
        _, state = self.guest.sh(f"ps; cat /proc/$(cat {its}.pid)/stack; rdma resource show qp; rdma resource show cm_id")
        return -1, output + state

    def keep(self, case, output):
        """The captures and the words of a run that failed, where the next does not write over them."""
        folder = self.kept / re.sub(r"[^a-zA-Z0-9]+", "-", case)
        folder.mkdir(parents=True, exist_ok=True)
        for pcap in (self.pcap, self.cable):
            if pcap.exists():
                shutil.copy(pcap, folder)
        (folder / "output").write_text(output)
        return folder

    def run(self, role, command, v6):
        with self.watched():
            return self.we_serve(command, v6) if role == "we serve" else self.they_serve(command, v6)

    def excuse(self, theirs, ours, output):
        """Why a run that failed is no fault, by its captures: in words, or nothing."""
        gave_up = any(word in output for word in GAVE_UP)
        if gave_up and (late := judge.late(self.pcap, self.cable)):
            return f"the guest answered too late: {late}"
        alone = self.left_alone(theirs, ours, gave_up) if self.fault else ""
        return alone and f"one program had all it waited for and ended, and an ACK was lost: {alone}"

    def left_alone(self, theirs, ours, gave_up):
        """One side has ended well, and the other repeats in vain what its last ACK was for: in words, or nothing."""
        if ours == 0 and theirs == WAITS:
            lonely = judge.orphans(self.cable, self.ended)
            here = [(each, said) for each in lonely for got, said in (judge.came(self.pcap, each),) if got]
            if here and all(said for _, said in here):
                late = f"; {len(lonely) - len(here)} more that came when our program had ended" if len(lonely) > len(here) else ""
                return "; ".join(f"{each}: our adapter sent the ACK, and --fault lost it" for each, _ in here) + late
        if theirs == 0 and gave_up:
            return "; ".join(map(str, judge.orphans(self.cable, 0, ours=True)))
        return ""

    def we_serve(self, command, v6):
        server = subprocess.Popen(self.ours(command(True, None)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            time.sleep(1.0)
            self.start_theirs(command(False, guests.HOST_IP6 if v6 else guests.HOST_IP))
            ours, _ = server.communicate(timeout=LIFE)
        except subprocess.TimeoutExpired:
            ours = "our side did not end"
        finally:
            server.kill()
            server.wait()
        self.ended = time.time()
        status, theirs = self.end_of_theirs()
        return status, server.returncode, theirs + "\n--- ours\n" + ours

    def they_serve(self, command, v6):
        self.start_theirs(command(False, None))
        self.guest.sh(LISTENS, 240)
        address = guests.GUEST_IP6 if v6 else guests.GUEST_IP
        try:
            client = subprocess.run(self.ours(command(True, address)), capture_output=True, text=True, timeout=LIFE, check=False)
            ours, code = client.stdout + client.stderr, client.returncode
        except subprocess.TimeoutExpired as late:
            ours, code = f"our side did not end: {late.stdout}", -1
        self.ended = time.time()
        status, theirs = self.end_of_theirs()
        return status, code, theirs + "\n--- ours\n" + ours


def ack_timeout(name):
    """What the program gives its queue pair as its timeout: seconds."""
    return 4.096e-6 * 2 ** (PATIENT if name.startswith("ib_") else TIMEOUT)


def run_case(pair, name, command, v6, role):
    began, lost = time.monotonic(), pair.guest.lost()
    case = f"{name}, {role}{', loss' if pair.fault else ''}"
    if pair.fault and "every operation" in name:
        plain, command = command, lambda ours, address: plain(ours, address) + ["--lossy"]
    if not pair.fault and name.startswith("ib_"):  # a slow guest is no loss: a second of patience
        quick, command = command, lambda ours, address: quick(ours, address) + ["-u", str(PATIENT)]
    theirs, ours, output = pair.run(role, command, v6)
    again = []
    while (theirs or ours) and len(again) < AGAIN_MAX and (why := pair.excuse(theirs, ours, output)):
        again.append(why)
        pair.keep(f"{case}, run {len(again)}", output)
        theirs, ours, output = pair.run(role, command, v6)
    good = theirs == 0 and ours == 0 and not any(word in output for word in WORDS)
    note = ""
    if good and not pair.fault and not name.startswith(NOT_PURE):
        wrong, note = judge.clean(pair.rocelab, pair.pcap, ack_timeout(name))
        good, output = not wrong, wrong
    for why in again:
        note += f", again, since {why}"
    if pair.behind > SLOW_END:
        note += f", the kernel's program ended {pair.behind:.0f} s after ours"
    loss = f", 1 % lost each way ({pair.guest.lost() - lost} of the kernel's)" if pair.fault else ""
    print(f"{'ok  ' if good else 'FAIL'} {name}, {role}{loss}{note} ({time.monotonic() - began:.1f} s)", flush=True)
    if not good:
        kept = pair.keep(case, output)
        print(f"  theirs {theirs}, ours {ours}; captures: {kept}\n" + "\n".join("  | " + line[:200] for line in output.splitlines()[-25:]), flush=True)
    return good


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    rocelab, pattern = f"{sys.argv[1]}/rocelab", sys.argv[2] if len(sys.argv) > 2 else ""
    failed = ran = lossy_ran = 0
    try:
        with guests.Guest() as guest, tempfile.TemporaryDirectory() as folder:
            for lossy in (False, True):
                if lossy:
                    guest.loss(1)
                pair = Pair(guest, rocelab, "loss=1%,seed=5" if lossy else None, pathlib.Path(folder) / "ours.pcap", pathlib.Path(sys.argv[1]) / "interop-failed")
                for name, command, v6, with_loss in CASES:
                    if pattern not in name or (lossy and not with_loss):
                        continue
                    for role in ("we serve", "they serve"):
                        ran += 1
                        lossy_ran += lossy
                        failed += not run_case(pair, name, command, v6, role)
                if lossy and lossy_ran and guest.lost() == 0:
                    print("FAIL nothing of the kernel's was lost")
                    failed += 1
    except guests.Missing as missing:
        print(f"skipped: {missing}")
        return 77
    print(f"{ran - failed} of {ran} passed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
