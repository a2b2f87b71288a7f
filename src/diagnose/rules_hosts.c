/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts: stragglers, slow pairs; and that nothing was found. */
#include "diagnose/rule_int.h"

void rule_D17(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D18(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D20(struct diagnose *diagnose)
{
    (void)diagnose;
}
