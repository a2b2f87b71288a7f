# SPDX-License-Identifier: Apache-2.0
"""Two machines for a test: network namespaces with a veth pair between them, the test itself in the first."""
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

from support import LIMIT

INSIDE = "ROCELAB_TEST_INSIDE"  # set: this process is in a namespace of its own
ADDRESS = ("10.73.0.1", "10.73.0.2")
MAC = ("02:00:00:73:00:01", "02:00:00:73:00:02")


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=LIMIT)


class Cable:
    """The end 0 is this process's namespace, the other is held by a sleeping process."""

    def __init__(self):
        own = os.readlink("/proc/self/ns/net")
        self.holder = subprocess.Popen(["unshare", "-n", "sleep", "600"])
        while os.readlink(f"/proc/{self.holder.pid}/ns/net") == own:
            time.sleep(0.01)
        ip("link", "add", "rl0", "address", MAC[0], "type", "veth", "peer", "name", "rl1", "address", MAC[1])
        ip("link", "set", "rl1", "netns", str(self.holder.pid))
        for end in range(2):
            self.ip(end, "link", "set", "lo", "up")
            # the address that the kernel would make of the MAC, without waiting until it is known to be the only one
            self.ip(end, "link", "set", f"rl{end}", "addrgenmode", "none")
            self.ip(end, "link", "set", f"rl{end}", "up")
            self.ip(end, "addr", "add", f"{ADDRESS[end]}/24", "dev", f"rl{end}")
            self.ip(end, "addr", "add", f"fe80::ff:fe73:{end + 1}/64", "dev", f"rl{end}", "nodad")

    def command(self, end, command):
        return ["nsenter", "-t", str(self.holder.pid), "-n", *command] if end else list(command)

    def ip(self, end, *arguments):
        subprocess.run(self.command(end, ["ip", *arguments]), check=True, capture_output=True, timeout=LIMIT)

    def listens(self, end, port):
        """Whether somebody listens on the TCP port that the programs meet on."""
        process = self.holder.pid if end else "self"
        text = "".join(pathlib.Path(f"/proc/{process}/net/{name}").read_text("ascii") for name in ("tcp", "tcp6"))
        return re.search(rf":{port:04X} [0-9A-F]+:0000 0A", text) is not None


def main():
    """Runs the tests of the calling script in a namespace of their own; 77: none can be had."""
    if os.environ.get("ROCELAB_SANITIZED"):
        print("skipped: a library with a sanitizer cannot be put before a program without one")
        return 77
    if INSIDE in os.environ:
        unittest.main()
    try:
        subprocess.run(["unshare", "-rn", "ip", "link", "add", "rl0", "type", "veth"], check=True, capture_output=True,
                       text=True, timeout=LIMIT)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: no network namespace can be made here: {error}")
        return 77
    command = ["unshare", "-rn", sys.executable, *sys.argv]
    return subprocess.run(command, env=dict(os.environ, **{INSIDE: "1"}), check=False).returncode
