/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths: from an address vector to an endpoint of the fabric, and to a class of its traffic.
 *
 * Addresses are those that the fabric file's endpoints have, as captures show them.  The class is that of the DSCP; a
 * program that names neither DSCP nor service level travels as jobs do where the file says nothing: in the first
 * lossless class.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "packet/codec.h"
#include "up/objects/objects.h"

/* Most fabrics number their endpoints in order, from the first one's address. */
static uint32_t endpoint_of(const struct fabric *fabric, const struct pkt_addr *address)
{
    const uint8_t *ipv4 = address->byte + 12;

    if (!pkt_addr_is_ipv4(address) || fabric->endpoints == 0) return FABRIC_NONE;
    uint32_t guess = load_be32(ipv4) - load_be32(fabric->endpoint[0].address);
    if (guess < fabric->endpoints && memcmp(fabric->endpoint[guess].address, ipv4, 4) == 0) return guess;
    for (uint32_t e = 0; e < fabric->endpoints; e++)
        if (memcmp(fabric->endpoint[e].address, ipv4, 4) == 0) return e;
    return FABRIC_NONE;
}

static const struct fabric_class *class_of_jobs(const struct fabric *fabric)
{
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (fabric->classes[c].lossless) return &fabric->classes[c];
    return &fabric->classes[0];
}

static const struct fabric_class *class_of(const struct fabric *fabric, const struct device_path *key)
{
    const struct fabric_class *rest = NULL;

    for (uint32_t c = 0; c < fabric->class_count; c++) {
        const struct fabric_class *one = &fabric->classes[c];
        if (key->tos ? one->dscps >> (key->tos >> 2) & 1 : key->sl && one->priority == key->sl) return one;
        if (one->dscps == 0) rest = one;
    }
    return key->tos && rest ? rest : class_of_jobs(fabric);
}

int up_path_resolve(const struct fabric *fabric, const struct device_path *key, struct up_path *ret)
{
    uint32_t endpoint = endpoint_of(fabric, &key->remote);

    if (endpoint == FABRIC_NONE) return -EHOSTUNREACH;
    const struct fabric_class *class = class_of(fabric, key);
    *ret = (struct up_path){.key = *key,
                            .endpoint = endpoint,
                            .tos = (uint8_t)(key->tos ? key->tos & ~PKT_ECN_MASK : (uint32_t) class->dscp << 2),
                            .prio = class->priority};
    return 0;
}

static bool same(const struct device_path *a, const struct device_path *b)
{
    return memcmp(&a->remote, &b->remote, sizeof a->remote) == 0 && a->tos == b->tos && a->sl == b->sl &&
           a->flow_label == b->flow_label;
}

int up_path_get(struct device *device, const struct device_path *key, uint32_t *ret)
{
    for (uint32_t i = 1; i <= device->paths.room; i++) {
        struct up_path *known = up_table_get(&device->paths, i);
        if (known == NULL || !same(&known->key, key)) continue;
        known->users++;
        *ret = i;
        return 0;
    }
    struct up_path *path = malloc(sizeof *path);
    int error = path ? up_path_resolve(device->process->up->fabric, key, path) : -ENOMEM;
    if (error == 0) error = up_table_add(&device->paths, path, UP_PATHS_MAX, ret);
    if (error < 0)
        free(path);
    else
        path->users = 1;
    return error;
}

bool up_path_find(struct device *device, uint32_t number, struct path_end *ret)
{
    const struct up_path *path = up_table_get(&device->paths, number);

    if (path) *ret = (struct path_end){.endpoint = path->endpoint, .prio = path->prio, .tos = path->tos};
    return path != NULL;
}

static void put(struct device *device, uint32_t number, struct up_path *path)
{
    if (--path->users) return;
    up_table_remove(&device->paths, number);
    free(path);
}

void up_path_put(struct device *device, uint32_t number)
{
    struct up_path *path = up_table_get(&device->paths, number);

    if (path && path->users > path->held) put(device, number, path);
}

int up_path_hold(struct device *device, const struct device_path *key, uint32_t *ret)
{
    int error = up_path_get(device, key, ret);

    if (error == 0) ((struct up_path *)up_table_get(&device->paths, *ret))->held++;
    return error;
}

void up_path_release(struct device *device, uint32_t number)
{
    struct up_path *path = up_table_get(&device->paths, number);

    path->held--;
    put(device, number, path);
}
