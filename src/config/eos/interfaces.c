/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An EOS running configuration into what it means for RoCE: global maps, profiles and interfaces put together.
 *
 * Where it is silent, EOS's own behaviour is said: DSCP to traffic class by its upper three bits (0-7 to 1, 8-15 to 0),
 * trust of CoS on switched and of DSCP on routed ports, frames of 1500 bytes on routed ports and of the largest size on
 * switched ones, all queues strict.  `mtu 9214` is the frame that other systems call 9216; other values are taken as
 * they are.  The watchdog is on where a timeout is set or a port asks for it; its action is errdisable unless said.
 *
 * A port that trusts nothing puts all its packets into the class of its own default CoS (switched) or DSCP (routed).
 * A member of a port-channel that has no QoS lines of its own has the channel's.  The timers of a watchdog are a port's
 * in EOS and a switch's in a fabric: the switch's own are taken, and a port that differs is a note.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/eos/eos_int.h"
#include "config/lines/statements.h"
#include "fabric/qos/models.h"

#define REFERENCES_MAX 256u
#define SIBLINGS_LEAST 3u /* ports with PFC, before one without is odd */
#define HEAD_BYTES 4096
#define CHANNELS_MOST 999999u

/* The first lines of a configuration name the product: `! device: leaf1 (DCS-7060X6-64PE, EOS-4.32.0F)`. */
static void find_chip(struct eos *eos)
{
    uint32_t number = 1;
    char line[256];

    for (const char *at = eos->text->text; *at && number <= 20; number++) {
        size_t length = strcspn(at, "\n");
        snprintf(line, sizeof(line), "%.*s", (int)(length < sizeof(line) ? length : sizeof(line) - 1), at);
        const char *product = strstr(line, "DCS-");
        const struct switch_model *model = product ? switch_model_of_product(product) : NULL;
        if (model) {
            eos->cell_bytes = model->cell_bytes;
            SAY(eos, number, CONFIG_NONE, "model", "%s", model->name);
            return;
        }
        at += length + (at[length] == '\n');
    }
}

/* qos map dscp 8 9 10 to traffic-class 1 [drop-precedence 2] */
static bool read_map(const struct statement_said *said)
{
    struct line *line = said->line;
    struct eos *eos = said->object;
    uint64_t bits = 0, to;
    uint32_t w = 3;
    unsigned below = strcmp(line->word[2], "dscp") == 0 ? 64 : 8;
    bool exp = strcmp(line->word[2], "exp") == 0; /* of MPLS: no RoCE packet has one */

    for (; w < line->words && strcmp(line->word[w], "to") != 0; w++)
        if (!lines_bits(line->word[w], below, &bits)) return true;
    if (w + 2 >= line->words || !line_number(line->word[w + 2], &to)) return true;
    bool from_tc = strcmp(line->word[2], "traffic-class") == 0, to_tc = strcmp(line->word[w + 1], "traffic-class") == 0;
    bool to_queue = strstr(line->word[w + 1], "tx-queue") != NULL;
    bool rewrite = from_tc && (strcmp(line->word[w + 1], "dscp") == 0 || strcmp(line->word[w + 1], "cos") == 0);
    line->known = exp || rewrite || (to < EOS_PRIOS && (from_tc ? to_queue : to_tc));
    if (!line->known || exp || rewrite) return true; /* a rewriting is in force with `qos rewrite` only */
    for (unsigned i = 0; i < below; i++) {
        if (!(bits >> i & 1)) continue;
        if (from_tc) {
            eos->tc_to_queue[i] = (uint8_t)to;
            eos->queue_line[i] = line->number;
        } else if (below == 64) {
            eos->dscp_to_tc[i] = (uint8_t)to;
            eos->dscp_line[i] = line->number;
        } else {
            eos->cos_to_tc[i] = (uint8_t)to;
            eos->cos_line[i] = line->number;
        }
    }
    return true;
}

static bool read_action(const struct statement_said *said)
{
    struct eos_watchdog *watchdog = &((struct eos *)said->object)->watchdog;
    const char *action = said->match->word[0];

    watchdog->action = strcmp(action, "drop") == 0 ? "drop" : strcmp(action, "no-drop") == 0 ? "forward" : "shutdown";
    watchdog->action_line = said->line->number;
    return true;
}

/* `auto` is as if it were not said. */
static bool read_watchdog(const struct statement_said *said)
{
    struct line *line = said->line;
    struct eos *eos = said->object;
    struct eos_watchdog *watchdog = &eos->watchdog;
    const char *what = said->match->word[0], *time = said->match->word[1];
    bool poll = strcmp(what, "polling-interval") == 0, timeout = strcmp(what, "timeout") == 0;
    uint64_t least = (poll ? EOS_POLL_LEAST_MS : EOS_TIMER_LEAST_MS) * (uint64_t)EOS_NS_PER_MS;
    uint64_t most = (poll ? EOS_POLL_MOST_MS : EOS_TIMER_MOST_MS) * (uint64_t)EOS_NS_PER_MS, ns = 0;

    line->known = strcmp(time, "auto") == 0;
    if (line->known || !line_decimal(time, &ns)) return true;
    line_take_part(line, "priority-flow-control pause watchdog default * *", NULL);
    if (line->words == 7 && strcmp(line->word[6], "forced") == 0) line->taken = 0;
    if (ns != 0 && (ns < least || ns > most))
        NOTE(eos, line->number, "WD002", CONFIG_NONE, "%.20s %.20s is out of range: %s", what, time,
             poll ? "0.005 to 30 seconds" : "0.01 to 60 seconds");
    *(poll ? &watchdog->poll_ns : timeout ? &watchdog->timeout_ns : &watchdog->recovery_ns) = ns;
    *(poll ? &watchdog->poll_line : timeout ? &watchdog->timeout_line : &watchdog->recovery_line) = line->number;
    return true;
}

static bool read_speed(const struct statement_said *said)
{
    struct eos_port *port = said->object;

    for (uint32_t w = 1; w < said->line->words; w++) {
        unsigned rate = 0;
        const char *c = said->line->word[w];
        for (; *c >= '0' && *c <= '9' && rate < 10000; c++)
            rate = rate * 10 + (unsigned)(*c - '0');
        if (rate == 0 || rate > 1600 || tolower((unsigned char)*c) != 'g') continue;
        port->rate_gbps = rate;
        port->rate_line = said->line->number;
    }
    return true;
}

static bool address(const struct statement_said *said)
{
    struct eos_port *port = said->object;

    port->routed = port->layer_said = true;
    lines_port_address((struct lines_port *)port, said->line, said->match);
    return true;
}

#define OBJECT struct eos_port
static const struct statement port_says[] = {
#include "config/eos/interface.def"
};
#undef OBJECT

/* interface defaults / mtu 9000 / ethernet / shutdown */
static void read_defaults(struct eos *eos, uint32_t index)
{
    struct line_match match;

    for (uint32_t i = index + 1; i < eos->lines.line[index].end; i++) {
        struct line *line = &eos->lines.line[i];
        if (line_take(line, "mtu #", &match) && match.number[0] >= EOS_MTU_LEAST && match.number[0] <= EOS_FRAME_MOST) {
            eos->mtu = (uint32_t)match.number[0];
            eos->mtu_line = line->number;
        } else if (line_take(line, "shutdown", NULL) || line_take(line, "no shutdown", NULL)) {
            eos->down = line->words == 1;
            eos->down_line = line->number;
        } else {
            line_take(line, "ethernet", NULL);
        }
    }
}

static void read_line(struct lines_import *in, uint32_t index, struct line *line, void *port)
{
    if (line->parent == index) STATEMENTS_READ(port_says, in, port, line);
}

/* The next line of the port's blocks: a running configuration has one, what is pasted may open an interface again. */
static struct line *next_line(struct eos *eos, const struct config_block **block, uint32_t *index)
{
    for (; *block; *block = (*block)->next, *index = 0) {
        if (*index < (*block)->index) *index = (*block)->index;
        if (++*index < eos->lines.line[(*block)->index].end) return &eos->lines.line[*index];
    }
    return NULL;
}

/* The interface's own lines over its profile's. */
static void read_qos(struct eos *eos, struct eos_port *port)
{
    const struct config_block *block = port->blocks.head;
    struct line_match match;
    struct line *line;

    for (uint32_t i = 0; (line = next_line(eos, &block, &i));) {
        if (!line_take(line, "service-profile *", &match)) continue;
        const struct eos_profile *profile = eos_profile(eos, match.word[0], line->number);
        if (profile) port->qos = profile->qos;
        if (profile) port->profile_line = profile->line;
        port->applied_line = line->number;
        if (!profile) port->unknown_line = line->number;
        port->profiled = true;
    }
    block = port->blocks.head;
    for (uint32_t i = 0; (line = next_line(eos, &block, &i));)
        if (line->parent == block->index && eos_qos_line(eos, &port->qos, line)) port->own = true;
}

static bool same_blocks(const struct eos_port *a, const struct eos_port *b)
{
    const struct config_block *x = a->blocks.head, *y = b->blocks.head;

    for (; x && y && x->index == y->index; x = x->next)
        y = y->next;
    return !x && !y;
}

#define MTU_ROUTED 1500u /* of a routed interface, where nothing says another */

/* A member without QoS lines of its own has those of its port-channel. */
static void join_channel(const struct eos *eos, const struct eos_port *ports, uint32_t count, struct eos_port *port)
{
    char name[32];

    snprintf(name, sizeof(name), "Port-Channel%u", port->channel);
    for (uint32_t p = 0; p < count; p++) {
        const struct eos_port *channel = &ports[p];
        if (strcmp(channel->name, name) != 0) continue;
        if (!port->own && !port->profiled) {
            port->qos = channel->qos;
            port->profile_line = channel->profile_line;
        } else if (port->qos.trust == EOS_TRUST_UNSAID && !port->qos.policy) { /* classification is the channel's */
            port->qos.trust = channel->qos.trust;
            port->qos.trust_line = channel->qos.trust_line;
            port->qos.policy = channel->qos.policy;
            port->home_line = channel->line;
        }
        port->routed |= channel->routed;
        /* of a routed channel the frames are its own, whatever its members say */
        bool own = channel->routed && !channel->mtu && !eos->mtu;
        if (own) port->mtu = MTU_ROUTED, port->mtu_line = channel->line;
        if (channel->mtu && (channel->routed || !port->mtu))
            port->mtu = channel->mtu, port->mtu_line = channel->mtu_line;
        return;
    }
}

static const struct lines_foreign foreign[] = {
#define FOREIGN(pattern, instead) {pattern, instead},
#include "config/eos/foreign.def"
#undef FOREIGN
    {NULL, NULL},
};

static const char aside[] =
    "transceiver spanning-tree no vlan vrf ip ipv6 router aaa username ntp logging snmp-server boot"
    " management daemon switchport channel-group load-interval phy route-map clock enable service"
    " radius-server tacacs-server mlag lacp lldp dns hostname transport agent peer-filter monitor"
    " redundancy system hardware banner alias event-handler vxlan l2-protocol bfd name";

/* ip load-sharing trident fields ip source-ip source-port destination-ip destination-port ingress-interface */
static bool read_hash(const struct statement_said *said)
{
    struct line *line = said->line;
    bool source = false, target = false, sport = false;

    line->known = true;
    if (strcmp(line->word[4], "ip") != 0) return true; /* IPv6 and others: RoCE over IPv4 is what is judged */
    for (uint32_t w = 5; w < line->words; w++) {
        source |= strcmp(line->word[w], "source-ip") == 0;
        target |= strcmp(line->word[w], "destination-ip") == 0;
        sport |= strcmp(line->word[w], "source-port") == 0;
    }
    line->known = source || target || sport; /* a hash of none of them is no hash that is known */
    if (!line->known) return true;
    SAY((struct eos *)said->object, line->number, CONFIG_NONE, "ecmp.hash", "[%s%s%s]", source ? "src" : "",
        target ? (source ? ", dst" : "dst") : "", sport ? (source || target ? ", sport" : "sport") : "");
    return true;
}

/* How the chip spreads flows, in words that no document was found for: then a hash may not be what decides. */
static bool not_hashed(const struct statement_said *said)
{
    struct line *line = said->line;
    struct eos *eos = said->object;

    NOTE(eos, line->number, NULL, CONFIG_NONE, "%.120s", line->text);
    UNJUDGED(eos, line->number, "TOP004 HOST006", CONFIG_NONE, "this line was not understood: %.80s", line->text);
    return true;
}

static bool read_seed(const struct statement_said *said)
{
    SAY((struct eos *)said->object, said->line->number, CONFIG_NONE, "ecmp.seed", "%llu",
        (unsigned long long)said->match->number[0]);
    return true;
}

static bool read_mode(const struct statement_said *said)
{
    ((struct eos *)said->object)->routed = strcmp(said->match->word[0], "routed") == 0;
    return true;
}

static bool rewrites(const struct statement_said *said)
{
    NOTE((struct eos *)said->object, said->line->number, "MAP004", CONFIG_NONE,
         "packets leave with the DSCP of their traffic class, not with their own");
    return true;
}

static bool read_pool(const struct statement_said *said)
{
    struct eos *eos = said->object;

    said->line->known = eos->cell_bytes != 0;
    if (said->line->known)
        SAY(eos, said->line->number, CONFIG_NONE, "headroom-pool", "%lluB",
            (unsigned long long)(said->match->number[0] * eos->cell_bytes));
    return true;
}

#define OBJECT struct eos
static const struct statement system_says[] = {
#include "config/eos/system.def"
};
#undef OBJECT

static void read_global(struct eos *eos, struct lines_ports *ports, uint32_t i)
{
    struct line *line = &eos->lines.line[i];

    if (STATEMENTS_READ(system_says, eos, eos, line) || strcmp(line->word[0], "interface") != 0) return;
    if (line_is(line, "interface defaults", NULL)) read_defaults(eos, i);
    lines_ports_read(ports, i, "Port-Channel", read_line);
}

/* Profiles of the platform's queues that are made and not put into force. */
static void judge_queue_profiles(struct eos *eos)
{
    struct line_match defined, applied;

    for (uint32_t i = 0, seen = 0; i < eos->lines.count && seen < REFERENCES_MAX; i++) {
        const struct line *line = &eos->lines.line[i];
        bool used = false;
        if (line->parent != LINES_NONE || !line_is(line, "platform trident mmu queue profile *", &defined)) continue;
        seen++;
        for (uint32_t j = 0; j < eos->lines.count && !used; j++)
            used = line_is(&eos->lines.line[j], "platform trident mmu queue profile * apply", &applied) &&
                   strcmp(applied.word[0], defined.word[0]) == 0;
        if (!used)
            HINT(eos, line->number, "MAP007", CONFIG_NONE, "mmu queue profile %.60s is defined and applied nowhere",
                 defined.word[0]);
    }
}

/* Members of the MLAG peer-link carry what the ports of a failed link carried: they have PFC as these have. */
static void judge_peer_link(struct eos *eos, const struct eos_port *ports, uint32_t count)
{
    uint32_t channel = 0, with = 0, others = 0;
    struct line_match match;

    for (uint32_t i = 0; i < eos->lines.count && !channel; i++)
        if (line_is(&eos->lines.line[i], "peer-link *", &match) && strncasecmp(match.word[0], "Port-Channel", 12) == 0)
            channel = (uint32_t)strtoul(match.word[0] + 12, NULL, 10);
    for (uint32_t p = 0; p < count && channel; p++) {
        const struct eos_port *port = &ports[p];
        if (strncmp(port->name, "Ethernet", 8) != 0 || port->down) continue;
        if (port->channel == channel && port->qos.pfc) return;
        with += port->qos.pfc != 0;
        others += port->channel != channel;
    }
    if (with < SIBLINGS_LEAST || with * 4 < others * 3) return;
    for (uint32_t p = 0; p < count; p++) {
        const struct eos_port *port = &ports[p];
        if (port->channel != channel || port->down) continue;
        NOTE(eos, port->line, "SIB001", CONFIG_NONE,
             "%.40s carries the MLAG peer-link and has no PFC, which %u of the %u other ports have", port->name, with,
             others);
        return;
    }
}

static const struct lines_part parts[] = {
    {"watchdog", "WD001", "a watchdog"},
    {"mtu ", "MTU", "frames"},
    {"tx-queue", "ECN SCH MAP005 MAP008", "queues"},
};

static void judge(struct eos *eos)
{
    lines_judge_part(&eos->lines_in, parts, sizeof(parts) / sizeof(parts[0]));
    if (!eos->whole && !lines_speak_of(&eos->lines_in, "interface ")) { /* nothing could apply anything */
        if (eos->profiles || eos->policies)
            UNJUDGED(eos, 1, "MAP007", CONFIG_NONE, "the text is a part of a configuration that has no interfaces");
        return;
    }
    eos_policies_unused(eos);
    judge_queue_profiles(eos);
    lines_unused(&eos->lines_in, eos->profiles, ~0u, "qos profile", "applied nowhere");
}

/* Lines of a mode that are not indented below it: scripts, and what people write down. */
static bool belongs(const struct line *block, const struct line *line, bool flat)
{
    static const char port[] =
        "uc-tx-queue tx-queue mc-tx-queue priority-flow-control service-profile service-policy shape dcbx"
        " mtu speed switchport error-correction flowcontrol shutdown channel-group description"
        " load-interval";
    const char *mode = block->word[0];
    bool trust = line_is(line, "qos trust *", NULL) || line_is(line, "no qos trust", NULL);
    bool global = line_is(line, "priority-flow-control pause watchdog * * ...", NULL) && line->words > 3 &&
                  strcmp(line->word[3], "port") != 0;

    if (strstr(mode, "tx-queue")) return line_command(line, "priority bandwidth random-detect shape");
    if (strcmp(mode, "class-map") == 0) return line_command(line, "match");
    if (strcmp(mode, "policy-map") == 0) return line_command(line, "class");
    if (strcmp(mode, "class") == 0) return line_command(line, "set police");
    bool of = (trust || line_command(line, port)) && !global;
    if (strcmp(mode, "qos") == 0) return line_is(block, "qos profile *", NULL) && of;
    of |= line_is(line, "ip address ...", NULL) || line_is(line, "ipv6 address ...", NULL);
    return strcmp(mode, "interface") == 0 && flat && of;
}

/* What ports have by their profiles, and what is wrong with it; ports of one range have the same. */
static void read_ports(struct eos *eos, struct eos_port *ports, uint32_t count)
{
    for (uint32_t p = 0; p < count; p++) {
        struct eos_port *port = &ports[p];
        if (p && same_blocks(port, port - 1)) {
            port->qos = port[-1].qos;
            port->own = port[-1].own;
            port->profiled = port[-1].profiled;
            port->profile_line = port[-1].profile_line;
            port->applied_line = port[-1].applied_line;
            port->unknown_line = port[-1].unknown_line;
            continue;
        }
        read_qos(eos, port);
        eos_judge(eos, &port->qos);
    }
}

/* What they are beside their own lines: by the switch, and by their port-channel. */
static void complete_ports(struct eos *eos, struct eos_port *ports, uint32_t count)
{
    for (uint32_t p = 0; p < count; p++) {
        struct eos_port *port = &ports[p];
        if (!port->layer_said) port->routed |= eos->routed;
        if (!port->down_said) port->down = eos->down;
        if (port->channel) join_channel(eos, ports, count, port);
        for (unsigned q = 0; q < EOS_PRIOS; q++)
            eos->marks |= port->qos.queue[q].ecn;
        if (port->qos.pfc && port->qos.policy && !port->down) eos->policy_line = port->qos.policy->line;
    }
}

int eos_import(struct config_set *set, const struct config_text *text)
{
    static const char opens[] = "interface qos uc-tx-queue tx-queue mc-tx-queue class-map policy-map class";
    static const struct lines_grammar grammar = {opens, belongs};
    struct eos eos = {.lines_in = {.set = set, .text = text}};
    struct lines_ports ports;
    int result = lines_begin(&eos.lines_in, &grammar, "eos");

    if (result != 0) return result;
    lines_ports_init(&ports, &eos.lines_in, sizeof(struct eos_port));
    for (uint8_t i = 0; i < 64; i++)
        eos.dscp_to_tc[i] = (uint8_t)(i < 8 ? 1 : i < 16 ? 0 : i >> 3);
    for (uint8_t i = 0; i < 8; i++) {
        eos.tc_to_queue[i] = i;
        eos.cos_to_tc[i] = (uint8_t)(i == 0 ? 1 : i == 1 ? 0 : i);
    }
    find_chip(&eos);
    const char *all = strstr(text->text, "show running-config all");
    eos.all = all && all - text->text < HEAD_BYTES;
    for (uint32_t i = 0; i < eos.lines.count; i++)
        eos.whole |= line_is(&eos.lines.line[i], "hostname *", NULL);
    lines_foreign(&eos.lines_in, foreign);
    eos_policies(&eos);
    eos_profiles(&eos);
    for (uint32_t i = 0; i < eos.lines.count; i++)
        if (eos.lines.line[i].parent == LINES_NONE) read_global(&eos, &ports, i);
    struct eos_port *port = ports.port;
    read_ports(&eos, port, ports.count);
    complete_ports(&eos, port, ports.count);
    eos_say_watchdog(&eos, port, ports.count);
    for (uint32_t p = 0; p < ports.count; p++)
        if (strncmp(port[p].name, "Ethernet", 8) == 0) eos_say_port(&eos, &port[p]);
    judge(&eos);
    judge_peer_link(&eos, port, ports.count);
    return lines_end(&eos.lines_in, aside, &config_eos, "EOS");
}
