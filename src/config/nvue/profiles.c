/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVUE into what a fabric file can say.
 *
 * The facts fill profiles (maps, queues, schedulers, marking, PFC); then every port takes the profile it names, or
 * `default-global` where that is set.  `qos roce` sets default-global as NVIDIA documents it: trust of DSCP, priority
 * DSCP / 8, priority 3 in queue 3 with half of the line, priority 6 strict in queue 6, all others in queue 0, marking
 * from 150000 to 1500000 bytes on queues 0 and 3, PFC on priority 3 (not in the lossy modes) for 100 m of cable.
 * What is said of default-global besides lies over that.  What ports then mean is in meaning.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "config/nvue/read.h"

/* Settings of interfaces, each counted for every interface of its range: a thousand interfaces have 500 each. */
#define WORK_MOST 500000u

const char *const nvue_kinds[KINDS] = {
    "mapping", "egress-queue-mapping", "egress-scheduler", "congestion-control", "pfc", "link-pause", "remark"};

bool nvue_number(const char *text, int64_t *ret)
{
    char *end = NULL;

    if (!text || text[0] < '0' || text[0] > '9') return false;
    errno = 0;
    long long got = strtoll(text, &end, 10);
    if (errno || *end) return false;
    *ret = got;
    return true;
}

bool nvue_value(struct nvue *in, const struct nvue_fact *fact, uint32_t word, int64_t low, int64_t high, int64_t *ret)
{
    int64_t got;

    if (word < fact->words && nvue_number(fact->word[word], &got) && got >= low && got <= high) {
        *ret = got;
        return true;
    }
    NOTE(in, fact->line, "SYN001", CONFIG_NONE, "%s %s: '%.40s' is not a number from %lld to %lld", fact->word[0],
         fact->word[1], word < fact->words ? fact->word[word] : "nothing", (long long)low, (long long)high);
    return false;
}

/* `3`, `0-2`, `0,3-5`: bits. */
uint64_t nvue_bits(const char *text, unsigned below)
{
    uint64_t bits = 0;

    for (const char *at = text; *at;) {
        char *end = NULL;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (end == at) return 0;
        if (*end == '-') {
            at = end + 1;
            last = strtoul(at, &end, 10);
            if (end == at) return 0;
        }
        for (unsigned long i = first; i <= last && i < below; i++)
            bits |= UINT64_C(1) << i;
        if (*end && *end != ',') return 0;
        at = *end ? end + 1 : end;
    }
    return bits;
}

struct nvue_profile *nvue_profile(struct nvue *in, enum kind kind, const char *name, uint32_t line)
{
    for (uint32_t i = 0; i < in->profiles; i++)
        if (in->profile[i].kind == kind && strcmp(in->profile[i].name, name) == 0) return &in->profile[i];
    if (!line) return NULL;
    ARENA_ROOM(in->arena, in->profile, in->profiles, in->profiles_room);
    struct nvue_profile *as = &in->profile[in->profiles++];
    *as = (struct nvue_profile){.name = name, .kind = (uint8_t)kind, .line = line, .rx = true, .tx = true};
    as->xoff = as->xon = as->buffer = as->cable = -1;
    for (unsigned i = 0; i < 64; i++) {
        as->dscp[i] = (uint8_t)(i / 8);
        as->dscp_line[i] = line;
    }
    for (uint8_t i = 0; i < FABRIC_PRIOS; i++) {
        as->pcp_to[i] = as->queue[i] = i;
        as->curve[i].probability = 100;
        as->curve[i].line = line;
    }
    return as;
}

static void roce_defaults(struct nvue *in, uint32_t line, const char *mode, int64_t cable, uint32_t cable_line)
{
    static const char *const global = "default-global";
    bool lossless = strncmp(mode, "lossy", 5) != 0;
    bool second = strcmp(mode, "dci-1") == 0; /* priority 4 in a queue of its own, which marks and does not pause */

    in->roce = true;
    nvue_profile(in, MAPPING, global, line);
    struct nvue_profile *queues = nvue_profile(in, QUEUES, global, line);
    for (unsigned i = 0; i < FABRIC_PRIOS; i++)
        queues->queue[i] = i == 3 || i == 6 || (second && i == 4) ? (uint8_t)i : 0;
    struct nvue_profile *turns = nvue_profile(in, SCHEDULER, global, line);
    turns->scheduled[0] = turns->scheduled[3] = turns->scheduled[6] = turns->strict[6] = true;
    turns->weight[0] = turns->weight[3] = second ? 33 : 50;
    turns->scheduled[4] = second;
    turns->weight[4] = second ? 33 : 0;
    struct nvue_profile *marking = nvue_profile(in, MARKING, global, line);
    for (unsigned q = 0; q <= 4; q++)
        if (q == 0 || q == 3 || (second && q == 4))
            marking->curve[q] = (struct nvue_curve){
                .on = true, .min = NVUE_ROCE_MIN, .max = NVUE_ROCE_MAX, .probability = 100, .line = line};
    if (!lossless) in->lossy_line = line;
    struct nvue_profile *pfc = lossless ? nvue_profile(in, PFC, global, line) : NULL;
    if (!pfc) return;
    pfc->priorities = 1u << 3;
    pfc->cable = cable;
    pfc->cable_line = cable_line;
}

static bool on_word(const char *word)
{
    return strncmp(word, "enable", 6) == 0 || strcmp(word, "on") == 0 || strcmp(word, "true") == 0;
}
static bool off_word(const char *word)
{
    return strncmp(word, "disable", 7) == 0 || strcmp(word, "off") == 0 || strcmp(word, "false") == 0;
}

/* First: what `qos roce` sets lies below all that is said besides. */
static void read_roce(struct nvue *in)
{
    uint32_t line = 0, cable_line = 0;
    bool on = false, off = false;
    const char *mode = "lossless";
    int64_t cable = NVUE_CABLE_DEFAULT_M;

    for (uint32_t f = 0; f < in->facts.count; f++) {
        const struct nvue_fact *fact = &in->facts.fact[f];
        const char *key = fact->word[2], *value = fact->word[3];
        if (!nvue_says(fact, "qos roce")) continue;
        if (!line || strcmp(key, "mode") == 0) line = fact->line;
        on = true;
        if ((strcmp(key, "enable") == 0 || strcmp(key, "state") == 0) && off_word(value))
            off = true, in->roce_off_line = fact->line;
        if (strcmp(key, "mode") == 0) mode = value;
        if (strcmp(key, "cable-length") == 0 && nvue_value(in, fact, 3, 1, 100000, &cable)) cable_line = fact->line;
    }
    if (on && !off) roce_defaults(in, line, mode, cable, cable_line);
}

/* --- profiles: qos KIND NAME ... --- */

static bool read_mapping(struct nvue *in, const struct nvue_fact *fact, struct nvue_profile *as)
{
    const char *key = fact->word[3];
    int64_t to;

    if (strcmp(key, "trust") == 0 && fact->words > 4) {
        as->pcp = strcmp(fact->word[4], "l2") == 0 || strcmp(fact->word[4], "pcp") == 0;
        as->fixed = strcmp(fact->word[4], "port") == 0; /* all packets get the port's own priority */
        as->trust_line = fact->line;
        return true;
    }
    bool dscp = strcmp(key, "dscp") == 0, pcp = strcmp(key, "pcp") == 0;
    if (strcmp(key, "port-default-sp") == 0) {
        if (nvue_value(in, fact, 4, 0, 7, &to)) as->fixed_to = (uint8_t)to;
        return true;
    }
    if (!(dscp || pcp) || fact->words < 7 || strcmp(fact->word[5], "switch-priority") != 0) return false;
    uint64_t bits = nvue_bits(fact->word[4], dscp ? 64 : 8);
    if (!bits || !nvue_value(in, fact, 6, 0, 7, &to)) return bits != 0;
    if (dscp) as->dscp_named |= bits;
    for (unsigned i = 0; i < (dscp ? 64u : 8u); i++) {
        if (!(bits >> i & 1)) continue;
        if (dscp) as->dscp_line[i] = fact->line;
        *(dscp ? &as->dscp[i] : &as->pcp_to[i]) = (uint8_t)to;
    }
    return true;
}

static bool read_queue_profile(struct nvue *in, const struct nvue_fact *fact, struct nvue_profile *as)
{
    int64_t got = 0;

    if (fact->words < 5) return false;
    unsigned bits = (unsigned)nvue_bits(fact->word[4], 8);
    const char *key = fact->word[5], *value = fact->word[6];
    if (!bits) return false;
    if (as->kind == QUEUES) {
        if (strcmp(fact->word[3], "switch-priority") != 0 || strcmp(key, "traffic-class") != 0) return false;
        if (nvue_value(in, fact, 6, 0, 7, &got))
            for (unsigned i = 0; i < FABRIC_PRIOS; i++)
                if (bits >> i & 1) as->queue[i] = (uint8_t)got, as->queue_line[i] = fact->line;
        return true;
    }
    if (strcmp(fact->word[3], "traffic-class") != 0) return false;
    bool mode = strcmp(key, "mode") == 0, weight = strcmp(key, "bw-percent") == 0;
    if (!mode && !weight) return false;
    if (weight && !nvue_value(in, fact, 6, 0, 100, &got)) return true;
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (!(bits >> q & 1)) continue;
        as->scheduled[q] = true;
        if (mode) as->strict[q] = strcmp(value, "strict") == 0;
        if (weight) as->weight[q] = got;
        *(mode ? &as->scheduled_line[q] : &as->weight_line[q]) = fact->line;
    }
    return true;
}

static bool read_marking(struct nvue *in, const struct nvue_fact *fact, struct nvue_profile *as)
{
    if (fact->words < 7 || strcmp(fact->word[3], "traffic-class") != 0) return false;
    unsigned bits = (unsigned)nvue_bits(fact->word[4], 8);
    const char *key = fact->word[5], *value = fact->word[fact->words - 1];
    int64_t got = 0;

    if (!bits) return false;
    bool ecn = strcmp(key, "ecn") == 0, red = strcmp(key, "red") == 0, chance = strcmp(key, "probability") == 0;
    bool min = strcmp(key, "min-threshold") == 0, max = strcmp(key, "max-threshold") == 0;
    if (!(ecn || red || chance || min || max)) return false;
    if ((min || max) && !nvue_value(in, fact, 6, 0, UINT32_MAX, &got)) return true;
    if (chance && !nvue_value(in, fact, 6, 0, 100, &got)) return true;
    if (red && on_word(value))
        NOTE(in, fact->line, "ECN006", CONFIG_NONE, "congestion-control %.60s: red drops where marking would do",
             as->name);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (!(bits >> q & 1)) continue;
        if (ecn) as->curve[q].on = on_word(value);
        if (!as->curve[q].met || (ecn && !on_word(value))) as->curve[q].line = fact->line;
        as->curve[q].met = true;
        if (min) as->curve[q].min = got, as->curve[q].min_line = fact->line;
        if (max) as->curve[q].max = got, as->curve[q].max_line = fact->line;
        if (chance) as->curve[q].probability = got, as->curve[q].chance_line = fact->line;
    }
    return true;
}

static bool read_pfc(struct nvue *in, const struct nvue_fact *fact, struct nvue_profile *as)
{
    const char *key = fact->word[3], *value = fact->word[fact->words - 1];
    const struct {
        const char *key;
        int64_t *value;
        uint32_t *line;
    } numbers[] = {{"xoff-threshold", &as->xoff, &as->xoff_line},
                   {"xon-threshold", &as->xon, &as->xon_line},
                   {"port-buffer", &as->buffer, &as->buffer_line},
                   {"cable-length", &as->cable, &as->cable_line}};

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(key, numbers[i].key) != 0) continue;
        if (nvue_value(in, fact, 4, 0, UINT32_MAX, numbers[i].value)) *numbers[i].line = fact->line;
        return true;
    }
    if (strcmp(key, "rx") == 0 || strcmp(key, "tx") == 0) {
        *(key[0] == 'r' ? &as->rx : &as->tx) = on_word(value);
        *(key[0] == 'r' ? &as->rx_line : &as->tx_line) = fact->line;
        return true;
    }
    if (strcmp(key, "switch-priority") != 0 || fact->words < 5) return false;
    uint64_t bits = nvue_bits(fact->word[4], 8);
    as->priorities |= (unsigned)bits;
    as->pfc_line = fact->line;
    return bits != 0;
}

/* What a profile rewrites counts where a port names it. */
static bool read_remark(struct nvue *in, const struct nvue_fact *fact, struct nvue_profile *as)
{
    int64_t dscp = 0;

    if (nvue_says(fact, "qos remark * switch-priority * dscp *")) {
        unsigned bits = (unsigned)nvue_bits(fact->word[4], 8);
        if (!bits || !nvue_value(in, fact, 6, 0, 63, &dscp)) return bits != 0;
        for (unsigned i = 0; i < FABRIC_PRIOS; i++)
            if (bits >> i & 1) as->remark[i] = (uint8_t)dscp, as->remark_line[i] = fact->line;
        return true;
    }
    if (!nvue_says(fact, "qos remark * rewrite *")) return false;
    as->rewrites = strcmp(fact->word[4], "l3") == 0 || strcmp(fact->word[4], "both") == 0;
    as->rewrite_line = fact->line;
    return true;
}

static bool read_qos(struct nvue *in, const struct nvue_fact *fact)
{
    if (fact->words < 2) return true;
    if (strcmp(fact->word[1], "roce") == 0) {
        const char *key = fact->words > 2 ? fact->word[2] : "enable";
        return !strcmp(key, "enable") || !strcmp(key, "state") || !strcmp(key, "mode") || !strcmp(key, "cable-length");
    }
    if (strcmp(fact->word[1], "traffic-pool") == 0) return nvue_read_pool(in, fact);
    if (strcmp(fact->word[1], "advance-buffer-config") == 0) return nvue_read_buffer(in, fact);
    if (strcmp(fact->word[1], "pfc-watchdog") == 0 && fact->words > 3) {
        bool poll = strcmp(fact->word[2], "polling-interval") == 0;
        if (!poll && strcmp(fact->word[2], "robustness") != 0) return false;
        int64_t least = poll ? NVUE_POLL_MIN_MS : 1, most = poll ? NVUE_POLL_MAX_MS : NVUE_ROBUSTNESS_MAX, got = 0;
        if (!nvue_value(in, fact, 3, 1, 1000000, &got)) return true;
        if (got < least || got > most)
            NOTE(in, fact->line, "WD002", CONFIG_NONE, "pfc-watchdog %s %lld is not of %lld to %lld", fact->word[2],
                 (long long)got, (long long)least, (long long)most);
        else
            *(poll ? &in->poll : &in->robustness) = got;
        *(poll ? &in->poll_line : &in->robustness_line) = fact->line;
        return true;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        if (strcmp(fact->word[1], nvue_kinds[kind]) != 0 || fact->words < 3) continue;
        struct nvue_profile *as = nvue_profile(in, (enum kind)kind, fact->word[2], fact->line);
        if (fact->words < 4) return true;
        if (kind == MAPPING) return read_mapping(in, fact, as);
        if (kind == MARKING) return read_marking(in, fact, as);
        if (kind == REMARK) return read_remark(in, fact, as);
        if (kind == PAUSE && fact->word[3][1] != 'x') return false; /* of rx and tx the rest is the system's */
        return kind == PFC || kind == PAUSE ? read_pfc(in, fact, as) : read_queue_profile(in, fact, as);
    }
    return false;
}

/* --- interfaces --- */

struct nvue_port *nvue_port(struct nvue *in, const char *name, uint32_t line, uint32_t *ret)
{
    uint32_t p = config_port(in->set, CONFIG_AT(in->text, line), in->device, name);

    if (p == CONFIG_NONE) return NULL;
    in->port = arena_more(in->arena, in->port, p + 1, &in->ports_room, sizeof(*in->port));
    if (p >= in->ports) in->ports = p + 1;
    if (!in->port[p].first) in->port[p].first = line;
    *ret = p;
    return &in->port[p];
}

static bool read_port_link(struct nvue *in, const struct nvue_fact *fact, uint32_t p, struct nvue_port *port)
{
    const char *key = fact->word[3], *value = fact->word[4];
    uint32_t at = fact->line;
    uint64_t rate;
    int64_t mtu;

    if (strcmp(key, "mtu") == 0) {
        if (nvue_value(in, fact, 4, NVUE_MTU_MIN, 65535 - NVUE_MTU_OVER, &mtu))
            SAY(in, at, p, "mtu", "%lld", (long long)mtu + NVUE_MTU_OVER);
    } else if (strcmp(key, "speed") == 0) {
        if (unit_parse(UNIT_RATE, value, &rate, NULL) == 0 && rate)
            SAY(in, at, p, "rate", "%s", value);
        else if (strcmp(value, "auto") != 0)
            return false;
    } else if (strcmp(key, "fec") == 0) {
        const char *fec = strcmp(value, "rs") == 0 ? "rs" : strcmp(value, "baser") == 0 ? "fc" : "none";
        if (strcmp(value, "auto") != 0) SAY(in, at, p, "fec", "%s", fec);
    } else if (strcmp(key, "state") == 0) {
        port->off = strcmp(value, "down") == 0;
        if (port->off) SAY(in, at, p, "up", "false");
    } else {
        return strcmp(key, "auto-negotiate") == 0 || strcmp(key, "breakout") == 0 || strcmp(key, "lanes") == 0;
    }
    return true;
}

/* A packet that enters a tunnel needs its DSCP outside too, or the fabric in between does not see its class. */
static bool read_tunnel(struct nvue *in, const struct nvue_fact *fact)
{
    if (!nvue_says(fact, "nve vxlan * dscp action *")) return false;
    if (strcmp(fact->word[2], "encapsulation") == 0 && strcmp(fact->word[5], "copy") != 0)
        NOTE(in, fact->line, "MAP004", CONFIG_NONE, "vxlan: a packet's DSCP is not copied to the outside ('%.20s')",
             fact->word[5]);
    return true;
}

/* `... adaptive-routing state enabled`, or `enable on`; `at` is the word behind which it stands. */
static bool read_adaptive(struct nvue *in, const struct nvue_fact *fact, uint32_t at, bool port)
{
    const char *key = fact->word[at], *value = fact->word[at + 1];

    if (strcmp(key, "enable") != 0 && strcmp(key, "state") != 0) return strcmp(key, "link-utilization-threshold") == 0;
    if (port && on_word(value)) in->adaptive_ports = true;
    if (port) return true;
    in->adaptive = on_word(value);
    in->adaptive_line = fact->line;
    return true;
}

static bool read_port(struct nvue *in, const struct nvue_fact *fact, const char *name)
{
    uint32_t p = CONFIG_NONE;
    struct nvue_port *port = nvue_port(in, name, fact->head, &p);
    bool range = strpbrk(fact->word[1], ",-") != NULL;
    const char *section = fact->word[2], *key = fact->word[3];

    if (!port) return true;
    if (range && port->first == fact->head) port->shared = true;
    if (!range && port->shared) { /* the first line of its own */
        port->shared = false;
        port->first = fact->head;
        in->set->device[in->device].port[p].at = CONFIG_AT(in->text, fact->head);
    }
    port->mentioned = true;
    if (strcmp(section, "link") == 0) return read_port_link(in, fact, p, port);
    if (strcmp(section, "description") == 0 && fact->words == 4) {
        config_described(in->set, CONFIG_AT(in->text, fact->line), in->device, p, fact->word[3]);
        return true;
    }
    if (strncmp(section, "ip", 2) == 0 && strcmp(key, "address") == 0 && fact->words == 5)
        config_address(in->set, CONFIG_AT(in->text, fact->line), in->device, p, fact->word[4]);
    if (strcmp(section, "router") == 0 && strcmp(key, "adaptive-routing") == 0) return read_adaptive(in, fact, 4, true);
    /* who is announced; what DCBX announces takes nothing from the peer */
    if (strcmp(section, "lldp") == 0) return true;
    if (strcmp(section, "qos") != 0) return section[0] == 0 || strcmp(section, "type") == 0;
    if (strcmp(key, "pfc-watchdog") == 0) {
        port->watchdog = fact->words < 5 || on_word(fact->word[fact->words - 1]);
        port->watchdog_line = fact->line;
        return true;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        if (strcmp(key, nvue_kinds[kind]) != 0 || fact->words < 6 || strcmp(fact->word[4], "profile") != 0) continue;
        port->profile[kind] = fact->word[5];
        port->line[kind] = fact->line;
        return true;
    }
    return false;
}

/* interface bond1 bond member swp3 */
static bool read_bond(struct nvue *in, const struct nvue_fact *fact)
{
    uint32_t p = CONFIG_NONE;

    if (fact->words < 5 || strcmp(fact->word[2], "bond") != 0) return false;
    if (strcmp(fact->word[3], "member") != 0) return true;
    for (const char *at = fact->word[4]; *at;) {
        char name[FABRIC_NAME];
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof(name), "%.*s", (int)(length < sizeof(name) ? length : sizeof(name) - 1), at);
        if (strncmp(name, "swp", 3) == 0 && !strchr(name, '-') && nvue_port(in, name, fact->line, &p))
            config_lag(in->set, CONFIG_AT(in->text, fact->line), in->device, p, fact->word[1]);
        at += length + (at[length] == ',');
    }
    return true;
}

/* `swp1`, `swp1-4`, `swp1s0-3`, `swp1,swp3`, `swp1-2,5`: each port of the list. */
static bool read_interfaces(struct nvue *in, const struct nvue_fact *fact)
{
    const char *list = fact->word[1];
    bool known = true;

    if (strncmp(list, "bond", 4) == 0) return read_bond(in, fact);
    if (strncmp(list, "swp", 3) != 0) return strcmp(list, "lo") == 0 || strncmp(list, "eth", 3) == 0;
    char prefix[FABRIC_NAME] = "swp", name[FABRIC_NAME + 16];
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        const char *dash = memchr(at, '-', length);
        size_t head = dash ? (size_t)(dash - at) : length, digits = head;
        while (digits > 0 && at[digits - 1] >= '0' && at[digits - 1] <= '9')
            digits--;
        if (digits > 0 && digits < sizeof(prefix)) snprintf(prefix, sizeof(prefix), "%.*s", (int)digits, at);
        unsigned long first = strtoul(at + digits, NULL, 10), last = dash ? strtoul(dash + 1, NULL, 10) : first;
        if (head == digits || last > first + CONFIG_PORTS_MAX) return false;
        in->work += last >= first ? last - first + 1 : 1;
        if (in->work > WORK_MOST) return false;
        for (unsigned long i = first; i <= last; i++) {
            snprintf(name, sizeof(name), "%s%lu", prefix, i);
            if (nvue_broken(in, name)) continue; /* a cage, of which only its breakout counts */
            known = read_port(in, fact, name) && known;
        }
        at += length + (at[length] == ',');
    }
    return known;
}

/* What is not read is told once a section. */
static void not_read(struct nvue *in, const struct nvue_fact *fact)
{
    char section[192];
    const char *const *word = fact->word;
    bool port = strcmp(word[0], "interface") == 0 && fact->words > 2, qos = strcmp(word[port ? 2 : 0], "qos") == 0;
    const char *deeper = qos ? word[3] : "";

    if (port)
        snprintf(section, sizeof(section), "interface: %.60s%s%.60s", word[2], qos ? " " : "", deeper);
    else
        snprintf(section, sizeof(section), "%.60s%s%.60s%s%.60s", word[0], fact->words > 1 ? " " : "", word[1],
                 qos && fact->words > 3 ? " " : "", deeper);
    for (uint32_t i = 0; i < in->seens; i++)
        if (strcmp(in->seen[i], section) == 0) return;
    if (in->seens < sizeof(in->seen) / sizeof(in->seen[0]))
        in->seen[in->seens++] = arena_strndup(in->arena, section, strlen(section));
    NOTE(in, fact->line, NULL, CONFIG_NONE, "%s is not read", section);
}

/* Of the hash what is said of the source port counts: without it all flows between two hosts go one way. */
static bool read_system(struct nvue *in, const struct nvue_fact *fact)
{
    static const char *const fields[] = {"source-ip", "destination-ip", "source-port"};

    if (nvue_says(fact, "system hostname") || nvue_says(fact, "system lldp")) return true;
    if (!nvue_says(fact, "system forwarding ecmp-hash * *")) return false;
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(fact->word[3], fields[i]) != 0) continue;
        in->hash_off = on_word(fact->word[4]) ? in->hash_off & ~(1u << i) : in->hash_off | 1u << i;
        if (i == 2 || !on_word(fact->word[4])) in->hash_line = fact->line;
        return true;
    }
    return strcmp(fact->word[3], "destination-port") == 0; /* 4791 for all of RoCE */
}

static void say_hash(struct nvue *in)
{
    bool src = !(in->hash_off & 1), dst = !(in->hash_off & 2), sport = !(in->hash_off & 4);

    if (!in->hash_line || !(src || dst || sport)) return;
    SAY(in, in->hash_line, CONFIG_NONE, "ecmp.hash", "[%s%s%s%s%s]", src ? "src" : "",
        src && (dst || sport) ? ", " : "", dst ? "dst" : "", dst && sport ? ", " : "", sport ? "sport" : "");
}

/* `qos roce` pauses priority 3.  Where PFC is given to another and 3 is put into another queue by a line of its own,
 * RoCE was moved, and 3 is left to what else there is. */
static void move_roce(struct nvue *in)
{
    bool other = false, own = false;
    struct nvue_profile *queues = in->roce ? nvue_profile(in, QUEUES, "default-global", 0) : NULL;
    struct nvue_profile *pfc = in->roce ? nvue_profile(in, PFC, "default-global", 0) : NULL;

    for (uint32_t f = 0; f < in->facts.count; f++) {
        const struct nvue_fact *fact = &in->facts.fact[f];
        if (!nvue_says(fact, "qos pfc default-global switch-priority *")) continue;
        bool is_own = strchr(fact->word[4], '3') != NULL;
        own = own || is_own;
        other = other || !is_own;
    }
    if (queues && pfc && other && !own && queues->queue_line[3] && queues->queue[3] != 3) pfc->priorities &= ~(1u << 3);
}

static int import_facts(struct nvue *in)
{
    const char *name = in->text->device;
    uint32_t line = 1;
    int result = nvue_facts_read(in->set, in->text, in->arena, &in->facts);

    if (result < 0) return result;
    for (uint32_t f = 0; f < in->facts.count && !name; f++) {
        const struct nvue_fact *fact = &in->facts.fact[f];
        if (!nvue_says(fact, "system hostname *")) continue;
        line = fact->line;
        if (fact->word[2][strspn(fact->word[2], "x")]) name = fact->word[2]; /* a template has no name yet */
        in->whole = true;
    }
    in->device = config_device(in->set, CONFIG_AT(in->text, line), name ? name : config_device_name(in->set, in->text),
                               "nvue", false);
    read_roce(in);
    nvue_find_breakouts(in);
    for (uint32_t f = 0; f < in->facts.count; f++) {
        const struct nvue_fact *fact = &in->facts.fact[f];
        bool known = nvue_says(fact, "service lldp");
        if (nvue_says(fact, "interface")) known = read_interfaces(in, fact);
        if (nvue_says(fact, "qos")) known = read_qos(in, fact);
        if (nvue_says(fact, "nve")) known = read_tunnel(in, fact);
        if (nvue_says(fact, "system")) known = read_system(in, fact);
        if (nvue_says(fact, "router adaptive-routing")) known = read_adaptive(in, fact, 2, false);
        if (!known) not_read(in, fact);
    }
    move_roce(in);
    nvue_add_broken(in);
    say_hash(in);
    if (in->adaptive && in->adaptive_ports) /* of the two, either does nothing alone */
        SAY(in, in->adaptive_line, CONFIG_NONE, "balance.use", "adaptive");
    for (uint32_t p = 0; p < in->ports; p++)
        nvue_say_port(in, p);
    nvue_say_watchdog(in);
    nvue_judge_maps(in);
    nvue_judge_pools(in);
    return 0;
}

int nvue_import(struct config_set *set, const struct config_text *text)
{
    struct arena arena;
    struct nvue in = {
        .set = set, .text = text, .arena = &arena, .poll = NVUE_POLL_DEFAULT_MS, .robustness = NVUE_ROBUSTNESS_DEFAULT};

    arena_init_or_end(&arena, (size_t)2 << 30);
    int result = import_facts(&in);
    arena_release(&arena);
    return result;
}
