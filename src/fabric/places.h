/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the text of a fabric file says a thing (file/places.c).
 */
#ifndef ROCELAB_FABRIC_PLACES_H
#define ROCELAB_FABRIC_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/words.h"

struct fabric;
struct fabric_places;

/* `text` is what was loaded and must outlive the places. */
int fabric_places_open(const struct fabric *fabric, const char *text, struct fabric_places **ret); /* 0, -ENOMEM */
void fabric_places_free(struct fabric_places *places);
/* The value of `path` ("classes.rdma.ecn.min", "pfc", "watchdog.poll") for a port, in the innermost layer that says it:
 * port, device, role, all, class definition, links; FABRIC_NONE for a port: the node's.  With node FABRIC_NONE: from
 * the top of the file.  Where nothing says it, what encloses it, and the topology at last. */
struct fabric_at fabric_where(const struct fabric_places *places, uint32_t node, uint32_t port, const char *path);
/* True where a layer of exactly this port, or of this device, says it. */
bool fabric_says(const struct fabric_places *places, uint32_t node, uint32_t port, const char *path);

#endif
