/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all wires have in common: the choice of a flow's source port, words for failures, addresses as sockets and
 * frames want them, and what every wire that wraps a wire does alike.
 */
#include "wire/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "packet/codec.h"
#include "packet/frame.h"
#include "packet/icrc.h"
#include "wire/wire_int.h"

#define TTL_DEFAULT 64u

socklen_t wire_sockaddr(const struct pkt_addr *addr, uint16_t port, unsigned ifindex, struct sockaddr_storage *ret)
{
    if (pkt_addr_is_ipv4(addr)) {
        struct sockaddr_in *in = (struct sockaddr_in *)ret;
        memset(in, 0, sizeof *in);
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        memcpy(&in->sin_addr, addr->byte + 12, 4);
        return sizeof *in;
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
    memset(in6, 0, sizeof *in6);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    memcpy(&in6->sin6_addr, addr->byte, 16);
    if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) || IN6_IS_ADDR_MULTICAST(&in6->sin6_addr)) in6->sin6_scope_id = ifindex;
    return sizeof *in6;
}

void wire_envelope(const struct wire_packet *packet, struct pkt *ret, struct pkt_cold *ret_cold)
{
    *ret = (struct pkt){.kind = PKT_ROCE,
                        .net = packet->net,
                        .tos = packet->tos,
                        .ttl = packet->ttl ? packet->ttl : TTL_DEFAULT,
                        .sport = packet->sport};
    *ret_cold = (struct pkt_cold){.src = packet->src,
                                  .dst = packet->dst,
                                  .flow_label = packet->flow_label & 0xfffff,
                                  .ip_id = packet->ip_id,
                                  .ip_frag = PROTO_IPV4_DF,
                                  .dport = PROTO_PORT_ROCE};
}

int wire_pause_emit(const struct wire_pause *pause, const uint8_t smac[6], uint8_t *frame, size_t bytes)
{
    struct pkt pkt = frame_pfc(pause->enable, pause->quanta);
    struct pkt_cold cold;
    struct frame_path path = {.vlan_id = 0};
    memcpy(path.smac, smac, 6);
    frame_address(&path, &pkt, &cold);
    return codec_emit(&pkt, &cold, NULL, frame, bytes);
}

int wire_attach(int fd, int option, struct sock_filter *code, unsigned length)
{
    struct sock_fprog program;
    memset(&program, 0, sizeof program); /* padding too: memory checkers look at all that the kernel is given */
    program.len = (unsigned short)length;
    program.filter = code;
    return setsockopt(fd, SOL_SOCKET, option, &program, sizeof program) < 0 ? -errno : 0;
}

uint16_t wire_port_of_flow(const uint16_t *port, unsigned ports, uint32_t qpn, uint32_t remote_qpn)
{
    CHECK(ports > 0);
    uint64_t mixed = ((uint64_t)qpn << 32 | remote_qpn) * 0x9e3779b97f4a7c15u;
    return port[(mixed >> 40) % ports];
}

uint16_t wire_source_port(const struct wire *wire, uint32_t qpn, uint32_t remote_qpn)
{
    return wire_port_of_flow(wire->source_port, wire->source_ports, qpn, remote_qpn);
}

int wire_fail(struct wire *wire, int rc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(wire->why, sizeof wire->why, format, args);
    va_end(args);
    return rc;
}

int wire_explain(char *why, size_t why_bytes, int rc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (why_bytes) vsnprintf(why, why_bytes, format, args);
    va_end(args);
    return rc;
}

int wire_open_failed(struct wire *wire, const struct wire_config *config, int rc)
{
    if (config->why && config->why_bytes) snprintf(config->why, config->why_bytes, "%s", wire->why);
    wire->ops->close(wire);
    return rc;
}

void wire_synthetic_ports(struct wire *wire, unsigned count)
{
    wire->source_ports = count && count <= WIRE_SOURCE_PORTS_MAX ? count : WIRE_SOURCE_PORTS_DEFAULT;
    for (unsigned i = 0; i < wire->source_ports; i++)
        wire->source_port[i] = (uint16_t)(0xc000 + i);
}

void wrap_init(struct wrap *wrap, const struct wire_ops *ops, struct wire *inner)
{
    wrap->wire = *inner;
    wrap->wire.ops = ops;
    wrap->inner = inner;
    memset(&wrap->own, 0, sizeof wrap->own);
}

int wrap_count(struct wrap *wrap, int rc)
{
#define X(name) wrap->wire.counters.name = wrap->inner->counters.name + wrap->own.name;
    WIRE_COUNTER_LIST(X)
#undef X
    wrap->wire.due = wrap->inner->due;
    if (rc < 0) wire_fail(&wrap->wire, rc, "%s", wrap->inner->why);
    return rc;
}

int wrap_fd(struct wire *wire)
{
    return wire_fd(((struct wrap *)wire)->inner);
}

bool wrap_memory(struct wire *wire, const struct pkt_addr *dst, uint32_t qpn)
{
    return wire_memory(((struct wrap *)wire)->inner, dst, qpn);
}

ps_t wrap_deadline(struct wire *wire)
{
    return wire_deadline(((struct wrap *)wire)->inner);
}

int wrap_add_address(struct wire *wire, const struct pkt_addr *local)
{
    struct wrap *wrap = (struct wrap *)wire;
    return wrap_count(wrap, wire_add_address(wrap->inner, local));
}

void wrap_remove_address(struct wire *wire, const struct pkt_addr *local)
{
    wire_remove_address(((struct wrap *)wire)->inner, local);
}
