/* SPDX-License-Identifier: Apache-2.0 */
/* Which finding explains which: causes before consequences. */
#include "diagnose/rule_int.h"

void order_findings(struct diagnose *diagnose)
{
    (void)diagnose;
}
