/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No congestion control: line rate from the first packet to the last, held back by pauses alone (and by a
 * window, where one is configured).
 */
#include "nic/cc/algorithm.h"

static const struct cc_preset presets[] = {{.name = "none"}, {.name = NULL}};

const struct cc_algorithm cc_algorithm_none = {.preset = presets};
