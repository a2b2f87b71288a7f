#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A search of one's own: the marking threshold that makes the jobs end first.

    python3 sweep.py example:pod64
"""
import sys

import rocelab


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    try:
        table = rocelab.sweep(sys.argv[1], {"classes.rdma.ecn.min": ["100KB", "200KB", "400KB", "800KB"], "seed": [7]})
    except rocelab.RocelabError as error:
        raise SystemExit(str(error))
    for row in table:
        print(f"{row.classes_rdma_ecn_min:>6}  {row.time * 1e3:8.3f} ms  digest {row.digest}")
    print(f"best: {min(table, key=lambda row: row.time).classes_rdma_ecn_min}")


if __name__ == "__main__":
    main()
