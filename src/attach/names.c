/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and addresses of hosts as the program sees them: resolver, host name, interfaces.
 */
#include "attach/attach_int.h"

_Static_assert(ATTACH_NAME > 0, "hosts have names");
