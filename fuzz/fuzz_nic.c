/* SPDX-License-Identifier: Apache-2.0 */
/* Any script of packets and calls against an adapter (tests/nic/hostile.c): its books are right after each step. */
#include <stddef.h>
#include <stdint.h>

#include "nic/hostile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hostile_run(data, size, false);
    return 0;
}
