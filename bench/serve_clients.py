#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many clients at once at `rocelab sim --serve`: memory stays flat, and the run is the same.

    bench/serve_clients.py ROCELAB [SECONDS [CLIENTS]]

Of the clients a quarter listens at /api/events, one in ten is slow (a byte a second, or never reads), the others ask for
/metrics, /api/state.json, the page and /healthz in turn, each on a connection of its own.  First a bounded run is compared
with the same run that nobody watches; then one that does not end is watched for so long, and its memory is read."""
import asyncio
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

FABRIC = """rocelab: 1
fabric: watched
topology: {leaf-spine: {leaves: 4, spines: 2, hosts: 8}}
links: {host: {rate: 100G, cable: 5m}, fabric: {rate: 100G, cable: 50m}}
jobs: [{incast: 7, size: 1TB}, {permutation: random, size: 1TB}]
"""
PATHS = ("/metrics", "/api/state.json", "/", "/healthz")
ALLOWED_GROWTH = 1.10


class Clients:
    def __init__(self, port, count):
        self.port, self.count = port, count
        self.answers = {path: 0 for path in PATHS}
        self.events = self.refused = self.cut = 0

    async def ask(self, path):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.read(-1)
            if b" 200 " in head and len(body) == int(re.search(rb"Content-Length: (\d+)", head).group(1)):
                self.answers[path] += 1
            else:
                self.refused += 1
        finally:
            writer.close()

    async def asks(self):
        await self.ask(random.choice(PATHS))
        await asyncio.sleep(random.random())

    async def listens(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            for _ in range(random.randrange(5, 50)):
                line = await reader.readline()
                self.events += line.startswith(b"event: state")
                if not line:
                    break
        finally:
            writer.close()

    async def never_asks(self):
        """A byte of a request each second: cut off after a minute."""
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(1)
        except OSError:
            self.cut += 1
        finally:
            writer.close()

    async def never_reads(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1)
        try:
            writer.write(b"GET /api/state.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await asyncio.sleep(70)
            await reader.read(-1)
        finally:
            writer.close()

    async def again(self, what):
        while True:
            try:
                await what()
            except (OSError, asyncio.IncompleteReadError):
                self.refused += 1
                await asyncio.sleep(0.2)

    async def run(self, seconds, look):
        def kind(i):
            if i % 10 == 9:
                return self.never_asks if i % 20 == 9 else self.never_reads
            return self.listens if i % 4 == 0 else self.asks

        tasks = [asyncio.create_task(self.again(kind(i))) for i in range(self.count)]
        begun = time.monotonic()
        while time.monotonic() - begun < seconds and look():
            await asyncio.sleep(min(5, seconds / 20))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def resident_kb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def start(program, *arguments, out):
    process = subprocess.Popen([program, "sim", "--serve", "--listen", "127.0.0.1:0", *arguments], stdout=out, stderr=subprocess.PIPE)
    line = process.stderr.readline().decode()
    return process, int(re.search(r":(\d+)/$", line).group(1))


def same_run(program, path, count):
    alone = json.loads(subprocess.run([program, "sim", "--json", "--until", "30ms", path], capture_output=True, check=True).stdout)
    with tempfile.TemporaryFile() as out:
        process, port = start(program, "--serve-until-done", "--json", "--until", "30ms", path, out=out)
        asyncio.run(Clients(port, count).run(600, lambda: process.poll() is None))
        process.wait()
        out.seek(0)
        watched = json.load(out)
    if watched["digest"] != alone["digest"]:
        raise SystemExit(f"the digest is {watched['digest']} with clients, {alone['digest']} without")
    print(f"digest {alone['digest']} with {count} clients and without")


def flat(program, path, seconds, count):
    with tempfile.TemporaryFile() as out:
        process, port = start(program, path, out=out)
        clients, seen = Clients(port, count), []

        def look():
            seen.append((time.monotonic(), resident_kb(process.pid)))
            return process.poll() is None

        try:
            asyncio.run(clients.run(seconds, look))
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()
    begun = seen[0][0]
    early = max(kb for at, kb in seen if at - begun <= seconds / 3)
    late = max(kb for at, kb in seen if at - begun >= seconds * 2 / 3)
    print(f"{count} clients for {seen[-1][0] - begun:.0f} s: {clients.answers}, {clients.events} events, "
          f"{clients.refused} refused, {clients.cut} cut off")
    print(f"resident: {seen[0][1]} KB at the start, {early} KB at most in the first third, {late} KB in the last")
    if min(clients.answers.values()) == 0 or clients.events == 0:
        raise SystemExit("some route never answered")
    if late > early * ALLOWED_GROWTH:
        raise SystemExit("it grows")


def main():
    program = os.path.abspath(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 600
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "watched.yaml"
        path.write_text(FABRIC)
        same_run(program, path, count)
        flat(program, path, seconds, count)


if __name__ == "__main__":
    main()
