/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP sockets between programs of the fabric: connect, listen, accept and names of their ends.
 */
#include "attach/attach_int.h"

void socket_start(void)
{
}

void socket_forked(void)
{
}
