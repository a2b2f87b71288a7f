/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No congestion control: line rate from the first packet to the last, held back by pauses alone (and by a
 * window, where one is configured).
 */
#include "nic/cc.h"
#include "nic/nic_int.h"

void cc_none_init(struct cc *cc)
{
    cc->rate_bps = cc->line_bps;
}
