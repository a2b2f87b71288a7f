/* SPDX-License-Identifier: Apache-2.0 */
/* NAKs and ACKs, in any order and number, to an adapter with work outstanding (tests/nic/hostile.c). */
#include <stddef.h>
#include <stdint.h>

#include "nic/hostile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hostile_run(data, size, true);
    return 0;
}
