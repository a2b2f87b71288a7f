/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths: address vectors with a number, which is what src/nic knows as an endpoint.
 *
 * The same path has the same number however many queue pairs and address handles use it, so the table stays as
 * small as the number of peers.  Number 0 is nobody; the first few are kept for answers to
 * datagrams (a CNP for a marked UD packet goes to an address that no handle of ours names) and are used in turn.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live/live_int.h"

static bool same(const struct device_path *a, const struct device_path *b)
{
    return a->gid_index == b->gid_index && memcmp(&a->remote, &b->remote, sizeof a->remote) == 0 && a->tos == b->tos &&
           a->hop_limit == b->hop_limit && a->sl == b->sl && a->flow_label == b->flow_label &&
           memcmp(a->dmac, b->dmac, 6) == 0;
}

static int grow(struct device *live)
{
    uint32_t paths = live->paths ? 2 * live->paths : 64;
    struct path *grown = realloc(live->path, paths * sizeof *grown);

    if (grown == NULL) return -ENOMEM;
    memset(grown + live->paths, 0, (paths - live->paths) * sizeof *grown);
    live->path = grown;
    live->paths = paths;
    return 0;
}

int path_enter(struct device *live, const struct device_path *key, uint32_t *ret)
{
    uint32_t unused = 0;

    if (key->gid_index >= live->device.gids || !live->device.gid[key->gid_index].usable) return -EINVAL;
    const struct device_gid *gid = &live->device.gid[key->gid_index];
    for (uint32_t i = 1 + LIVE_REPLIES; i < live->paths; i++) {
        const struct path *path = &live->path[i];
        /* a GID's place may have become another address's */
        if (path->users && same(&path->key, key) && path->net == gid->net &&
            memcmp(&path->src, &gid->addr, sizeof gid->addr) == 0) {
            live->path[i].users++;
            *ret = i;
            return 0;
        }
        if (unused == 0 && live->path[i].users == 0) unused = i;
    }
    if (unused == 0) {
        unused = live->paths > LIVE_REPLIES ? live->paths : LIVE_REPLIES + 1;
        int error = grow(live);
        if (error < 0) return error;
    }
    live->path[unused] = (struct path){.key = *key, .src = gid->addr, .net = gid->net, .users = 1};
    *ret = unused;
    return 0;
}

void path_leave(struct device *live, uint32_t path)
{
    if (path < live->paths && live->path[path].users) live->path[path].users--;
}

bool path_find(struct device *live, uint32_t path, struct path_end *ret)
{
    if (path >= live->paths || live->path[path].users == 0) return false;
    const struct device_path *key = &live->path[path].key;
    *ret = (struct path_end){.endpoint = path, .prio = port_priority(live, key->sl, key->tos), .tos = key->tos};
    return true;
}

int adapter_path_get(struct device *live, const struct device_path *path, uint32_t *ret)
{
    int error = live_enter(live);

    if (error < 0) return error;
    error = path_enter(live, path, ret);
    live_leave(live);
    return error;
}

void adapter_path_put(struct device *live, uint32_t path)
{
    if (live_enter(live) < 0) return;
    path_leave(live, path);
    live_leave(live);
}

void path_reply(struct device *live, const struct wire_packet *packet, uint32_t *ret)
{
    uint32_t at = 1 + live->reply_next++ % LIVE_REPLIES;

    if (live->paths <= LIVE_REPLIES && grow(live) < 0) return;
    live->path[at] = (struct path){.key = {.remote = packet->src, .flow_label = packet->flow_label},
                                   .src = packet->dst,
                                   .net = packet->net,
                                   .users = 1};
    *ret = at;
}
