/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `rocelab diagnose live`: evidence from the programs that run on this machine now.
 */
#ifndef ROCELAB_CLI_DIAGNOSE_LIVE_H
#define ROCELAB_CLI_DIAGNOSE_LIVE_H

#include "base/time.h"
#include "evidence/evidence.h"

/* Two looks, `interval` apart.  False: nothing runs, or it was interrupted; it was said. */
bool diagnose_live(struct evidence *evidence, ps_t interval);

#endif
