/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A congestion control that does one thing wrong: which, its parameter says.  WRONGS is the list, for this file and for
 * who runs it.
 */
#include <rocelab/cc.h>

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WRONGS(X)                                                                                                      \
    X(NOTHING)                                                                                                         \
    X(SEGV)                                                                                                            \
    X(FPE)                                                                                                             \
    X(ABORT)                                                                                                           \
    X(EXIT)                                                                                                            \
    X(GLOBAL)                                                                                                          \
    X(RECURSION)                                                                                                       \
    X(LOOP)                                                                                                            \
    X(NAN)                                                                                                             \
    X(NEGATIVE)                                                                                                        \
    X(WINDOW)                                                                                                          \
    X(UNSAID)                                                                                                          \
    X(DEADLINE)                                                                                                        \
    X(ALPHA)                                                                                                           \
    X(CLOCK)                                                                                                           \
    X(MARGIN)                                                                                                          \
    X(PARAM)                                                                                                           \
    X(TOLD)

enum {
#define WRONG(name) WRONG_##name,
    WRONGS(WRONG)
#undef WRONG
        WRONG_ALL
};

static const struct rocelab_cc_param params[] = {
    {"wrong", ROCELAB_CC_COUNT, 0, 0, WRONG_ALL - 1, "what it does wrong"},
};

struct kept {
    uint64_t acks;
};

static uint64_t acks_of_all;

static int divide(int64_t number, volatile int by)
{
    return (int)(number / by);
}

static int deeper(volatile char *above)
{
    volatile char here[4096];

    memset((char *)(uintptr_t)here, above[0], sizeof here);
    return deeper(here) + here[1];
}

static void crash(struct rocelab_cc_qp *qp, uint64_t wrong)
{
    switch (wrong) {
    case WRONG_SEGV:
        *(volatile int *)(uintptr_t)0x10 = 1;
        break;
    case WRONG_FPE:
        qp->alpha_ppm = (uint32_t)divide(qp->rate_bps, 0);
        break;
    case WRONG_ABORT:
        abort();
    case WRONG_EXIT:
        exit(0);
    case WRONG_GLOBAL:
        acks_of_all++;
        break;
    case WRONG_RECURSION:
        qp->alpha_ppm = (uint32_t)deeper("");
        break;
    case WRONG_LOOP:
        for (volatile int forever = 1; forever;)
            ;
        break;
    default:
        break;
    }
}

static void ack(struct rocelab_cc_qp *qp, const struct rocelab_cc_ack *ack, uint64_t now_ps)
{
    struct kept *kept = qp->state;
    uint64_t wrong = qp->param[0];

    if (++kept->acks < 20) return;
    crash(qp, wrong);
    if (wrong == WRONG_NAN) qp->rate_bps = (int64_t)(qp->rate_bps * __builtin_nan(""));
    if (wrong == WRONG_NEGATIVE) qp->rate_bps -= 2 * qp->line_bps;
    if (wrong == WRONG_WINDOW) qp->window_bytes = 0;
    if (wrong == WRONG_UNSAID) qp->window_bytes = 1000;
    if (wrong == WRONG_DEADLINE) qp->deadline_ps = now_ps + ROCELAB_CC_US;
    if (wrong == WRONG_ALPHA) qp->alpha_ppm = 1000001;
    if (wrong == WRONG_CLOCK) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        qp->rate_bps -= now.tv_nsec;
    }
    if (wrong == WRONG_MARGIN) memset(kept + 1, 0, sizeof *kept);
    if (wrong == WRONG_PARAM) *(uint64_t *)(uintptr_t)qp->param = 0;
    if (wrong == WRONG_TOLD) ((struct rocelab_cc_ack *)(uintptr_t)ack)->rtt_ps++;
}

static void timer(struct rocelab_cc_qp *qp, uint64_t now_ps)
{
    qp->deadline_ps = now_ps;
}

const struct rocelab_cc rocelab_cc = {
    ROCELAB_CC_HEAD, .name = "wrong", .param = params, .params = 1, .state_bytes = sizeof(struct kept),
    .ack = ack,      .timer = timer,
};
