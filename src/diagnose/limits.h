/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of limits.def as numbers: for diagnosis, and for rooms that draw the same line and judge no evidence. */
#ifndef ROCELAB_DIAGNOSE_LIMITS_H
#define ROCELAB_DIAGNOSE_LIMITS_H

struct diagnose_limits {
#define LIMIT(name, value, rules, of) double name;
#include "diagnose/limits.def"
#undef LIMIT
};
static const struct diagnose_limits diagnose_said = {
#define LIMIT(name, value, rules, of) .name = value,
#include "diagnose/limits.def"
#undef LIMIT
};

#endif
