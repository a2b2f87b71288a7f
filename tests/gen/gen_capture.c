/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_capture KIND OUT.pcap [--packets N] [--connections N] [--seed N] [--expect FILE.json]
 *
 * Writes synthetic captures for tests, benchmarks and documents; the same arguments give the same bytes.
 *
 *   writes      4 KB RDMA WRITEs, each one packet, over --connections queue pairs in random order
 *   half-acks   the same, each answered by an ACK 32 WRITEs later: half the packets are ACKs
 *   small       as half-acks, with 64 bytes
 *   million     every packet belongs to a queue pair not seen before
 *   mixed       a little of everything (gen_mixed.c)
 *
 * --expect writes what `rocelab capture` must count in it.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "gen.h"
#include "packet/opcode.h"

#define START_NS (1700000000ull * 1000000000)
#define IN_FLIGHT 32

static void write_only(struct gen *gen, struct gen_connection *c, uint32_t bytes, bool ask)
{
    struct pkt pkt;
    struct pkt_cold cold;
    gen_packet(c, 0, OPCODE_RC_WRITE_ONLY, c->psn++, &pkt, &cold);
    if (ask) pkt.flags |= PKT_ACK_REQUEST;
    pkt.rdma.va = 0x7f0000000000 + (uint64_t)c->msn * bytes;
    pkt.rdma.rkey = c->end[1].qpn;
    pkt.rdma.dma_bytes = bytes;
    gen_set_payload(&pkt, bytes);
    c->msn++;
    gen_put(gen, &pkt, &cold, NULL, 0);
}

static void ack(struct gen *gen, const struct gen_connection *c, uint32_t psn, uint32_t msn)
{
    struct pkt pkt;
    struct pkt_cold cold;
    gen_packet(c, 1, OPCODE_RC_ACK, psn, &pkt, &cold);
    pkt.ack.syndrome = 0x1f;
    pkt.ack.msn = msn & 0xffffff;
    gen_put(gen, &pkt, &cold, NULL, 0);
}

static struct gen_connection *connect_all(struct gen *gen)
{
    struct gen_connection *all = calloc(gen->connections, sizeof(*all));
    CHECK(all);
    for (uint32_t i = 0; i < gen->connections; i++)
        gen_connect(gen, &all[i], i);
    return all;
}

static void writes(struct gen *gen)
{
    struct gen_connection *all = connect_all(gen);
    while (gen->expect.packets < gen->packets)
        write_only(gen, &all[rng_below(&gen->rng, gen->connections)], 4096, false);
    free(all);
}

static void writes_and_acks(struct gen *gen, uint32_t bytes)
{
    struct gen_connection *all = connect_all(gen);
    struct {
        struct gen_connection *connection;
        uint32_t psn, msn;
    } flight[IN_FLIGHT];
    uint64_t sent = 0, acked = 0;
    while (gen->expect.packets < gen->packets) {
        if (sent - acked == IN_FLIGHT || sent >= gen->packets / 2) {
            if (acked == sent) break;
            unsigned slot = acked++ % IN_FLIGHT;
            ack(gen, flight[slot].connection, flight[slot].psn, flight[slot].msn);
            if (sent >= gen->packets / 2) continue;
        }
        unsigned slot = sent++ % IN_FLIGHT;
        flight[slot].connection = &all[rng_below(&gen->rng, gen->connections)];
        write_only(gen, flight[slot].connection, bytes, true);
        flight[slot].psn = flight[slot].connection->psn - 1;
        flight[slot].msn = flight[slot].connection->msn;
    }
    free(all);
}

static void half_acks(struct gen *gen)
{
    writes_and_acks(gen, 4096);
}

static void small(struct gen *gen)
{
    writes_and_acks(gen, 64);
}

static void million(struct gen *gen)
{
    for (uint32_t i = 0; i < gen->packets; i++) {
        struct gen_connection c = {0};
        gen_connect(gen, &c, i);
        c.end[1].qpn = i * 0x9e3779b1u & 0xffffff; /* odd: distinct for 2^24 packets */
        write_only(gen, &c, 64, true);
    }
}

static const struct kind {
    const char *name;
    void (*make)(struct gen *gen);
    uint64_t packets;
    uint32_t connections;
} kinds[] = {
    {"writes", writes, 120000, 10000}, {"half-acks", half_acks, 240000, 10000}, {"small", small, 2000000, 10000},
    {"million", million, 1000000, 1},  {"mixed", gen_mixed, 1000, 12},
};

static uint64_t number(const char *text)
{
    char *end;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;
    if (!text || *text < '0' || *text > '9' || *end) {
        fprintf(stderr, "gen_capture: \"%s\" is not a number\n", text ? text : "");
        exit(2);
    }
    return value;
}

static int write_expect(const struct gen_expect *expect, const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out) return -1;
    const char *comma = "{";
#define X(name)                                                                                                        \
    fprintf(out, "%s\"" #name "\": %" PRIu64, comma, expect->name);                                                    \
    comma = ", ";
    GEN_EXPECT_LIST(X)
#undef X
    fprintf(out, "}\n");
    return fclose(out);
}

static int generate(struct gen *gen, const struct kind *kind, const char *path, const char *expect)
{
    for (size_t i = 0; i < sizeof(gen->payload); i += 4) {
        uint32_t word = rng_u32(&gen->rng);
        memcpy(gen->payload + i, &word, 4);
    }
    int rc = capwriter_open(path, 1, &gen->writer);
    if (rc == 0) {
        kind->make(gen);
        rc = capwriter_close(gen->writer);
    }
    if (rc < 0) {
        fprintf(stderr, "gen_capture: %s: %s\n", path, strerror(-rc));
        return 1;
    }
    if (expect && write_expect(&gen->expect, expect) != 0) {
        perror(expect);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct kind *kind = NULL;
    for (size_t i = 0; argc >= 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(argv[1], kinds[i].name) == 0) kind = &kinds[i];
    if (!kind) {
        fprintf(stderr, "usage: gen_capture writes|half-acks|small|million|mixed OUT.pcap [--packets N]\n"
                        "                   [--connections N] [--seed N] [--expect FILE.json]\n");
        return 2;
    }
    static struct gen gen;
    gen = (struct gen){.time_ns = START_NS, .packets = kind->packets, .connections = kind->connections};
    uint64_t seed = 1;
    const char *expect = NULL;
    for (int i = 3; i < argc; i += 2) {
        if (strcmp(argv[i], "--packets") == 0)
            gen.packets = number(argv[i + 1]);
        else if (strcmp(argv[i], "--connections") == 0)
            gen.connections = (uint32_t)number(argv[i + 1]);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = number(argv[i + 1]);
        else if (strcmp(argv[i], "--expect") == 0 && argv[i + 1])
            expect = argv[i + 1];
        else {
            fprintf(stderr, "gen_capture: unknown option %s\n", argv[i]);
            return 2;
        }
    }
    if (gen.connections == 0 || gen.connections > GEN_CONNECTIONS_MAX || gen.packets > 1u << 30) {
        fprintf(stderr, "gen_capture: connections 1 to %u, packets up to %u\n", GEN_CONNECTIONS_MAX, 1u << 30);
        return 2;
    }
    rng_init(&gen.rng, seed, 0);
    return generate(&gen, kind, argv[2], expect);
}
