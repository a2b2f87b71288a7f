#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What launchers of MPI take for their remote shell in a fabric: HOST COMMAND..., behind options that mean nothing here.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec "${ROCELAB_PROGRAM:-rocelab}" run --host "$host" -- /bin/sh -c "$*"
