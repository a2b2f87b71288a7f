/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of queue pair transitions, walked exhaustively: every pair of states and transport, with the required
 * attributes, each of them left out, each optional one added, and each attribute that does not belong.
 */
#include "verbs/ibverbs/verbs_int.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ALL_BITS 0x1fffffu

/* The specification's tables, written down a second time, as letters so that a slip in one is not copied to the other:
 * K pkey, P port, F access flags, Q qkey, A address, M mtu, D dest qp, R rq psn, d max dest rd, n min rnr,
 * S sq psn, t timeout, r retry, o rnr retry, q max qp rd, c cur state, a alt path, m migration, e sqd notify. */
static const struct row {
    enum ibv_qp_type type;
    enum ibv_qp_state from, to;
    const char *needed, *allowed;
} rows[] = {
    {IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, "KPF", ""},
    {IBV_QPT_UC, IBV_QPS_RESET, IBV_QPS_INIT, "KPF", ""},
    {IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, "KPQ", ""},
    {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_INIT, "", "KPF"},
    {IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_INIT, "", "KPF"},
    {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_INIT, "", "KPQ"},
    {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, "AMDRdn", "aFK"},
    {IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR, "AMDR", "aFK"},
    {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, "", "KQ"},
    {IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS, "troSq", "cFanm"},
    {IBV_QPT_UC, IBV_QPS_RTR, IBV_QPS_RTS, "S", "cFam"},
    {IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, "S", "cQ"},
    {IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, "", "cFanm"},
    {IBV_QPT_UC, IBV_QPS_RTS, IBV_QPS_RTS, "", "cFam"},
    {IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_RTS, "", "cQ"},
    {IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_SQD, "", "e"},
    {IBV_QPT_UC, IBV_QPS_RTS, IBV_QPS_SQD, "", "e"},
    {IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_SQD, "", "e"},
    {IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_RTS, "", "cFanm"},
    {IBV_QPT_UC, IBV_QPS_SQD, IBV_QPS_RTS, "", "cFam"},
    {IBV_QPT_UD, IBV_QPS_SQD, IBV_QPS_RTS, "", "cQ"},
    {IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_SQD, "", "PAtroqdaFKnm"},
    {IBV_QPT_UC, IBV_QPS_SQD, IBV_QPS_SQD, "", "AaFKm"},
    {IBV_QPT_UD, IBV_QPS_SQD, IBV_QPS_SQD, "", "KQ"},
    {IBV_QPT_UC, IBV_QPS_SQE, IBV_QPS_RTS, "", "cF"},
    {IBV_QPT_UD, IBV_QPS_SQE, IBV_QPS_RTS, "", "cQ"},
};

static unsigned bits(const char *letters)
{
    static const struct {
        char letter;
        unsigned bit;
    } known[] = {{'K', IBV_QP_PKEY_INDEX},
                 {'P', IBV_QP_PORT},
                 {'F', IBV_QP_ACCESS_FLAGS},
                 {'Q', IBV_QP_QKEY},
                 {'A', IBV_QP_AV},
                 {'M', IBV_QP_PATH_MTU},
                 {'D', IBV_QP_DEST_QPN},
                 {'R', IBV_QP_RQ_PSN},
                 {'d', IBV_QP_MAX_DEST_RD_ATOMIC},
                 {'n', IBV_QP_MIN_RNR_TIMER},
                 {'S', IBV_QP_SQ_PSN},
                 {'t', IBV_QP_TIMEOUT},
                 {'r', IBV_QP_RETRY_CNT},
                 {'o', IBV_QP_RNR_RETRY},
                 {'q', IBV_QP_MAX_QP_RD_ATOMIC},
                 {'c', IBV_QP_CUR_STATE},
                 {'a', IBV_QP_ALT_PATH},
                 {'m', IBV_QP_PATH_MIG_STATE},
                 {'e', IBV_QP_EN_SQD_ASYNC_NOTIFY}};
    unsigned all = 0;

    for (; *letters; letters++) {
        for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (known[i].letter == *letters) all |= known[i].bit;
        }
    }
    return all;
}

static const struct row *find(enum ibv_qp_type type, int from, int to)
{
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].type == type && (int)rows[i].from == from && (int)rows[i].to == to) return &rows[i];
    }
    return NULL;
}

static void check_row(const struct row *row)
{
    const unsigned needed = bits(row->needed), allowed = bits(row->allowed);

    assert_int_equal(verbs_transition(row->type, row->from, row->to, IBV_QP_STATE | needed), 0);
    assert_int_equal(verbs_transition(row->type, row->from, row->to, IBV_QP_STATE | needed | allowed), 0);
    for (unsigned bit = 2; bit < ALL_BITS; bit <<= 1) {
        const unsigned mask = IBV_QP_STATE | (needed & bit ? needed & ~bit : needed | bit);
        const int expected = (allowed & bit) && !(needed & bit) ? 0 : EINVAL;

        assert_int_equal(verbs_transition(row->type, row->from, row->to, mask), expected);
    }
}

static void test_every_transition(void **state)
{
    const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
    unsigned legal = 0;

    (void)state;
    for (unsigned t = 0; t < 3; t++) {
        for (int from = IBV_QPS_RESET; from <= IBV_QPS_ERR; from++) {
            for (int to = IBV_QPS_RESET; to <= IBV_QPS_ERR; to++) {
                const struct row *row = find(types[t], from, to);
                const int any =
                    verbs_transition(types[t], (enum ibv_qp_state)from, (enum ibv_qp_state)to, IBV_QP_STATE);

                if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) {
                    assert_int_equal(any, from == IBV_QPS_RESET && to == IBV_QPS_ERR ? EINVAL : 0);
                } else if (row == NULL) {
                    assert_int_equal(any, EINVAL);
                } else {
                    check_row(row);
                    legal++;
                }
            }
        }
    }
    assert_int_equal(legal, sizeof rows / sizeof rows[0]);
}

static void test_reset_and_error_take_nothing(void **state)
{
    (void)state;
    for (unsigned bit = 4; bit < ALL_BITS; bit <<= 1) {
        assert_int_equal(verbs_transition(IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QP_STATE | bit), EINVAL);
        assert_int_equal(verbs_transition(IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_RESET, IBV_QP_STATE | bit), EINVAL);
    }
    assert_int_equal(verbs_transition(IBV_QPT_RC, IBV_QPS_UNKNOWN, IBV_QPS_RTS, IBV_QP_STATE), EINVAL);
}

static void test_states_there_and_back(void **state)
{
    (void)state;
    for (int i = IBV_QPS_RESET; i <= IBV_QPS_ERR; i++)
        assert_int_equal(verbs_state(verbs_live_state((enum ibv_qp_state)i)), i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_transition),
        cmocka_unit_test(test_reset_and_error_take_nothing),
        cmocka_unit_test(test_states_there_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
