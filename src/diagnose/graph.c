/* SPDX-License-Identifier: Apache-2.0 */
/* The pause graph: which queue stands still because of which other. */
#include "diagnose/rule_int.h"

void graph_build(struct diagnose *diagnose)
{
    (void)diagnose;
}
