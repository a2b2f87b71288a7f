# SPDX-License-Identifier: Apache-2.0
"""Pairs of unmodified programs under `rocelab run`, one the server, one the client, on 127.0.0.1."""
import functools
import os
import re
import shutil
import socket
import subprocess
import time
import unittest

PROGRAM = os.environ["ROCELAB"]
LIMIT = 120  # seconds: a guard against hanging, nothing is measured by it


def need(*programs):
    """A program that is not installed skips its test."""
    if os.environ.get("ROCELAB_SANITIZED"):
        raise unittest.SkipTest("a library with a sanitizer cannot be put before a program without one")
    for program in programs:
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"{program} is not installed")


def need_ucx(*programs):
    """UCX 1.13 ends itself where a chroot lacks what it reads of the machine, with us and without."""
    need("ucx_perftest", *programs)
    if not ucx_runs():
        raise unittest.SkipTest("ucx_perftest does not run on this machine, without us either")


@functools.cache
def ucx_runs():
    server = subprocess.Popen(["ucx_perftest", "-t", "tag_lat", "-p", str(free_port())], env=environment(),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        server.wait(1)
    except subprocess.TimeoutExpired:  # it waits for a client
        server.kill()
        server.wait()
        return True
    return False


def environment(**more):
    env = {key: value for key, value in os.environ.items() if not key.startswith("ROCELAB_") and key != "LD_PRELOAD"}
    env.update(more)
    return env


def build(source, folder, *libraries, compiler="cc"):
    """A program of tests/programs that uses somebody's library; where that is not installed the test is skipped."""
    need(compiler)
    path = os.path.join(os.environ["ROCELAB_SOURCE"], "tests", "programs", source)
    program = os.path.join(folder, os.path.splitext(source)[0])
    env = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}  # by which ld would find ours
    result = subprocess.run([compiler, "-O1", "-o", program, path, *libraries], env=env, capture_output=True, text=True,
                            timeout=LIMIT, check=False)
    if result.returncode != 0:
        missing = re.search(r"(\S+): No such file|cannot find (\S+?):", result.stderr)
        if missing is None:
            raise AssertionError(result.stderr)
        raise unittest.SkipTest(f"{missing[1] or missing[2]} is not installed")
    return program


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def command(arguments, options=()):
    return [PROGRAM, "run", *options, "--", *arguments]


def run(*arguments, options=(), **more):
    return subprocess.run(command(arguments, options), env=environment(**more), capture_output=True, text=True,
                          timeout=LIMIT, check=False, stdin=subprocess.DEVNULL)


def listens(port):
    """Whether somebody listens on a TCP port, without connecting to it."""
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(name, encoding="ascii") as file:
                for line in file.readlines()[1:]:
                    field = line.split()
                    if field[3] == "0A" and int(field[1].rsplit(":", 1)[1], 16) == port:
                        return True
        except OSError:
            pass
    return False


class Pair:
    """A server and a client; each ends by itself, or is killed by its pid."""

    def __init__(self, server, client, port, options=(), **more):
        env = environment(**more)
        self.server = subprocess.Popen(command(server, options), env=env, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
        self.client = None
        self.client_text = ""
        try:
            until = time.monotonic() + LIMIT
            while not listens(port):
                if self.server.poll() is not None or time.monotonic() > until:
                    raise AssertionError(f"{server}: ended before it listened:\n{self.finish()}")
                time.sleep(0.01)
            self.client = subprocess.Popen(command(client, options), env=env, stdout=subprocess.PIPE,
                                           stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
            self.client_text = self.client.communicate(timeout=LIMIT)[0]
            self.server_text = self.server.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"{server} and {client}: hang\n{self.client_text}{self.finish()}") from error
        finally:
            self.finish()

    def finish(self):
        text = ""
        for process in (self.client, self.server):
            if process is None:
                continue
            if process.poll() is None:
                process.kill()
            if process.stdout and not process.stdout.closed:
                text += process.communicate()[0] or ""
        return text
