/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the processes of one user in one network namespace find the memory that they share.
 */
#ifndef ROCELAB_WIRE_RENDEZVOUS_H
#define ROCELAB_WIRE_RENDEZVOUS_H

#include <stddef.h>
#include <stdint.h>

struct rendezvous;

/* Finds the others' memory of `bytes` bytes, or, where there are none, makes it (all zero, sealed: its size stays).
 * `layout` names what is in it: processes that disagree do not share.  Counted: each needs its leave.
 * 0; -errno, and `why` says in words what is wrong and what would be right. */
int rendezvous_enter(size_t bytes, uint32_t layout, struct rendezvous **ret, char *why, size_t why_bytes);
/* In a forked child it only lets go of the parent's descriptors. */
void rendezvous_leave(struct rendezvous *);
/* A new description of the memory (locks belong to descriptions), for the caller to close; -errno. */
int rendezvous_open(const struct rendezvous *);

#endif
