#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that waits in every way (waits_program.c) on a host of a fabric: how long by its own clock.

Nothing here depends on real time: whatever the machine does, the program prints the same microseconds.
usage: test_waits.py ROCELAB PROGRAM
"""
import os
import subprocess
import sys
import tempfile

FABRIC = """rocelab: 1
fabric: waits
topology: {single: {hosts: 2}}
links: {host: {rate: 100G, cable: 3m}}
"""

EXPECTED = """alternate ababababab 40 41, 100 us
cond_timedwait timed out, 250 us
cond_timedwait monotonic timed out, 750 us
sem_timedwait timed out, 3000 us
mutex_timedlock timed out, 300 us
mutex_lock 0, 500 us
mutex twice EDEADLK
rwlock_rdlock, 20 us
sem_wait, 50 us
futex timed out, 55 us
futex 0, 100 us
barrier, 200 us
barrier serial, left too
timedjoin timed out, 30 us
pthread_exit 7, destructors 1, 100 us
cancel cancelled, cleanup 11, 15 us
thrd_join 4, 5 us
epoll_wait 0, 3000 us
epoll_wait 1, 400 us
select 1
read 1
select 0, 2000 us, 0 us left
poll in a row moves time
read 1, 400 us
poll 1, 400 us
pipe 300000 300000
close_range -1, EINVAL
recv EAGAIN, 20000 us
socket 300000 300000
alarm 1, sleep has 8 left, 2000000 us
setitimer 5, 1000 us
timerfd 1, 300 us
timerfd 2, 550 us
timer_create notified, 80 us
child has said its pid right, 100 us
waitpid right 3, 150 us
system 5
popen one
popen two
pclose 0
posix_spawn right 9, 2 ms
execve right 9
kill right 15
"""


def run(rocelab, program, folder):
    with open(os.path.join(folder, "waits.yaml"), "w") as file:
        file.write(FABRIC)
    with open(os.path.join(folder, "waits.up"), "w") as file:
        file.write(f"h0: {program}\n")
    done = subprocess.run([rocelab, "up", "waits.yaml", "--script", "waits.up", "--name", f"waits-{os.getpid()}"],
                          cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
    said = "".join(line[4:] + "\n" for line in done.stdout.splitlines() if line.startswith("h0: "))
    times = [line.split()[0] for line in done.stdout.splitlines() if "of virtual time" in line]
    return done, said, times


def main():
    rocelab, program = (os.path.abspath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        done, said, times = run(rocelab, program, folder)
        if said != EXPECTED or done.returncode != 0:
            print(f"exit {done.returncode}\n{done.stdout}\n{done.stderr}")
            for got, wanted in zip(said.splitlines(), EXPECTED.splitlines()):
                if got != wanted:
                    print(f"printed:  {got}\nexpected: {wanted}")
            return 1
        again = run(rocelab, program, folder)
        if (again[1], again[2]) != (said, times):
            print(f"not the same again: {times} and {again[2]}")
            return 1
    return 0


sys.exit(main())
