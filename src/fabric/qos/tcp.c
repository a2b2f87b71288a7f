/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys under `tcp` of a NIC, and their defaults: Linux's, of connections that are open.
 *
 * iWARP has the same TCP in the adapter: no cores are charged, and MPA's keys are its alone.
 */
#include "fabric/qos/settings.h"

#include <string.h>

#include "fabric/fabric.h"

#define CPU_BPS 40000000000ULL       /* a core with TSO and GRO, frames of 1,500 bytes (EQDS, NSDI 2022) */
#define CPU_JUMBO_BPS 60000000000ULL /* frames of 9,000 bytes */
/* What arrives at one instant ns-3 takes in the order in which it was sent, a switch here by port, and always so: with
 * senders in step the last ports lose everything. */
#define JUMBO_BYTES 4096u /* payload from which a frame counts as one */

static const char *const cc_words[] = {"newreno", "cubic", "dctcp", NULL};
#define CUBIC 1 /* of these */
static const char *const placement_words[] = {"aligned", "in-order", NULL};

/* `false`: each segment is acknowledged. */
static void read_delayed_ack(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("segments", FIELD_COUNT, struct fabric_tcp, ack_every, 1, 255),
        F_VALUE("time", FIELD_TIME, struct fabric_tcp, ack_delay_ps, PS_US, PS_S),
    };
    struct fabric_tcp *tcp = into;
    struct field_set set = {fields, COUNT_OF(fields), tcp};
    bool on;

    if (value->type != TREE_SCALAR) {
        read_map(loader, value, "delayed-ack", &set, 1);
    } else if (read_bool(loader, value, &on)) {
        tcp->ack_every = on ? 2 : 1;
    }
}

/* `false`: cores cost nothing. */
static void read_cpu_rate(struct loader *loader, const struct tree *value, void *into)
{
    struct fabric_tcp *tcp = into;

    if (value->type == TREE_SCALAR && strcmp(value->text, "false") == 0)
        tcp->cpu_bps = 0;
    else
        read_unit(loader, value, UNIT_RATE, 1000000, 0, &tcp->cpu_bps);
}

/* `false`: a segment at a time. */
static void read_tso(struct loader *loader, const struct tree *value, void *into)
{
    struct fabric_tcp *tcp = into;
    uint64_t bytes;

    if (value->type == TREE_SCALAR && strcmp(value->text, "false") == 0)
        tcp->burst_bytes = 0;
    else if (read_unit(loader, value, UNIT_SIZE, 1448, 1 << 20, &bytes))
        tcp->burst_bytes = (uint32_t)bytes;
}

void tcp_read(struct loader *loader, const struct tree *value, void *into)
{
#define TCP(name, kind, member, min, max) F_VALUE(name, kind, struct fabric_tcp, member, min, max)
    static const struct field common[] = {
        F_CHOICE("cc", struct fabric_tcp, cc, cc_words),
        TCP("initial-window", FIELD_COUNT, initial_window, 1, 65535),
        TCP("window", FIELD_SIZE, window_bytes, 16384, (uint64_t)1 << 30),
        TCP("rto-min", FIELD_TIME, rto_min_ps, 10 * PS_US, 60 * PS_S),
        TCP("rto-max", FIELD_TIME, rto_max_ps, PS_MS, 600 * PS_S),
        TCP("rto-first", FIELD_TIME, rto_first_ps, 10 * PS_US, 60 * PS_S),
        TCP("retries", FIELD_COUNT, retries, 1, 63),
        F_CALL("delayed-ack", read_delayed_ack),
        F_CALL("tso", read_tso),
        TCP("handshake", FIELD_BOOL, handshake, 0, 0),
        TCP("probes", FIELD_BOOL, probes, 0, 0),
        TCP("receive-latency", FIELD_TIME, receive_ps, 0, PS_MS),
        TCP("receive-jitter", FIELD_TIME, jitter_ps, 0, PS_MS),
    };
    static const struct field kernel[] = {
        F_CALL("cpu-rate", read_cpu_rate),
        TCP("cores", FIELD_COUNT, cores, 1, 4096),
    };
    static const struct field adapter[] = {
        TCP("markers", FIELD_BOOL, markers, 0, 0),
        F_CHOICE("placement", struct fabric_tcp, in_order, placement_words),
        TCP("reassembly", FIELD_SIZE, held_bytes, 65536, (uint64_t)1 << 30),
    };
#undef TCP
    struct fabric_tcp *tcp = &((struct fabric_nic *)into)->tcp;
    bool iwarp = loader->fabric->system == FABRIC_IWARP;
    struct field_set set[] = {
        {common, COUNT_OF(common), tcp}, {kernel, COUNT_OF(kernel), tcp}, {adapter, COUNT_OF(adapter), tcp}};

    if (iwarp) set[1] = set[2];
    if (!read_map(loader, value, "tcp", set, 2)) return;
    if (tcp->rto_min_ps > tcp->rto_max_ps) read_error(loader, value->at, "tcp: rto-min is above rto-max");
    const struct tree *held = tree_get(value, "reassembly");
    if (held && !tcp->in_order)
        read_error(loader, held->key_at, "tcp: reassembly is of 'placement: in-order'; aligned segments are not kept");
}

void tcp_defaults(const struct fabric *fabric, struct fabric_tcp *tcp)
{
    bool ns3 = fabric->behaviour == FABRIC_NS3_TCP;

    memset(tcp, 0, sizeof(*tcp)); /* settings are compared, and hashed, byte by byte */
    tcp->cc = CUBIC;
    tcp->handshake = ns3;
    tcp->probes = !ns3;
    tcp->initial_window = 10;
    tcp->ack_every = ns3 ? 1 : 2;
    tcp->retries = 15;
    tcp->burst_bytes = ns3 ? 0 : 65536;
    tcp->window_bytes = 64ULL << 20;
    tcp->cpu_bps = ns3 || fabric->system == FABRIC_IWARP ? 0 : NOT_GIVEN;
    tcp->rto_first_ps = PS_S;
    tcp->rto_min_ps = 200 * PS_MS;
    tcp->rto_max_ps = 120 * PS_S;
    tcp->ack_delay_ps = 40 * PS_MS;
}

uint64_t fabric_tcp_cpu(const struct fabric_nic *nic)
{
    if (nic->tcp.cpu_bps != NOT_GIVEN) return nic->tcp.cpu_bps;
    return nic->mtu_bytes > JUMBO_BYTES ? CPU_JUMBO_BPS : CPU_BPS;
}
