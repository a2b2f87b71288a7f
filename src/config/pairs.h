/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of bundles, ends of links and routing, judged by what configurations say.  For judge.c and write.c.
 */
#ifndef ROCELAB_CONFIG_PAIRS_H
#define ROCELAB_CONFIG_PAIRS_H

#include "config/config.h"

void pairs_judge(struct config_set *set); /* notes of LAG001, TOP006 and TOP008 */
/* Both ends say a rate, and not the same; the odd end is the one whose device has fewer ports like it. */
bool pairs_rates_differ(const struct config_set *set, const struct config_link *link, bool *ret_a_is_odd);

#endif
