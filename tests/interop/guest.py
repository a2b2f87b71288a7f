# SPDX-License-Identifier: Apache-2.0
"""A Linux guest with the kernel's Soft-RoCE, on a network of its own.

QEMU (with /dev/kvm where that can be used, else by software emulation) boots a Debian kernel with an initramfs written here:
busybox, the modules, and an init that mounts this machine's root read-only over 9p under an overlay, so that the guest
has every program that is installed here.  Host and guest meet on a bridge in a network namespace made for
the run; nothing leaves it.  The guest takes commands on a virtio-serial port, which has no FIFO to overrun as a UART has: a
numbered line with its checksum in, exit status, length and output out.

Needs root (namespace, tap), qemu-system-x86_64, busybox and a kernel: a folder into which a linux-image
package was unpacked (`tests/interop/fetch` gets one), named by ROCELAB_GUEST_KERNEL.  ROCELAB_GUEST_ACCEL=tcg asks for
emulation: a guest many times slower.
"""
import gzip
import hashlib
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

MODULES = ["virtio_pci", "virtio_net", "virtio_console", "9pnet_virtio", "9p", "overlay", "crc32_generic", "crc32c_generic", "ib_core", "ib_uverbs", "ib_umad",
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
while [ ! -e /dev/vport0p1 ]; do $B sleep 0.1; done
exec <>/dev/vport0p1 >&0 # it can be opened only once
echo READY
while read -r number sum line; do
    if [ "$(printf %s "$line" | $B md5sum | $B cut -c1-32)" != "$sum" ]; then
        echo "@@AGAIN $number damaged 0"
        continue
    fi
    $B chroot /new /bin/bash -c "ulimit -l unlimited; $line" </dev/null >/output 2>&1
    status=$?
    $B cp /output /answer # what runs on in the background may still write to the other
    echo "@@ANSWER $number $status $($B wc -c </answer)"
    $B cat /answer
done
"""
BOOT = 600  # seconds: emulation on a busy machine
TRIES = 3  # for a command that reached the guest damaged


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
        self.number = 0

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

    def accelerators(self):
        """QEMU's options.  /dev/kvm without the processor's help (the module kvm_pvm) boots only kernels made for it, not Debian's."""
        helped = any(pathlib.Path("/sys/module", module).exists() for module in ("kvm_intel", "kvm_amd"))
        usable = helped and os.access("/dev/kvm", os.R_OK | os.W_OK)
        self.accelerator = os.environ.get("ROCELAB_GUEST_ACCEL") or ("kvm" if usable else "tcg")
        return ["-accel", "tcg,thread=multi" if self.accelerator == "tcg" else self.accelerator]

    def boot(self):
        (self.folder / "initrd").write_bytes(initramfs(self.kernel, self.mtu))
        control = self.folder / "control"
        command = ["ip", "netns", "exec", self.namespace, "qemu-system-x86_64", *self.accelerators(), "-cpu", "max", "-smp", str(self.cpus),
                   "-m", str(self.memory_mib), "-nographic", "-no-reboot", "-kernel", str(self.image), "-initrd", str(self.folder / "initrd"),
                   "-append", "console=ttyS0 quiet panic=1 mitigations=off no_timer_check tsc=reliable clocksource=tsc", "-monitor", "none",
                   "-serial", f"file:{self.folder / 'console'}", "-chardev", f"socket,id=c0,path={control},server=on,wait=on",
                   "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=c0,name=control",
                   "-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no", "-device", f"virtio-net-pci,netdev=n0,host_mtu={self.mtu}",
                   "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + BOOT
        while not control.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("qemu did not start: " + self.process.stderr.read().decode(errors="replace"))
            time.sleep(0.1)
        self.port = socket.socket(socket.AF_UNIX)
        self.port.connect(str(control))
        self.port.settimeout(BOOT)
        self.lines = self.port.makefile("rb")
        self.expect(b"READY")

    def expect(self, word):
        """The next line from the guest, which begins with this word."""
        try:
            line = self.lines.readline()
        except TimeoutError:
            line = b""
        if not line:
            raise RuntimeError("the guest is gone or silent:\n" + (self.folder / "console").read_text(errors="replace")[-2000:])
        if not line.startswith(word):
            raise RuntimeError(f"the guest said {line!r} where {word!r} was expected")
        return line

    def sh(self, line, seconds=120):
        """Runs a line of shell in the guest: (exit status, output)."""
        text = line.replace("\n", "; ").strip().encode()
        self.port.settimeout(seconds)
        for _ in range(TRIES):
            self.number += 1
            self.port.sendall(b"%d %s %s\n" % (self.number, hashlib.md5(text).hexdigest().encode(), text))
            word, number, status, length = self.expect(b"@@").split()
            if int(number) != self.number:
                raise RuntimeError(f"the guest answered command {number.decode()}, not {self.number}")
            if word == b"@@ANSWER":
                return int(status), self.lines.read(int(length)).decode(errors="replace")
            print(f"the line to the guest damaged a command: {line}", file=sys.stderr, flush=True)
        raise RuntimeError(f"the line to the guest damaged a command {TRIES} times: {line}")

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
