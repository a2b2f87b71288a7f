/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host prints of its NICs: ethtool, rdma, files of sysfs.
 *
 * Names are those of the drivers mlx5, bnxt_en and bnxt_re, ice and irdma, rxe (lists in host_names.c).  An RDMA device
 * and its interface are two names of one port once `rdma link` or sysfs has tied them.
 */
#include <stdio.h>
#include <string.h>

#include "evidence/read/host/host_names.h"

#define NAME 64

/* --- ethtool --- */

static bool statistics_head(const char *line)
{
    return line_begins(line, "NIC statistics:");
}

static uint32_t hint_port(struct reading *in)
{
    struct text_field name = field_of(in->hint);

    return field_is_port(&name) ? reading_port(in, &name) : EVIDENCE_NONE;
}

/* A Cumulus switch runs the same commands. */
static void say_system(struct reading *in, const struct text_field *port)
{
    bool is_switch = port->length > 3 && !memcmp(port->at, "swp", 3);

    reading_system(in, is_switch ? "nvue" : "host", is_switch ? FABRIC_ROLE_SWITCH : FABRIC_ROLE_HOST);
}

/* "name: value"; false: it is no such line. */
static bool name_and_value(const char *line, struct text_field *name, struct text_field *value)
{
    const char *colon;

    while (*line == ' ' || *line == '\t')
        line++;
    colon = strstr(line, ": ");
    if (!colon) return false;
    *name = (struct text_field){line, (size_t)(colon - line)};
    while (name->length && name->at[name->length - 1] == ' ')
        name->length--;
    return field_split(colon + 2, value, 1) > 0;
}

static bool statistics_line(struct reading *in, const char *line)
{
    struct text_field name, value;
    uint32_t *port = (uint32_t *)in->state;

    if (statistics_head(line)) {
        name = field_of(in->hint);
        say_system(in, &name);
        *port = hint_port(in);
        if (*port == EVIDENCE_NONE)
            evidence_remark(in->evidence, in->source.file, in->source.line,
                            "which interface this is of is not said: name the file like ethtool_-S_eth0.txt");
        return true;
    }
    if (*port == EVIDENCE_NONE || !name_and_value(line, &name, &value)) return false;
    if (name.length && name.at[0] == '[') return false; /* of one ring */
    reading_named(in, host_interface_names, *port, EVIDENCE_NO_PRIORITY, &name, &value);
    return true;
}
const struct text_reader reader_ethtool_statistics = {"ethtool-s", "hosts: ethtool -S DEV", statistics_head,
                                                      statistics_line, NULL};

static bool settings_head(const char *line)
{
    return line_begins(line, "Settings for ");
}

static bool settings_line(struct reading *in, const char *line)
{
    struct text_field word[4], name, value;
    uint32_t *port = (uint32_t *)in->state;
    uint64_t number;

    if (settings_head(line)) {
        *port = EVIDENCE_NONE;
        if (field_split(line, word, 4) == 3 && word[2].length > 1 && word[2].at[word[2].length - 1] == ':') {
            word[2].length--;
            say_system(in, &word[2]);
            if (field_is_port(&word[2])) *port = reading_port(in, &word[2]);
        }
        return true;
    }
    if (*port == EVIDENCE_NONE || !name_and_value(line, &name, &value)) return false;
    if (field_is(&name, "Speed") && field_rate(&value, &number))
        evidence_set(in->evidence, *port, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE, number, &in->source);
    else if (field_is(&name, "Link detected") && field_state(&value, &number))
        evidence_set(in->evidence, *port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, number, &in->source);
    return true;
}
const struct text_reader reader_ethtool_settings = {"ethtool", "hosts: ethtool DEV", settings_head, settings_line,
                                                    NULL};

/* --- rdma --- */

void host_tie(struct reading *in, uint32_t rdma, const struct text_field *netdev)
{
    uint32_t port = field_is_port(netdev) ? reading_port(in, netdev) : EVIDENCE_NONE;

    if (port == EVIDENCE_NONE || port == rdma || rdma == EVIDENCE_NONE) return;
    const char *name = in->evidence->object[rdma].local_name;
    evidence_alias(in->evidence, port, name, strlen(name));
}

/* "mlx5_0/1": port 1 has the device's name alone, as nearly every device has one port. */
static uint32_t rdma_port(struct reading *in, struct text_field name)
{
    if (name.length && name.at[name.length - 1] == ':') name.length--;
    if (name.length > 2 && !memcmp(name.at + name.length - 2, "/1", 2)) name.length -= 2;
    return field_is_port(&name) ? reading_port(in, &name) : EVIDENCE_NONE;
}

/* The word that names the link: "link mlx5_0/1 ..." or, of older releases, "0/1: mlx5_0/1: ..."; 0: neither. */
static size_t rdma_name(const struct text_field *word, size_t words)
{
    if (words >= 2 && field_is(&word[0], "link") && memchr(word[1].at, '/', word[1].length)) return 1;
    if (words >= 3 && word[0].length >= 4 && word[0].at[word[0].length - 1] == ':' &&
        memchr(word[0].at, '/', word[0].length) && memchr(word[1].at, '/', word[1].length) &&
        word[1].at[word[1].length - 1] == ':')
        return 1;
    return 0;
}

static bool rdma_link_head(const char *line)
{
    struct text_field word[3];

    if (*line != 'l' && !(*line >= '0' && *line <= '9')) return false;
    return field_split(line, word, 3) >= 4 && rdma_name(word, 3) && field_is(&word[2], "state");
}

static bool rdma_link_line(struct reading *in, const char *line)
{
    struct text_field word[READER_FIELDS];
    size_t words = field_split(line, word, READER_FIELDS), name = rdma_name(word, words);
    uint64_t up;

    if (!name) return false;
    uint32_t port = rdma_port(in, word[name]);
    if (port == EVIDENCE_NONE) return false;
    reading_system(in, "host", FABRIC_ROLE_HOST);
    for (size_t i = name + 1; i + 1 < words && i + 1 < READER_FIELDS; i++) {
        if (field_is(&word[i], "state") && field_state(&word[i + 1], &up))
            evidence_offer(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, up, &in->source);
        if (field_is(&word[i], "netdev")) host_tie(in, port, &word[i + 1]);
    }
    return true;
}
const struct text_reader reader_rdma_link = {"rdma-link", "hosts: rdma link show", rdma_link_head, rdma_link_line,
                                             NULL};

static bool rdma_statistic_head(const char *line)
{
    struct text_field word[3];
    size_t words;

    if (*line != 'l' && !(*line >= '0' && *line <= '9')) return false;
    words = field_split(line, word, 3);
    return words >= 2 && rdma_name(word, words < 3 ? words : 3) && (words == 2 || !field_is(&word[2], "state"));
}

/* The next word; false: there is none. */
static bool next_word(const char **at, struct text_field *word)
{
    *at += strspn(*at, " \t");
    *word = (struct text_field){*at, strcspn(*at, " \t")};
    *at += word->length;
    return word->length > 0;
}

/* "name value" again and again: a line has as many as it likes, so each word is looked at once. */
static void rdma_pairs(struct reading *in, uint32_t port, const char *at)
{
    struct text_field name, value;

    while (next_word(&at, &name) && next_word(&at, &value))
        reading_named(in, host_rdma_names, port, EVIDENCE_NO_PRIORITY, &name, &value);
}

static bool rdma_statistic_line(struct reading *in, const char *line)
{
    uint32_t *port = (uint32_t *)in->state;
    struct text_field word[3];

    if (rdma_statistic_head(line)) {
        size_t words = field_split(line, word, 3);
        *port = rdma_port(in, word[rdma_name(word, words < 3 ? words : 3)]);
        reading_system(in, "host", FABRIC_ROLE_HOST);
        rdma_pairs(in, *port, word[1].at + word[1].length);
        return true;
    }
    if (*line != ' ' && *line != '\t') return false;
    rdma_pairs(in, *port, line);
    return true;
}
const struct text_reader reader_rdma_statistic = {"rdma-statistic", "hosts: rdma statistic show, also -p",
                                                  rdma_statistic_head, rdma_statistic_line, NULL};

/* --- sysfs: "…/infiniband/mlx5_0/ports/1/hw_counters/NAME:value" --- */

/* "ports/1" of a path; NULL: it has none. */
static const char *sysfs_ports(const char *line)
{
    const char *at = line;

    while ((at = strstr(at, "ports/")) && !((at == line || at[-1] == '/') && at[6] >= '0' && at[6] <= '9'))
        at++;
    return at;
}

static bool sysfs_head(const char *line)
{
    const char *ports = sysfs_ports(line);

    return ports && strchr(ports, ':') &&
           (strstr(ports, "counters/") || strstr(ports, "/state:") || strstr(ports, "/rate:") ||
            strstr(ports, "/gid_attrs/ndevs/0:"));
}

/* The device before "/ports/N": of "mlx5_0/ports/1/", or the file's name's. */
static uint32_t sysfs_port(struct reading *in, const char *line, const char *ports, const char **ret_rest)
{
    const char *end = ports, *begin;
    char name[NAME];
    struct text_field number = {ports + 6, strcspn(ports + 6, "/")};

    if (end > line) end--;
    for (begin = end; begin > line && begin[-1] != '/';)
        begin--;
    *ret_rest = number.at + number.length;
    int length = end > begin ? snprintf(name, sizeof name, "%.*s", (int)(end - begin), begin)
                             : snprintf(name, sizeof name, "%s", in->hint);
    if (length <= 0 || (size_t)length >= sizeof name || number.length > 3) return EVIDENCE_NONE;
    if (!field_is(&number, "1"))
        snprintf(name + length, sizeof name - (size_t)length, "/%.*s", (int)number.length, number.at);
    return rdma_port(in, field_of(name));
}

static bool sysfs_line(struct reading *in, const char *line)
{
    const char *ports = sysfs_ports(line), *rest, *colon;
    uint64_t number;

    if (!ports || !sysfs_head(line)) return false;
    uint32_t port = sysfs_port(in, line, ports, &rest);
    colon = strchr(rest, ':');
    if (port == EVIDENCE_NONE || !colon) return false;
    reading_system(in, "host", FABRIC_ROLE_HOST);
    const char *name = colon;
    while (name > rest && name[-1] != '/')
        name--;
    struct text_field what = {name, (size_t)(colon - name)}, value, words[2];
    if (!field_split(colon + 1, words, 2)) return true;
    value = words[0];
    if (strstr(rest, "/gid_attrs/ndevs/"))
        host_tie(in, port, &value);
    else if (strstr(rest, "counters/"))
        reading_named(in, host_rdma_names, port, EVIDENCE_NO_PRIORITY, &what, &value);
    else if (field_is(&what, "rate") && (value = field_of(value.at), field_rate(&value, &number)))
        evidence_offer(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE, number, &in->source);
    else if (field_is(&what, "state"))
        evidence_offer(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, strstr(colon, "ACTIVE") != NULL,
                       &in->source);
    return true;
}
const struct text_reader reader_sysfs = {"sysfs", "hosts: files of /sys/class/infiniband, as PATH:VALUE or as they are",
                                         sysfs_head, sysfs_line, NULL};
