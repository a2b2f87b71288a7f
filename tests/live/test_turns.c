/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of the progress thread, with a clock that the test steps: every state and event of the table, and the
 * times between.  No thread, no device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "live/turns.h"

static const ps_t start = 5 * PS_S;

static struct turns in_state(enum turn_state state)
{
    struct turns turns;
    turns_init(&turns);
    turns.state = state;
    return turns;
}

/* An application of which was heard so long before `now`. */
static struct turn_app silent_for(ps_t silence, ps_t now)
{
    return (struct turn_app){.polled_at = now - silence, .posted_at = now - PS_S};
}

/* Makes the event happen as thread.c does. */
static void happens(struct turns *turns, enum turn_event event)
{
    struct turn_app polls = silent_for(PS_US, start), gone = silent_for(PS_S, start);
    struct turn_work work = {.received = event == TURN_BURST ? 64 : 1, .acks_left = event == TURN_ACKS};
    switch (event) {
    case TURN_POLLED:
        assert_true(turns_may_stand_back(turns, &polls, start));
        turns_stood_back(turns, 0, start);
        break;
    case TURN_ARMED:
        turns_armed(turns);
        break;
    case TURN_ACKS:
        turns_worked(turns, &polls, &work, start);
        break;
    default:
        turns_worked(turns, &gone, &work, start);
    }
}

/* The whole table, by what it means: what a turn finds decides, but for ACKs, which wait once, and for arming, which
 * only calls back who stands back. */
static void test_table(void **state)
{
    static const enum turn_state then[TURN_EVENTS] = {[TURN_POLLED] = TURN_STANDS_BACK,
                                                      [TURN_QUIET] = TURN_LISTENS,
                                                      [TURN_ACKS] = TURN_OWES,
                                                      [TURN_BURST] = TURN_STREAMS};
    (void)state;
    for (enum turn_state from = 0; from < TURN_STATES; from++)
        for (enum turn_event event = 0; event < TURN_EVENTS; event++) {
            enum turn_state expected = then[event];
            if (event == TURN_ACKS && from == TURN_OWES) expected = TURN_LISTENS;
            if (event == TURN_ARMED) expected = from == TURN_STANDS_BACK ? TURN_LISTENS : from;
            struct turns turns = in_state(from);
            happens(&turns, event);
            assert_int_equal(turns.state, expected);
            assert_int_equal(turns_next(from, event), expected);
        }
}

static void test_stands_back_while_polled(void **state)
{
    (void)state;
    struct turns turns = in_state(TURN_LISTENS);
    struct turn_app app = silent_for(0, start);
    assert_true(turns_may_stand_back(&turns, &app, start));
    assert_true(turns_may_stand_back(&turns, &app, start + 199 * PS_US));
    assert_false(turns_may_stand_back(&turns, &app, start + 200 * PS_US));
    app.posted_at = start + 199 * PS_US; /* who posts and does not poll needs the thread */
    assert_false(turns_may_stand_back(&turns, &app, start + 200 * PS_US));
    app.armed = true;
    assert_false(turns_may_stand_back(&turns, &app, start));
    app.armed = false;
    app.taken = true;
    assert_false(turns_may_stand_back(&turns, &app, start));
}

/* Packets that lay there while the application ran and did not poll: the thread watches, 2 ms and then ever longer. */
static void test_misses(void **state)
{
    (void)state;
    struct turns turns = in_state(TURN_STANDS_BACK);
    ps_t now = start, watched = 2 * PS_MS;
    for (unsigned miss = 0; miss < 9; miss++) {
        turns_stood_back(&turns, 0, now); /* the poller has run 0 */
        unsigned before = turns.misses;
        struct turn_app app = {.polled_at = now + 100 * PS_US};
        now += PS_MS; /* silent for 900 us, and it ran all the time */
        assert_true(turns_asks_for_poller(turns.state, &app, 1));
        turns_judge(&turns, TURN_STANDS_BACK, &app, 1, PS_MS - 1, now);
        assert_true(turns.watch_until == now + watched);
        app.polled_at = now;
        assert_false(turns_may_stand_back(&turns, &app, now + watched - 1));
        assert_int_equal(turns.misses, before < 6 ? before + 1 : 6);
        if (turns.misses < 6 || before < 6) watched *= 2;
        turns.state = TURN_LISTENS; /* so that standing back anew is no sign of its being right */
    }
    assert_int_equal(turns.misses, 6);
    turns.state = TURN_STANDS_BACK;
    turns_stood_back(&turns, 0, now); /* twice in a row: nothing was missed */
    assert_int_equal(turns.misses, 5);
}

static void test_no_miss(void **state)
{
    (void)state;
    struct turns turns = in_state(TURN_STANDS_BACK);
    turns_stood_back(&turns, 0, start);
    turns.misses = 3;
    ps_t now = start + PS_MS;
    struct turn_app app = {.polled_at = start + 100 * PS_US};
    turns_judge(&turns, TURN_STANDS_BACK, &app, 1, 10 * PS_US, now); /* it had no core */
    assert_int_equal(turns.misses, 2);
    app.polled_at = now - 10 * PS_US; /* it polled just now */
    turns_judge(&turns, TURN_STANDS_BACK, &app, 1, PS_MS - 1, now);
    assert_int_equal(turns.misses, 1);
    app.polled_at = start + 100 * PS_US;
    turns_judge(&turns, TURN_STANDS_BACK, &app, 0, PS_MS - 1, now); /* nothing lay there */
    assert_int_equal(turns.misses, 0);
    turns.misses = 3;
    app.armed = true;
    turns_judge(&turns, TURN_STANDS_BACK, &app, 1, PS_MS - 1, now);
    turns_judge(&turns, TURN_LISTENS, &app, 1, PS_MS - 1, now);
    assert_int_equal(turns.misses, 3);
    assert_true(turns.watch_until == 0);
    assert_false(turns_asks_for_poller(TURN_STANDS_BACK, &app, 1));
    app.armed = false;
    assert_false(turns_asks_for_poller(TURN_STANDS_BACK, &app, 0));
    assert_false(turns_asks_for_poller(TURN_LISTENS, &app, 1));
}

/* ACKs wait for an active application, once, and not for long. */
static void test_acks(void **state)
{
    (void)state;
    struct turns turns = in_state(TURN_LISTENS);
    struct turn_app app = silent_for(199 * PS_US, start);
    struct turn_work work = {.received = 1, .acks_left = true};
    assert_true(turns_keeps_acks(&turns, &app, start));
    assert_false(turns_keeps_acks(&turns, &app, start + PS_US));
    turns_worked(&turns, &app, &work, start);
    assert_int_equal(turns.state, TURN_OWES);
    assert_false(turns_keeps_acks(&turns, &app, start));
    assert_true(turns_rest(&turns, &app, false, false, start).at_most == start + 20 * PS_US);
    assert_true(turns_rest(&turns, &app, false, true, start).at_most == start + 200 * PS_US);
    assert_true(turns_rest(&turns, &app, true, false, start).again);
    app.taken = true;
    turns.state = TURN_LISTENS;
    assert_false(turns_keeps_acks(&turns, &app, start));
}

/* A burst of eight, of which no application takes care, makes a stream; a shard that is taken streams with any packet,
 * and is given back before the thread sleeps. */
static void test_streams(void **state)
{
    (void)state;
    struct turns turns = in_state(TURN_LISTENS);
    struct turn_app gone = silent_for(PS_S, start), polls = silent_for(0, start),
                    taken = {.taken = true, .shards = true};
    turns_worked(&turns, &gone, &(struct turn_work){.received = 7}, start);
    assert_int_equal(turns.state, TURN_LISTENS);
    turns_worked(&turns, &gone, &(struct turn_work){.received = 8}, start);
    assert_int_equal(turns.state, TURN_STREAMS);
    assert_true(turns_rest(&turns, &gone, false, false, start).again);
    turns_worked(&turns, &polls, &(struct turn_work){.received = 64}, start);
    assert_int_equal(turns.state, TURN_LISTENS);
    turns_worked(&turns, &taken, &(struct turn_work){.sent = 1}, start);
    assert_int_equal(turns.state, TURN_STREAMS);
    assert_false(turns_rest(&turns, &taken, false, false, start).releases);
    turns_worked(&turns, &taken, &(struct turn_work){.sent = 0}, start);
    assert_int_equal(turns.state, TURN_LISTENS);
    struct turn_rest rest = turns_rest(&turns, &taken, false, false, start);
    assert_true(rest.releases && rest.again);
    assert_false(turns_rest(&turns, &taken, true, false, start).releases);
    rest = turns_rest(&turns, &gone, false, false, start);
    assert_true(!rest.again && !rest.releases && rest.at_most == PS_NEVER);
}

/* A stream that pauses, and its thread that looks for more until `patience` is over. */
static ps_t linger(struct turns *turns, ps_t now, ps_t until_more)
{
    turns_linger(turns, now);
    ps_t more = now + until_more;
    while (turns_lingers(turns, now) && now < more)
        now += 100 * PS_NS;
    return now;
}

static void test_lingering(void **state)
{
    (void)state;
    struct turns turns = in_state(TURN_STREAMS);
    ps_t now = linger(&turns, start, PS_S);
    assert_true(now == start + 50 * PS_US);
    turns_woken(&turns, false, true, now + PS_US); /* the longest was in vain, and then it came: it needed this core */
    now = linger(&turns, start, PS_S);
    assert_true(now == start + PS_US);
    for (unsigned i = 0; i < 64; i++) { /* it stays so for a while */
        turns_linger(&turns, start);
        turns_woken(&turns, false, true, start + 10 * PS_US);
        assert_true(turns.patience == PS_US);
    }
    for (unsigned i = 1; i <= 6; i++) { /* then grows with each sleep that was too short */
        turns_linger(&turns, start);
        turns_woken(&turns, false, true, start + 10 * PS_US);
        assert_true(turns.patience == (i < 6 ? PS_US << i : 50 * PS_US));
    }
    turns_linger(&turns, start);
    turns_woken(&turns, false, false, start + PS_MS); /* and shrinks when nothing came */
    assert_true(turns.patience == 25 * PS_US);
    turns_woken(&turns, false, false, start + PS_MS); /* of one sleep it learns once */
    assert_true(turns.patience == 25 * PS_US);
    turns_linger(&turns, start);
    turns_woken(&turns, true, true, start + PS_US);
    assert_true(turns.patience == 25 * PS_US);
    /* a stream that does not end ends the look after a millisecond */
    turns_linger(&turns, start);
    turns_came(&turns, start + PS_MS - 1);
    assert_true(turns_lingers(&turns, start + PS_MS - 1));
    assert_false(turns_lingers(&turns, start + PS_MS));
}

/* The lock is left to a program that has just called, but not for ever when something was handed over. */
static void test_naps(void **state)
{
    (void)state;
    struct turns turns = in_state(TURN_LISTENS);
    struct turn_app app = silent_for(0, start);
    assert_true(turns_naps(&turns, &app, false, start + PS_MS - 1));
    assert_false(turns_naps(&turns, &app, false, start + PS_MS));
    for (unsigned i = 0; i < 10; i++)
        assert_true(turns_naps(&turns, &app, false, start));
    for (unsigned i = 0; i < 3; i++)
        assert_true(turns_naps(&turns, &app, true, start));
    assert_false(turns_naps(&turns, &app, true, start));
    turns_entered(&turns);
    assert_true(turns_naps(&turns, &app, true, start));
    app.driven = true;
    assert_false(turns_naps(&turns, &app, false, start));
    app.driven = false;
    app.shards = true;
    assert_false(turns_naps(&turns, &app, false, start));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),     cmocka_unit_test(test_stands_back_while_polled),
        cmocka_unit_test(test_misses),    cmocka_unit_test(test_no_miss),
        cmocka_unit_test(test_acks),      cmocka_unit_test(test_streams),
        cmocka_unit_test(test_lingering), cmocka_unit_test(test_naps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
