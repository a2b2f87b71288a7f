/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait for descriptors: they ask without waiting, and give the turn back.
 */
#include "attach/attach_int.h"

_Static_assert(ATTACH_WAIT > 0, "a wait is a reason to yield");
