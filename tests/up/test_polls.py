# SPDX-License-Identifier: Apache-2.0
"""rocelab up: a program that polls in vain.  It costs little where nobody else has anything to do, and time is the same."""
import os
import resource
import unittest

from test_up import Up

POLLS = 200_000


class Polls(Up):
    def printed(self, script):
        """What the program on h0 printed, and how often a process of the run had to wait for another."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
        said = self.up(script, "--quiet").stdout
        waits = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before
        return [line for line in said.splitlines() if line.startswith("h0:")], waits

    def test_alone(self):
        printed, waits = self.printed(f"h0: {os.environ['ROCELAB_POLLS']} {POLLS}\n")
        self.assertEqual(2, len(printed), printed)
        self.assertLess(waits, POLLS // 20)

    def test_times_are_those_of_a_program_that_is_not_alone(self):
        """Polls of the others are due all the time, so the fabric has to be asked for each."""
        polls = os.environ["ROCELAB_POLLS"]
        script = f"h0: {polls} 5000\n"
        alone, _ = self.printed(script)
        beside, _ = self.printed(f"{script}h1: {polls} 9000\nh2: {polls} 9000\n")
        self.assertIn("RNR retry counter exceeded after", alone[1])
        self.assertEqual(alone, beside)


if __name__ == "__main__":
    unittest.main()
