/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not there, said aloud.
 *
 * Programs that ask for XRC and the like print "Operation not supported" and no more: whose operation, nobody knows.
 * So each kind is named once a process on standard error, with what to do instead; ROCELAB_VERBOSE=off keeps it quiet.
 * Who only asks whether something is there (a dma-buf of descriptor -1, as NCCL and UCX do) is told nothing.  Domains
 * of XRC cannot be opened, and null regions not made; the calls exist so that they can say so.
 */
#include <errno.h>
#include <stdio.h>

#include "live/environment.h"
#include "verbs/ibverbs/verbs_int.h"

static const char *const texts[] = {
    [MISSING_XRC] = "XRC (extended reliable connections) is not there; use RC queue pairs with a shared receive queue",
    [MISSING_RAW] = "raw packet queue pairs are not there; use UD queue pairs, or a packet socket",
    [MISSING_DRIVER] = "queue pairs of a driver's own (DC, SRD) are not there; use RC, as UCX_TLS=rc_v does for UCX",
    [MISSING_TAGS] = "tag matching is not there; match in the program (UCX_RC_TM_ENABLE=n)",
    [MISSING_DMABUF] = "regions of dma-bufs (GPU memory) are not there; copy over the host (NCCL_NET_GDR_LEVEL=LOC)",
    [MISSING_PAGING] = "on-demand paging is not there; register without IBV_ACCESS_ON_DEMAND",
    [MISSING_NULL] = "null regions are not there; register memory that is thrown away",
};

int verbs_missing(enum missing what)
{
    static atomic_uint told; /* a bit for each */

    if (!live_environment_is("ROCELAB_VERBOSE", "off") && !(atomic_fetch_or(&told, 1u << what) & 1u << what))
        fprintf(stderr, "rocelab: %s. The program gets EOPNOTSUPP\n", texts[what]);
    return EOPNOTSUPP;
}

struct ibv_xrcd *verbs_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
    (void)context, (void)attr;
    errno = verbs_missing(MISSING_XRC);
    return NULL;
}

/* A region that reads as zeros and swallows what is written would need one key for every address: refused. */
struct ibv_mr *verbs_alloc_null_mr(struct ibv_pd *pd)
{
    (void)pd;
    errno = verbs_missing(MISSING_NULL);
    return NULL;
}
