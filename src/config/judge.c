/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all configurations together say, judged where the system does not matter and no fabric file can hold the
 * question: ports whose other end nobody knows.  The rules of src/check leave such ports out when they compare two
 * ends; what is wrong at this end alone is found here.
 *
 * Also here: a watchdog that nothing turns on is said at the line that makes it needed.
 */
#include <ctype.h>
#include <string.h>

#include "base/hash.h"
#include "base/units.h"
#include "config/config.h"
#include "config/ends.h"
#include "config/hints.h"
#include "config/pairs.h"

#define CNP_DSCP CONFIG_CNP_DSCP
#define CNP_DSCP_OTHER 56 /* with which some are told to send them */
#define ROCE_FRAME 4178ul /* a RoCEv2 packet with 4096 bytes: Ethernet, tag, IPv4, UDP, BTH, RETH, ICRC */

#define PORTS_ASKED 16u /* of a switch, for a map that is most often one */

struct judged { /* a port */
    struct config_set *set;
    uint32_t device, port;
};

/* Of the port, or of its device. */
static const char *said(const struct judged *of, const char *path)
{
    const char *got = config_said(of->set, of->device, of->port, path);

    return got ? got : config_said(of->set, of->device, CONFIG_NONE, path);
}

static struct origin said_at(const struct judged *of, const char *path)
{
    struct origin at = config_said_at(of->set, of->device, of->port, path);

    if (!at.line) at = config_said_at(of->set, of->device, CONFIG_NONE, path);
    return at.line ? at : of->set->device[of->device].port[of->port].at;
}

static const char *said_number(const struct judged *of, const char *map, unsigned number)
{
    char path[CONFIG_PATH];

    return said(of, config_map_path(path, map, number));
}

/* The path under which this port says that it pauses, NULL: it does not. */
static const char *pauses(const struct judged *of)
{
    static const char *const paths[] = {"pfc", "pfc.tx", "pfc.rx"};

    for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const char *got = said(of, paths[i]);
        if (got && strcmp(got, "false") != 0) return paths[i];
    }
    return NULL;
}

/* Does anything lead to a class that pauses?  If not, PFC008. */
static bool judge_use(const struct judged *of, const char *path)
{
    const char *trust = said(of, "trust"), *bits = said(of, path);
    bool pcp = trust && strcmp(trust, "pcp") == 0;

    for (unsigned f = 0; f < (pcp ? 8u : 64u); f++) {
        const char *class = said_number(of, pcp ? "pcp-map" : "dscp-map", f);
        if (!class || strstr(bits, class)) return true; /* not said: the default of the fabric file holds */
    }
    config_note(of->set, said_at(of, path), "PFC008", of->device, of->port,
                "has PFC for priority %.*s, and no %s that comes in here leads to it", (int)strcspn(bits + 1, "]"),
                bits + 1, pcp ? "CoS" : "DSCP");
    return false;
}

/* Is this a strict class to which only DSCPs of network control lead?  CNPs may be sent with one of these. */
static bool is_strict_control(const struct judged *of, const char *class)
{
    char path[CONFIG_PATH];
    bool fed = false;

    snprintf(path, sizeof(path), "classes.%.4s.strict", class);
    const char *strict = said(of, path);
    if (!strict || strcmp(strict, "true") != 0) return false;
    for (unsigned d = 0; d < 64; d++) {
        const char *to = said_number(of, "dscp-map", d);
        if (!to || strcmp(to, class) != 0) continue;
        if (d < CNP_DSCP) return false;
        fed = true;
    }
    return fed;
}

/* MAP006: CNPs among best effort. */
static void judge_cnp(const struct judged *of)
{
    unsigned told = of->set->cnp_dscp, dscp = told ? told : CNP_DSCP;
    const char *trust = said(of, "trust"), *cnp = said_number(of, "dscp-map", dscp);
    const char *usual = said_number(of, "dscp-map", 0);
    char path[CONFIG_PATH];

    config_map_path(path, "dscp-map", dscp);
    if (!cnp || !usual || (trust && strcmp(trust, "dscp") != 0)) return;
    const char *by_custom = said_number(of, "dscp-map", CNP_DSCP);
    if (strcmp(cnp, usual) != 0 && dscp < CNP_DSCP && by_custom && strcmp(by_custom, usual) == 0)
        config_finding(of->set, said_at(of, path), "MAP006", CONFIG_INFO, of->device, CONFIG_NONE,
                       "CNPs have a class of their own by DSCP %u: adapters send them with %u unless told otherwise",
                       dscp, CNP_DSCP);
    if (strcmp(cnp, usual) != 0) return;
    const char *other = said_number(of, "dscp-map", CNP_DSCP_OTHER);
    if (!told && other && strcmp(other, usual) != 0 && is_strict_control(of, other)) return;
    config_note(of->set, said_at(of, path), "MAP006", of->device, CONFIG_NONE,
                "DSCP %u, with which %s, is in class %s together with DSCP 0: CNPs wait with best effort", dscp,
                told ? "CNPs are sent here" : "adapters send CNPs unless told otherwise", cnp);
}

/* The only DSCP of a strict class without PFC, below those of network control, where the usual DSCP of CNPs is among
 * best effort: CNPs are what such a class is for.  0: there is none, or more than one. */
static unsigned apart_dscp(const struct judged *of, const char *bits)
{
    const char *trust = said(of, "trust"), *usual = said_number(of, "dscp-map", 0);
    const char *cnp = said_number(of, "dscp-map", CNP_DSCP);
    unsigned in[8] = {0}, first[8] = {0}, found = 0;
    char path[32];

    if (!usual || !cnp || strcmp(cnp, usual) != 0 || (trust && strcmp(trust, "dscp") != 0)) return 0;
    for (unsigned d = 0; d < 64; d++) {
        const char *class = said_number(of, "dscp-map", d);
        unsigned tc = class && class[0] >= '0' && class[0] < '8' && !class[1] ? (unsigned)(class[0] - '0') : 0;
        if (!in[tc]++) first[tc] = d;
    }
    for (unsigned tc = 0; tc < 8; tc++) {
        if (in[tc] != 1 || first[tc] < 8 || first[tc] >= CNP_DSCP || strchr(bits, (char)('0' + tc))) continue;
        snprintf(path, sizeof(path), "classes.%u.strict", tc);
        const char *strict = said(of, path);
        if (!strict || strcmp(strict, "true") != 0) continue;
        if (found) return 0;
        found = first[tc];
    }
    return found;
}

/* With which DSCP CNPs are sent, as most switches that say so say it: by a class's name, or else by what is apart. */
static unsigned cnp_of(struct config_set *set)
{
    uint32_t votes[64] = {0}, best = 0;

    for (uint32_t d = 0; d < set->devices; d++)
        if (set->device[d].cnp_dscp) votes[set->device[d].cnp_dscp]++;
    for (unsigned d = 1; d < 64; d++)
        if (votes[d] > votes[best]) best = d;
    for (uint32_t d = 0; d < set->devices && !best; d++) {
        for (uint32_t p = 0; p < set->device[d].ports && p < PORTS_ASKED; p++) {
            struct judged of = {set, d, p};
            const char *path = config_is_down(set, of.device, of.port) || set->device[d].host ? NULL : pauses(&of);
            unsigned dscp = path ? apart_dscp(&of, said(&of, path)) : 0;
            if (dscp) votes[dscp]++;
            if (path) break;
        }
    }
    for (unsigned d = 1; d < 64; d++)
        if (votes[d] > votes[best]) best = d;
    return best;
}

/* Entries of a map that one line says, or that are the system's own; the others were written one by one. */
#define BULK 32u

/* Entries of the DSCP map that were written one by one, as bits. */
static uint64_t written(const struct judged *of, struct origin at[64])
{
    uint64_t bits = 0;
    char path[CONFIG_PATH];

    for (unsigned d = 0; d < 64; d++) {
        config_map_path(path, "dscp-map", d);
        at[d] = said_at(of, path);
    }
    for (unsigned d = 0; d < 64; d++) {
        unsigned same = 0;
        for (unsigned e = 0; e < 64; e++)
            same += at[e].line == at[d].line;
        if (same < BULK) bits |= UINT64_C(1) << d;
    }
    return bits;
}

/* MAP001: DSCPs were written down, that of RoCE among them, and none leads to what pauses: what does lead there by the
 * system's own map is what nobody wrote.  True: told. */
static bool judge_map(const struct judged *of, const char *path)
{
    static const unsigned roce[] = {26, 24}; /* by custom */
    const char *trust = said(of, "trust"), *bits = said(of, path);
    struct origin at[64];

    if (trust && strcmp(trust, "dscp") != 0) return false;
    uint64_t own = written(of, at);
    if (__builtin_popcountll(own) > (int)BULK) return false;
    for (unsigned d = 0; d < 64; d++) {
        const char *class = own >> d & 1 ? said_number(of, "dscp-map", d) : NULL;
        if (class && strstr(bits, class)) return false;
    }
    for (unsigned i = 0; i < sizeof(roce) / sizeof(roce[0]); i++) {
        const char *class = own >> roce[i] & 1 ? said_number(of, "dscp-map", roce[i]) : NULL;
        bool near =
            at[roce[i] + 1].line == at[roce[i]].line; /* 24 with its neighbours is what nobody wants, and not RoCE */
        if (!class || (i && near)) continue;
        config_note(of->set, at[roce[i]], "MAP001", of->device, CONFIG_NONE,
                    "DSCP %u is put into class %.4s, and PFC is on for %.*s: no DSCP that was written leads there",
                    roce[i], class, (int)strcspn(bits + 1, "]"), bits + 1);
        return true;
    }
    return false;
}

static unsigned long frame_of(const struct judged *of)
{
    const char *mtu = said(of, "mtu");
    uint64_t bytes = 0;

    if (mtu) unit_parse(UNIT_COUNT, mtu, &bytes, NULL);
    return (unsigned long)bytes;
}

#define ALIKE_LEAST 3u /* ports with PFC that take the same frames, before one that does not is odd */

/* The port with PFC whose frames alone are unlike those of all others, and large enough all the same; CONFIG_NONE. */
static uint32_t odd_frames(struct config_set *set, uint32_t device, unsigned long *ret_usual)
{
    uint32_t first = CONFIG_NONE, odd = CONFIG_NONE, same = 0, others = 0;
    unsigned long value[2] = {0};

    for (uint32_t p = 0; p < set->device[device].ports; p++) {
        struct judged of = {set, device, p};
        unsigned long frame =
            config_is_down(set, of.device, of.port) || !pauses(&of) || set->device[device].port[p].idle ? 0
                                                                                                        : frame_of(&of);
        if (!frame) continue;
        if (first == CONFIG_NONE) first = p, value[0] = frame;
        if (frame == value[0]) {
            same++;
        } else if (!others++ || frame == value[1]) {
            value[1] = frame;
            odd = p;
        } else {
            return CONFIG_NONE;
        }
    }
    if (same == 1 && others >= ALIKE_LEAST) {
        *ret_usual = value[1];
        return value[0] >= ROCE_FRAME ? first : CONFIG_NONE;
    }
    *ret_usual = value[0];
    return others == 1 && same >= ALIKE_LEAST && value[1] >= ROCE_FRAME ? odd : CONFIG_NONE;
}

static void judge_device(struct config_set *set, uint32_t device, bool hosts)
{
    uint32_t ports = set->device[device].ports;
    unsigned long largest = 0;
    bool carries = false, mapped = false;
    uint32_t asked = 0;

    for (uint32_t p = 0; p < ports; p++) {
        struct judged of = {set, device, p};
        if (!config_is_down(set, of.device, of.port) && pauses(&of) && frame_of(&of) > largest) largest = frame_of(&of);
    }
    for (uint32_t p = 0; p < ports; p++) {
        struct judged of = {set, device, p};
        const char *path = config_is_down(set, of.device, of.port) ? NULL : pauses(&of);
        if (!path) continue;
        if (!set->device[device].unclear && !mapped && asked++ < PORTS_ASKED) mapped = judge_map(&of, path);
        if (!set->device[device].unclear && judge_use(&of, path) && !hosts) judge_cnp(&of);
        /* Alike small is a choice; a small one among large ones drops what the others let in. */
        if (frame_of(&of) && frame_of(&of) < ROCE_FRAME && largest >= ROCE_FRAME)
            config_note(set, said_at(&of, "mtu"), "MTU001", device, p,
                        "takes frames of %lu B, and other ports with PFC of %lu B", frame_of(&of), largest);
        carries = true;
    }
    uint32_t odd = odd_frames(set, device, &largest);
    if (odd != CONFIG_NONE) {
        struct judged of = {set, device, odd};
        config_finding(set, said_at(&of, "mtu"), "SIB001", CONFIG_WARNING, device, odd,
                       "takes frames of %lu B, and all other ports with PFC of %lu B", frame_of(&of), largest);
    }
    /* Nothing turns the watchdog on: that is missing where PFC is turned on, at the head of an interface that does. */
    const char *watchdog = config_said(set, device, CONFIG_NONE, "watchdog");
    if (!carries || !watchdog || config_said_at(set, device, CONFIG_NONE, "watchdog").line) return;
    for (uint32_t p = 0; p < ports; p++) {
        struct judged of = {set, device, p};
        const char *path = config_is_down(set, of.device, of.port) ? NULL : pauses(&of);
        const struct config_port *port = &set->device[device].port[p];
        if (!path) continue;
        struct origin at = said_at(&of, path);
        bool own = port->block.line && config_owns(port, at);
        config_say(set, own ? port->at : at, device, CONFIG_NONE, "watchdog", "%s", watchdog);
        return;
    }
}

/* Of two things of which a class can have only one, as a text may ask for where two classes are in one queue, what the
 * system goes by: no fabric is refused for them. */
static void settle(struct config_set *set, struct config_port *of)
{
    static const char *const one[][2] = {{"strict", "share"}, {"xoff", "alpha"}};
    char path[CONFIG_PATH];

    for (unsigned c = 0; c < FABRIC_PRIOS; c++) {
        for (unsigned i = 0; i < 2 && set->classes >> c & 1; i++) {
            const struct config_said *holds = config_said_of(of, config_class_path(path, c, one[i][0]));
            if (holds && strcmp(holds->value, "false") != 0)
                config_unsay(set, of, config_class_path(path, c, one[i][1]));
        }
    }
}

/* The letters of a name or a description: numbers tell one spine or one of its ports from the next. */
static uint64_t kind_of(const char *text)
{
    uint64_t hash = HASH_BEGIN;
    bool any = false;

    for (; *text; text++) {
        if (!isalpha((unsigned char)*text)) continue;
        hash = hash_bytes(hash, &(char){(char)tolower((unsigned char)*text)}, 1);
        any = true;
    }
    return any ? hash : 0;
}

/* Also of ends that are not among the devices: ports to the same kind of thing do the same work. */
static void keep_kinds(struct config_set *set)
{
    for (uint32_t i = 0; i < set->descriptions; i++) {
        const struct config_description *as = &set->description[i];
        if (as->device < set->devices && as->port < set->device[as->device].ports)
            set->device[as->device].port[as->port].toward = kind_of(as->text);
    }
    for (uint32_t i = 0; i < set->neighbours; i++) {
        const struct config_neighbour *as = &set->neighbour[i];
        if (as->device < set->devices && as->port < set->device[as->device].ports)
            set->device[as->device].port[as->port].toward = kind_of(as->name);
    }
}

void config_judge(struct config_set *set)
{
    bool hosts = false;

    keep_kinds(set);
    hints_judge(set); /* before descriptions become links */
    ends_join(set);
    pairs_judge(set);
    set->cnp_dscp = (uint8_t)cnp_of(set);
    for (uint32_t d = 0; d < set->devices; d++)
        hosts = hosts || set->device[d].host;
    for (uint32_t d = 0; d < set->devices; d++)
        if (!set->device[d].host && set->device[d].nos) judge_device(set, d, hosts);
    for (uint32_t d = 0; d < set->devices; d++) {
        settle(set, &set->device[d].all);
        for (uint32_t p = 0; p < set->device[d].ports; p++)
            settle(set, &set->device[d].port[p]);
    }
}
