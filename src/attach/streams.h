/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of the fabric as the program sees them: what socket.c, options.c and interfaces.c share.
 */
#ifndef ROCELAB_ATTACH_STREAMS_H
#define ROCELAB_ATTACH_STREAMS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "attach/attach_int.h"

/* Whether calls about sockets are ours to answer: attached, with whichever clock, and not from our own code. */
static inline bool streams_managed(void)
{
    return attached.head != NULL && !attached.gone && (self == NULL || self->in_library == 0);
}

/* The descriptor is a socket of the fabric; its number.  The kernel knows: see ATTACH_STREAM_NAME. */
bool stream_number(int fd, uint32_t *ret);
/* One request about it: 0 or more, or -errno. */
int stream_ask(uint32_t op, uint32_t number, struct attach_stream *stream);
/* What it is: name, flags, state. */
static inline int stream_state(uint32_t number, struct attach_stream *ret)
{
    *ret = (struct attach_stream){0};
    return stream_ask(ATTACH_OP_STREAM_STATE, number, ret);
}

/* A name that stands beside what is sent.  LEFT_OUT: TCP sends to its peer; TOLD: the fabric knows where the datagram
 * goes that is written now, then comes datagram_sent(); in both cases the kernel is not to see the name.  -errno. */
enum datagram_name { DATAGRAM_KERNELS, DATAGRAM_LEFT_OUT, DATAGRAM_TOLD };
int datagram_to(int fd, const struct sockaddr *to, socklen_t length);
void datagram_sent(int named);
/* Who sent what was just read; `length` is as the program gave it.  False: it is no such socket. */
bool datagram_from(int fd, int flags, struct sockaddr *ret, socklen_t *length);

/* IPV6_V6ONLY, from setsockopt() to bind(). */
bool options_v6only(int fd);
void options_forget(int fd);

/* Addresses: -errno where it is none of a socket of that family. */
int address_read(const struct sockaddr *from, socklen_t length, struct pkt_addr *ret, uint16_t *ret_port);
void address_write(const struct pkt_addr *from, uint16_t port, bool ipv4, struct sockaddr *to, socklen_t *length);

#endif
