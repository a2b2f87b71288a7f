/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the adapter's calls to those of a plug-in: it sees structs of rocelab/cc.h and nothing of ours, and each of its
 * answers is looked at before it counts.
 *
 * With ROCELAB_CC_CHECK in the environment each call is made twice: first on a copy of its state with a margin around
 * it, then on the state.  Answers that differ, a margin that was written to, and a change of what was only to be read
 * end the run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/units.h"
#include "plugin/plugin_int.h"

#define MARGIN 64
#define MARGIN_BYTE 0xa5

enum told_of { OF_INIT, OF_ACK, OF_CNP, OF_LOSS, OF_SENT, OF_TIMER };
static const char *const calls[] = {"init()", "ack()", "cnp()", "loss()", "sent()", "timer()"};

struct told {
    enum told_of of;
    ps_t now;
    struct rocelab_cc_ack ack;
    struct rocelab_cc_hop hop[PKT_INT_HOPS];
    struct rocelab_cc_loss loss;
    uint32_t bytes;
};

static void invoke(const struct rocelab_cc *cc, struct rocelab_cc_qp *qp, const struct told *told)
{
    switch (told->of) {
    case OF_INIT:
        cc->init(qp);
        break;
    case OF_ACK:
        cc->ack(qp, &told->ack, told->now);
        break;
    case OF_CNP:
        cc->cnp(qp, told->now);
        break;
    case OF_LOSS:
        cc->loss(qp, &told->loss, told->now);
        break;
    case OF_SENT:
        cc->sent(qp, told->bytes, told->now);
        break;
    case OF_TIMER:
        cc->timer(qp, told->now);
        break;
    }
}

bool call_twice(void)
{
    static int twice = -1;

    if (twice < 0) twice = getenv(PLUGIN_CHECK) != NULL;
    return twice != 0;
}

/* The same call on a copy of everything. */
static void rehearse(const struct plugin *plugin, struct rocelab_cc_qp *qp, const struct told *told)
{
    static const char spoilt[] = "wrote past the end of qp->state: state_bytes says how much there is";
    _Alignas(8) unsigned char room[MARGIN + ROCELAB_CC_STATE_MAX + MARGIN];
    uint64_t param[ROCELAB_CC_PARAMS_MAX];
    struct told copy = *told;
    size_t bytes = plugin->cc.state_bytes;

    memset(room, MARGIN_BYTE, sizeof room);
    if (bytes) memcpy(room + MARGIN, qp->state, bytes);
    const uint64_t *own = qp->param;
    memcpy(param, own, sizeof param);
    qp->state = room + MARGIN;
    qp->param = param;
    copy.ack.hop = copy.hop;
    invoke(&plugin->cc, qp, &copy);
    for (size_t i = 0; i < MARGIN; i++)
        if (room[i] != MARGIN_BYTE || room[MARGIN + bytes + i] != MARGIN_BYTE) guard_end(spoilt);
    copy.ack.hop = told->ack.hop;
    if (memcmp(&copy, told, sizeof copy) != 0) guard_end("wrote to what it was told, which is to be read alone");
    if (memcmp(param, own, sizeof param) != 0) guard_end("wrote to its parameters, which are to be read alone");
    qp->state = NULL;
    qp->param = NULL;
}

static void same_again(const struct rocelab_cc_qp *first, const struct rocelab_cc_qp *qp)
{
    if (first->rate_bps != qp->rate_bps || first->window_bytes != qp->window_bytes ||
        first->deadline_ps != qp->deadline_ps || first->alpha_ppm != qp->alpha_ppm)
        guard_end("answers otherwise when it is asked the same again: does it keep something outside of qp->state, or "
                  "read a clock or random numbers?");
}

static _Noreturn void refuse_number(const char *name, int64_t number, const char *right)
{
    char what[256];

    snprintf(what, sizeof what, "left %s at %" PRId64 "; %s", name, number, right);
    guard_end(what);
}

/* A NaN that is made an integer is the least one on x86 and 0 on Arm, and neither is a rate. */
static void judge(const struct plugin *plugin, const struct rocelab_cc_qp *qp, const struct told *told)
{
    if (qp->rate_bps < ROCELAB_CC_RATE_MIN)
        refuse_number("rate_bps", qp->rate_bps,
                      "10 kb/s is the least (below 0: has it wrapped, or was it made of a NaN?)");
    if (qp->window_bytes < 1)
        refuse_number("window_bytes", qp->window_bytes, "1 is the least, for a closed window hears no ACK");
    if (qp->window_bytes != ROCELAB_CC_NO_WINDOW && !(plugin->cc.needs & ROCELAB_CC_WINDOW))
        refuse_number("window_bytes", qp->window_bytes, "but its `needs` do not say ROCELAB_CC_WINDOW");
    if (told->of == OF_TIMER && qp->deadline_ps <= told->now)
        guard_end("left deadline_ps at a time that is over; later than now, or ROCELAB_CC_NEVER");
    if (qp->deadline_ps != ROCELAB_CC_NEVER && plugin->cc.timer == NULL)
        guard_end("set deadline_ps, and there is no timer()");
    if (qp->alpha_ppm > 1000000) refuse_number("alpha_ppm", qp->alpha_ppm, "1000000 is all");
}

static void tell(struct cc *cc, const struct told *told)
{
    const struct plugin *plugin = (const struct plugin *)cc->algorithm;
    struct cc_outside *own = &cc->outside;
    struct rocelab_cc_qp qp = {.rate_bps = (int64_t)cc->rate_bps,
                               .window_bytes = (int64_t)own->window_bytes,
                               .deadline_ps = cc->deadline,
                               .alpha_ppm = own->alpha_ppm,
                               .packet_bytes = cc->packet_bytes,
                               .line_bps = (int64_t)cc->line_bps,
                               .param = cc->config->own,
                               .state = own->state};
    struct rocelab_cc_qp first = qp;

    guard_enter(plugin, calls[told->of], told->now);
    if (call_twice()) rehearse(plugin, &first, told);
    invoke(&plugin->cc, &qp, told);
    if (call_twice()) same_again(&first, &qp);
    judge(plugin, &qp, told);
    guard_leave();
    cc->rate_bps = (uint64_t)qp.rate_bps < cc->line_bps ? (uint64_t)qp.rate_bps : cc->line_bps;
    cc->deadline = qp.deadline_ps;
    own->window_bytes = (uint64_t)qp.window_bytes;
    own->alpha_ppm = qp.alpha_ppm;
    cc->window_bytes = qp.window_bytes == ROCELAB_CC_NO_WINDOW ? CC_WINDOW_NONE : own->window_bytes;
}

static void on_init(struct cc *cc)
{
    const struct plugin *plugin = (const struct plugin *)cc->algorithm;

    cc->outside.window_bytes = ROCELAB_CC_NO_WINDOW;
    if (cc->outside.state) memset(cc->outside.state, 0, plugin->cc.state_bytes);
    if (plugin->cc.init) tell(cc, &(struct told){.of = OF_INIT});
}

static void on_ack(struct cc *cc, const struct cc_ack *ack, ps_t now)
{
    struct told told = {.of = OF_ACK,
                        .now = now,
                        .ack = {.acked_bytes = ack->acked_bytes,
                                .in_flight_bytes = ack->in_flight_bytes,
                                .acked_psn = ack->acked_psn,
                                .next_psn = ack->next_psn,
                                .rtt_ps = ack->rtt_ps,
                                .host_ps = ack->host_ps,
                                .switches = ack->switches,
                                .marked = ack->marked,
                                .hops = ack->hops}};

    for (uint32_t i = 0; i < ack->hops; i++)
        told.hop[i] = (struct rocelab_cc_hop){.at_ps = ack->hop[i].at,
                                              .tx_bytes = ack->hop[i].tx_bytes,
                                              .rate_bps = ack->hop[i].rate_bps,
                                              .queue_bytes = ack->hop[i].queue_bytes};
    told.ack.hop = told.hop;
    tell(cc, &told);
}

static void on_cnp(struct cc *cc, ps_t now)
{
    tell(cc, &(struct told){.of = OF_CNP, .now = now});
}

static void on_loss(struct cc *cc, bool timeout, uint32_t next_psn, ps_t now)
{
    tell(cc, &(struct told){.of = OF_LOSS, .now = now, .loss = {.timeout = timeout, .next_psn = next_psn}});
}

static void on_sent(struct cc *cc, uint32_t bytes, ps_t now)
{
    tell(cc, &(struct told){.of = OF_SENT, .now = now, .bytes = bytes});
}

static void on_timer(struct cc *cc, ps_t now)
{
    tell(cc, &(struct told){.of = OF_TIMER, .now = now});
}

static uint64_t alpha(const struct cc *cc)
{
    return (((uint64_t)cc->outside.alpha_ppm << 32) + 999999) / 1000000;
}

static uint32_t ask_bytes(const struct cc_config *config)
{
    const struct plugin *plugin = (const struct plugin *)config->outside;

    if (plugin->cc.ask_bytes == NULL) return 0;
    guard_enter(plugin, "ask_bytes()", 0);
    uint32_t bytes = plugin->cc.ask_bytes(config->own);
    guard_leave();
    return bytes;
}

/* What unit_format() has no kind for is a number. */
static const char *value_text(enum cc_unit unit, uint64_t value, char buf[UNIT_TEXT])
{
    static const enum unit_kind kinds[] = {
        [CC_UNIT_TIME] = UNIT_TIME,   [CC_UNIT_RATE] = UNIT_RATE,   [CC_UNIT_BYTES] = UNIT_SIZE,
        [CC_UNIT_COUNT] = UNIT_COUNT, [CC_UNIT_SHARE] = UNIT_SHARE, [CC_UNIT_FLAG] = UNIT_COUNT};

    return unit_format(kinds[unit], value, buf);
}

static const char *invalid(const struct cc_config *config, const char **ret_name)
{
    struct plugin *plugin = (struct plugin *)(uintptr_t)config->outside;
    char from[UNIT_TEXT], to[UNIT_TEXT];

    for (uint32_t i = 0; i < plugin->cc.params; i++) {
        const struct cc_param *param = &plugin->param[i];
        if ((param->least == 0 && param->most == 0) ||
            (config->own[i] >= param->least && config->own[i] <= param->most))
            continue;
        *ret_name = param->name;
        snprintf(plugin->why, sizeof plugin->why, "is %s to %s", value_text(param->unit, param->least, from),
                 value_text(param->unit, param->most, to));
        return plugin->why;
    }
    if (plugin->cc.refuse == NULL) return NULL;
    guard_enter(plugin, "refuse()", 0);
    const char *why = plugin->cc.refuse(config->own);
    if (why) snprintf(plugin->why, sizeof plugin->why, "%s", why);
    guard_leave();
    *ret_name = plugin->cc.name;
    return why ? plugin->why : NULL;
}

void call_describe(struct plugin *plugin)
{
    const struct rocelab_cc *cc = &plugin->cc;

    plugin->algorithm = (struct cc_algorithm){
        .preset = plugin->preset,
        .param = plugin->param,
        .needs = {.cnp = cc->needs & ROCELAB_CC_CNP,
                  .echo = cc->needs & ROCELAB_CC_ECHO,
                  .rtt = cc->needs & ROCELAB_CC_RTT,
                  .telemetry = cc->needs & ROCELAB_CC_TELEMETRY,
                  .state_bytes = cc->state_bytes},
        .window = cc->needs & ROCELAB_CC_WINDOW,
        .invalid = invalid,
        .ask_bytes = ask_bytes,
        .init = on_init,
        .ack = cc->ack ? on_ack : NULL,
        .cnp = cc->cnp ? on_cnp : NULL,
        .loss = cc->loss ? on_loss : NULL,
        .sent = cc->sent ? on_sent : NULL,
        .timer = cc->timer ? on_timer : NULL,
        .alpha = alpha,
    };
}
