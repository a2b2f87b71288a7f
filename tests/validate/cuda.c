/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libcuda.so.1: as many GPUs as STANDIN_GPUS says; below 0 the driver does not start. */
#include <stdlib.h>

#define SEEN __attribute__((visibility("default")))

SEEN int cuInit(unsigned flags);
SEEN int cuDeviceGetCount(int *count);

static int gpus(void)
{
    const char *text = getenv("STANDIN_GPUS");

    return text ? (int)strtol(text, NULL, 10) : 0;
}

int cuInit(unsigned flags)
{
    return flags == 0 && gpus() >= 0 ? 0 : 999;
}

int cuDeviceGetCount(int *count)
{
    *count = gpus();
    return 0;
}
