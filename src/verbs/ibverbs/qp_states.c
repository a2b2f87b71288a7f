/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a queue pair: which transitions exist, and which attributes each needs and allows.
 *
 * InfiniBand Architecture 1.x, 11.2.5.2 (Modify Queue Pair), tables of required and optional
 * attributes per transition and transport.  Any state may go to RESET and any but RESET to ERROR, with no attribute
 * (a queue pair in RESET has nothing to flush; the kernel refuses it too).
 * What is in no row is refused.  Alternate paths are never armed here, so their attributes are accepted
 * where the tables allow them and have no effect.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <errno.h>

enum { RC, UC, UD, TRANSPORTS };

#define KEYED (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define CONNECT (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define ALTERNATE (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define RUNNING_RC (IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | ALTERNATE | IBV_QP_MIN_RNR_TIMER)
#define RUNNING_UC (IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | ALTERNATE)
#define RUNNING_UD (IBV_QP_CUR_STATE | IBV_QP_QKEY)
#define RETRIES (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define ROW_NONE UINT32_MAX /* the transport has no such transition */

static const struct {
    uint8_t from, to;
    uint32_t needed[TRANSPORTS], allowed[TRANSPORTS];
} table[] = {
    {IBV_QPS_RESET,
     IBV_QPS_INIT,
     {KEYED | IBV_QP_ACCESS_FLAGS, KEYED | IBV_QP_ACCESS_FLAGS, KEYED | IBV_QP_QKEY},
     {0, 0, 0}},
    {IBV_QPS_INIT,
     IBV_QPS_INIT,
     {0, 0, 0},
     {KEYED | IBV_QP_ACCESS_FLAGS, KEYED | IBV_QP_ACCESS_FLAGS, KEYED | IBV_QP_QKEY}},
    {IBV_QPS_INIT,
     IBV_QPS_RTR,
     {CONNECT | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, CONNECT, 0},
     {IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
      IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
    {IBV_QPS_RTR,
     IBV_QPS_RTS,
     {RETRIES | IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN},
     {RUNNING_RC, RUNNING_UC, RUNNING_UD}},
    {IBV_QPS_RTS, IBV_QPS_RTS, {0, 0, 0}, {RUNNING_RC, RUNNING_UC, RUNNING_UD}},
    {IBV_QPS_RTS,
     IBV_QPS_SQD,
     {0, 0, 0},
     {IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY}},
    {IBV_QPS_SQD, IBV_QPS_RTS, {0, 0, 0}, {RUNNING_RC, RUNNING_UC, RUNNING_UD}},
    {IBV_QPS_SQD,
     IBV_QPS_SQD,
     {0, 0, 0},
     {KEYED | IBV_QP_AV | RETRIES | IBV_QP_MAX_DEST_RD_ATOMIC | ALTERNATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER,
      IBV_QP_AV | ALTERNATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
    {IBV_QPS_SQE,
     IBV_QPS_RTS,
     {ROW_NONE, 0, 0},
     {0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS, IBV_QP_CUR_STATE | IBV_QP_QKEY}},
};

int verbs_transition(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, unsigned mask)
{
    const unsigned transport = type == IBV_QPT_RC ? RC : type == IBV_QPT_UC ? UC : UD;
    const unsigned given = mask & ~(unsigned)IBV_QP_STATE;

    if (from > IBV_QPS_ERR) return EINVAL;
    if (from == IBV_QPS_RESET && to == IBV_QPS_ERR) return EINVAL;
    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return given & ~(unsigned)IBV_QP_CUR_STATE ? EINVAL : 0;
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
        const uint32_t needed = table[i].needed[transport];

        if (table[i].from != from || table[i].to != to || needed == ROW_NONE) continue;
        if ((given & needed) != needed) return EINVAL;
        return given & ~(needed | table[i].allowed[transport]) ? EINVAL : 0;
    }
    return EINVAL;
}

enum nic_state verbs_live_state(enum ibv_qp_state state)
{
    static const uint8_t live[] = {
        [IBV_QPS_RESET] = NIC_RESET, [IBV_QPS_INIT] = NIC_INIT, [IBV_QPS_RTR] = NIC_RTR,  [IBV_QPS_RTS] = NIC_RTS,
        [IBV_QPS_SQD] = NIC_SQD,     [IBV_QPS_SQE] = NIC_SQE,   [IBV_QPS_ERR] = NIC_ERROR};

    return (enum nic_state)(state <= IBV_QPS_ERR ? live[state] : NIC_ERROR);
}

enum ibv_qp_state verbs_state(enum nic_state state)
{
    for (int i = IBV_QPS_RESET; i < IBV_QPS_ERR; i++) {
        if (verbs_live_state((enum ibv_qp_state)i) == state) return (enum ibv_qp_state)i;
    }
    return IBV_QPS_ERR;
}
