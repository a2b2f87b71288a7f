# SPDX-License-Identifier: Apache-2.0
"""rocelab up: programs and fabrics that die, stop or hang, and users that want in.  Nothing is left behind."""
import contextlib
import errno
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ["ROCELAB"]
PROGRAMS = int(os.environ.get("ROCELAB_PROGRAMS", "50"))  # one after another; tests/soak has more
NOBODY = 65534
PATIENCE_S = 60
FABRIC = """rocelab: 1
fabric: pair
topology: {single: {hosts: 3}}
links: {host: {rate: 400G, cable: 3m}}
nics: {mtu: 4096}
"""
ENDLESS = "ib_write_bw -s 65536 -n 5000000"  # minutes at 400G
# With the real clock the server listens when it comes to it.
CLIENT = f"""while :; do
    {ENDLESS} h0 >client.out 2>&1
    status=$?
    grep -q "Couldn't connect" client.out || break
    sleep 0.1
done
cat client.out
exit $status
"""


def until(what, *arguments):
    """What comes true sooner or later: its answer."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        answer = what(*arguments)
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"waited {PATIENCE_S} s for {what}")


def below(pid):
    """Processes that a process has started, and those that they have."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            text = pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii")
            for child in map(int, text.split()):
                found += [child, *below(child)]
    return found


def is_there(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    return False


def command_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def needs(*programs):
    missing = [name for name in programs if not shutil.which(name)]
    return unittest.skipIf(missing, f"{missing} not there")


class Failures(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        (self.folder / "pair.yaml").write_text(FABRIC, encoding="utf-8")
        (self.folder / "client.sh").write_text(CLIENT, encoding="utf-8")
        self.runtime = self.folder / "run"
        self.runtime.mkdir(mode=0o700)
        self.sockets = self.runtime / "rocelab"
        self.env = dict(os.environ, XDG_RUNTIME_DIR=str(self.runtime), LC_ALL="C.UTF-8")
        self.outputs = 0

    def start(self, *words, stdin=subprocess.DEVNULL):
        """Output goes to a file: nobody waits for a pipe that a process left behind has open."""
        self.outputs += 1
        out = open(self.folder / f"out{self.outputs}", "w+", encoding="utf-8")
        self.addCleanup(out.close)
        process = subprocess.Popen([PROGRAM, *words], cwd=self.folder, env=self.env, stdin=stdin, stdout=out,
                                   stderr=subprocess.STDOUT)
        process.text = lambda: pathlib.Path(out.name).read_text(encoding="utf-8")
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        for pid in [*below(process.pid), process.pid] if process.poll() is None else []:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(timeout=PATIENCE_S)

    def script(self, text, *options):
        (self.folder / "x.up").write_text(text, encoding="utf-8")
        return self.start("up", "pair.yaml", "--name", "pair", "--script", "x.up", *options)

    def by_hand(self, *options):
        up = self.start("up", "pair.yaml", *options)
        until(lambda: "is up" in up.text())
        return up

    def on(self, host, *words, **how):
        return self.start("run", "--host", host, "--", *words, **how)

    def python(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return [sys.executable, "-E", "-S", str(path)]

    def ends(self, process, *statuses):
        try:
            status = process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.fail(f"has not ended: {process.args}\n{process.text()}")
        if statuses:
            self.assertIn(status, statuses, process.text())
        return status

    def one_of(self, up, command):
        return until(lambda: next((pid for pid in below(up.pid) if command_of(pid) == command), 0))

    def packets(self):
        """That h0 has received; 0 where the fabric does not say."""
        words = [PROGRAM, "counters", "--fabric", "pair", "h0"]
        result = subprocess.run(words, env=self.env, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        found = re.search("rx_packets +([0-9,]+)", result.stdout)
        return int(found[1].replace(",", "")) if found else 0

    def under_way(self, before=0):
        until(lambda: self.packets() > before + 1000)

    def with_keeper(self):
        up = self.by_hand()
        stdin, held = os.pipe()
        keeper = self.on("h0", "cat", stdin=stdin)
        os.close(stdin)
        os.write(held, b"here\n")
        until(lambda: "here" in keeper.text())
        return up, keeper, held

    def still_works(self, up, keeper, held):
        self.ends(self.on("h1", "true"), 0)
        os.close(held)
        self.ends(keeper, 0)
        self.ends(up, 0)
        self.nothing_left()

    def nothing_left(self, pids=()):
        until(lambda: not any(map(is_there, pids)))
        left = [path for path in self.sockets.iterdir() if path.name != "sys"]  # files that stand for /sys are kept a while
        self.assertEqual([], left)


class Programs(Failures):
    @needs("ib_write_bw")
    def test_killed_in_the_middle_of_a_transfer(self):
        for clock in ("virtual", "real"):
            with self.subTest(clock=clock):
                self.kill_server(clock)

    def kill_server(self, clock):
        up = self.script(f"h0: {ENDLESS}\nh1 after 10ms: sh client.sh\n", "--clock", clock)
        server = self.one_of(up, ENDLESS)
        self.under_way()
        pids = below(up.pid)
        os.kill(server, signal.SIGKILL)
        self.ends(up, 1)
        text = up.text()
        self.assertIn(f"h0: '{ENDLESS}' was ended by signal 9", text)
        self.assertRegex(text, "h1: .*transport retry counter exceeded|h1: .*Failed status 12")
        self.assertRegex(text, "h1: 'sh client.sh' ended with status [1-9]")
        self.nothing_left(pids)

    @needs("ib_write_bw")
    def test_stopped_for_longer_than_retries_last(self):
        """Time holds: as if it had not been stopped.  A third program keeps its turn in the middle of the transfer."""
        words = "ib_write_bw -s 65536 -n 3000"
        gate = self.python("gate.py", "import os\nopen('here', 'w').close()\nwhile not os.path.exists('go'): pass\n")
        script = f"h0: {words}\nh1 after 10ms: {words} h0\nh2 after 1.015s: {' '.join(gate)}\n"
        digests = set()
        for stop in (False, True):
            up = self.script(script, "--turn-limit", "1")
            until((self.folder / "here").exists)
            server = self.one_of(up, words)
            if stop:
                os.kill(server, signal.SIGSTOP)
            (self.folder / "go").touch()
            if stop:
                until(lambda: f"h0: '{words}' (pid {server}) has kept its turn" in up.text())
                os.kill(server, signal.SIGCONT)
            self.ends(up, 0)
            digests.update(line for line in up.text().splitlines() if "digest" in line)
            (self.folder / "go").unlink()
            (self.folder / "here").unlink()
        self.assertEqual(1, len(digests), digests)

    @needs("ib_write_bw")
    def test_stopped_with_the_real_clock(self):
        """The adapter is the fabric's: it answers for a program that is stopped, as hardware does."""
        up = self.script(f"h0: {ENDLESS}\nh1 after 10ms: sh client.sh\n", "--clock", "real")
        server = self.one_of(up, ENDLESS)
        self.under_way()
        os.kill(server, signal.SIGSTOP)
        time.sleep(1)  # retries last half as long
        self.under_way(self.packets())
        pids = below(up.pid)
        self.assertTrue(all(map(is_there, pids)), up.text())
        os.kill(server, signal.SIGCONT)
        up.send_signal(signal.SIGINT)
        self.ends(up, 2)
        self.assertNotIn("Failed status", up.text())
        self.nothing_left(pids)

    def test_one_that_never_yields_is_named(self):
        words = self.python("compute.py", "x = 1\nwhile True:\n    x = x * 1103515245 + 12345 & 0xffffffff\n")
        up = self.script(f"h0: {' '.join(words)}\nh1: sleep 1\n", "--turn-limit", "1")
        until(lambda: "has kept its turn for 1 s" in up.text())
        self.assertRegex(up.text(), "h0: '.*compute.py' .pid [0-9]+. has kept its turn")
        pids = below(up.pid)
        up.send_signal(signal.SIGINT)
        self.ends(up, 2)
        self.nothing_left(pids)

    def test_killed_with_a_lock(self):
        words = self.python("lock.py", LOCK)
        up = self.script(f"h0: {' '.join(words)}\n")
        self.ends(up, 0)
        self.assertIn("h0: 130 0.01", up.text())  # EOWNERDEAD, when the owner has died
        self.nothing_left()

    @needs("flock")
    def test_killed_with_the_lock_of_a_file(self):
        holder = self.python("hold.py", "import os, signal, time\ntime.sleep(0.01)\nos.kill(os.getppid(), signal.SIGKILL)\n")
        up = self.script(f"h0: flock -o lock {' '.join(holder)}\nh0 after 1ms: flock lock echo mine\n")
        self.ends(up, 1)
        self.assertIn("was ended by signal 9", up.text())
        self.assertIn("h0: mine", up.text())
        self.nothing_left()

    @needs("ibv_devinfo")
    def test_many_one_after_another(self):
        up, keeper, held = self.with_keeper()
        self.several(up, 5)
        before = self.held_by(up)
        for _ in range(0, PROGRAMS, 5):
            self.several(up, 5)
        until(lambda: self.held_by(up) == before)
        self.still_works(up, keeper, held)

    def several(self, up, count):
        """Of which one is killed where it stands."""
        killed = self.on("h0", "sh", "-c", "echo here; exec sleep 1e15")
        programs = [self.on(f"h{i % 3}", "ibv_devinfo") for i in range(1, count)] + [killed]
        until(lambda: "here" in killed.text())
        killed.kill()
        for program in programs:
            self.ends(program, -signal.SIGKILL if program is killed else 0)
            self.assertIn("here" if program is killed else "rocelab0", program.text())
        self.assertIsNone(up.poll())

    def held_by(self, up):
        maps = pathlib.Path(f"/proc/{up.pid}/maps").read_text(encoding="utf-8")
        return (len(os.listdir(f"/proc/{up.pid}/fd")), maps.count("memfd:"), len(below(up.pid)),
                len(list(self.sockets.iterdir())))


LOCK = """import ctypes, mmap, os, signal, time
libc = ctypes.CDLL(None)
page = mmap.mmap(-1, 4096)
lock = ctypes.byref(ctypes.c_char.from_buffer(page))
kind = ctypes.create_string_buffer(64)
libc.pthread_mutexattr_init(kind)
libc.pthread_mutexattr_setpshared(kind, 1)
libc.pthread_mutexattr_setrobust(kind, 1)
libc.pthread_mutex_init(lock, kind)
child = os.fork()
if child == 0:
    libc.pthread_mutex_lock(lock)
    time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
begun = time.monotonic()
time.sleep(0.001)
print(libc.pthread_mutex_lock(lock), round(time.monotonic() - begun, 3), flush=True)
os.waitpid(child, 0)
"""


class Fabric(Failures):
    @needs("ib_write_bw", "ibv_asyncwatch")
    def test_killed_under_its_programs(self):
        for clock in ("virtual", "real"):
            with self.subTest(clock=clock):
                self.kill_fabric(clock)

    def kill_fabric(self, clock):
        up = self.by_hand("--programs", "3", "--clock", clock)
        watch = self.on("h2", "ibv_asyncwatch", "-d", "rocelab0")
        server = self.on("h0", *ENDLESS.split())
        client = self.on("h1", "sh", "client.sh")
        self.under_way()
        up.kill()
        self.ends(up)
        for program in (server, client):
            self.assertNotEqual(0, self.ends(program), program.text())
        until(lambda: "fatal" in watch.text().lower())
        watch.kill()
        self.assertEqual(0, self.ends(self.start("up", "pair.yaml", "--script", self.script_of("h0: true\n"))))
        self.nothing_left()  # the next fabric has taken the dead one's socket away

    @needs("ib_write_bw")
    def test_killed_with_what_it_has_started(self):
        for threads in ("1", "2"):
            up = self.script(f"h0: sh -c '{ENDLESS}; true'\nh1 after 10ms: {ENDLESS} h0\nh2: sh -c 'sleep 1e15; true'\n",
                             "--threads", threads)
            self.one_of(up, ENDLESS)
            self.under_way()
            pids = below(up.pid)
            self.assertGreaterEqual(len(pids), 5)
            up.kill()
            self.ends(up)
            until(lambda: not any(map(is_there, pids)))

    def test_a_stopped_one_does_not_answer(self):
        """Who asks is told so, with its process, and what was asked for is not done later."""
        up = self.by_hand()
        up.send_signal(signal.SIGSTOP)
        asked = [self.start(*words) for words in (("fault", "down", "h1:0"), ("counters", "--fabric", "pair"))]
        listed = self.start("up", "--list")
        self.ends(listed, 0)
        self.assertRegex(listed.text(), f"pair +{up.pid} +does not answer")
        for one in asked:
            self.ends(one, 2)
            self.assertIn(f"fabric 'pair': the fabric (pid {up.pid}) does not answer", one.text())
        up.send_signal(signal.SIGCONT)
        self.ends(self.start("counters", "--fabric", "pair"), 0)  # it has been through all that was asked
        up.send_signal(signal.SIGINT)
        self.ends(up, 2)
        self.assertNotIn("down h1:0", up.text())

    def test_a_crowd_at_the_socket_is_bounded(self):
        up, keeper, held = self.with_keeper()
        before = len(os.listdir(f"/proc/{up.pid}/fd"))
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        crowd = [connect(self.sockets / "pair.fabric") for _ in range(min(1500, most - 100))]
        for i, one in enumerate(crowd):  # who talks nonsense, and who says nothing
            self.addCleanup(one.close)
            with contextlib.suppress(BrokenPipeError):
                if i % 5 == 0:
                    one.send(bytes(400 if i % 2 else 100000))
        self.assertLess(len(os.listdir(f"/proc/{up.pid}/fd")), before + 1100)
        for one in crowd:
            one.close()
        until(lambda: len(os.listdir(f"/proc/{up.pid}/fd")) == before)
        self.still_works(up, keeper, held)

    def script_of(self, text):
        (self.folder / "x.up").write_text(text, encoding="utf-8")
        return "x.up"


def refused(what, *arguments):
    try:
        what(*arguments)
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EPERM)
    return False


def connect(path):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        one.connect(str(path))
    except OSError:
        one.close()
        raise
    return one


def intrude(pids, folder):
    """What another user could do: what of it was not refused."""
    tried = {}
    for pid in pids:
        tried["signal", pid] = refused(os.kill, pid, signal.SIGKILL)
        tried["descriptors", pid] = refused(os.listdir, f"/proc/{pid}/fd")
        tried["memory", pid] = refused(os.open, f"/proc/{pid}/mem", os.O_RDWR)
        tried["maps", pid] = refused(lambda of=pid: pathlib.Path(f"/proc/{of}/maps").read_bytes())
    tried["connect"] = refused(connect, folder / "pair.fabric")
    tried["list"] = refused(os.listdir, folder)
    tried["remove"] = refused(os.unlink, folder / "pair.fabric")
    tried["rename"] = refused(os.rename, folder, str(folder) + "2")
    return [what for what, answer in tried.items() if not answer]


def knock(path):
    """Whoever answers, or does not hang up."""
    answers = set()
    for _ in range(1000):
        with connect(path) as one:
            with contextlib.suppress(OSError):
                one.send(bytes(400))
            try:
                answers.add(one.recv(4096))
            except ConnectionResetError:
                answers.add(b"")
    return sorted(answers)


# Where everybody may make folders, and somebody was first: with the names of the user who comes.
SQUATTED = """mount -t tmpfs -o mode=1777 none /dev/shm && mount -t tmpfs -o mode=1777 none /tmp || exit 77
squat() { setpriv --reuid=65534 --regid=65534 --clear-groups mkdir -m 700 "$@"; }
squat /dev/shm/rocelab-0 /dev/shm/rocelab-0.1 /dev/shm/rocelab-0.2 /dev/shm/rocelab-0.3 /dev/shm/rocelab-0.4
squat /dev/shm/rocelab-0.5 /dev/shm/rocelab-0.6 /dev/shm/rocelab-0.7 /tmp/rocelab-0 /tmp/rocelab-0.1
"$ROCELAB" up pair.yaml --programs 2 & up=$!
while [ ! -e /tmp/rocelab-0.2/pair.fabric ]; do kill -0 $up || exit 1; sleep 0.02; done
"$ROCELAB" counters --fabric pair && "$ROCELAB" fault down h2:0 || exit 1
"$ROCELAB" run --fabric pair --host h0 -- true & "$ROCELAB" run --host h1 -- true
wait $up && echo "ended well"
squat /tmp/rocelab-0.3 /tmp/rocelab-0.4 /tmp/rocelab-0.5 /tmp/rocelab-0.6 /tmp/rocelab-0.7
rmdir /tmp/rocelab-0.2 && squat /tmp/rocelab-0.2
"$ROCELAB" up pair.yaml
"""


@unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
class Users(Failures):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)  # so that nothing but what rocelab makes stands in the way
        self.runtime.chmod(0o755)

    def as_nobody(self, what, *arguments):
        """In a child that has become somebody else: what it found."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                signal.alarm(PATIENCE_S)
                os.write(writer, repr(what(*arguments)).encode())
            os._exit(0)
        os.close(writer)
        with open(reader, encoding="ascii") as answer:
            text = answer.read()
        os.waitpid(child, 0)
        return text

    def test_another_user_gets_nowhere(self):
        up, keeper, held = self.with_keeper()
        self.assertEqual("[]", self.as_nobody(intrude, (up.pid, keeper.pid), self.sockets))
        self.still_works(up, keeper, held)

    @needs("unshare", "setpriv")
    def test_folders_of_others_are_passed_over(self):
        env = {name: value for name, value in self.env.items() if name != "XDG_RUNTIME_DIR"}
        result = subprocess.run(["unshare", "--mount", "sh", "-c", SQUATTED], cwd=self.folder, env=env, text=True,
                                capture_output=True, check=False, timeout=PATIENCE_S)
        if result.returncode == 77 or "unshare failed" in result.stderr:
            self.skipTest("no mount namespaces here")
        self.assertIn("ended well", result.stdout, result.stderr)
        self.assertIn("pair at 0 of fabric time", result.stdout)
        self.assertIn("# fabric 'pair'", result.stdout)
        self.assertEqual(2, result.returncode)
        self.assertIn("each in /dev/shm and /tmp is another user's", result.stderr)

    def test_who_knocks_is_asked_for_its_user(self):
        up, keeper, held = self.with_keeper()
        self.sockets.chmod(0o755)  # as if the folder had not kept them out
        (self.sockets / "pair.fabric").chmod(0o666)
        self.assertEqual("[b'']", self.as_nobody(knock, self.sockets / "pair.fabric"))
        self.sockets.chmod(0o700)
        self.still_works(up, keeper, held)


if __name__ == "__main__":
    unittest.main()
