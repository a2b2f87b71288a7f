#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The script for a host is POSIX sh that shellcheck passes, and does what it says.

Its tools are replaced by ones that write their arguments down, and sysfs by a folder: so what it would set is seen, and
that verify and nccl set nothing."""
import os
import pathlib
import shutil
import subprocess
import tempfile

ROCELAB = os.environ["ROCELAB"]
FABRIC = """rocelab: 1
topology: {single: {hosts: 2, gpus: 2}}
links: {host: {rate: 400G, cable: 20m}}
nics: {cable-length: 20m, dcbx: {willing: false}, nccl: {NCCL_IB_GID_INDEX: 3, NCCL_IB_HCA: "^a b$(echo c)'d"}}
"""
TOOLS = ["mlnx_qos", "dcb", "cma_roce_tos", "mlxconfig", "ip"]


def run(folder, script, *arguments, status=0, says=""):
    """What the tools were called with."""
    log = folder / "log"
    log.write_text("")
    environment = dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}", LOG=str(log))
    done = subprocess.run(["sh", str(script), *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status and says in done.stderr, (done.returncode, done.stderr)
    return log.read_text().splitlines()


def check_install(folder, script):
    """The unit that install writes starts the copy that it makes, when the adapters are there."""
    for tool in ("install", "systemctl"):
        (folder / "bin" / tool).write_text(f'#!/bin/sh\necho "{tool} $*" >>"$LOG"\n')
        (folder / "bin" / tool).chmod(0o755)
    text = script.read_text()
    script.write_text(text.replace("/etc/systemd/system/", f"{folder}/"))
    # from where it was put: nothing is copied onto itself
    copy = folder / "rocelab-host"
    copy.write_text(script.read_text().replace("/usr/local/sbin/rocelab-host", str(copy)))
    assert not any(line.startswith("install") for line in run(folder, copy, "install")), "copied onto itself"
    called = run(folder, script, "install")
    assert called[0] == f"install -m 0755 {script} /usr/local/sbin/rocelab-host", called
    assert called[1:] == ["systemctl daemon-reload", "systemctl enable rocelab-host.service",
                          "systemctl restart rocelab-host.service"], called  # one that runs is started anew
    unit = (folder / "rocelab-host.service").read_text()
    devices = "sys-subsystem-net-devices-eth0.device sys-subsystem-net-devices-eth1.device"
    for line in (f"BindsTo= {devices}", f"After=rdma-hw.target {devices}", f"WantedBy=multi-user.target {devices}",
                 "ExecStart=/usr/local/sbin/rocelab-host set"):
        assert line in unit.splitlines(), (line, unit)
    if shutil.which("systemd-analyze"):
        sound = unit.replace("/usr/local/sbin/rocelab-host", "/bin/true")
        (folder / "rocelab-host.service").write_text(sound)
        checked = subprocess.run(["systemd-analyze", "verify", str(folder / "rocelab-host.service")], capture_output=True,
                                 text=True, check=False)
        assert "rocelab-host.service:" not in checked.stderr, checked.stderr
    script.write_text(text)


def check_failures(folder, script):
    """What fails on one adapter is said at the end, and the others are set."""
    for tool, port in (("mlxconfig", "mlx5_0"), ("mlnx_qos", "eth0")):
        path = folder / "bin" / tool
        text = path.read_text()
        path.write_text(text + f'case "$*" in *{port}*) exit 3 ;; esac\n')
        called = run(folder, script, status=1, says="h1: a command failed, and not all is set on: eth0\n")
        firmware = [line.split()[2] for line in called if line.startswith("mlxconfig")]
        assert firmware == (["mlx5_0", "mlx5_1"] if tool == "mlxconfig" else ["mlx5_1"]), called
        assert any(line.startswith("mlnx_qos -i eth1 --prio_tc") for line in called), called
        path.write_text(text)
    assert run(folder, script, "bogus", status=2, says="usage: sh ") == [], "a wrong argument sets something"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "fabric.yaml").write_text(FABRIC)
        text = subprocess.run([ROCELAB, "config", str(folder / "fabric.yaml"), "--nos", "host", "--device", "h1"],
                              capture_output=True, text=True, check=True).stdout
        assert "#" in text.splitlines()[1], "no comments"
        script = folder / "h1.sh"
        script.write_text(text)
        if shutil.which("shellcheck"):
            # nic and rdma are for who reads the script back
            checked = subprocess.run(["shellcheck", "-s", "sh", "-e", "SC2034", str(script)], capture_output=True,
                                     text=True, check=False)
            assert checked.returncode == 0, checked.stdout
        (folder / "bin").mkdir()
        for tool in TOOLS:
            (folder / "bin" / tool).write_text(f'#!/bin/sh\necho "{tool} $*" >>"$LOG"\necho ROCE_CC\n')
            (folder / "bin" / tool).chmod(0o755)
        # sysfs is not ours to write
        script.write_text(text.replace("/sys/class/", f"{folder}/sys/"))
        for port in (0, 1):
            for place in (f"net/eth{port}/ecn/roce_np/enable", f"net/eth{port}/ecn/roce_rp/enable",
                          f"infiniband/mlx5_{port}/tc/1"):
                (folder / "sys" / place).mkdir(parents=True, exist_ok=True)
        called = run(folder, script)
        for port in (0, 1):
            assert f"mlnx_qos -i eth{port} -d os --trust dscp" in called, called
            assert f"mlnx_qos -i eth{port} --pfc 0,0,0,1,0,0,0,0 --cable_len 20" in called, called
            assert f"cma_roce_tos -d mlx5_{port} -p 1 -t 106" in called, called
            assert not any(line.startswith("dcb") for line in called), "both tools"
            assert (folder / f"sys/infiniband/mlx5_{port}/tc/1/traffic_class").read_text() == "106\n"
            assert (folder / f"sys/net/eth{port}/ecn/roce_np/enable/3").read_text() == "1\n"
            assert (folder / f"sys/net/eth{port}/ecn/roce_np/cnp_dscp").read_text() == "48\n"
        firmware = [line for line in called if line.startswith("mlxconfig")]
        assert len(firmware) == 2 and all("DCBX_WILLING_P1=0" in line for line in firmware), firmware
        check_failures(folder, script)
        # the kernel's own driver: no mlnx_qos, no cma_roce_tos, no mlxconfig, nothing of them in sysfs
        for tool in ("mlnx_qos", "cma_roce_tos", "mlxconfig"):
            (folder / "bin" / tool).rename(folder / tool)
        shutil.move(folder / "sys", folder / "away")
        called = run(folder, script)
        assert "dcb pfc set dev eth1 prio-pfc all:off 3:on delay 20" in called, called
        assert not any(line.startswith(("mlnx", "cma", "mlxconfig")) for line in called), called
        assert sum(line.startswith("ip link set") for line in called) == 2, called
        shutil.move(folder / "away", folder / "sys")
        for tool in ("mlnx_qos", "cma_roce_tos", "mlxconfig"):
            (folder / tool).rename(folder / "bin" / tool)
        check_install(folder, script)
        shown = run(folder, script, "verify")
        assert shown and not any(" set" in line or "--" in line for line in shown), shown
        environment = subprocess.run(["sh", "-c", 'eval "$(sh "$0" nccl)"; env', str(script)], capture_output=True,
                                     text=True, check=True, env={"PATH": os.environ["PATH"]}).stdout.splitlines()
        assert "NCCL_IB_HCA=^a b$(echo c)'d" in environment, environment
        assert "NCCL_IB_TC=106" in environment and "NCCL_IB_GID_INDEX=3" in environment, environment


main()
