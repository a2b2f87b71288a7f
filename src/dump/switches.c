/* SPDX-License-Identifier: Apache-2.0 */
/* What the switches of a dump are.  Alone in its file: the tests' program has a function of its own in its place. */
#include "dump/dump_int.h"

const struct dump_switches *dump_switches(void)
{
    static const struct dump_switches sonic = {dump_sonic, &config_sonic};

    return &sonic;
}
