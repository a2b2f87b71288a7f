/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of Cumulus' texts share.  Private to read/switch. */
#ifndef ROCELAB_EVIDENCE_READ_SWITCH_NVUE_H
#define ROCELAB_EVIDENCE_READ_SWITCH_NVUE_H

#include "evidence/read/reader.h"

/* The hint becomes the part of the file's name that is a port, unless a command named one. */
void nvue_hint(struct reading *in);

#endif
