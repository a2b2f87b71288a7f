/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host's tools say of its RDMA ports: ibstat, ibstatus, ibv_devinfo, ibdev2netdev, show_gids.  States and
 * rates; a port that is down is told as an event too, as such outputs are pasted to ask about it.
 */
#include <stdio.h>
#include <string.h>

#include "evidence/read/host/host_names.h"

struct adapter {
    char device[64];
    uint64_t number;
    uint32_t port;
    bool rates; /* of ibstat, whose rate is in Gb/s without a unit */
};
_Static_assert(sizeof(struct adapter) <= READER_STATE, "a reader's state");

/* The text between the first two quotes. */
static struct text_field quoted(const char *line)
{
    const char *begin = strchr(line, '\''), *end = begin ? strchr(begin + 1, '\'') : NULL;

    return end ? (struct text_field){begin + 1, (size_t)(end - begin - 1)} : (struct text_field){"", 0};
}

static void keep_device(struct adapter *state, const struct text_field *name)
{
    snprintf(state->device, sizeof state->device, "%.*s", name->length < 60 ? (int)name->length : 60, name->at);
    state->port = EVIDENCE_NONE;
}

static void take_number(struct reading *in, struct adapter *state, uint64_t number)
{
    struct text_field device = field_of(state->device);

    state->number = number;
    state->port = host_rdma_numbered(in, &device, number);
    if (state->port != EVIDENCE_NONE) reading_system(in, "host", FABRIC_ROLE_HOST);
}

/* "Active", "4: ACTIVE", "PORT_ACTIVE (4)": 1 up, 0 down, -1 neither. */
static int state_of(const struct text_field *value)
{
    static const char *const downs[] = {"down", "disabled", "polling", "init", "sleep", NULL};
    char text[32];

    snprintf(text, sizeof text, "%.*s", value->length < 31 ? (int)value->length : 31, value->at);
    const char *word = text;
    if (*word >= '0' && *word <= '9') word += strcspn(word, " ") + 1;
    if (!strncmp(word, "PORT_", 5)) word += 5;
    struct text_field at = field_of(word);
    if (host_begins(&at, "active")) return 1;
    for (size_t i = 0; downs[i]; i++)
        if (host_begins(&at, downs[i])) return 0;
    return -1;
}

static void take_state(struct reading *in, const struct adapter *state, const struct text_field *value)
{
    int up = state_of(value);

    if (up >= 0 && state->port != EVIDENCE_NONE) host_port_state(in, state->port, up, NULL);
}

static void take_rate(struct reading *in, const struct adapter *state, const struct text_field *value)
{
    struct text_field word[2], rate = *value;
    char text[32];
    uint64_t bps;
    size_t words = field_split(value->at, word, 2);

    if (state->port == EVIDENCE_NONE || !words) return;
    if (state->rates && words == 1) {
        snprintf(text, sizeof text, "%.*sG", word[0].length < 20 ? (int)word[0].length : 20, word[0].at);
        rate = field_of(text);
    }
    if (field_rate(&rate, &bps) && bps)
        evidence_offer(in->evidence, state->port, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE, bps, &in->source);
}

/* --- ibstat, ibstatus --- */

static bool ibstat_head(const char *line)
{
    return !strncmp(line, "CA '", 4) || !strncmp(line, "Infiniband device '", 19);
}

static bool ibstat_line(struct reading *in, const char *line)
{
    struct adapter *state = (struct adapter *)in->state;
    struct text_field label, value, name;
    uint64_t number;

    if (ibstat_head(line)) {
        name = quoted(line);
        keep_device(state, &name);
        state->rates = *line == 'C';
        const char *port = strstr(line, "' port ");
        name = port ? (struct text_field){port + 7, strspn(port + 7, "0123456789")} : field_of("");
        if (port && field_number(&name, &number)) take_number(in, state, number);
        return true;
    }
    if (*line != ' ' && *line != '\t') return false;
    if (!host_label(line, &label, &value)) return false;
    if (!strncmp(label.at, "Port ", 5) && !value.length) {
        name = (struct text_field){label.at + 5, label.length - 5};
        if (field_number(&name, &number)) take_number(in, state, number);
    } else if (field_is(&label, "State") || field_is(&label, "state")) {
        take_state(in, state, &value);
    } else if (field_is(&label, "Rate") || field_is(&label, "rate")) {
        if (state->port != EVIDENCE_NONE &&
            evidence_get(in->evidence, state->port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP))
            take_rate(in, state, &value);
    }
    return true;
}
const struct text_reader reader_ibstat = {"ibstat", "hosts: ibstat, ibstatus", ibstat_head, ibstat_line, NULL};

/* --- ibv_devinfo --- */

static bool devinfo_head(const char *line)
{
    return !strncmp(line, "hca_id:", 7);
}

static bool devinfo_line(struct reading *in, const char *line)
{
    struct adapter *state = (struct adapter *)in->state;
    struct text_field label, value, word;
    uint64_t number;

    if (!host_label(line, &label, &value)) return *line == ' ' || *line == '\t';
    if (field_is(&label, "hca_id")) {
        keep_device(state, &value);
    } else if (*line != ' ' && *line != '\t') {
        return false;
    } else if (field_is(&label, "port") && field_split(value.at, &word, 1) && field_number(&word, &number)) {
        take_number(in, state, number);
    } else if (field_is(&label, "state")) {
        take_state(in, state, &value);
    }
    return true;
}
const struct text_reader reader_ibv_devinfo = {"ibv-devinfo", "hosts: ibv_devinfo, also -v", devinfo_head, devinfo_line,
                                               NULL};

/* --- ibdev2netdev --- */

/* Interfaces of InfiniBand (ib0) are down where nobody uses IP over it, and their ports work: one that is down counts
 * where another is up. */
struct netdevs {
    uint32_t down[32], downs;
    bool some_up;
};
_Static_assert(sizeof(struct netdevs) <= READER_STATE, "a reader's state");

/* "mlx5_0 port 1 ==> ib0 (Down)", with a PCI address before it where -v is said. */
static bool netdev_head(const char *line)
{
    return strstr(line, " ==> ") && strstr(line, " port ");
}

static bool netdev_line(struct reading *in, const char *line)
{
    const char *port = strstr(line, " port "), *arrow = strstr(line, " ==> ");
    struct text_field device, number_word, to[2];
    uint64_t number, up;

    if (!port || !arrow || arrow < port) return false;
    if (line[4] == ':') line += strcspn(line, " ") + 1; /* its PCI address */
    if (line > port) return false;
    device = (struct text_field){line, strcspn(line, " \t")};
    port += 6 + strspn(port + 6, " "); /* after `column -t` */
    number_word = (struct text_field){port, strspn(port, "0123456789")};
    size_t words = field_split(arrow + 5, to, 2);
    if (!field_number(&number_word, &number) || !words) return false;
    uint32_t of = host_rdma_numbered(in, &device, number);
    if (of == EVIDENCE_NONE) return true;
    reading_system(in, "host", FABRIC_ROLE_HOST);
    host_tie(in, of, &to[0]);
    if (words < 2 || to[1].length < 3) return true;
    to[1] = (struct text_field){to[1].at + 1, to[1].length - 2};
    struct netdevs *state = (struct netdevs *)in->state;
    if (!field_state(&to[1], &up)) return true;
    bool infiniband = host_begins(&to[0], "ib");
    if (infiniband && !up) {
        if (state->downs < sizeof state->down / sizeof state->down[0]) state->down[state->downs++] = of;
        return true;
    }
    state->some_up |= infiniband;
    host_port_state(in, of, up, NULL);
    return true;
}

static void netdev_end(struct reading *in)
{
    const struct netdevs *state = (const struct netdevs *)in->state;

    for (uint32_t i = 0; state->some_up && i < state->downs; i++)
        host_port_state(in, state->down[i], false, NULL);
}
const struct text_reader reader_ibdev2netdev = {"ibdev2netdev", "hosts: ibdev2netdev, also -v", netdev_head,
                                                netdev_line, netdev_end};

/* --- show_gids --- */

/* Whether some GID of a port reaches beyond its own link by RoCEv2. */
struct gids {
    uint32_t port[16];
    bool reaches[16];
    uint32_t ports;
};
_Static_assert(sizeof(struct gids) <= READER_STATE, "a reader's state");

static bool gids_head(const char *line)
{
    struct text_field word[6];

    return *line == 'D' && field_split(line, word, 6) >= 4 && field_is(&word[0], "DEV") && field_is(&word[1], "PORT") &&
           field_is(&word[2], "INDEX") && field_is(&word[3], "GID");
}

static bool gids_line(struct reading *in, const char *line)
{
    struct gids *state = (struct gids *)in->state;
    struct text_field word[8];
    uint64_t number, index;
    size_t words = field_split(line, word, 8);
    uint32_t i = 0;

    if (gids_head(line) || !strncmp(line, "---", 3)) return true;
    if (words == 1 && !strncmp(word[0].at, "n_gids_found", 12)) return true;
    if (words < 4 || !field_number(&word[1], &number) || !field_number(&word[2], &index) ||
        !memchr(word[3].at, ':', word[3].length))
        return false;
    uint32_t port = host_rdma_numbered(in, &word[0], number);
    if (port == EVIDENCE_NONE) return true;
    reading_system(in, "host", FABRIC_ROLE_HOST);
    while (i < state->ports && state->port[i] != port)
        i++;
    if (i == sizeof state->port / sizeof state->port[0]) return true;
    if (i == state->ports) state->port[state->ports++] = port;
    bool v2 = false;
    for (size_t k = 4; k < words && k < 8; k++)
        v2 |= field_is(&word[k], "v2") || field_is(&word[k], "V2");
    state->reaches[i] |= v2 && strncmp(word[3].at, "fe80:", 5) != 0;
    return true;
}

static void gids_end(struct reading *in)
{
    const struct gids *state = (const struct gids *)in->state;
    struct text_field detail = field_of("no RoCEv2 GID but link-local ones");

    for (uint32_t i = 0; i < state->ports; i++)
        if (!state->reaches[i])
            reading_event(in, EVIDENCE_EVENT_GID_WRONG, state->port[i], EVIDENCE_NO_PRIORITY, NULL, NULL, &detail);
}
const struct text_reader reader_show_gids = {"show-gids", "hosts: show_gids", gids_head, gids_line, gids_end};
