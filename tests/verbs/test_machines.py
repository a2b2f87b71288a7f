# SPDX-License-Identifier: Apache-2.0
"""Programs on two machines: what they tell each other of their addresses must be of use on the other."""
import subprocess
import sys
import time
import unittest

from cable import ADDRESS, Cable, main
from support import LIMIT, command, environment, need

PORT = 18516


class Libfabric(unittest.TestCase):
    """It binds to 127.0.0.1 to learn which adapter that names.  A kernel's rdma_cm names none, and libfabric then goes by the
    addresses of the interfaces; else the peer is told 127.0.0.1."""

    @classmethod
    def setUpClass(cls):
        cls.cable = Cable()

    @classmethod
    def tearDownClass(cls):
        cls.cable.holder.kill()
        cls.cable.holder.wait()

    def start(self, end, options, *arguments):
        process = subprocess.Popen(self.cable.command(end, command(arguments, options)), env=environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def pingpong(self, provider, endpoint, named):
        need("fi_pingpong")
        options = [["--device", f"rl{end}"] if named else [] for end in range(2)]
        program = ["fi_pingpong", "-p", provider, "-e", endpoint, "-I", "20", "-S", "4096", "-c"]
        server = self.start(1, options[1], *program, "-B", str(PORT))
        until = time.monotonic() + LIMIT
        while not self.cable.listens(1, PORT):
            self.assertIsNone(server.poll(), program)
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        client = self.start(0, options[0], *program, "-P", str(PORT), ADDRESS[1])
        said = client.communicate(timeout=LIMIT)[0] + server.communicate(timeout=LIMIT)[0]
        self.assertEqual((client.returncode, server.returncode), (0, 0), said)

    def test_pingpong(self):
        for provider, endpoint in (("verbs", "msg"), ("verbs;ofi_rxm", "rdm"), ("verbs;ofi_rxd", "rdm")):
            for named in (False, True):
                with self.subTest(provider=provider, named=named):
                    self.pingpong(provider, endpoint, named)


if __name__ == "__main__":
    sys.exit(main())
