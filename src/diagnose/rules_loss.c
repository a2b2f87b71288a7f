/* SPDX-License-Identifier: Apache-2.0 */
/* Loss: in a lossless class, on a cable, on a path that is gone, by MTU; links that go down. */
#include "diagnose/rule_int.h"

void rule_D08(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D13(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D14(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D16(struct diagnose *diagnose)
{
    (void)diagnose;
}

void rule_D19(struct diagnose *diagnose)
{
    (void)diagnose;
}
