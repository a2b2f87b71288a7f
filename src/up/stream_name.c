/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and ports of sockets: each host has its own ports.
 *
 * A host is reached by the addresses of its adapters; 127.0.0.0/8, ::1 and the unspecified address are the host that
 * says them.  There is no TIME_WAIT: a port is free when nobody is bound to it, and connections that a listener has
 * accepted do not hold its port.
 */
#include "up/stream_int.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "fabric/fabric.h"
#include "packet/codec.h"

static bool is_loopback(const struct pkt_addr *addr)
{
    static const uint8_t one[16] = {[15] = 1};

    if (pkt_addr_is_ipv4(addr)) return addr->byte[12] == 127;
    return memcmp(addr->byte, one, sizeof one) == 0;
}

bool stream_is_any(const struct pkt_addr *addr)
{
    return pkt_addr_unspecified(addr);
}

/* The endpoint with this address; FABRIC_NONE. */
static uint32_t endpoint_at(const struct fabric *fabric, const struct pkt_addr *addr)
{
    if (!pkt_addr_is_ipv4(addr)) return FABRIC_NONE;
    for (uint32_t e = 0; e < fabric->endpoints; e++)
        if (memcmp(fabric->endpoint[e].address, addr->byte + 12, 4) == 0) return e;
    return FABRIC_NONE;
}

static struct pkt_addr address_of(const struct fabric *fabric, uint32_t endpoint)
{
    return pkt_addr_ipv4(load_be32(fabric->endpoint[endpoint].address));
}

bool stream_is_own(const struct up_host *host, const struct pkt_addr *addr)
{
    uint32_t e;

    if (is_loopback(addr) || stream_is_any(addr)) return true;
    e = endpoint_at(host->up->fabric, addr);
    return e != FABRIC_NONE && host->up->fabric->endpoint[e].host == host->number;
}

/* Whether two sockets at the same port would get the same connections. */
static bool overlap(const struct attach_stream *a, const struct attach_stream *b)
{
    uint32_t both = (a->flags | b->flags) & (ATTACH_STREAM_IPV4 | ATTACH_STREAM_V6ONLY);

    if (stream_is_any(&a->self) || stream_is_any(&b->self)) return both != (ATTACH_STREAM_IPV4 | ATTACH_STREAM_V6ONLY);
    return memcmp(&a->self, &b->self, sizeof a->self) == 0;
}

static bool is_free(const struct up_streams *streams, const struct stream *self, const struct attach_stream *name,
                    bool listens)
{
    for (uint32_t b = 0; b < STREAM_BUCKETS; b++)
        for (const struct stream *other = streams->bucket[b]; other; other = other->next) {
            bool share = (name->flags & other->name.flags & ATTACH_STREAM_REUSE) != 0;

            if (other == self || other->accepted || other->name.self_port != name->self_port) continue;
            if ((other->name.flags ^ name->flags) & ATTACH_STREAM_DATAGRAM) continue; /* ports of their own */
            if (!overlap(&other->name, name)) continue;
            if (!share || other->name.state == ATTACH_STREAM_LISTENS || listens) return false;
        }
    return true;
}

static uint16_t free_port(struct up_streams *streams, const struct stream *self, struct attach_stream name)
{
    for (uint32_t tried = STREAM_FIRST_PORT; tried <= STREAM_LAST_PORT; tried++) {
        if (streams->next_port < STREAM_FIRST_PORT || streams->next_port > STREAM_LAST_PORT)
            streams->next_port = STREAM_FIRST_PORT;
        name.self_port = (uint16_t)streams->next_port++;
        name.flags &= ~ATTACH_STREAM_REUSE;
        if (is_free(streams, self, &name, false)) return name.self_port;
    }
    return 0;
}

int stream_bind(struct up_streams *streams, struct stream *stream, const struct attach_stream *name)
{
    const uint32_t may = ATTACH_STREAM_REUSE | ATTACH_STREAM_V6ONLY;
    struct attach_stream wish = stream->name;

    if (stream->name.state != ATTACH_STREAM_NEW) return -EINVAL;
    if (!stream_is_own(streams->host, &name->self)) return -EADDRNOTAVAIL;
    wish.self = name->self;
    wish.self_port = name->self_port;
    wish.flags = (wish.flags & ~may) | (name->flags & may);
    if (wish.flags & ATTACH_STREAM_IPV4) wish.flags &= ~ATTACH_STREAM_V6ONLY;
    if (wish.self_port == 0) wish.self_port = free_port(streams, stream, wish);
    if (wish.self_port == 0 || !is_free(streams, stream, &wish, false)) return -EADDRINUSE;
    wish.state = ATTACH_STREAM_BOUND;
    stream->name = wish;
    return 0;
}

int stream_listen(struct up_streams *streams, struct stream *stream, uint32_t backlog)
{
    static const struct attach_stream any;
    int error;

    if (stream->name.flags & ATTACH_STREAM_DATAGRAM) return -EOPNOTSUPP;
    if (stream->name.state == ATTACH_STREAM_NEW && (error = stream_bind(streams, stream, &any)) != 0) return error;
    if (stream->name.state != ATTACH_STREAM_BOUND && stream->name.state != ATTACH_STREAM_LISTENS) return -EINVAL;
    if (stream->name.state == ATTACH_STREAM_BOUND && !is_free(streams, stream, &stream->name, true)) return -EADDRINUSE;
    stream->name.state = ATTACH_STREAM_LISTENS;
    stream->name.backlog = backlog < STREAM_BACKLOG_MAX ? backlog : STREAM_BACKLOG_MAX;
    return 0;
}

/* Our own address towards `to`: the same rail where we have it. */
static struct pkt_addr source_for(const struct up_host *host, const struct pkt_addr *to, uint32_t endpoint)
{
    const struct fabric *fabric = host->up->fabric;
    uint32_t first = fabric->first_endpoint[host->number], nics = fabric->first_endpoint[host->number + 1] - first;
    uint32_t index = endpoint == FABRIC_NONE ? 0 : fabric->endpoint[endpoint].index;

    if (endpoint == FABRIC_NONE || fabric->endpoint[endpoint].host == host->number || nics == 0) return *to;
    return address_of(fabric, first + (index < nics ? index : 0));
}

int stream_route(struct up_streams *streams, struct stream *stream, const struct attach_stream *to)
{
    struct up_host *host = streams->host;
    const struct fabric *fabric = host->up->fabric;
    struct attach_stream name = stream->name;
    uint32_t endpoint;

    name.peer = to->peer;
    name.peer_port = to->peer_port;
    if (stream_is_any(&name.peer)) {
        static const struct pkt_addr six = {.byte = {[15] = 1}};
        name.peer = name.flags & ATTACH_STREAM_IPV4 ? pkt_addr_ipv4(0x7f000001) : six;
    }
    endpoint = is_loopback(&name.peer) ? FABRIC_NONE : endpoint_at(fabric, &name.peer);
    if (endpoint == FABRIC_NONE && !is_loopback(&name.peer)) return -ENETUNREACH;
    if (stream_is_any(&name.self)) name.self = source_for(host, &name.peer, endpoint);
    if (name.self_port == 0) name.self_port = free_port(streams, stream, name);
    if (name.self_port == 0) return -EADDRNOTAVAIL;
    stream->name = name;
    stream->peer_host = endpoint == FABRIC_NONE ? host->number : fabric->endpoint[endpoint].host;
    return 0;
}

struct stream *stream_listener(struct up_streams *streams, const struct pkt_addr *addr, uint16_t port)
{
    struct stream *any = NULL;
    bool four = pkt_addr_is_ipv4(addr);

    for (uint32_t b = 0; b < STREAM_BUCKETS; b++)
        for (struct stream *s = streams->bucket[b]; s; s = s->next) {
            if (s->name.state != ATTACH_STREAM_LISTENS || s->name.self_port != port) continue;
            if (memcmp(&s->name.self, addr, sizeof *addr) == 0) return s;
            if (!stream_is_any(&s->name.self)) continue;
            if (s->name.flags & (four ? ATTACH_STREAM_V6ONLY : ATTACH_STREAM_IPV4)) continue;
            any = s;
        }
    return any;
}
