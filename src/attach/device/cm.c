/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a connection manager needs of the fabric: datagrams of QP1, in and out, and who else is on this host.
 */
#include "attach/device/device_int.h"
#include "packet/codec.h"

#include <string.h>

int attached_mad_send(struct device *device, const struct device_path *path, const uint8_t mad[DEVICE_MAD_BYTES])
{
    struct attach_mad told = {.path = *path};

    if (path->gid_index >= device->info.gids) return -EINVAL;
    memcpy(told.data, mad, DEVICE_MAD_BYTES);
    int error = attached_ask_once(device, ATTACH_OP_MAD_SEND, 0, &told, sizeof told);
    return error < 0 ? error : 0;
}

static int take(struct device *device, struct device_mad *ret)
{
    pthread_mutex_lock(&device->lock);
    int taken = attached_ring_take(&device->mads, ret);
    pthread_mutex_unlock(&device->lock);
    return taken;
}

int attached_mad_receive(struct device *device, struct device_mad *ret)
{
    int found = attached_enter(device);

    if (found < 0) return found;
    found = take(device, ret);
    if (found == 0) {
        (void)attached_read_fd(device->mad_fd); /* does not wait */
        found = take(device, ret);              /* that came between the look and the read */
    }
    attached_leave();
    return found;
}

int attached_mad_fd(struct device *device)
{
    return attached_inert(device) ? -ENODEV : device->mad_fd;
}

uint32_t attached_cm_slot(struct device *device)
{
    uint32_t slot = __atomic_load_n(&device->slot, __ATOMIC_RELAXED);

    if (slot == 0) {
        int result = attached_ask_once(device, ATTACH_OP_CM_SLOT, 0, NULL, 0);
        slot = result > 0 ? (uint32_t)result : 0;
        __atomic_store_n(&device->slot, slot, __ATOMIC_RELAXED);
    }
    return slot;
}

static struct attach_service service(uint64_t id, const struct pkt_addr *address)
{
    struct attach_service told = {.id = id};

    if (pkt_addr_unspecified(address))
        told.any = pkt_addr_families(address);
    else
        told.address = *address;
    return told;
}

int attached_cm_listen(struct device *device, uint64_t service_id, const struct pkt_addr *address)
{
    struct attach_service told = service(service_id, address);
    int error = attached_ask_once(device, ATTACH_OP_CM_LISTEN, 0, &told, sizeof told);

    return error < 0 ? error : 0;
}

void attached_cm_unlisten(struct device *device, uint64_t service_id, const struct pkt_addr *address)
{
    struct attach_service told = service(service_id, address);

    (void)attached_ask_once(device, ATTACH_OP_CM_UNLISTEN, 0, &told, sizeof told);
}

int32_t attached_cm_alive(struct device *device, uint32_t slot, const struct pkt_addr *address)
{
    struct attach_service told = {.slot = slot, .address = *address};
    int result = attached_ask_once(device, ATTACH_OP_CM_ALIVE, 0, &told, sizeof told);

    return result < 0 ? 0 : result;
}

int attached_source(const struct pkt_addr *to, struct pkt_addr *ret)
{
    const struct attach_api *api = attached_api();
    struct attach_request request = {.op = ATTACH_OP_HOST};
    struct attach_host *host = (struct attach_host *)(void *)request.data;
    const struct attach_head *head = api->head;
    uint32_t rail = 0;

    if (head == NULL || head->nics == 0) return -ENODEV;
    host->address[0] = *to;
    int error = api->enter();
    if (error < 0) return error;
    error = api->request(&request, NULL, 0);
    api->leave();
    if (error < 0) return error == -EIO ? error : -ENETUNREACH;
    while (rail < host->addresses && memcmp(&host->address[rail], to, sizeof *to) != 0)
        rail++;
    *ret = head->nic[rail < head->nics ? rail : 0].gid[0].addr;
    return 0;
}
