/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Junos among the formats: how its two forms are recognized, what its ports are called, and reading as a whole.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/junos/junos_int.h"
#include "config/lines/importing.h"
#include "config/unsupported.h"
#include "config/words.h"
#include "fabric/errors.h"
#include "fabric/switches.h"

static int guess(const char *text, size_t length)
{
    static const char commands[] =
        "set class-of-service |set interfaces et-|set interfaces xe-|set system host-name |set chassis |"
        "set forwarding-options |set routing-options |set protocols |set policy-options |set groups |set version ";
    static const char blocks[] =
        "class-of-service {|host-name |forwarding-classes {|scheduler-maps {|interfaces {|et-0/|"
        "congestion-notification-profile |drop-profiles {|classifiers {|system {|chassis {|protocols {|"
        "schedulers {|shared-buffer {|routing-options {|policy-options {|[edit";
    unsigned found;

    if (junos_is_commands(text, length)) {
        found = lines_begin_with(text, length, commands);
        return found > 1 ? 90 : found ? 70 : 0;
    }
    if (!strchr(text, '{') || !strchr(text, ';')) return 0;
    found = lines_begin_with(text, length, blocks);
    return found > 1 ? 90 : found ? 60 : 0;
}

static void read_all(struct junos *in)
{
    struct junos_node *cos = junos_get(&in->tree, &in->tree.root, "class-of-service");

    junos_cos(in, cos);
    junos_ports(in, cos);
    junos_bind(in, cos);
    junos_traffic_classes(in);
    junos_chip(in);
    junos_say(in);
    junos_judge(in);
    junos_routes(in);
    junos_unread(in);
}

/* A text of another system makes a tree too.  Most of a configuration's first words are sections that Junos has. */
static bool is_foreign(const struct junos *in)
{
    static const char sections[] =
        "access accounting-options applications apply-groups bridge-domains chassis class-of-service"
        " event-options firewall forwarding-options groups interfaces logical-systems multi-chassis poe"
        " policy-options protocols routing-options routing-instances security services snmp"
        " switch-options system version virtual-chassis vlans vmhost jsrc dynamic-profiles event-script"
        " fabric session-limit-group";
    const struct junos_node *first = NULL;
    uint32_t known = 0, all = 0;

    for (const struct junos_node *at = in->tree.root.first; at; at = at->next) {
        bool is = words_have(sections, at->word);
        known += is;
        all++;
        if (!is && !first) first = at;
    }
    if (!first || known * 2 >= all) return false;
    fabric_errors_add(in->text->errors, (struct fabric_at){first->line, 1},
                      "not Junos: of %u sections it has no more than %u; '%.40s' is none", all, known, first->word);
    return true;
}

/* Room for as many things as the longest list of class of service has. */
static uint32_t most_named(struct junos *in)
{
    static const char *const lists[] = {"classifiers dscp", "classifiers ieee-802.1",          "drop-profiles",
                                        "schedulers",       "congestion-notification-profile", "scheduler-maps"};
    struct junos_node *cos = junos_get(&in->tree, &in->tree.root, "class-of-service");
    uint32_t most = 0, line = 0;

    for (unsigned i = 0; cos && i < sizeof(lists) / sizeof(lists[0]); i++) {
        const struct junos_node *list = junos_get(&in->tree, cos, lists[i]);
        uint32_t count = 0;
        for (const struct junos_node *at = list ? list->first : NULL; at; at = at->next)
            count++;
        if (i == 1) count += most; /* both kinds of classifiers are one list */
        if (list && count > most) most = count, line = list->line;
    }
    if (most > JUNOS_NAMED)
        NOTE(in, line, NULL, CONFIG_NONE, "more than %u of a kind: the rest is left out", JUNOS_NAMED);
    return most > JUNOS_NAMED ? JUNOS_NAMED : most;
}

static int import(struct junos *in)
{
    int result = junos_tree_read(&in->tree);

    if (result < 0) return result;
    if (is_foreign(in)) return -EINVAL;
    struct junos_node *name = junos_value(&in->tree, &in->tree.root, "system host-name");
    if (in->text->device) name = NULL;
    in->device = config_device(in->set, CONFIG_AT(in->text, name ? name->line : 1),
                               name ? name->word : config_device_name(in->set, in->text), "junos", false);
    junos_tree_expand(&in->tree, in->device);
    in->named = most_named(in);
    in->classifier = ARENA_NEW(in->arena, struct junos_classifier, in->named + 1);
    in->profile = ARENA_NEW(in->arena, struct junos_profile, in->named + 1);
    in->scheduler = ARENA_NEW(in->arena, struct junos_scheduler, in->named + 1);
    in->map = ARENA_NEW(in->arena, struct junos_map, in->named + 1);
    in->pauses = ARENA_NEW(in->arena, struct junos_pauses, in->named + 1);
    read_all(in);
    return 0;
}

int junos_import(struct config_set *set, const struct config_text *text)
{
    struct arena arena;
    struct junos in = {.set = set, .text = text, .arena = &arena};

    arena_init_or_end(&arena, (size_t)2 << 30);
    in.tree = (struct junos_tree){.set = set, .text = text, .arena = &arena};
    int result = import(&in);
    arena_release(&arena);
    return result;
}

static void port_name(const struct fabric *fabric, uint32_t port, char *buf, size_t size)
{
    struct config_cage cage;

    if (!config_cage(fabric, port, &cage))
        snprintf(buf, size, "et-0/0/%u", fabric_port_number(fabric, port));
    else if (cage.parts > 1)
        snprintf(buf, size, "et-0/0/%u:%u", cage.cage - 1, cage.part - 1);
    else
        snprintf(buf, size, "et-0/0/%u", cage.cage - 1);
}

/* Addresses, both or none, and the ports of UDP. */
static bool hash_said(const struct fabric_switch *sw)
{
    uint8_t addresses = SW_HASH_SRC | SW_HASH_DST;

    return (sw->hash_fields & addresses) == addresses;
}

static const struct config_can can = {
    .hash = hash_said,
    .port_maps = true,
    .queue_map = true,
    .one_queue_map = true,
    .pfc_none = true,
    .pause_all = true,
    .alpha_one = true,
    .restore = true,
    .action = true,
    .ecn_percent = true,
    .strict_below = true,
    .mtu_least = JUNOS_MTU_LEAST,
    .mtu_most = JUNOS_MTU_MOST,
    .poll_ms = {JUNOS_POLL_LEAST_MS, JUNOS_POLL_MOST_MS},
    .detect_ms = {JUNOS_POLL_LEAST_MS * JUNOS_POLLS_LEAST, JUNOS_POLL_MOST_MS *JUNOS_POLLS_MOST},
    .restore_ms = {JUNOS_RECOVERY_LEAST_MS, JUNOS_RECOVERY_MOST_MS},
    .polls_least = JUNOS_POLLS_LEAST,
    .detect_polls = JUNOS_POLLS_MOST,
    .rate_step_bps = JUNOS_RATE_STEP,
};

static const char shows[] =
    "show class-of-service interface et-0/0/0|show class-of-service congestion-notification|"
    "show class-of-service shared-buffer|show interfaces queue et-0/0/0|show interfaces et-0/0/0 extensive";

static const char chips[] = "tomahawk trident generic";

const struct config_format config_junos = {
    .name = "junos",
    .suffix = "conf",
    .comment = "##",
    .shows = shows,
    .chips = chips,
    .can = &can,
    .guess = guess,
    .import = junos_import,
    .emit = junos_emit_braces,
    .port_name = port_name,
    .commands = &config_junos_set,
    .same_marking = junos_same_marking,
    .fix = junos_fix,
    .mends = MEND_SET,
    .fix_how = "with `load set terminal`, then `commit`",
};

/* The same as commands; reading tells them apart by itself. */
const struct config_format config_junos_set = {
    .name = "junos-set",
    .suffix = "set",
    .comment = "##",
    .shows = shows,
    .chips = chips,
    .can = &can,
    .import = junos_import,
    .emit = junos_emit_commands,
    .port_name = port_name,
};
