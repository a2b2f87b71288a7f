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


def up(script, *options):
    """The report, and what each program printed, by host."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "launch.yaml").write_text(FABRIC)
        (path / "launch.up").write_text(script)
        with open(path / "out", "w") as out, open(path / "err", "w") as err:
            code = subprocess.call([ROCELAB, "up", "launch.yaml", "--script", "launch.up", "--name",
                                    f"launch-{os.getpid()}", *options], cwd=folder, env=dict(os.environ, TMPDIR=folder), stdin=subprocess.DEVNULL, stdout=out,
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


ADAPTERS = "UCX_TLS=rc_v,self UCX_NET_DEVICES=rocelab0:1 MPIR_CVAR_NOLOCAL=1"  # nothing but the fabric between ranks


def open_mpi(hosts, ranks):
    return (f"mpirun.openmpi --allow-run-as-root -x UCX_TLS -x UCX_NET_DEVICES --mca pml ucx --mca osc ucx --host {hosts} "
            f"-np {ranks}")


def mpich(hosts, ranks):
    return f"mpiexec.mpich -hosts {hosts} -np {ranks}"


class Ring(unittest.TestCase):
    """mpi_ring.c checks what arrives."""

    def ring(self, compiler, command, *options, runs=1, environment=ADAPTERS):
        need(compiler, command.split()[0], "ucx_info")
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/mpi_ring"
            subprocess.run([compiler, "-std=gnu17", "-O1", "-o", program, RING], check=True, timeout=600)
            done = [up(f"h0: env {environment} {command} {program}\n", *options) for _ in range(runs)]
        for code, out, err in done:
            self.assertEqual(code, 0, out + err)
            self.assertIn("ranks: right", out)
        return done


class RealClock(Ring):
    def test_open_mpi(self):
        self.ring("mpicc.openmpi", open_mpi("h0,h1", 2), "--clock", "real", "--threads", "2")

    def test_mpich(self):
        self.ring("mpicc.mpich", mpich("h0,h1", 2), "--clock", "real/40")


@unittest.skipUnless(os.environ.get("ROCELAB_SOAK"), "long: make soak runs it")
class VirtualClock(Ring):
    """And the same again."""

    def twice(self, *words, **options):
        runs = self.ring(*words, runs=2, **options)
        digests = {line.split("digest ")[1].split()[0] for _, out, _ in runs for line in out.splitlines() if "digest " in line}
        self.assertEqual(1, len(digests))

    def test_open_mpi(self):
        for hosts, ranks in (("h0,h1", 2), ("h0:2,h1:2,h2:2,h3:2", 8)):
            with self.subTest(ranks=ranks):
                self.twice("mpicc.openmpi", open_mpi(hosts, ranks))

    def test_mpich(self):
        for hosts, ranks in (("h0,h1", 2), ("h0,h1,h2,h3", 8)):
            with self.subTest(ranks=ranks):
                self.twice("mpicc.mpich", mpich(hosts, ranks))

    def test_mpich_through_memory_of_a_host(self):
        self.twice("mpicc.mpich", mpich("h0", 2), environment="")


if __name__ == "__main__":
    unittest.main()
