/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks that the kernel maps into every program: their first bytes become jumps to ours.
 */
#include "attach/attach_int.h"

void clock_start(void)
{
}
