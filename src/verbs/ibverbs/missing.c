/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not there, said aloud.
 *
 * Programs that ask for XRC and the like print "Operation not supported" and no more: whose operation, nobody knows.
 * With ROCELAB_VERBOSE=on each kind is named once on standard error.  Domains of XRC cannot be opened; the call exists
 * so that it can say so.
 */
#include <errno.h>
#include <stdio.h>

#include "live/environment.h"
#include "verbs/ibverbs/verbs_int.h"

static const char *const names[] = {
    [MISSING_XRC] = "XRC (extended reliable connections)",
    [MISSING_QP_TYPE] = "queue pairs other than RC, UC and UD",
    [MISSING_TAGS] = "tag matching",
    [MISSING_DMABUF] = "regions of dma-bufs (GPU memory)",
    [MISSING_PAGING] = "on-demand paging",
};

int verbs_missing(enum missing what)
{
    static atomic_uint told; /* a bit for each */

    if (live_environment_is("ROCELAB_VERBOSE", "on") && !(atomic_fetch_or(&told, 1u << what) & 1u << what))
        fprintf(stderr, "rocelab: %s: not supported, the program gets EOPNOTSUPP\n", names[what]);
    return EOPNOTSUPP;
}

struct ibv_xrcd *verbs_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
    (void)context, (void)attr;
    errno = verbs_missing(MISSING_XRC);
    return NULL;
}
