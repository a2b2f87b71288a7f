# SPDX-License-Identifier: Apache-2.0
"""rocelab run, devices and counters from outside: status, messages, documents."""
import json
import os
import pathlib
import shutil
import socket
import stat
import struct
import subprocess
import tempfile
import time
import unittest

from support import LIMIT, PROGRAM, environment, free_port, listens, need, run


def rocelab(*arguments, **more):
    return subprocess.run([PROGRAM, *arguments], env=environment(**more), capture_output=True, text=True, timeout=LIMIT,
                          check=False, stdin=subprocess.DEVNULL)


class Run(unittest.TestCase):
    def wrong(self, result, status, text):
        self.assertEqual((result.returncode, result.stdout), (status, ""), result.stderr)
        self.assertIn(text, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_status_is_the_programs(self):
        need()
        for status in (0, 3, 130):
            self.assertEqual(run("sh", "-c", f"exit {status}").returncode, status)
        self.assertEqual(run("sh", "-c", "kill -9 $$").returncode, -9)

    def test_programs_that_are_none(self):
        self.wrong(rocelab("run"), 2, "which program?")
        self.wrong(rocelab("run", "--", "no-such-program"), 127, "no-such-program: no such program")
        self.wrong(rocelab("run", "--", "/no/such"), 127, "/no/such: no such program")
        self.wrong(rocelab("run", "--", "/etc/passwd"), 126, "Permission denied")

    def test_programs_that_cannot_be_preloaded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "static"
            # an ELF header of 64 bits without program headers: nothing asks for a dynamic linker
            path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\x3e\x00\x01" + bytes(43))
            path.chmod(0o755)
            self.wrong(rocelab("run", "--", str(path)), 126, "statically linked")
            path.write_bytes(b"\x7fELF\x01\x01\x01" + bytes(57))
            self.wrong(rocelab("run", "--", str(path)), 126, "32-bit")
            if os.getuid() == 0:
                path.write_bytes(b"#!/bin/sh\n")
                try:
                    os.chown(path, 65534, 65534)
                except OSError:
                    return  # a namespace of users that knows root alone: nobody else can own a file
                path.chmod(0o755 | stat.S_ISUID)
                self.wrong(rocelab("run", "--", str(path)), 126, "set-user-id")

    def test_file_capabilities(self):
        """The kernel starts such a program in secure mode, unless it is root's."""
        if os.getuid() != 0:
            self.skipTest("needs root")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            path = pathlib.Path(folder) / "capable"
            shutil.copy("/bin/true", path)
            # a revision 2 record: effective, CAP_NET_RAW permitted
            try:
                os.setxattr(path, "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0))
            except OSError:
                self.skipTest("no file capabilities here")
            nobody = subprocess.run([PROGRAM, "run", "--", str(path)], env=environment(), capture_output=True, text=True,
                                    timeout=LIMIT, check=False, user=65534, group=65534, extra_groups=[])
            if "Permission denied" in nobody.stderr:
                self.skipTest("another user cannot run the program from here")
            self.wrong(nobody, 126, "file capabilities")

    def test_options_are_checked_before(self):
        self.wrong(rocelab("run", "--wire", "string", "--", "true"), 2, "string")
        self.wrong(rocelab("run", "--fault", "loss=lots", "--", "true"), 2, "loss=lots")
        self.wrong(rocelab("run", "--", "true", ROCELAB_PORT="no"), 2, "ROCELAB_PORT")
        self.wrong(rocelab("run", "--pcap", "/no/such/x.pcap", "--", "true"), 2, "cannot write /no/such/x.pcap: No such")
        self.wrong(rocelab("run", "--pcap", "/etc", "--", "true"), 2, "cannot write /etc: Is a directory")
        self.wrong(rocelab("run", "--", "true", ROCELAB_TRACE="/no/such/x"), 2, "cannot write /no/such/x: No such")

    def test_without_proc(self):
        """Where /proc is not mounted the library is found all the same."""
        need("unshare", "mount")
        script = f"mount -t tmpfs none /proc && exec {PROGRAM} run -- true"
        if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no right to make a mount namespace")
        result = subprocess.run(["unshare", "-m", "sh", "-c", script], env=environment(), capture_output=True, text=True,
                                timeout=LIMIT, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_failure_to_open_is_told_once(self):
        need("ibv_devinfo")
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as taken:
            taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            taken.bind(("::", 0))
            result = run("ibv_devinfo", options=["--device", "lo", "--wire", "udp"],
                         ROCELAB_PORT=str(taken.getsockname()[1]))
        told = [line for line in result.stderr.splitlines() if line.startswith("rocelab: ")]
        self.assertEqual(len(told), 1, result.stderr)
        self.assertRegex(told[0], r"^rocelab: rocelab0: lo: .*in use")

    def test_devices_are_checked_before(self):
        for value in ("nope0", "lo,nope0", "mlx5_0=nope0"):
            result = rocelab("run", "--device", value, "--", "true")
            self.wrong(result, 2, "device 'nope0': no interface with an address; there are: ")
            self.assertIn("lo", result.stderr.rsplit(": ", 1)[1].strip().split(", "))

    def test_moved_prefix(self):
        """Below a prefix that the build knew nothing of, the library is found beside the program."""
        need()
        library = pathlib.Path(os.environ["ROCELAB_LIBIBVERBS"]).parent
        with tempfile.TemporaryDirectory() as folder:
            prefix = pathlib.Path(folder).resolve()
            (prefix / "bin").mkdir()
            (prefix / "lib" / "rocelab").mkdir(parents=True)
            shutil.copy(PROGRAM, prefix / "bin")
            for name in ("libibverbs.so.1", "librdmacm.so.1"):
                shutil.copy(library / name, prefix / "lib" / "rocelab" / name)
            result = subprocess.run([prefix / "bin" / "rocelab", "run", "--", "env"], env=environment(), check=True,
                                    capture_output=True, text=True, timeout=LIMIT)
            self.assertRegex(result.stdout, rf"(?m)^LD_LIBRARY_PATH={prefix}/lib/rocelab(:|$)")
            self.assertIn(f"{prefix}/lib/rocelab has no libibverbs.so: a program that opens that name", result.stderr)
            (prefix / "lib" / "rocelab" / "libibverbs.so").symlink_to("libibverbs.so.1")
            self.assertEqual("", self.opened(prefix / "bin" / "rocelab", prefix / "lib" / "rocelab"))

    def opened(self, program, folder):
        """As NCCL opens it: each name is a file of this folder.  What was said beside that."""
        script = ("import ctypes\nfor name in ('libibverbs.so', 'libibverbs.so.1'):\n"
                  "    ctypes.CDLL(name).ibv_get_device_list\n"
                  "print({line.split()[-1] for line in open('/proc/self/maps') if 'libibverbs' in line})")
        result = subprocess.run([program, "run", "--", "/usr/bin/python3", "-c", script], env=environment(), check=True,
                                capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(f"{{'{folder}/libibverbs.so.1'}}\n", result.stdout)
        return result.stderr

    def test_a_path_that_cannot_be_preloaded(self):
        library = pathlib.Path(os.environ["ROCELAB_LIBIBVERBS"]).parent
        for name in ("with blank", "with:colon"):
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                prefix = pathlib.Path(folder) / name
                (prefix / "lib" / "rocelab").mkdir(parents=True)
                (prefix / "bin").mkdir()
                shutil.copy(PROGRAM, prefix / "bin")
                shutil.copy(library / "libibverbs.so.1", prefix / "lib" / "rocelab")
                result = subprocess.run([prefix / "bin" / "rocelab", "run", "--", "true"], env=environment(), check=False,
                                        capture_output=True, text=True, timeout=LIMIT)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn(f"{name}/lib/rocelab': no blank and no colon", result.stderr)

    def test_variables_reach_the_program(self):
        need()
        options = ["--device", "lo", "--wire", "shm", "--fault", "loss=1%", "--pcap", "x.pcap", "--trace"]
        text = run("env", options=options).stdout
        for line in ("ROCELAB_DEVICE=lo", "ROCELAB_WIRE=shm", "ROCELAB_FAULT=loss=1%", "ROCELAB_TRACE=-",
                     f"ROCELAB_PCAP={os.getcwd()}/x.pcap"):
            self.assertIn(line, text.splitlines())
        preload = [line for line in run("env", LD_LIBRARY_PATH="/old").stdout.splitlines() if line.startswith("LD_")]
        self.assertTrue(any("libibverbs.so.1" in line for line in preload), preload)
        self.assertTrue(any(line.startswith("LD_LIBRARY_PATH=") and line.endswith(":/old") for line in preload))

    def test_limit_of_files(self):
        """`ulimit -f` is the program's: what we have in files fails in words, and no signal of ours ends it."""
        need("ibv_devinfo")
        result = run("sh", "-c", "ulimit -f 8; ibv_devinfo; echo went on")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("went on\n", result.stdout)
        self.assertNotIn("size limit exceeded", result.stderr)
        self.assertIn("no memory for the registry", result.stderr)
        self.assertIn("File too large", result.stderr)

    def test_preloads_of_the_user_come_first(self):
        need()
        text = run("env", LD_PRELOAD="libdl.so.2", ASAN_OPTIONS="detect_leaks=0").stdout
        self.assertRegex(text, r"(?m)^LD_PRELOAD=libdl\.so\.2:.*libibverbs\.so\.1:")
        self.assertIn("ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0\n", text)

    def test_other_files_are_left_alone(self):
        need()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "some"
            path.write_text("text\n")
            self.assertEqual(run("cat", str(path)).stdout, "text\n")
        self.assertNotEqual(run("cat", "/sys/class/infiniband/rocelab0/nothing").returncode, 0)

    def test_sysfs(self):
        need()
        for name, text in (("node_type", "1: CA\n"), ("ports/1/state", "4: ACTIVE\n"),
                           ("ports/1/link_layer", "Ethernet\n"),
                           ("ports/1/gid_attrs/types/0", "RoCE v2\n"), ("ports/1/pkeys/0", "0xffff\n")):
            self.assertEqual(run("cat", f"/sys/class/infiniband/rocelab0/{name}").stdout, text)
        self.assertIn("rocelab0", run("ls", "/sys/class/infiniband").stdout.split())
        self.assertEqual(run("sh", "-c", "cd /sys/class/infiniband && echo *", options=["--device", "lo"]).stdout,
                         "rocelab0\n")
        self.assertEqual(run("cat", "/sys/class/misc/rdma_cm/abi_version").stdout, "4\n")
        listed = run("ls", "-l", "/dev/infiniband")
        self.assertEqual(listed.stderr, "")
        self.assertEqual([line.split()[-1] for line in listed.stdout.splitlines()[1:]][:2], ["rdma_cm", "uverbs0"])
        self.assertTrue(all(line[0] == "c" for line in listed.stdout.splitlines()[1:]), listed.stdout)
        interface = run("ls", "/sys/class/infiniband/rocelab0/device/net/", options=["--device", "lo"])
        self.assertEqual(interface.stdout, "lo\n")
        self.assertEqual(run("/bin/sh", "-c", "test -r /sys/class/infiniband/rocelab0/node_guid && "
                             "test -d /sys/class/infiniband/rocelab0").returncode, 0)
        self.assertEqual(run("/usr/bin/test", "-c", "/dev/infiniband/uverbs0").returncode, 0)
        self.assertEqual(run("/usr/bin/test", "-e", "/dev/infiniband/uverbs99").returncode, 1)


    def test_no_tree_is_left_half_built(self):
        """Many processes at once build the tree of devices that no one has seen before."""
        need()
        name = f"dev{os.getpid()}"
        many = [subprocess.Popen([PROGRAM, "run", "--device", f"{name}=lo", "--", "cat",
                                  f"/sys/class/infiniband/{name}/node_type"], env=environment(),
                                 stdout=subprocess.PIPE, text=True) for _ in range(8)]
        self.assertEqual([process.communicate(timeout=LIMIT)[0] for process in many], ["1: CA\n"] * 8)
        runtime = os.environ.get("XDG_RUNTIME_DIR") or "/nowhere"
        trees = [path for base in (f"{runtime}/rocelab", f"/dev/shm/rocelab-{os.geteuid()}", f"/tmp/rocelab-{os.geteuid()}")
                 for path in pathlib.Path(base, "sys").glob("*")]
        self.assertGreater(len(trees), 0)
        for path in trees:
            if path.name.startswith("new-"):  # another test may be building: a killed one is an hour away
                self.assertGreater(path.stat().st_mtime, time.time() - 60)


class Devices(unittest.TestCase):
    def test_document(self):
        document = json.loads(rocelab("devices", "--json").stdout)
        self.assertEqual((document["version"], document["kind"]), (1, "devices"))
        self.assertIn("127.0.0.1", [gid["address"] for gid in document["devices"][0]["gids"]])
        document = json.loads(rocelab("devices", "--json", ROCELAB_DEVICE="lo").stdout)
        self.assertTrue(document["devices"][0]["loopback"])
        self.assertEqual(document["devices"][0]["gids"][0]["address"], "127.0.0.1")

    def test_text(self):
        text = rocelab("devices", ROCELAB_DEVICE="lo").stdout
        self.assertRegex(text, r"(?m)^rocelab0 +lo +up ")
        self.assertEqual(rocelab("devices", "--quiet", ROCELAB_DEVICE="mine=lo").stdout, "mine\n")
        self.assertEqual(rocelab("devices", "more").returncode, 2)


class Counters(unittest.TestCase):
    def diagnose(self, pid):
        """A program that waits: two looks at it, and nothing that harms."""
        result = rocelab("diagnose", "live", "--interval", "20ms", "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        document = json.loads(result.stdout)
        self.assertEqual((document["looked_at"]["looks"], document["looked_at"]["hosts"]), (2, 1))
        self.assertGreaterEqual(document["looked_at"]["seconds"], 0.02)
        self.assertGreaterEqual(document["looked_at"]["ports"], 1)
        self.assertEqual(rocelab("diagnose", "live", "--interval", "1us").returncode, 2)

    def test_faults_of_its_own(self):
        """A program that loses its own packets is told so, and no path is blamed."""
        need("ibv_rc_pingpong")
        port = free_port()
        command = ["--device", "lo", "--fault", "loss=10%", "--", "ibv_rc_pingpong", "-g", "0", "-n", "100000000", "-p", str(port)]
        programs = [subprocess.Popen([PROGRAM, "run", *command], env=environment(), stdout=subprocess.DEVNULL)]
        try:
            until = time.monotonic() + LIMIT
            while not listens(port) and time.monotonic() < until:
                time.sleep(0.01)
            programs.append(subprocess.Popen([PROGRAM, "run", *command, "127.0.0.1"], env=environment(),
                                             stdout=subprocess.DEVNULL))
            found = []
            while not found and time.monotonic() < until:
                document = json.loads(rocelab("diagnose", "live", "--interval", "300ms", "--json").stdout)
                found = document["findings"]
            self.assertEqual({one["rule"] for one in found if one["consequence_of"] is None}, {"D21"})
            self.assertEqual(found[0]["owner"], "host")
            self.assertRegex(found[0]["what"], r"of the packets that .*rocelab0\[\d+\] sends its own --fault had \d+ lost")
        finally:
            for program in programs:
                program.kill()
                program.wait()

    def test_none_runs(self):
        result = rocelab("counters", "1")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("no process or device '1'", result.stderr)
        self.assertEqual(rocelab("counters", "1", "2").returncode, 2)

    def test_of_a_program_that_runs(self):
        need("ibv_rc_pingpong")
        port = free_port()
        server = subprocess.Popen([PROGRAM, "run", "--device", "lo", "--", "ibv_rc_pingpong", "-g", "0", "-p",
                                   str(port)], env=environment(), stdout=subprocess.DEVNULL)
        try:
            until = time.monotonic() + LIMIT
            while not listens(port) and time.monotonic() < until:  # it listens when its device is open
                time.sleep(0.01)
            document = json.loads(rocelab("counters", "--json", str(server.pid)).stdout)
            self.assertEqual(document["kind"], "counters")
            adapter = document["adapters"][0]
            self.assertEqual((adapter["pid"], adapter["interface"]), (server.pid, "lo"))
            self.assertIn("out_of_sequence", adapter["counters"])
            self.assertIn(f"process {server.pid}", rocelab("counters").stdout)
            adapter = json.loads(rocelab("counters", "--events", "--json", str(server.pid)).stdout)["adapters"][0]
            self.assertEqual((adapter["pid"], adapter["events"], adapter["events_lost"]), (server.pid, [], 0))
            self.assertRegex(rocelab("counters", "--events", str(server.pid)).stdout, rf"process {server.pid} .*\n  no events\n$")
            self.diagnose(server.pid)
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    unittest.main()
