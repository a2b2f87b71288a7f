/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the wires, not seen outside them. */
#ifndef ROCELAB_WIRE_WIRE_INT_H
#define ROCELAB_WIRE_WIRE_INT_H

#include <sys/socket.h>

#include "packet/codec.h"
#include "wire/wire.h"

#define WIRE_SOURCE_PORTS_DEFAULT 16u

/* ifindex: the scope of a link-local or multicast IPv6 address. */
socklen_t wire_sockaddr(const struct pkt_addr *addr, uint16_t port, unsigned ifindex, struct sockaddr_storage *ret);
/* What codec_emit_outer() needs to write the headers around a packet; MAC addresses and tags are the caller's. */
void wire_envelope(const struct wire_packet *packet, struct pkt *ret, struct pkt_cold *ret_cold);
/* A PFC frame; its length, or -errno. */
int wire_pause_emit(const struct wire_pause *pause, const uint8_t smac[6], uint8_t *frame, size_t bytes);

/* Writes the reason and answers rc. */
__attribute__((format(printf, 3, 4))) int wire_fail(struct wire *wire, int rc, const char *format, ...);
/* The same for who has no wire yet. */
__attribute__((format(printf, 4, 5))) int wire_explain(char *why, size_t why_bytes, int rc, const char *format, ...);
/* Hands the reason to the opener, closes the half-made wire, answers rc. */
int wire_open_failed(struct wire *wire, const struct wire_config *config, int rc);
/* For wires without sockets: 0xc000 and on, the ports that adapters use. */
void wire_synthetic_ports(struct wire *wire, unsigned count);

/* A wire around a wire: what is the same for all of them. */
struct wrap {
    struct wire wire;
    struct wire *inner;
    struct wire_counters own; /* what the wrapper itself counts */
};

void wrap_init(struct wrap *wrap, const struct wire_ops *ops, struct wire *inner);
/* The wire's counters: the inner one's and our own; and what the inner one has kept back.  Answers rc. */
int wrap_count(struct wrap *wrap, int rc);
int wrap_fd(struct wire *wire);
bool wrap_memory(struct wire *wire, const struct pkt_addr *dst, uint32_t qpn);
ps_t wrap_deadline(struct wire *wire);
int wrap_add_address(struct wire *wire, const struct pkt_addr *local);
void wrap_remove_address(struct wire *wire, const struct pkt_addr *local);

/* The shm wire, for the auto wire: does a ring lead there?  And: what was found out about addresses may be old. */
bool wire_shm_reaches(struct wire *wire, const struct pkt_addr *dst, uint32_t qpn);
void wire_shm_forget(struct wire *wire);
uint8_t *wire_shm_place(struct wire *wire, const struct pkt_addr *dst, uint32_t qpn, uint32_t bytes, ps_t now);
void wire_shm_placed(struct wire *wire, const struct wire_packet *packet);
void wire_shm_publish(struct wire *wire, ps_t now);

#endif
