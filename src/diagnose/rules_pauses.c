/* SPDX-License-Identifier: Apache-2.0 */
/* Roots of pauses: deadlock, storm, slow receiver, incast, uneven, degraded and missing links. */
#include "diagnose/rule_int.h"

void rule_D01(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D02(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D03(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D04(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D05(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D06(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D07(struct diagnose *diagnose)
{
    (void)diagnose;
}
