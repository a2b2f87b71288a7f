/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weak points of switches' configurations.  Private to src/config.
 */
#ifndef ROCELAB_CONFIG_HINTS_H
#define ROCELAB_CONFIG_HINTS_H

#include "config/config.h"

/* After all texts, while descriptions are kept: infos that hold for any system. */
void hints_judge(struct config_set *set);

#endif
