# SPDX-License-Identifier: Apache-2.0
"""Programs that start programs on other hosts of a fabric: by hand, and as launchers of MPI do."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROCELAB = os.environ["ROCELAB"]
RING = os.environ["ROCELAB_MPI_RING"]
FABRIC = """rocelab: 1
fabric: launch
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 2}}
links: {host: {rate: 400G, cable: 5m}, fabric: {rate: 400G, cable: 30m}}
"""
BY_HAND = """
"$ROCELAB_PROGRAM" run --host h1 -- sh -c 'hostname; sleep 1; exit 7'
echo "status $?"
"$ROCELAB_PROGRAM" run --host h0 -- hostname
"$ROCELAB_PROGRAM" run --host nowhere -- hostname
echo "status $?"
"""


def up(script):
    """The report, and what each program printed, by host."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "launch.yaml").write_text(FABRIC)
        (path / "launch.up").write_text(script)
        with open(path / "out", "w") as out, open(path / "err", "w") as err:
            code = subprocess.call([ROCELAB, "up", "launch.yaml", "--script", "launch.up", "--name",
                                    f"launch-{os.getpid()}"], cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err, timeout=600)
        return code, (path / "out").read_text(), (path / "err").read_text()


def need(*programs):
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise unittest.SkipTest(f"{', '.join(missing)}: not installed")


class ByHand(unittest.TestCase):
    def test_on_another_host_with_its_exit_status(self):
        with tempfile.NamedTemporaryFile("w", suffix=".sh") as shell:
            shell.write(BY_HAND)
            shell.flush()
            code, out, err = up(f"h0: sh {shell.name}\n")
        self.assertEqual(code, 1, out + err)  # h1's has ended with 7
        lines = out.splitlines()
        self.assertIn("h1: h1", lines)
        self.assertIn("h0: status 7", lines)
        self.assertIn("h0: h0", lines)
        self.assertIn("h0: status 2", lines)
        self.assertIn("the fabric has no such host", err)
        self.assertTrue(any(line.startswith("1s of virtual time") for line in lines), out)


@unittest.skipUnless(os.environ.get("ROCELAB_SOAK"), "long: make soak runs it")
class Mpi(unittest.TestCase):
    """UCX on the fabric's adapters alone: what mpi_ring.c checks came through them; and the same again."""

    def ring(self, compiler, command):
        need(compiler, command.split()[0], "ucx_info")
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/mpi_ring"
            subprocess.run([compiler, "-std=gnu17", "-O1", "-o", program, RING], check=True, timeout=600)
            runs = [up(f"h0: env UCX_TLS=rc_v,self UCX_NET_DEVICES=rocelab0:1 MPIR_CVAR_NOLOCAL=1 {command} {program}\n")
                    for _ in range(2)]
        for code, out, err in runs:
            self.assertEqual(code, 0, out + err)
            self.assertIn("ranks: right", out)
        digests = {line.split("digest ")[1].split()[0] for _, out, _ in runs for line in out.splitlines() if "digest " in line}
        self.assertEqual(1, len(digests))

    def test_open_mpi(self):
        options = "--allow-run-as-root -x UCX_TLS -x UCX_NET_DEVICES --mca pml ucx --mca osc ucx"
        for hosts, ranks in (("h0,h1", 2), ("h0:2,h1:2,h2:2,h3:2", 8)):
            with self.subTest(ranks=ranks):
                self.ring("mpicc.openmpi", f"mpirun.openmpi {options} --host {hosts} -np {ranks}")

    def test_mpich(self):
        for hosts, ranks in (("h0,h1", 2), ("h0,h1,h2,h3", 8)):
            with self.subTest(ranks=ranks):
                self.ring("mpicc.mpich", f"mpiexec.mpich -hosts {hosts} -np {ranks}")


if __name__ == "__main__":
    unittest.main()
