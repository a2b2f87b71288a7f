/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host prints of its NICs: rdma, files of sysfs; and what readers of a host's other tools share.
 *
 * Names are those of the drivers mlx5, bnxt_en and bnxt_re, ice and irdma, rxe (lists in host_names.c).  An RDMA device
 * and its interface are two names of one port once `rdma link` or sysfs has tied them.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "evidence/read/host/host_names.h"

#define NAME 64

/* --- what readers share --- */

void host_say_system(struct reading *in, const struct text_field *port)
{
    bool is_switch = port->length > 3 && !memcmp(port->at, "swp", 3);

    reading_system(in, is_switch ? "nvue" : "host", is_switch ? FABRIC_ROLE_SWITCH : FABRIC_ROLE_HOST);
}

uint32_t host_hinted_port(struct reading *in)
{
    struct text_field name = field_of(in->hint);

    if (field_is_port(&name) || in->device == EVIDENCE_NONE) return reading_port(in, &name);
    if (!in->said)
        evidence_remark(in->evidence, in->source.file, in->source.line,
                        "which interface this is of is not said: name the file like ethtool_-S_eth0.txt");
    in->said = true;
    name = field_of("NIC");
    return evidence_port(in->evidence, in->device, name.at, name.length);
}

bool host_label(const char *line, struct text_field *label, struct text_field *value)
{
    line += strspn(line, " \t");
    const char *colon = strchr(line, ':');
    while (colon && colon[1] && !isspace((unsigned char)colon[1])) /* "dev:ice" is one word */
        colon = strchr(colon + 1, ':');
    if (!colon) return false;
    *label = (struct text_field){line, (size_t)(colon - line)};
    while (label->length && isspace((unsigned char)label->at[label->length - 1]))
        label->length--;
    colon += 1 + strspn(colon + 1, " \t");
    *value = field_of(colon);
    while (value->length && isspace((unsigned char)value->at[value->length - 1]))
        value->length--;
    return true;
}

bool host_begins(const struct text_field *field, const char *text)
{
    size_t length = strlen(text);

    return field->length >= length && !strncasecmp(field->at, text, length);
}

void host_pfc(struct reading *in, uint32_t port, unsigned bits)
{
    if (port == EVIDENCE_NONE) return;
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        evidence_set(in->evidence, port, p, EVIDENCE_PFC_ON, bits >> p & 1, &in->source);
    if (!bits) reading_event(in, EVIDENCE_EVENT_PFC_OFF, port, EVIDENCE_NO_PRIORITY, NULL, NULL, NULL);
}

void host_port_state(struct reading *in, uint32_t port, bool up, const char *detail)
{
    struct text_field text = field_of(detail);

    evidence_offer(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, up, &in->source);
    if (!up) reading_event(in, EVIDENCE_EVENT_PORT_DOWN, port, EVIDENCE_NO_PRIORITY, NULL, NULL, detail ? &text : NULL);
}

bool host_has_name(const struct counter_name *list, const struct text_field *name)
{
    unsigned number;

    while (list->pattern && !field_like(name, list->pattern, &number))
        list++;
    return list->pattern != NULL;
}

/* --- rdma --- */

void host_tie(struct reading *in, uint32_t rdma, const struct text_field *netdev)
{
    uint32_t port = field_is_port(netdev) ? reading_port(in, netdev) : EVIDENCE_NONE;

    if (port == EVIDENCE_NONE || port == rdma || rdma == EVIDENCE_NONE) return;
    const char *name = in->evidence->object[rdma].local_name;
    evidence_alias(in->evidence, port, name, strlen(name));
}

uint32_t host_rdma_port(struct reading *in, struct text_field name)
{
    if (name.length && name.at[name.length - 1] == ':') name.length--;
    if (name.length > 2 && !memcmp(name.at + name.length - 2, "/1", 2)) name.length -= 2;
    return field_is_port(&name) ? reading_port(in, &name) : EVIDENCE_NONE;
}

uint32_t host_rdma_numbered(struct reading *in, const struct text_field *device, uint64_t number)
{
    char name[NAME + 16];

    if (!device->length || device->length >= NAME || !number || number > 255) return EVIDENCE_NONE;
    int length = snprintf(name, sizeof name, "%.*s/%u", (int)device->length, device->at, (unsigned)number);
    return host_rdma_port(in, (struct text_field){name, (size_t)length});
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
    return field_split(line, word, 3) >= 4 && rdma_name(word, 3) &&
           (field_is(&word[2], "state") || field_is(&word[2], "subnet_prefix"));
}

static bool rdma_link_line(struct reading *in, const char *line)
{
    struct text_field word[READER_FIELDS];
    size_t words = field_split(line, word, READER_FIELDS), name = rdma_name(word, words);
    bool down = false, disabled = false, no_lid = false;
    uint64_t up;

    if (!name) return false;
    uint32_t port = host_rdma_port(in, word[name]);
    if (port == EVIDENCE_NONE) return false;
    reading_system(in, "host", FABRIC_ROLE_HOST);
    for (size_t i = name + 1; i + 1 < words && i + 1 < READER_FIELDS; i++) {
        if (field_is(&word[i], "state") && field_state(&word[i + 1], &up)) {
            evidence_offer(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, up, &in->source);
            down = !up;
        }
        disabled |= field_is(&word[i], "physical_state") && field_is(&word[i + 1], "DISABLED");
        no_lid |= field_is(&word[i], "lid") && field_is(&word[i + 1], "65535");
        if (field_is(&word[i], "netdev")) host_tie(in, port, &word[i + 1]);
    }
    /* A virtual function that nobody gave a state; of another port that is disabled nobody says that it is wanted. */
    struct text_field why = field_of("disabled by setting, without a LID");
    if (down && disabled && no_lid)
        reading_event(in, EVIDENCE_EVENT_PORT_DOWN, port, EVIDENCE_NO_PRIORITY, NULL, NULL, &why);
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
        *port = host_rdma_port(in, word[rdma_name(word, words < 3 ? words : 3)]);
        reading_system(in, "host", FABRIC_ROLE_HOST);
        rdma_pairs(in, *port, word[1].at + word[1].length);
        return true;
    }
    /* Under its link, or one a line after `grep -o`. */
    bool piece = *line != ' ' && *line != '\t';
    if (piece && (field_split(line, word, 3) != 2 || !host_has_name(host_rdma_names, &word[0]))) return false;
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
    const char *ports = sysfs_ports(line), *ecn = strstr(line, "/ecn/roce_");

    if (ecn) return strchr(ecn, ':') != NULL; /* settings of congestion control: known, and not needed */
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
    return host_rdma_port(in, field_of(name));
}

static bool sysfs_line(struct reading *in, const char *line)
{
    const char *ports = sysfs_ports(line), *rest, *colon;
    uint64_t number;

    if (!ports && sysfs_head(line)) return true;
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
