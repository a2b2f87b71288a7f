/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adapter as one process has it: opened, asked, closed.
 *
 * Requests come from the segment: whatever they name is looked up among the device's own objects.  What a process
 * leaves behind when it ends is destroyed here, in the order that objects need each other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "fabric/fabric.h"
#include "up/objects/objects.h"

int up_table_add(struct up_table *table, void *object, uint32_t most, uint32_t *ret)
{
    uint32_t at = 0;

    if (table->used == table->room) {
        uint32_t room = table->room ? 2 * table->room : 16;
        void **grown = table->used < most ? realloc(table->object, room * sizeof *grown) : NULL;
        if (grown == NULL) return -ENOMEM;
        memset(grown + table->room, 0, (room - table->room) * sizeof *grown);
        table->object = grown;
        at = table->room;
        table->room = room;
    }
    while (table->object[at])
        at++;
    table->object[at] = object;
    table->used++;
    *ret = at + 1;
    return 0;
}

void *up_table_get(const struct up_table *table, uint32_t number)
{
    return number - 1 < table->room ? table->object[number - 1] : NULL;
}

void up_table_remove(struct up_table *table, uint32_t number)
{
    table->object[number - 1] = NULL;
    table->used--;
}

void up_table_free(struct up_table *table)
{
    free(table->object);
    *table = (struct up_table){0};
}

uint32_t up_device_pd(const struct device *device, uint32_t pd)
{
    return pd < UP_PDS_MAX ? device->slot * UP_PDS_MAX | pd : SIM_JOBS_PD;
}
_Static_assert((uint64_t)(UP_DEVICES_MAX + 1) * UP_PDS_MAX == 1ULL << 32, "a slot and a domain are 32 bits");

uint64_t up_ring_take(struct up_process *process, uint32_t entries, size_t entry_bytes)
{
    return segment_take(process, ATTACH_RING_HEAD + (uint64_t)entries * entry_bytes);
}

void up_ring_give(struct up_process *process, uint64_t ring, uint32_t entries, size_t entry_bytes)
{
    segment_give(process, ring, ATTACH_RING_HEAD + (uint64_t)entries * entry_bytes);
}

bool up_ring_put(const struct up_process *process, uint64_t ring, uint32_t entries, size_t entry_bytes, uint32_t *tail,
                 const void *entry)
{
    struct attach_ring *index = up_ring(process, ring);

    if (*tail - __atomic_load_n(&index->head, __ATOMIC_ACQUIRE) >= entries) {
        __atomic_store_n(&index->overrun, 1, __ATOMIC_RELAXED);
        return false;
    }
    memcpy((uint8_t *)up_ring_entries(process, ring) + (*tail)++ % entries * entry_bytes, entry, entry_bytes);
    __atomic_store_n(&index->tail, *tail, __ATOMIC_RELEASE);
    return true;
}

/* The host's adapters, when its first program asks for one. */
static int adapters_make(struct up_host *host)
{
    const struct fabric *fabric = host->up->fabric;
    uint32_t slots = power_of_two_up(host->up->hooks.mrs + 1);

    if (host->adapters) return 0;
    host->adapters = calloc(host->node->adapters, sizeof *host->adapters);
    if (host->adapters == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < host->node->adapters; i++) {
        struct up_adapter *adapter = &host->adapters[i];
        *adapter = (struct up_adapter){.host = host,
                                       .nic = host->node->adapter[i].nic,
                                       .number = i,
                                       .endpoint = fabric->first_endpoint[host->number] + i,
                                       .slot_used = {1}};
        if (regions_init(&adapter->regions, slots, 0, 0) < 0) {
            up_device_free(host);
            return -ENOMEM;
        }
        adapter->regions.nic[0] = adapter->nic;
        adapter->objects =
            (struct objects){.host = &up_objects_host, .nic = adapter->nic, .regions = &adapter->regions};
    }
    return 0;
}

void up_device_free(struct up_host *host)
{
    for (uint32_t i = 0; host->adapters && i < host->node->adapters; i++)
        free(host->adapters[i].regions.slot);
    free(host->adapters);
    host->adapters = NULL;
    up_flows_free(host);
}

static uint32_t slot_take(struct up_adapter *adapter)
{
    for (uint32_t s = 1; s <= UP_DEVICES_MAX; s++) {
        if (adapter->slot_used[s / 64] >> s % 64 & 1) continue;
        adapter->slot_used[s / 64] |= 1ULL << s % 64;
        return s;
    }
    return 0;
}

static void slot_give(const struct device *device)
{
    if (device->slot) device->adapter->slot_used[device->slot / 64] &= ~(1ULL << device->slot % 64);
}

/* Where they are is told in the segment, and not read back from it. */
static int rings_make(struct device *device)
{
    struct attach_nic *nic = &device->process->head->nic[device->number];

    device->events = up_ring_take(device->process, ATTACH_EVENTS, sizeof(struct attach_event));
    device->mads = up_ring_take(device->process, ATTACH_MADS, sizeof(struct device_mad));
    nic->events = device->events;
    nic->mads = device->mads;
    return device->events && device->mads ? 0 : -ENOMEM;
}

static void rings_give(struct device *device)
{
    if (device->events) up_ring_give(device->process, device->events, ATTACH_EVENTS, sizeof(struct attach_event));
    if (device->mads) up_ring_give(device->process, device->mads, ATTACH_MADS, sizeof(struct device_mad));
}

static int device_make(struct up_process *process, uint32_t number, struct device **ret)
{
    struct up_host *host = process->host;
    int error = adapters_make(host);

    if (error < 0) return error;
    struct device *device = calloc(1, sizeof *device);
    if (device == NULL) return -ENOMEM;
    *device = (struct device){.process = process,
                              .adapter = &host->adapters[number],
                              .number = number,
                              .slot = slot_take(&host->adapters[number]),
                              .mads_fd = -1};
    error = device->slot == 0 ? -EUSERS : rings_make(device);
    if (error < 0) {
        rings_give(device);
        slot_give(device);
        free(device);
        return error;
    }
    *ret = process->device[number] = device;
    return 0;
}

/* A descriptor comes with it, for datagrams; who opens a second time has the first's. */
static int open_device(struct up_process *process, uint32_t number)
{
    int fd = session_take_fd(process);
    struct device *device = process->device[number];

    if (fd < 0) return fd;
    int error = device ? 0 : device_make(process, number, &device);
    if (error == 0 && device->opened++ == 0) {
        device->mads_fd = fd;
        return 0;
    }
    close(fd);
    return error;
}

static int watch(struct device *device, struct attach_request *request)
{
    int fd = session_take_fd(device->process);
    struct up_watcher *watcher = fd < 0 ? NULL : malloc(sizeof *watcher);
    int error = fd < 0 ? fd : watcher == NULL ? -ENOMEM : 0;

    if (error == 0) error = up_table_add(&device->watches, watcher, UP_WATCHERS_MAX, &request->object);
    if (error == 0) {
        watcher->fd = fd;
        return 0;
    }
    if (fd >= 0) close(fd);
    free(watcher);
    return error;
}

static int unwatch(struct device *device, uint32_t number)
{
    struct up_watcher *watcher = up_table_get(&device->watches, number);

    if (watcher == NULL) return -EINVAL;
    up_table_remove(&device->watches, number);
    close(watcher->fd);
    free(watcher);
    return 0;
}

static void destroy_queues(struct device *device)
{
    for (uint32_t i = 1; i <= device->srqs.room; i++) {
        struct device_srq *srq = up_table_get(&device->srqs, i);
        if (srq) (void)up_srq_destroy(srq);
    }
    for (uint32_t i = 1; i <= device->cqs.room; i++) {
        struct device_cq *cq = up_table_get(&device->cqs, i);
        if (cq) (void)up_cq_destroy(cq);
    }
    for (uint32_t i = 1; i <= device->channels.room; i++) {
        struct up_channel *channel = up_table_get(&device->channels, i);
        if (channel) (void)up_channel_destroy(channel);
    }
    for (uint32_t i = 1; i <= device->paths.room; i++)
        free(up_table_get(&device->paths, i));
    for (uint32_t i = 1; i <= device->watches.room; i++)
        (void)unwatch(device, i);
}

static void close_device(struct device *device, ps_t now, struct node_io *io)
{
    while (device->qps)
        up_qp_destroy(device->qps, now, io);
    destroy_queues(device);
    up_memory_close(device);
    up_table_free(&device->srqs);
    up_table_free(&device->cqs);
    up_table_free(&device->channels);
    up_table_free(&device->paths);
    up_table_free(&device->watches);
    if (device->mads_fd >= 0) close(device->mads_fd);
    rings_give(device);
    slot_give(device);
    device->process->device[device->number] = NULL;
    free(device);
}

void up_device_close_all(struct up_process *process, ps_t now, struct node_io *io)
{
    for (uint32_t i = 0; i < ATTACH_NICS; i++)
        if (process->device[i]) close_device(process->device[i], now, io);
    up_posts_free(process);
}

void up_device_link(struct up_host *host, uint32_t adapter, bool up, ps_t now)
{
    if (adapter >= ATTACH_NICS) return; /* no program sees it */
    host->links_down = (host->links_down & ~(1u << adapter)) | (uint32_t)!up << adapter;
    for (struct up_process *process = host->processes; process; process = process->next) {
        if (process->gone || process->head == NULL) continue;
        __atomic_store_n(&process->head->nic[adapter].up, up, __ATOMIC_RELEASE);
        if (process->device[adapter] == NULL) continue;
        up_event_push(process->device[adapter], up ? DEVICE_EVENT_PORT_ACTIVE : DEVICE_EVENT_PORT_DOWN, ATTACH_PORT, 0);
        turn_event(process, true, now);
    }
}

static int queue_request(struct device *device, struct attach_request *request)
{
    struct up_channel *channel = up_table_get(&device->channels, request->object);
    struct device_cq *cq = up_table_get(&device->cqs, request->object);
    struct device_srq *srq = up_table_get(&device->srqs, request->object);

    switch (request->op) {
    case ATTACH_OP_WATCH:
        return watch(device, request);
    case ATTACH_OP_UNWATCH:
        return unwatch(device, request->object);
    case ATTACH_OP_CHANNEL_CREATE:
        return up_channel_create(device, request);
    case ATTACH_OP_CHANNEL_DESTROY:
        return channel ? up_channel_destroy(channel) : -EINVAL;
    case ATTACH_OP_CQ_CREATE:
        return up_cq_create(device, request);
    case ATTACH_OP_CQ_RESIZE:
        return cq ? up_cq_resize(cq, request) : -EINVAL;
    case ATTACH_OP_CQ_DESTROY:
        return cq ? up_cq_destroy(cq) : -EINVAL;
    case ATTACH_OP_SRQ_CREATE:
        return up_srq_create(device, request);
    case ATTACH_OP_SRQ_CHANGE:
        return srq ? up_srq_change(srq, request) : -EINVAL;
    case ATTACH_OP_SRQ_DESTROY:
        return srq ? up_srq_destroy(srq) : -EINVAL;
    default:
        return -EOPNOTSUPP;
    }
}

static int memory_request(struct device *device, struct attach_request *request)
{
    switch (request->op) {
    case ATTACH_OP_MR_CREATE:
        return up_mr_create(device, request);
    case ATTACH_OP_MR_CHANGE:
        return up_mr_change(device, request);
    case ATTACH_OP_MR_DESTROY:
        return up_mr_destroy(device, request->object);
    case ATTACH_OP_MW_CREATE:
        return up_mw_create(device, request);
    case ATTACH_OP_MW_DESTROY:
        return up_mw_destroy(device, request->object);
    case ATTACH_OP_MW_KEY:
        return up_mw_key(device, request);
    default:
        return queue_request(device, request);
    }
}

static int destroy_qp(struct device *device, uint32_t qpn, ps_t now, struct node_io *io)
{
    struct device_qp *qp = up_qp_find(device, qpn);

    if (qp == NULL) return -EINVAL;
    up_qp_destroy(qp, now, io);
    return 0;
}

static int qp_request(struct device *device, struct attach_request *request, ps_t now, struct node_io *io)
{
    struct device_qp_attr attr;
    struct device_path path;
    uint32_t number;
    int error;

    switch (request->op) {
    case ATTACH_OP_QP_CREATE:
        return up_qp_create(device, request, now);
    case ATTACH_OP_QP_MODIFY:
        memcpy(&attr, request->data, sizeof attr);
        return up_qp_modify(device, request->object, &attr, now, io);
    case ATTACH_OP_QP_STATE:
        return up_qp_state(device, request);
    case ATTACH_OP_QP_PATIENCE:
        return up_qp_patience(device, request, now, io);
    case ATTACH_OP_QP_DESTROY:
        return destroy_qp(device, request->object, now, io);
    case ATTACH_OP_PATH_GET:
        memcpy(&path, request->data, sizeof path);
        error = up_path_get(device, &path, &number);
        return error < 0 ? error : (int)number;
    case ATTACH_OP_PATH_PUT:
        up_path_put(device, request->object);
        return 0;
    default:
        return memory_request(device, request);
    }
}

static int answer_counters(const struct up_host *host, struct attach_request *request)
{
    const struct nic_counters *counters = nic_counters(host->node->adapter[request->nic].nic);
    struct attach_counts answer = {0};
    const unsigned most = sizeof answer.value / sizeof answer.value[0];

    for (unsigned i = 0; i < most && nic_counter_list[i].name; i++)
        memcpy(&answer.value[i], (const char *)counters + nic_counter_list[i].offset, sizeof answer.value[i]);
    memcpy(request->data, &answer, sizeof answer);
    return 0;
}

int up_device_request(struct up_process *process, struct attach_request *request, ps_t now, struct node_io *io)
{
    if (request->nic >= process->host->node->adapters || request->nic >= ATTACH_NICS) return -ENODEV;
    if (request->op == ATTACH_OP_OPEN) return open_device(process, request->nic);
    if (request->op == ATTACH_OP_COUNTERS) return answer_counters(process->host, request);
    struct device *device = process->device[request->nic];
    if (device == NULL) return -ENODEV;
    if (request->op != ATTACH_OP_CLOSE) return qp_request(device, request, now, io);
    if (--device->opened == 0) close_device(device, now, io);
    return 0;
}
