/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ROCELAB_* variables: environment.def lists them, this file parses them.
 *
 * They are read when a device is opened, all of them each time, so that a wrong one is told before any
 * packet moves.  What is wrong is said in one line that names the variable, the value and what would be right.
 */
#include "live/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "nic/nic.h"

const struct live_variable live_variable_list[] = {
#define VARIABLE(name, parser, field, fallback, help) {#name, fallback, help},
#include "live/environment.def"
#undef VARIABLE
    {NULL, NULL, NULL},
};

struct reading {
    const char *name, *text;
    char *why;
    size_t why_bytes;
};

static int wrong(const struct reading *r, const char *right)
{
    snprintf(r->why, r->why_bytes, "%s=%s: %s", r->name, r->text, right);
    return -EINVAL;
}

static int parse_text(const struct reading *r, struct live_environment *env, const char **ret)
{
    (void)env;
    *ret = r->text;
    return 0;
}

static int parse_pcap(const struct reading *r, struct live_environment *env, const char **ret)
{
    char why[200];

    *ret = r->text;
    if (r->text[0] == 0 || capwriter_name_parse(r->text, &env->capture, why, sizeof why) == 0) return 0;
    return wrong(r, why);
}

static int parse_wire(const struct reading *r, struct live_environment *env, uint8_t *ret)
{
    static const char *const name[] = {"auto", "udp", "shm", "packet"};

    (void)env;
    for (uint8_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        if (strcmp(r->text, name[i]) != 0) continue;
        *ret = i;
        return 0;
    }
    return wrong(r, "no such wire; there are auto, udp, shm and packet");
}

static int parse_recovery(const struct reading *r, struct live_environment *env, uint8_t *ret)
{
    (void)env;
#define X(id, name)                                                                                                    \
    if (strcmp(r->text, name) == 0) {                                                                                  \
        *ret = NIC_##id;                                                                                               \
        return 0;                                                                                                      \
    }
    NIC_RECOVERY_LIST(X)
#undef X
    return wrong(r, "no such recovery; there are selective, go-back-n and go-back-0");
}

static int parse_flag(const struct reading *r, struct live_environment *env, bool *ret)
{
    (void)env;
    if (strcmp(r->text, "on") == 0)
        *ret = true;
    else if (strcmp(r->text, "off") == 0)
        *ret = false;
    else
        return wrong(r, "write on or off");
    return 0;
}

static int parse_range(const struct reading *r, uint64_t least, uint64_t most, uint16_t *ret)
{
    uint64_t value;
    char right[64];

    if (unit_parse(UNIT_COUNT, r->text, &value, NULL) < 0 || value < least || value > most) {
        snprintf(right, sizeof right, "a number from %llu to %llu is expected", (unsigned long long)least,
                 (unsigned long long)most);
        return wrong(r, right);
    }
    *ret = (uint16_t)value;
    return 0;
}

static int parse_port(const struct reading *r, struct live_environment *env, uint16_t *ret)
{
    (void)env;
    return parse_range(r, 1, 65535, ret);
}

static int parse_source_ports(const struct reading *r, struct live_environment *env, uint16_t *ret)
{
    (void)env;
    return parse_range(r, 1, WIRE_SOURCE_PORTS_MAX, ret);
}

static int parse_vlan(const struct reading *r, struct live_environment *env, uint16_t *ret)
{
    if (strcmp(r->text, "off") == 0) {
        *ret = LIVE_NO_VLAN;
        return 0;
    }
    if (env->wire != LIVE_WIRE_PACKET) return wrong(r, "tags are the packet wire's");
    return parse_range(r, 0, 4094, ret);
}

static int parse_shards(const struct reading *r, struct live_environment *env, uint16_t *ret)
{
    (void)env;
    if (strcmp(r->text, "auto") != 0) return parse_range(r, 1, LIVE_SHARDS_MAX, ret);
    *ret = 0;
    return 0;
}

static int parse_unit(const struct reading *r, enum unit_kind kind, uint64_t *ret)
{
    const char *why = "";

    return unit_parse(kind, r->text, ret, &why) < 0 ? wrong(r, why) : 0;
}

static int parse_rate(const struct reading *r, struct live_environment *env, uint64_t *ret)
{
    (void)env;
    return parse_unit(r, UNIT_RATE, ret);
}

static int parse_time(const struct reading *r, struct live_environment *env, uint64_t *ret)
{
    (void)env;
    return parse_unit(r, UNIT_TIME, ret);
}

static int parse_adaptive(const struct reading *r, struct live_environment *env, uint64_t *ret)
{
    *ret = 0;
    return strcmp(r->text, "off") == 0 ? 0 : parse_time(r, env, ret);
}

static int parse_size(const struct reading *r, struct live_environment *env, uint64_t *ret)
{
    (void)env;
    return parse_unit(r, UNIT_SIZE, ret);
}

static int parse_count(const struct reading *r, struct live_environment *env, uint64_t *ret)
{
    (void)env;
    return parse_unit(r, UNIT_COUNT, ret);
}

static int parse_cc(const struct reading *r, struct live_environment *env, struct cc_config *ret)
{
    size_t length = strcspn(r->text, ",");
    const char *name;
    char item[128], why[256];

    (void)env;
    snprintf(item, sizeof item, "%.*s", (int)length, r->text);
    if (cc_read_preset(item, false, ret, why, sizeof why) < 0) return wrong(r, why);
    for (const char *at = r->text + length; *at; at += length) {
        length = strcspn(++at, ",");
        snprintf(item, sizeof item, "%.*s", (int)length, at);
        char *equal = strchr(item, '=');
        if (equal == NULL) return wrong(r, "behind the name come PARAMETER=VALUE, with commas between");
        *equal = 0;
        if (cc_read_param(ret, item, equal + 1, why, sizeof why) < 0) return wrong(r, why);
    }
    const char *invalid = cc_invalid(ret, &name);
    if (invalid == NULL) return 0;
    snprintf(why, sizeof why, "%s %s", name, invalid);
    return wrong(r, why);
}

static int parse_fault(const struct reading *r, struct live_environment *env, struct wire_fault *ret)
{
    char why[160];

    env->has_fault = r->text[0] != 0;
    if (!env->has_fault) return 0;
    return wire_fault_parse(r->text, ret, why, sizeof why) < 0 ? wrong(r, why) : 0;
}

bool live_environment_frames(void)
{
    const char *wire = getenv("ROCELAB_WIRE");

    return wire && strcmp(wire, "packet") == 0;
}

bool live_environment_is(const char *variable, const char *word)
{
    const char *set = getenv(variable);

    return set && strcmp(set, word) == 0;
}

int live_environment_read(struct live_environment *ret, char *why, size_t why_bytes)
{
    struct live_environment env = {.device = "", .nic = fabric_nic_default()};

#define VARIABLE(variable, parser, field, fallback, help)                                                              \
    {                                                                                                                  \
        const char *set = getenv(#variable);                                                                           \
        struct reading r = {#variable, set && set[0] ? set : fallback, why, why_bytes};                                \
        int error = parse_##parser(&r, &env, &env.field);                                                              \
        if (error < 0) return error;                                                                                   \
    }
#include "live/environment.def"
#undef VARIABLE
    if (env.has_fault && !env.fault.seeded) env.fault.seed = env.seed;
    *ret = env;
    return 0;
}
