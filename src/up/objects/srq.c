/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared receive queues of programs: the adapter's ring, and the records behind it (device/objects.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "up/objects/objects.h"

static void answer(const struct device_srq *srq, struct attach_request *request)
{
    const struct attach_made made = {.entries = srq->receives.entries, .number = srq->number};

    memcpy(request->data, &made, sizeof made);
    request->object = srq->number;
}

int up_srq_create(struct device *device, struct attach_request *request)
{
    struct attach_srq from;
    struct device_srq *srq = calloc(1, sizeof *srq);

    if (srq == NULL) return -ENOMEM;
    memcpy(&from, request->data, sizeof from);
    srq->device = device;
    uint32_t pd = up_device_pd(device, from.pd);
    int error = pd == SIM_JOBS_PD ? -EINVAL : receives_init(&srq->receives, pd, from.entries, from.sges);
    if (error == 0) error = up_table_add(&device->srqs, srq, UP_SRQS_MAX, &srq->number);
    if (error < 0) {
        receives_free(&srq->receives);
        free(srq);
        return error;
    }
    answer(srq, request);
    return 0;
}

int up_srq_change(struct device_srq *srq, struct attach_request *request)
{
    struct attach_srq to;

    memcpy(&to, request->data, sizeof to);
    int error = srq_change(srq, srq->device->qps, to.entries, to.limit);
    if (error < 0) return error;
    to.entries = srq->receives.entries;
    to.sges = srq->receives.sges;
    to.limit = srq->receives.nic.limit;
    to.taken = srq->receives.nic.head;
    memcpy(request->data, &to, sizeof to);
    return 0;
}

int up_srq_destroy(struct device_srq *srq)
{
    struct device *device = srq->device;

    if (srq->users) return -EBUSY;
    nic_srq_forget(device->adapter->nic, &srq->receives.nic);
    up_table_remove(&device->srqs, srq->number);
    receives_free(&srq->receives);
    free(srq);
    return 0;
}
