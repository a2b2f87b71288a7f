# SPDX-License-Identifier: Apache-2.0
"""Our adapter against the kernel's Soft-RoCE in one and the same guest: 64 KB WRITEs, medians of three.

    ROCELAB_GUEST_KERNEL=DIR python3 tests/interop/speed.py BUILD [WIRE]

Under emulation the figures themselves mean nothing; their ratio does, for both stacks run the same instructions per
byte slowly.  Server and client are both in the guest and talk over its own address.  The build is the one of this machine:
the guest sees its files under /mnt.  WIRE is `auto` (the default: through memory, within one machine), `udp` or `shm`; only of the
default is a ratio wanted.
"""
import re
import statistics
import sys
import time

import guest as guests

SIZE, ROUNDS, RATIO = 65536, 3, 3.0
OUR_PORT = 14791  # the module holds 4791 of every address as long as it is loaded


def measure(guest, prefix, device, count):
    """Average MB/s as ib_write_bw says it."""
    program = f"env {prefix} ib_write_bw -F -s {SIZE} -n {count} {device}"
    status, output = guest.sh(f"(timeout 100 {program} >/tmp/server.log 2>&1 &) ; sleep 3; timeout 100 {program} {guests.GUEST_IP}; sleep 1", 240)
    match = re.search(rf"^\s*{SIZE}\s+{count}\s+[\d.]+\s+([\d.]+)", output, re.MULTILINE)
    if not match:
        raise RuntimeError(f"no figure in what ib_write_bw said ({status}):\n{output[-1500:]}\n{guest.sh('cat /tmp/server.log')[1][-1500:]}")
    return float(match.group(1))


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    wire = sys.argv[2] if len(sys.argv) > 2 else "auto"
    ours, theirs = [], []
    try:
        with guests.Guest(cpus=2) as guest:
            for _ in range(ROUNDS):
                theirs.append(measure(guest, "", "-d rxe0 -x 1", 300))
                ours.append(measure(guest, f"ROCELAB_PORT={OUR_PORT} /mnt{sys.argv[1]}/rocelab run --wire {wire} --", "-x 0", 2000))
                print(f"Soft-RoCE {theirs[-1]:8.1f} MB/s   rocelab {ours[-1]:8.1f} MB/s", flush=True)
    except guests.Missing as missing:
        print(f"skipped: {missing}")
        return 77
    ratio = statistics.median(ours) / statistics.median(theirs)
    wanted = RATIO if wire == "auto" else 0
    print(f"median {statistics.median(theirs):.1f} and {statistics.median(ours):.1f} MB/s over {wire}: {ratio:.2f} times; at least {wanted} are wanted")
    return 0 if ratio >= wanted else 1


if __name__ == "__main__":
    sys.exit(main())
