# SPDX-License-Identifier: Apache-2.0
"""A Linux guest with the kernel's Soft-RoCE, on a network of its own.

QEMU (software emulation: it needs no /dev/kvm) boots a Debian kernel with an initramfs written here:
busybox, the modules, and an init that mounts this machine's root read-only over 9p under an overlay, so that the guest
has every program that is installed here.  Host and guest meet on a bridge in a network namespace made for
the run; nothing leaves it.  The guest takes commands on a serial port: a line in, output and exit status out.

Needs root (namespace, tap), qemu-system-x86_64, busybox and a kernel: a folder into which a linux-image
package was unpacked (`tests/interop/fetch` gets one), named by ROCELAB_GUEST_KERNEL.
"""
import gzip
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

MODULES = ["virtio_pci", "virtio_net", "9pnet_virtio", "9p", "overlay", "crc32_generic", "crc32c_generic", "ib_core", "ib_uverbs", "ib_umad",
           "rdma_ucm", "rdma_rxe", "sch_netem"]
HOST_IP, GUEST_IP = "10.99.0.1", "10.99.0.2"
HOST_IP6, GUEST_IP6 = "fd99::1", "fd99::2"

INIT = """#!/bin/busybox sh
B=/bin/busybox
$B mount -t proc proc /proc; $B mount -t sysfs sys /sys; $B mount -t devtmpfs dev /dev
for m in $($B cat /modules/order); do $B insmod /modules/$m 2>/dev/null; done
$B mkdir -p /host /top /new
$B mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=262144,cache=loose host /host
$B mount -t tmpfs tmpfs /top; $B mkdir -p /top/up /top/work
$B mount -t overlay -o lowerdir=/host,upperdir=/top/up,workdir=/top/work overlay /new
for d in proc sys dev; do $B mkdir -p /new/$d; $B mount --bind /$d /new/$d; done
$B mkdir -p /new/dev/pts /new/dev/shm; $B mount -t devpts devpts /new/dev/pts; $B mount -t tmpfs tmpfs /new/dev/shm
$B mount -t tmpfs tmpfs /new/tmp; $B mount -t tmpfs tmpfs /new/run
$B mkdir -p /new/mnt; $B mount --bind /host /new/mnt
$B ip link set lo up; $B ip link set eth0 mtu @MTU@ up; $B ip addr add @IP@/24 dev eth0
$B chroot /new /sbin/ip addr add @IP6@/64 dev eth0 nodad
$B chroot /new /bin/sh -c 'rdma link add rxe0 type rxe netdev eth0; ulimit -l unlimited'
$B stty -F /dev/ttyS1 raw -echo
exec </dev/ttyS1 >/dev/ttyS1 2>&1
echo READY
while read -r line; do
    $B chroot /new /bin/bash -c "ulimit -l unlimited; $line" </dev/null
    echo "@@EXIT $?"
done
"""


class Missing(Exception):
    """What the test needs and this machine does not have."""


def module_files(kernel):
    """The modules wanted and all they depend on, dependencies first."""
    known = {path.stem.replace("-", "_"): path for path in kernel.rglob("*.ko")}
    order = []

    def add(name):
        path = known.get(name.replace("-", "_"))
        if path is None or path in order:
            return
        match = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        for dependency in (match.group(1).decode().split(",") if match else []):
            if dependency:
                add(dependency)
        order.append(path)

    for name in MODULES:
        add(name)
    if not any(path.stem == "rdma_rxe" for path in order):
        raise Missing(f"{kernel}: no rdma_rxe module")
    return order


def archive(entries):
    """A cpio archive (newc): [(name, mode, bytes)]."""
    out = bytearray()
    for number, (name, mode, data) in enumerate(entries + [("TRAILER!!!", 0, b"")], 1):
        raw = name.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0]
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + raw
        out += b"\0" * (-len(out) % 4)
        out += data
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def initramfs(kernel, mtu):
    init = INIT.replace("@MTU@", str(mtu)).replace("@IP@", GUEST_IP).replace("@IP6@", GUEST_IP6)
    busybox = shutil.which("busybox")
    if busybox is None:
        raise Missing("busybox is not installed")
    entries = [(name, 0o40755, b"") for name in ("bin", "proc", "sys", "dev", "modules")]
    entries += [("bin/busybox", 0o100755, pathlib.Path(busybox).read_bytes()), ("init", 0o100755, init.encode())]
    files = module_files(kernel)
    entries += [(f"modules/{path.name}", 0o100644, path.read_bytes()) for path in files]
    entries.append(("modules/order", 0o100644, "\n".join(path.name for path in files).encode()))
    return gzip.compress(archive(entries), 1)


def find_kernel():
    folder = os.environ.get("ROCELAB_GUEST_KERNEL")
    if not folder:
        raise Missing("ROCELAB_GUEST_KERNEL names no kernel (tests/interop/fetch DIR gets one)")
    images = sorted(pathlib.Path(folder).rglob("vmlinuz-*"))
    if not images:
        raise Missing(f"{folder}: no vmlinuz in it")
    return pathlib.Path(folder), images[-1]


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Guest:
    """with Guest() as guest: guest.sh("ibv_devices"), guest.host(["ping", ...])"""

    def __init__(self, memory_mib=1024, mtu=9000, cpus=1):
        if os.geteuid() != 0:
            raise Missing("needs root, for a network namespace and a tap")
        if shutil.which("qemu-system-x86_64") is None:
            raise Missing("qemu-system-x86_64 is not installed")
        self.kernel, self.image = find_kernel()
        self.memory_mib, self.mtu, self.cpus = memory_mib, mtu, cpus
        self.namespace = f"rocelab-{os.getpid()}"
        self.process = self.port = None

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # whoever's time is up cleans up too
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rocelab-guest-"))
        try:
            self.network()
            self.boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def network(self):
        ns = self.namespace
        run("ip", "netns", "add", ns)
        for line in ("link set lo up", f"link add br0 mtu {self.mtu} type bridge", "tuntap add tap0 mode tap",
                     f"link set tap0 mtu {self.mtu} master br0 up", "link set br0 up", f"addr add {HOST_IP}/24 dev br0",
                     f"addr add {HOST_IP6}/64 dev br0 nodad"):
            run("ip", "-n", ns, *line.split())

    def boot(self):
        (self.folder / "initrd").write_bytes(initramfs(self.kernel, self.mtu))
        control = self.folder / "control"
        command = ["ip", "netns", "exec", self.namespace, "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(self.cpus),
                   "-m", str(self.memory_mib), "-nographic", "-no-reboot", "-kernel", str(self.image), "-initrd", str(self.folder / "initrd"),
                   "-append", "console=ttyS0 quiet panic=1 mitigations=off no_timer_check tsc=reliable clocksource=tsc", "-monitor", "none",
                   "-serial", f"file:{self.folder / 'console'}", "-serial", f"unix:{control},server=on,wait=off",
                   "-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no", "-device", f"virtio-net-pci,netdev=n0,host_mtu={self.mtu}",
                   "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 120
        while not control.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("qemu did not start: " + self.process.stderr.read().decode(errors="replace"))
            time.sleep(0.1)
        self.port = socket.socket(socket.AF_UNIX)
        self.port.connect(str(control))
        self.buffer = b""
        self.until(b"READY", 120)

    def until(self, mark, seconds):
        self.port.settimeout(seconds)
        while mark not in self.buffer:
            data = self.port.recv(65536)
            if not data:
                raise RuntimeError("the guest is gone:\n" + (self.folder / "console").read_text(errors="replace")[-2000:])
            self.buffer += data
        before, self.buffer = self.buffer.split(mark, 1)
        return before.decode(errors="replace")

    def sh(self, line, seconds=120):
        """Runs a line of shell in the guest: (exit status, output)."""
        self.port.sendall(line.replace("\n", "; ").encode() + b"\n")
        output = self.until(b"@@EXIT ", seconds)
        while b"\n" not in self.buffer:
            self.buffer += self.port.recv(4096)
        status, self.buffer = self.buffer.split(b"\n", 1)
        return int(status), output

    def host_command(self, command):
        return ["ip", "netns", "exec", self.namespace] + list(command)

    def loss(self, percent):
        """From now on, of what the guest sends this share is lost at random."""
        status, output = self.sh(f"/sbin/tc qdisc replace dev eth0 root netem loss {percent}%")
        if status:
            raise Missing("no netem in the guest: " + output.strip())

    def lost(self):
        """How many packets of the guest were lost so."""
        _, output = self.sh("/sbin/tc -s qdisc show dev eth0")
        match = re.search(r"netem.*?dropped (\d+)", output, re.S)
        return int(match.group(1)) if match else 0

    def __exit__(self, *_):
        if self.port:
            self.port.close()
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        subprocess.run(["ip", "netns", "del", self.namespace], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
