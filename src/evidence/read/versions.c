/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is installed: versions that devices say of their system, and hosts of their adapters' firmware and driver, of
 * NCCL, of optics by their vendor's part number.
 *
 * Lines that say one stand alone (`show version` of most systems) or in a short list (`ethtool -i`, mlxfwmanager).
 */
#include <string.h>

#include "evidence/read/reader.h"

enum list { LIST_NONE, LIST_ETHTOOL, LIST_MLXFWMANAGER };

struct versions_state {
    char where[64]; /* which adapter or port the lines are of */
    uint8_t list;   /* enum list */
};

static const struct {
    const char *begin;  /* of the line; the version is the first word behind it */
    const char *prefix; /* that the version may have, and is left out; NULL: none */
    const char *system; /* that says so; NULL: a host */
    uint8_t part;       /* enum fabric_part */
} lines[] = {
    {"SONiC Software Version:", "SONiC.", "sonic", FABRIC_PART_NOS},
    {"NXOS: version", NULL, "nxos", FABRIC_PART_NOS},
    {"Software image version:", NULL, "eos", FABRIC_PART_NOS},
    {"DISTRIB_RELEASE=", NULL, "nvue", FABRIC_PART_NOS},
    {"product-release", NULL, "nvue", FABRIC_PART_NOS},
    {"Junos:", NULL, "junos", FABRIC_PART_NOS},
    {"FW Version:", NULL, NULL, FABRIC_PART_FIRMWARE},
    {"NCCL version", NULL, NULL, FABRIC_PART_NCCL},
};
#define LINES (sizeof lines / sizeof lines[0])

/* "Ethernet0: SFP EEPROM detected" */
static bool is_eeprom(const char *line)
{
    return line_has(line, "SFP EEPROM detected");
}

/* "build   Cumulus Linux 5.9.1": what stands behind the system's name; NULL: it is another line. */
static const char *cumulus_build(const char *line)
{
    const char *name = line_begins(line, "build") ? strstr(line, "Cumulus Linux ") : NULL;

    return name ? name + strlen("Cumulus Linux ") : NULL;
}

static bool versions_head(const char *line)
{
    for (size_t i = 0; i < LINES; i++)
        if (line_begins(line, lines[i].begin)) return true;
    return line_begins(line, "driver: ") || line_begins(line, "Device #") || line_begins(line, "Vendor PN") ||
           is_eeprom(line) || cumulus_build(line);
}

/* The first word behind a text that the line begins with, and behind a colon. */
static struct text_field word_behind(const char *line, const char *begin)
{
    const char *at = line + strspn(line, " \t") + strlen(begin);

    at += strspn(at, " \t:");
    return (struct text_field){at, strcspn(at, " \t,")};
}

/* 2.21.5 of "2.21.5+cuda12.4". */
static void set_version(struct reading *in, enum fabric_part part, const char *where, struct text_field text)
{
    const char *plus = part == FABRIC_PART_NCCL && text.length ? memchr(text.at, '+', text.length) : NULL;

    if (plus) text.length = (size_t)(plus - text.at);
    evidence_set_version(in->evidence, in->device, part, where, text.at, text.length, &in->source);
}

static void keep_where(struct versions_state *state, struct text_field name)
{
    size_t length = name.length < sizeof state->where ? name.length : sizeof state->where - 1;

    while (length && name.at[length - 1] == ':')
        length--;
    memcpy(state->where, name.at, length);
    state->where[length] = 0;
}

/* A line of `ethtool -i` or mlxfwmanager, of the adapter that was named last. */
static bool list_line(struct reading *in, struct versions_state *state, const char *line)
{
    if (state->list == LIST_ETHTOOL && line_begins(line, "version: ")) {
        set_version(in, FABRIC_PART_DRIVER, state->where, word_behind(line, "version:"));
    } else if (state->list == LIST_ETHTOOL && line_begins(line, "firmware-version: ")) {
        set_version(in, FABRIC_PART_FIRMWARE, state->where, word_behind(line, "firmware-version:"));
    } else if (state->list == LIST_MLXFWMANAGER && line_begins(line, "FW ")) {
        set_version(in, FABRIC_PART_FIRMWARE, state->where, word_behind(line, "FW"));
    } else {
        return false;
    }
    return true;
}

static bool versions_line(struct reading *in, const char *line)
{
    struct versions_state *state = (struct versions_state *)in->state;

    for (size_t i = 0; i < LINES; i++) {
        if (!line_begins(line, lines[i].begin)) continue;
        struct text_field text = word_behind(line, lines[i].begin);
        size_t prefix = lines[i].prefix ? strlen(lines[i].prefix) : 0;
        if (prefix && text.length > prefix && !strncmp(text.at, lines[i].prefix, prefix))
            text = (struct text_field){text.at + prefix, text.length - prefix};
        if (lines[i].system) reading_system(in, lines[i].system, FABRIC_ROLE_SWITCH);
        set_version(in, (enum fabric_part)lines[i].part, lines[i].part == FABRIC_PART_FIRMWARE ? in->hint : "", text);
        return true;
    }
    if (line_begins(line, "driver: ")) {
        state->list = LIST_ETHTOOL;
        keep_where(state, field_of(in->hint));
    } else if (line_begins(line, "Device #")) {
        state->list = LIST_MLXFWMANAGER;
        keep_where(state, word_behind(line, "Device"));
    } else if (cumulus_build(line)) {
        reading_system(in, "nvue", FABRIC_ROLE_SWITCH);
        set_version(in, FABRIC_PART_NOS, "", word_behind(cumulus_build(line), ""));
    } else if (is_eeprom(line)) {
        keep_where(state, word_behind(line, ""));
    } else if (line_begins(line, "Vendor PN")) {
        set_version(in, FABRIC_PART_OPTICS, state->where[0] ? state->where : in->hint, word_behind(line, "Vendor PN"));
    } else {
        return list_line(in, state, line);
    }
    return true;
}

const struct text_reader reader_versions = {
    .kind = "versions",
    .what = "versions: show version, ethtool -i, ethtool -m, mlxfwmanager, mstflint q",
    .head = versions_head,
    .line = versions_line};

/* --- JSON --- */

/* The member that says it; NULL: none. */
static const struct json *version_member(const struct json *root, const char **system)
{
    static const struct {
        const char *member, *beside, *system;
    } forms[] = {{"version", "modelName", "eos"},
                 {"nxos_ver_str", "nxos_ver_str", "nxos"},
                 {"product-release", "product-release", "nvue"},
                 {"build", "uptime", "nvue"}};

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const struct json *text = json_get(root, forms[i].member);
        if (!text || text->type != JSON_STRING || !json_get(root, forms[i].beside)) continue;
        *system = forms[i].system;
        return text;
    }
    return NULL;
}

static bool is_version(const struct json *root)
{
    const char *system;

    return root->type == JSON_OBJECT && version_member(root, &system);
}

static void read_version(struct reading *in, const struct json *root)
{
    const char *system;
    const struct json *member = version_member(root, &system);
    const char *blank = strrchr(member->text, ' '); /* "Cumulus Linux 5.9.1" */

    in->source.line = member->line;
    reading_system(in, system, FABRIC_ROLE_SWITCH);
    set_version(in, FABRIC_PART_NOS, "", field_of(blank ? blank + 1 : member->text));
}

const struct json_reader reader_version_json = {"version-json", "versions: show version | json, nv show system -o json",
                                                is_version, read_version};
