/* SPDX-License-Identifier: Apache-2.0 */
/* The control loop: marks, CNPs, order, classes. */
#include "diagnose/rule_int.h"

void rule_D09(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D10(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D11(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D12(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D15(struct diagnose *diagnose)
{
    (void)diagnose;
}
