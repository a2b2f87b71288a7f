/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVUE into what a fabric file can say.
 *
 * The facts fill profiles (maps, queues, schedulers, marking, PFC); then every port takes the profile it names, or
 * `default-global` where that is set.  `qos roce` sets default-global as NVIDIA documents it: trust of DSCP, priority
 * DSCP / 8, priority 3 in queue 3 with half of the line, priority 6 strict in queue 6, all others in queue 0, marking
 * from 150000 to 1500000 bytes on queues 0 and 3, PFC on priority 3 (not in the lossy modes) for 100 m of cable.
 * What is said of default-global besides lies over that.
 *
 * The watchdog is a port's here and a switch's in a fabric: on where a port has it, and not watched where a port pauses
 * without.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "config/nvue/nvue_int.h"

#define WORK_MOST                                                                                                      \
    4000000u /* settings of interfaces, each counted for every interface of its range; more is no switch */
#define KINDS 5
enum kind { MAPPING, QUEUES, SCHEDULER, MARKING, PFC };
static const char *const kind_names[KINDS] = {"mapping", "egress-queue-mapping", "egress-scheduler",
                                              "congestion-control", "pfc"};

struct curve {
    bool on;
    int64_t min, max, probability;
    uint32_t line, min_line, max_line; /* the last two 0: as the first */
};

struct profile { /* of one kind; only that kind's members count */
    const char *name;
    uint8_t kind;
    uint32_t line;
    bool pcp; /* trusted */
    uint8_t dscp[64], pcp_to[8];
    uint32_t dscp_line[64];
    uint8_t queue[FABRIC_PRIOS];
    bool strict[FABRIC_PRIOS], scheduled[FABRIC_PRIOS];
    int64_t weight[FABRIC_PRIOS];
    uint32_t scheduled_line[FABRIC_PRIOS], weight_line[FABRIC_PRIOS]; /* 0: the profile's own */
    struct curve curve[FABRIC_PRIOS];
    unsigned priorities;
    bool rx, tx;
    int64_t xoff, xon, buffer, cable;                                /* -1: not said */
    uint32_t pfc_line, xoff_line, xon_line, buffer_line, cable_line; /* 0: the profile's own */
};

struct port {
    const char *profile[KINDS];
    uint32_t line[KINDS];
    bool watchdog, off;
    unsigned pfc;
};

struct nvue {
    struct config_set *set;
    const struct config_text *text;
    struct arena *arena;
    struct nvue_facts facts;
    uint32_t device;
    struct profile *profile;
    uint32_t profiles, profiles_room;
    struct port *port;
    uint32_t ports, ports_room;
    int64_t poll, robustness;
    uint32_t poll_line, robustness_line; /* 0: not said */
    uint64_t work;                       /* of WORK_MOST */
    const char *seen[64];                /* sections that are not read, told once each */
    uint32_t seens;
};

static struct origin at_line(const struct nvue *in, uint32_t line)
{
    return CONFIG_AT(in->text, line);
}

static bool is_number(const char *text, int64_t *ret)
{
    char *end = NULL;

    if (!text || text[0] < '0' || text[0] > '9') return false;
    errno = 0;
    long long got = strtoll(text, &end, 10);
    if (errno || *end) return false;
    *ret = got;
    return true;
}

static bool value_of(struct nvue *in, const struct nvue_fact *fact, uint32_t word, int64_t low, int64_t high,
                     int64_t *ret)
{
    int64_t got;

    if (word < fact->words && is_number(fact->word[word], &got) && got >= low && got <= high) {
        *ret = got;
        return true;
    }
    config_note(in->set, at_line(in, fact->line), "SYN001", in->device, CONFIG_NONE,
                "%s %s: '%.40s' is not a number from %lld to %lld", fact->word[0], fact->word[1],
                word < fact->words ? fact->word[word] : "nothing", (long long)low, (long long)high);
    return false;
}

/* `3`, `0-2`, `0,3-5`: bits. */
static uint64_t list_bits(const char *text, unsigned below)
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

static struct profile *profile_get(struct nvue *in, enum kind kind, const char *name, uint32_t line)
{
    for (uint32_t i = 0; i < in->profiles; i++)
        if (in->profile[i].kind == kind && strcmp(in->profile[i].name, name) == 0) return &in->profile[i];
    if (!line) return NULL;
    if (in->profiles == in->profiles_room) {
        uint32_t room = in->profiles_room ? in->profiles_room * 2 : 16;
        struct profile *more = ARENA_NEW(in->arena, struct profile, room);
        if (!more) {
            in->set->no_memory = true;
            return NULL;
        }
        if (in->profiles) memcpy(more, in->profile, in->profiles * sizeof(*more));
        in->profile = more;
        in->profiles_room = room;
    }
    struct profile *as = &in->profile[in->profiles++];
    *as = (struct profile){.name = name, .kind = (uint8_t)kind, .line = line, .rx = true, .tx = true};
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

static void roce_defaults(struct nvue *in, uint32_t line, bool lossless, int64_t cable, uint32_t cable_line)
{
    static const char *const global = "default-global";

    profile_get(in, MAPPING, global, line);
    struct profile *queues = profile_get(in, QUEUES, global, line);
    for (unsigned i = 0; queues && i < FABRIC_PRIOS; i++)
        queues->queue[i] = i == 3 || i == 6 ? (uint8_t)i : 0;
    struct profile *turns = profile_get(in, SCHEDULER, global, line);
    if (turns) {
        turns->scheduled[0] = turns->scheduled[3] = turns->scheduled[6] = turns->strict[6] = true;
        turns->weight[0] = turns->weight[3] = 50;
    }
    struct profile *marking = profile_get(in, MARKING, global, line);
    for (unsigned q = 0; marking && q <= 3; q += 3)
        marking->curve[q] = (struct curve){true, 150000, 1500000, 100, line, 0, 0};
    struct profile *pfc = lossless ? profile_get(in, PFC, global, line) : NULL;
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
    bool on = false, off = false, lossless = true;
    int64_t cable = NVUE_CABLE_DEFAULT_M;

    for (uint32_t f = 0; f < in->facts.count; f++) {
        const struct nvue_fact *fact = &in->facts.fact[f];
        if (fact->words < 2 || strcmp(fact->word[0], "qos") != 0 || strcmp(fact->word[1], "roce") != 0) continue;
        if (!line) line = fact->line;
        on = true;
        const char *key = fact->words > 2 ? fact->word[2] : "";
        const char *value = fact->words > 3 ? fact->word[3] : "";
        if ((strcmp(key, "enable") == 0 || strcmp(key, "state") == 0) && off_word(value)) off = true;
        if (strcmp(key, "mode") == 0) lossless = strncmp(value, "lossy", 5) != 0;
        if (strcmp(key, "cable-length") == 0 && value_of(in, fact, 3, 1, 100000, &cable)) cable_line = fact->line;
    }
    if (on && !off) roce_defaults(in, line, lossless, cable, cable_line);
}

/* --- profiles: qos KIND NAME ... --- */

static bool read_mapping(struct nvue *in, const struct nvue_fact *fact, struct profile *as)
{
    const char *key = fact->word[3];
    int64_t to;

    if (strcmp(key, "trust") == 0 && fact->words > 4) {
        as->pcp = strcmp(fact->word[4], "l2") == 0 || strcmp(fact->word[4], "pcp") == 0;
        if (strcmp(fact->word[4], "port") == 0) /* all packets get the port's own priority */
            config_assume(in->set, at_line(in, fact->line), in->device, CONFIG_NONE,
                          "mapping %.60s trusts nothing: taken as if it trusted dscp", as->name);
        return true;
    }
    bool dscp = strcmp(key, "dscp") == 0, pcp = strcmp(key, "pcp") == 0;
    if (strcmp(key, "port-default-sp") == 0) return true;
    if (!(dscp || pcp) || fact->words < 7 || strcmp(fact->word[5], "switch-priority") != 0) return false;
    uint64_t bits = list_bits(fact->word[4], dscp ? 64 : 8);
    if (!bits || !value_of(in, fact, 6, 0, 7, &to)) return bits != 0;
    for (unsigned i = 0; i < (dscp ? 64u : 8u); i++) {
        if (!(bits >> i & 1)) continue;
        if (dscp) as->dscp_line[i] = fact->line;
        *(dscp ? &as->dscp[i] : &as->pcp_to[i]) = (uint8_t)to;
    }
    return true;
}

static bool read_queue_profile(struct nvue *in, const struct nvue_fact *fact, struct profile *as)
{
    int64_t got = 0;

    if (fact->words < 5) return false;
    unsigned bits = (unsigned)list_bits(fact->word[4], 8);
    const char *key = fact->words > 5 ? fact->word[5] : "", *value = fact->words > 6 ? fact->word[6] : "";
    if (!bits) return false;
    if (as->kind == QUEUES) {
        if (strcmp(fact->word[3], "switch-priority") != 0 || strcmp(key, "traffic-class") != 0) return false;
        if (value_of(in, fact, 6, 0, 7, &got))
            for (unsigned i = 0; i < FABRIC_PRIOS; i++)
                if (bits >> i & 1) as->queue[i] = (uint8_t)got;
        return true;
    }
    if (strcmp(fact->word[3], "traffic-class") != 0) return false;
    bool mode = strcmp(key, "mode") == 0, weight = strcmp(key, "bw-percent") == 0;
    if (!mode && !weight) return false;
    if (weight && !value_of(in, fact, 6, 0, 100, &got)) return true;
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (!(bits >> q & 1)) continue;
        as->scheduled[q] = true;
        if (mode) as->strict[q] = strcmp(value, "strict") == 0;
        if (weight) as->weight[q] = got;
        *(mode ? &as->scheduled_line[q] : &as->weight_line[q]) = fact->line;
    }
    return true;
}

static bool read_marking(struct nvue *in, const struct nvue_fact *fact, struct profile *as)
{
    if (fact->words < 7 || strcmp(fact->word[3], "traffic-class") != 0) return false;
    unsigned bits = (unsigned)list_bits(fact->word[4], 8);
    const char *key = fact->word[5], *value = fact->word[fact->words - 1];
    int64_t got = 0;

    if (!bits) return false;
    bool ecn = strcmp(key, "ecn") == 0, red = strcmp(key, "red") == 0, chance = strcmp(key, "probability") == 0;
    bool min = strcmp(key, "min-threshold") == 0, max = strcmp(key, "max-threshold") == 0;
    if (!(ecn || red || chance || min || max)) return false;
    if ((min || max) && !value_of(in, fact, 6, 0, UINT32_MAX, &got)) return true;
    if (chance && !value_of(in, fact, 6, 0, 100, &got)) return true;
    if (red && on_word(value))
        config_note(in->set, at_line(in, fact->line), "ECN006", in->device, CONFIG_NONE,
                    "congestion-control %.60s: red drops where marking would do", as->name);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (!(bits >> q & 1)) continue;
        if (ecn) as->curve[q].on = on_word(value);
        if (min) as->curve[q].min = got, as->curve[q].min_line = fact->line;
        if (max) as->curve[q].max = got, as->curve[q].max_line = fact->line;
        if (chance) as->curve[q].probability = got;
        as->curve[q].line = fact->line;
    }
    return true;
}

static bool read_pfc(struct nvue *in, const struct nvue_fact *fact, struct profile *as)
{
    const char *key = fact->word[3], *value = fact->word[fact->words - 1];
    int64_t *into = strcmp(key, "xoff-threshold") == 0  ? &as->xoff
                    : strcmp(key, "xon-threshold") == 0 ? &as->xon
                    : strcmp(key, "port-buffer") == 0   ? &as->buffer
                    : strcmp(key, "cable-length") == 0  ? &as->cable
                                                        : NULL;

    if (into) {
        uint32_t *line = into == &as->xoff     ? &as->xoff_line
                         : into == &as->xon    ? &as->xon_line
                         : into == &as->buffer ? &as->buffer_line
                                               : &as->cable_line;
        if (value_of(in, fact, 4, 0, UINT32_MAX, into)) *line = fact->line;
        return true;
    }
    if (strcmp(key, "rx") == 0 || strcmp(key, "tx") == 0) {
        *(key[0] == 'r' ? &as->rx : &as->tx) = on_word(value);
        return true;
    }
    if (strcmp(key, "switch-priority") != 0 || fact->words < 5) return false;
    uint64_t bits = list_bits(fact->word[4], 8);
    as->priorities |= (unsigned)bits;
    as->pfc_line = fact->line;
    return bits != 0;
}

static bool read_qos(struct nvue *in, const struct nvue_fact *fact)
{
    if (fact->words < 2) return true;
    if (strcmp(fact->word[1], "roce") == 0) {
        const char *key = fact->words > 2 ? fact->word[2] : "enable";
        return !strcmp(key, "enable") || !strcmp(key, "state") || !strcmp(key, "mode") || !strcmp(key, "cable-length");
    }
    if (strcmp(fact->word[1], "remark") == 0 && fact->words > 4 && strcmp(fact->word[3], "rewrite") == 0 &&
        (strcmp(fact->word[4], "l3") == 0 || strcmp(fact->word[4], "both") == 0)) {
        config_note(in->set, at_line(in, fact->line), "MAP004", in->device, CONFIG_NONE,
                    "remark %.60s: packets leave with another DSCP than they came with", fact->word[2]);
        return true;
    }
    if (strcmp(fact->word[1], "traffic-pool") == 0 && fact->words > 3)
        return strcmp(fact->word[3], "memory-percent") == 0;
    if (strcmp(fact->word[1], "pfc-watchdog") == 0 && fact->words > 3) {
        bool poll = strcmp(fact->word[2], "polling-interval") == 0;
        if (!poll && strcmp(fact->word[2], "robustness") != 0) return false;
        if (value_of(in, fact, 3, 1, poll ? 1000000 : 1000, poll ? &in->poll : &in->robustness))
            *(poll ? &in->poll_line : &in->robustness_line) = fact->line;
        return true;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        if (strcmp(fact->word[1], kind_names[kind]) != 0 || fact->words < 3) continue;
        struct profile *as = profile_get(in, (enum kind)kind, fact->word[2], fact->line);
        if (!as || fact->words < 4) return true;
        if (kind == MAPPING) return read_mapping(in, fact, as);
        if (kind == MARKING) return read_marking(in, fact, as);
        return kind == PFC ? read_pfc(in, fact, as) : read_queue_profile(in, fact, as);
    }
    return false;
}

/* --- interfaces --- */

static struct port *port_get(struct nvue *in, const char *name, uint32_t line, uint32_t *ret)
{
    uint32_t p = config_port(in->set, at_line(in, line), in->device, name);

    if (p == CONFIG_NONE) return NULL;
    if (p >= in->ports_room) {
        uint32_t room = in->ports_room ? in->ports_room * 2 : 64;
        while (room <= p)
            room *= 2;
        struct port *more = ARENA_NEW(in->arena, struct port, room);
        if (!more) {
            in->set->no_memory = true;
            return NULL;
        }
        if (in->ports) memcpy(more, in->port, in->ports * sizeof(*more));
        in->port = more;
        in->ports_room = room;
    }
    if (p >= in->ports) in->ports = p + 1;
    *ret = p;
    return &in->port[p];
}

static bool read_port_link(struct nvue *in, const struct nvue_fact *fact, uint32_t p, struct port *port)
{
    const char *key = fact->words > 3 ? fact->word[3] : "", *value = fact->words > 4 ? fact->word[4] : "";
    struct origin at = at_line(in, fact->line);
    uint64_t rate;
    int64_t mtu;

    if (strcmp(key, "mtu") == 0) {
        if (value_of(in, fact, 4, NVUE_MTU_MIN, 65535 - NVUE_MTU_OVER, &mtu))
            config_say(in->set, at, in->device, p, "mtu", "%lld", (long long)mtu + NVUE_MTU_OVER);
    } else if (strcmp(key, "speed") == 0) {
        if (unit_parse(UNIT_RATE, value, &rate, NULL) == 0 && rate)
            config_say(in->set, at, in->device, p, "rate", "%s", value);
        else if (strcmp(value, "auto") != 0)
            return false;
    } else if (strcmp(key, "fec") == 0) {
        const char *fec = strcmp(value, "rs") == 0 ? "rs" : strcmp(value, "baser") == 0 ? "fc" : "none";
        if (strcmp(value, "auto") != 0) config_say(in->set, at, in->device, p, "fec", "%s", fec);
    } else if (strcmp(key, "state") == 0) {
        port->off = strcmp(value, "down") == 0;
        if (port->off) config_say(in->set, at, in->device, p, "up", "false");
    } else {
        return strcmp(key, "auto-negotiate") == 0 || strcmp(key, "breakout") == 0 || strcmp(key, "lanes") == 0;
    }
    return true;
}

/* A packet that enters a tunnel needs its DSCP outside too, or the fabric in between does not see its class. */
static bool read_tunnel(struct nvue *in, const struct nvue_fact *fact)
{
    bool dscp = fact->words > 5 && strcmp(fact->word[1], "vxlan") == 0 && strcmp(fact->word[3], "dscp") == 0 &&
                strcmp(fact->word[4], "action") == 0;

    if (!dscp) return false;
    if (strcmp(fact->word[2], "encapsulation") == 0 && strcmp(fact->word[5], "copy") != 0)
        config_note(in->set, at_line(in, fact->line), "MAP004", in->device, CONFIG_NONE,
                    "vxlan: a packet's DSCP is not copied to the outside ('%.20s')", fact->word[5]);
    return true;
}

static bool read_port(struct nvue *in, const struct nvue_fact *fact, const char *name)
{
    uint32_t p = CONFIG_NONE;
    struct port *port = port_get(in, name, fact->line, &p);
    const char *section = fact->words > 2 ? fact->word[2] : "", *key = fact->words > 3 ? fact->word[3] : "";

    if (!port) return true;
    if (strcmp(section, "link") == 0) return read_port_link(in, fact, p, port);
    if (strcmp(section, "description") == 0 && fact->words == 4) {
        config_described(in->set, at_line(in, fact->line), in->device, p, fact->word[3]);
        return true;
    }
    if (strncmp(section, "ip", 2) == 0 && strcmp(key, "address") == 0 && fact->words == 5)
        config_address(in->set, at_line(in, fact->line), in->device, p, fact->word[4]);
    if (strcmp(section, "qos") != 0) return section[0] == 0 || strcmp(section, "type") == 0;
    if (strcmp(key, "pfc-watchdog") == 0) {
        port->watchdog = fact->words < 5 || on_word(fact->word[fact->words - 1]);
        return true;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        if (strcmp(key, kind_names[kind]) != 0 || fact->words < 6 || strcmp(fact->word[4], "profile") != 0) continue;
        port->profile[kind] = fact->word[5];
        port->line[kind] = fact->line;
        return true;
    }
    return false;
}

/* `swp1`, `swp1-4`, `swp1s0-3`, `swp1,swp3`, `swp1-2,5`: each port of the list. */
static bool read_interfaces(struct nvue *in, const struct nvue_fact *fact)
{
    const char *list = fact->words > 1 ? fact->word[1] : "";
    bool known = true;

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
        if (head == digits || last > first + 4096) return false;
        in->work += last >= first ? last - first + 1 : 1;
        if (in->work > WORK_MOST) return false;
        for (unsigned long i = first; i <= last; i++) {
            snprintf(name, sizeof(name), "%s%lu", prefix, i);
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
    bool port = strcmp(fact->word[0], "interface") == 0 && fact->words > 2;

    if (port)
        snprintf(section, sizeof(section), "interface: %.60s%s%.60s", fact->word[2],
                 strcmp(fact->word[2], "qos") == 0 ? " " : "",
                 strcmp(fact->word[2], "qos") == 0 && fact->words > 3 ? fact->word[3] : "");
    else
        snprintf(section, sizeof(section), "%.60s%s%.60s%s%.60s", fact->word[0], fact->words > 1 ? " " : "",
                 fact->words > 1 ? fact->word[1] : "", strcmp(fact->word[0], "qos") == 0 && fact->words > 3 ? " " : "",
                 strcmp(fact->word[0], "qos") == 0 && fact->words > 3 ? fact->word[3] : "");
    for (uint32_t i = 0; i < in->seens; i++)
        if (strcmp(in->seen[i], section) == 0) return;
    if (in->seens < sizeof(in->seen) / sizeof(in->seen[0])) {
        const char *kept = arena_strndup(in->arena, section, strlen(section));
        if (kept) in->seen[in->seens++] = kept;
    }
    config_note(in->set, at_line(in, fact->line), NULL, in->device, CONFIG_NONE, "%s is not read", section);
}

/* --- what ports say --- */

static const struct profile *profile_for(struct nvue *in, const struct port *port, enum kind kind)
{
    if (!port->profile[kind]) return profile_get(in, kind, "default-global", 0);
    const struct profile *as = profile_get(in, kind, port->profile[kind], 0);
    if (!as)
        config_note(in->set, at_line(in, port->line[kind]), "MAP007", in->device, CONFIG_NONE,
                    "%s profile '%.60s' is not defined", kind_names[kind], port->profile[kind]);
    return as;
}

static uint32_t or_line(uint32_t line, uint32_t other)
{
    return line ? line : other;
}

static void say_pfc(struct nvue *in, uint32_t p, const struct profile *as)
{
    struct port *port = &in->port[p];
    unsigned bits = as ? as->priorities : 0;
    struct origin at = at_line(in, as ? or_line(as->pfc_line, as->line) : or_line(port->line[PFC], 1));

    port->pfc = as && (as->rx || as->tx) ? bits : 0;
    config_say_bits(in->set, at, in->device, p, "pfc.rx", as && as->rx ? bits : 0);
    config_say_bits(in->set, at, in->device, p, "pfc.tx", as && as->tx ? bits : 0);
    /* room that is given in bytes was chosen for no cable in particular, unless that is given too */
    if (port->pfc && as->cable != 0 && (as->cable_line || as->buffer < 0))
        config_say(in->set, at_line(in, or_line(as->cable_line, as->line)), in->device, p, "headroom-cable", "%lldm",
                   as->cable > 0 ? (long long)as->cable : (long long)NVUE_CABLE_DEFAULT_M);
}

static void say_group(struct nvue *in, uint32_t p, unsigned tc, const struct profile *as)
{
    bool lossless = in->port[p].pfc >> tc & 1;
    struct origin at = at_line(in, as ? or_line(as->pfc_line, as->line) : 1);

    config_say_class(in->set, at, in->device, p, tc, "lossless", lossless ? "true" : "false");
    if (!lossless || as->xoff < 0) return;
    at = at_line(in, or_line(as->xoff_line, as->line));
    config_say_class(in->set, at, in->device, p, tc, "reserved", "0B"); /* the threshold is of all of it */
    config_say_class(in->set, at, in->device, p, tc, "xoff", "%lldB", (long long)as->xoff);
    if (as->xon >= 0)
        config_say_class(in->set, at_line(in, or_line(as->xon_line, as->line)), in->device, p, tc, "xon", "%lldB",
                         (long long)as->xon);
    at = at_line(in, or_line(as->buffer_line, as->line));
    if (as->buffer >= as->xoff)
        config_say_class(in->set, at, in->device, p, tc, "headroom", "%lldB", (long long)(as->buffer - as->xoff));
    else if (as->buffer >= 0)
        config_note(in->set, at, "HR005", in->device, CONFIG_NONE,
                    "pfc %.60s: port-buffer %lld is less than xoff-threshold %lld: no headroom is left", as->name,
                    (long long)as->buffer, (long long)as->xoff);
}

static void say_curve(struct nvue *in, uint32_t p, unsigned tc, const struct profile *as, unsigned q)
{
    const struct curve *curve = as ? &as->curve[q] : NULL;
    struct origin at = at_line(in, curve ? curve->line : 1);
    bool bad = curve && curve->on && (curve->max == 0 || curve->min > curve->max || curve->probability == 0);

    if (bad)
        config_note(in->set, at, "ECN002", in->device, CONFIG_NONE,
                    "congestion-control %.60s: %lld to %lld bytes at %lld %% are no marking curve", as->name,
                    (long long)curve->min, (long long)curve->max, (long long)curve->probability);
    if (!curve || !curve->on || bad) {
        config_say_class(in->set, at, in->device, p, tc, "ecn", "false");
        return;
    }
    config_say_class(in->set, at_line(in, or_line(curve->min_line, curve->line)), in->device, p, tc, "ecn.min", "%lldB",
                     (long long)curve->min);
    config_say_class(in->set, at_line(in, or_line(curve->max_line, curve->line)), in->device, p, tc, "ecn.max", "%lldB",
                     (long long)curve->max);
    config_say_class(in->set, at, in->device, p, tc, "ecn.probability", "%lld%%", (long long)curve->probability);
}

static void say_turns(struct nvue *in, uint32_t p, const struct profile *as, const uint8_t *queue, unsigned classes)
{
    int64_t sum = 0;
    unsigned shared = 0, counted = 0;
    char buf[UNIT_TEXT];

    if (!as) return;
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        unsigned q = queue[tc];
        if (!(classes >> tc & 1) || (counted >> q & 1) || !as->scheduled[q] || as->strict[q]) continue;
        counted |= 1u << q;
        sum += as->weight[q];
    }
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        unsigned q = queue[tc];
        if (!(classes >> tc & 1) || !as->scheduled[q]) continue;
        config_say_class(in->set, at_line(in, or_line(as->scheduled_line[q], as->line)), in->device, p, tc, "strict",
                         as->strict[q] ? "true" : "false");
        if (as->strict[q] || (shared >> q & 1) || !sum || !as->weight[q]) continue;
        shared |= 1u << q; /* a queue's share is said for the lowest of its classes */
        uint64_t ppm = (uint64_t)(as->weight[q] * 1000000 / sum);
        config_say_class(in->set, at_line(in, or_line(as->weight_line[q], as->line)), in->device, p, tc, "share", "%s",
                         unit_format(UNIT_SHARE, ppm ? ppm : 1, buf));
    }
}

static void say_port(struct nvue *in, uint32_t p)
{
    const struct profile *mapping = profile_for(in, &in->port[p], MAPPING);
    const struct profile *queues = profile_for(in, &in->port[p], QUEUES);
    const struct profile *pfc = profile_for(in, &in->port[p], PFC), *marking = profile_for(in, &in->port[p], MARKING);
    struct origin at = at_line(in, mapping ? mapping->line : 1);
    uint8_t queue[FABRIC_PRIOS] = {0, 1, 2, 3, 4, 5, 6, 7};
    unsigned classes = 0;

    /* Without any map a port trusts PCP, as the system does by itself. */
    bool pcp = !mapping || mapping->pcp;
    config_say(in->set, at, in->device, p, "trust", pcp ? "pcp" : "dscp");
    for (unsigned f = 0; f < (pcp ? 8u : 64u); f++) {
        unsigned to = pcp ? (mapping ? mapping->pcp_to[f] : f) : mapping->dscp[f];
        struct origin here = pcp ? at : at_line(in, mapping->dscp_line[f]);
        config_say_map(in->set, here, in->device, p, pcp ? "pcp-map" : "dscp-map", f, to);
        classes |= 1u << to;
    }
    if (queues) memcpy(queue, queues->queue, sizeof(queue));
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        config_say_map(in->set, at_line(in, queues ? queues->line : 1), in->device, p, "queue-map", tc, queue[tc]);
    if (!config_said(in->set, in->device, p, "mtu"))
        config_say(in->set, at, in->device, p, "mtu", "%u", NVUE_MTU_DEFAULT + NVUE_MTU_OVER);
    say_pfc(in, p, pfc);
    classes |= in->port[p].pfc;
    const struct profile *turns = profile_for(in, &in->port[p], SCHEDULER);
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if (turns && turns->scheduled[queue[tc]]) classes |= 1u << tc;
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        if (!(classes >> tc & 1)) continue;
        say_group(in, p, tc, pfc);
        say_curve(in, p, tc, marking, queue[tc]);
    }
    say_turns(in, p, turns, queue, classes);
}

static void say_watchdog(struct nvue *in)
{
    bool any = false, pauses = false;

    for (uint32_t p = 0; p < in->ports; p++) {
        any = any || in->port[p].watchdog;
        pauses = pauses || in->port[p].pfc;
    }
    if (!any) {
        if (pauses) config_say(in->set, at_line(in, 0), in->device, CONFIG_NONE, "watchdog", "false");
        return;
    }
    long long detect = (long long)(in->poll * in->robustness);
    uint32_t poll_line = or_line(in->poll_line, 1), detect_line = or_line(in->robustness_line, poll_line);
    config_say(in->set, at_line(in, poll_line), in->device, CONFIG_NONE, "watchdog.poll", "%lldms",
               (long long)in->poll);
    config_say(in->set, at_line(in, detect_line), in->device, CONFIG_NONE, "watchdog.detect", "%lldms", detect);
    config_say(in->set, at_line(in, detect_line), in->device, CONFIG_NONE, "watchdog.restore", "%lldms", detect);
    for (uint32_t p = 0; p < in->ports; p++)
        if (in->port[p].pfc && !in->port[p].watchdog)
            config_say(in->set, at_line(in, in->port[p].line[PFC] ? in->port[p].line[PFC] : 1), in->device, p,
                       "watched", "false");
}

static int import_facts(struct nvue *in)
{
    const char *name = in->text->device;
    uint32_t line = 1;
    int result = nvue_facts_read(in->set, in->text, in->arena, &in->facts);

    if (result < 0) return result;
    for (uint32_t f = 0; f < in->facts.count && !name; f++) {
        const struct nvue_fact *fact = &in->facts.fact[f];
        if (fact->words < 3 || strcmp(fact->word[0], "system") != 0 || strcmp(fact->word[1], "hostname") != 0) continue;
        line = fact->line;
        if (fact->word[2][strspn(fact->word[2], "x")]) name = fact->word[2]; /* a template has no name yet */
    }
    in->device =
        config_device(in->set, at_line(in, line), name ? name : config_device_name(in->set, in->text), "nvue", false);
    read_roce(in);
    for (uint32_t f = 0; f < in->facts.count; f++) {
        const struct nvue_fact *fact = &in->facts.fact[f];
        bool known = false;
        if (strcmp(fact->word[0], "interface") == 0) known = read_interfaces(in, fact);
        if (strcmp(fact->word[0], "qos") == 0) known = read_qos(in, fact);
        if (strcmp(fact->word[0], "nve") == 0) known = read_tunnel(in, fact);
        if (strcmp(fact->word[0], "system") == 0) known = fact->words > 1 && strcmp(fact->word[1], "hostname") == 0;
        if (!known) not_read(in, fact);
    }
    for (uint32_t p = 0; p < in->ports; p++)
        say_port(in, p);
    say_watchdog(in);
    return in->set->no_memory ? -ENOMEM : 0;
}

int nvue_import(struct config_set *set, const struct config_text *text)
{
    struct arena arena;
    struct nvue in = {
        .set = set, .text = text, .arena = &arena, .poll = NVUE_POLL_DEFAULT_MS, .robustness = NVUE_ROBUSTNESS_DEFAULT};

    arena_init(&arena, (size_t)2 << 30);
    int result = import_facts(&in);
    if (result == -ENOMEM) fabric_errors_add(text->errors, (struct fabric_at){0, 0}, "memory for this file ran out");
    arena_release(&arena);
    return result;
}
