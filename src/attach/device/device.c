/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapters of the host that this program is attached to: found, opened, closed; and the ways to the fabric.
 *
 * A process has each adapter once, counted.  When the fabric has gone, every call answers -EIO and every listener is
 * told so once.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "attach/device/device_int.h"
#include "base/check.h"
#include "device/counters.h"
#include "nic/counters.h"

#define FIRST_IFINDEX 2u

const struct device_ops attached_ops;

/* Taken outside of enter and leave.  Recursive: who has it may be the one that finds the fabric gone. */
static pthread_mutex_t list_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct device *list;

/* The preloaded library's table; NULL: there is none. */
static struct attach_api *find_api(void)
{
    static struct attach_api *found;

    if (found == NULL) found = dlsym(RTLD_DEFAULT, ATTACH_API_SYMBOL);
    return found && found->version == ATTACH_API_VERSION ? found : NULL;
}

const struct attach_api *attached_api(void)
{
    return find_api();
}

bool attached_inert(const struct device *device)
{
    return __atomic_load_n(&device->inert, __ATOMIC_ACQUIRE);
}

int attached_enter(struct device *device)
{
    return attached_inert(device) ? -ENODEV : attached_api()->enter();
}

void attached_leave(void)
{
    attached_api()->leave();
}

static int ask(struct device *device, enum attach_op op, uint32_t *object, void *data, size_t bytes, const int *fd)
{
    struct attach_request request = {.op = op, .nic = device->nic, .object = *object};

    if (bytes) memcpy(request.data, data, bytes);
    int result = attached_api()->request(&request, fd, fd ? 1 : 0);
    if (result < 0) return result;
    if (bytes) memcpy(data, request.data, bytes);
    *object = request.object;
    return result;
}

int attached_ask(struct device *device, enum attach_op op, uint32_t object, void *data, size_t bytes,
                 uint32_t *ret_object)
{
    int result = ask(device, op, &object, data, bytes, NULL);

    if (result >= 0 && ret_object) *ret_object = object;
    return result;
}

int attached_ask_with(struct device *device, enum attach_op op, int fd, void *data, size_t bytes, uint32_t *ret_object)
{
    uint32_t object = 0;
    int result = ask(device, op, &object, data, bytes, &fd);

    if (result >= 0 && ret_object) *ret_object = object;
    return result;
}

int attached_ask_once(struct device *device, enum attach_op op, uint32_t object, void *data, size_t bytes)
{
    int result = attached_enter(device);

    if (result < 0) return result;
    result = attached_ask(device, op, object, data, bytes, NULL);
    attached_leave();
    return result;
}

void attached_link(struct attached_object *object, struct attached_object **first, uint32_t number)
{
    object->number = number;
    pthread_mutex_lock(&object->device->lock);
    object->next = *first;
    *first = object;
    pthread_mutex_unlock(&object->device->lock);
    attached_leave();
}

int attached_make(struct device *device, enum attach_op op, const void *asked, size_t bytes,
                  struct attach_made *ret_made)
{
    union {
        uint8_t asked[64];
        struct attach_made made;
    } told = {{0}};

    CHECK(bytes <= sizeof told.asked);
    memcpy(&told, asked, bytes);
    int error = attached_enter(device);
    if (error < 0) return error;
    error = attached_ask(device, op, 0, &told, sizeof told, NULL);
    if (error < 0) {
        attached_leave();
        return error;
    }
    *ret_made = told.made;
    return 0;
}

void attached_unlink(struct attached_object *object, struct attached_object **first)
{
    struct device *device = object->device;

    pthread_mutex_lock(&device->lock);
    while (*first != object)
        first = &(*first)->next;
    *first = object->next;
    pthread_mutex_unlock(&device->lock);
}

struct attached_object *attached_find(struct attached_object *first, uint32_t number)
{
    while (first && first->number != number)
        first = first->next;
    return first;
}

int attached_ring(const struct device *device, uint64_t offset, uint32_t entries, size_t entry_bytes, struct ring *ret)
{
    if (!attach_ring_fits(offset, entries, entry_bytes)) return -EPROTO;
    struct attach_ring *index = attach_at(device->head, offset);
    *ret = (struct ring){
        .index = index, .entry = (uint8_t *)index + ATTACH_RING_HEAD, .mask = entries - 1, .entry_bytes = entry_bytes};
    return 0;
}

int attached_ring_waits(const struct ring *ring, uint32_t *ret_head)
{
    const uint32_t head = ring->index->head;
    const uint32_t waits = __atomic_load_n(&ring->index->tail, __ATOMIC_ACQUIRE) - head;

    *ret_head = head;
    return waits > ring->mask + 1 ? -EPROTO : (int)waits;
}

int attached_ring_take(const struct ring *ring, void *ret)
{
    uint32_t head;
    int waits = attached_ring_waits(ring, &head);

    if (waits <= 0) return waits;
    memcpy(ret, (const uint8_t *)ring->entry + (head & ring->mask) * ring->entry_bytes, ring->entry_bytes);
    __atomic_store_n(&ring->index->head, head + 1, __ATOMIC_RELEASE);
    return 1;
}

int attached_read_fd(int fd)
{
    uint64_t count;

    return read(fd, &count, sizeof count) < 0 ? -errno : 0;
}

/* --- found --- */

static void describe(const struct attach_head *head, uint32_t number, struct device_info *ret)
{
    const struct attach_nic *nic = &head->nic[number];

    *ret = (struct device_info){.ops = &attached_ops,
                                .ifindex = FIRST_IFINDEX + number,
                                .if_mtu = nic->mtu + DEVICE_HEADERS,
                                .guid = nic->guid,
                                .line_bps = nic->line_bps,
                                .up = __atomic_load_n(&nic->up, __ATOMIC_ACQUIRE) != 0,
                                .gids = nic->gids};
    memcpy(ret->name, nic->name, sizeof ret->name - 1);
    memcpy(ret->ifname, nic->ifname, sizeof ret->ifname - 1);
    memcpy(ret->mac, nic->mac, sizeof ret->mac);
    memcpy(ret->gid, nic->gid, nic->gids * sizeof nic->gid[0]);
}

static int attached_list(struct device_info **ret, unsigned *ret_count)
{
    const struct attach_head *head = attached_api()->head;
    struct device_info *info = calloc(head->nics ? head->nics : 1, sizeof *info);

    if (info == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < head->nics; i++)
        describe(head, i, &info[i]);
    *ret = info;
    *ret_count = head->nics;
    return 0;
}

/* The adapter of that name; head->nics: there is none. */
static uint32_t number_of(const struct attach_head *head, const struct device_info *info)
{
    uint32_t number = 0;

    while (number < head->nics && strncmp(head->nic[number].name, info->name, sizeof info->name) != 0)
        number++;
    return number;
}

static int attached_refresh(struct device_info *info)
{
    const struct attach_head *head = attached_api()->head;
    uint32_t number = head ? number_of(head, info) : 0;

    if (head == NULL || number == head->nics) return -ENODEV;
    describe(head, number, info);
    return 0;
}

static void name_counters(const struct attach_counts *counts, struct device_counter_set *ret)
{
    const unsigned most = sizeof counts->value / sizeof counts->value[0];

    for (unsigned i = 0; i < most && nic_counter_list[i].name; i++) {
        struct device_counter *counter = &ret->counter[ret->counters++];
        snprintf(counter->name, sizeof counter->name, "%s", nic_counter_list[i].name);
        counter->value = counts->value[i];
    }
}

static int attached_counters(const struct device_info *info, struct device_counter_set **ret, unsigned *ret_count)
{
    const struct attach_head *head = attached_api()->head;
    struct attach_request request = {.op = ATTACH_OP_COUNTERS, .nic = head ? number_of(head, info) : 0};
    struct attach_counts counts;

    if (head == NULL || request.nic == head->nics) return -ENODEV;
    int result = attached_api()->enter();
    if (result == 0) {
        result = attached_api()->request(&request, NULL, 0);
        attached_api()->leave();
    }
    if (result < 0) return result;
    struct device_counter_set *set = calloc(1, sizeof *set);
    if (set == NULL) return -ENOMEM;
    memcpy(&counts, request.data, sizeof counts);
    memcpy(set->ifname, info->ifname, sizeof set->ifname);
    name_counters(&counts, set);
    *ret = set;
    *ret_count = 1;
    return 0;
}

/* --- gone, forked --- */

static void tell_gone(void)
{
    static const struct device_event event = {.kind = DEVICE_EVENT_DEVICE_FATAL};

    pthread_mutex_lock(&list_lock);
    for (struct device *device = list; device; device = device->next) {
        listeners_push(&device->listeners, &event, true);
        attached_channel_gone(device);
    }
    pthread_mutex_unlock(&list_lock);
}

static void forked(void)
{
    for (struct device *device = list; device; device = device->next)
        __atomic_store_n(&device->inert, true, __ATOMIC_RELEASE);
    list = NULL;
    list_lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

static void install(void)
{
    find_api()->on_gone = tell_gone;
    pthread_atfork(NULL, NULL, forked);
}

/* --- opened --- */

static void release(struct device *device)
{
    if (device->mad_fd >= 0) close(device->mad_fd);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

static int open_new(const struct device_info *info, struct device **ret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct attach_head *head = attached_api()->head;
    struct device *device = calloc(1, sizeof *device);

    if (device == NULL) return -ENOMEM;
    pthread_once(&once, install);
    device->ops = &attached_ops;
    device->users = 1;
    device->head = head;
    device->info = *info;
    device->nic = number_of(head, info);
    pthread_mutex_init(&device->lock, NULL);
    listeners_init(&device->listeners);
    device->mad_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error = device->nic == head->nics ? -ENODEV : device->mad_fd < 0 ? -errno : attached_enter(device);
    if (error == 0) {
        error = attached_ask_with(device, ATTACH_OP_OPEN, device->mad_fd, NULL, 0, NULL);
        attached_leave();
    }
    if (error < 0) {
        release(device);
        return error;
    }
    const struct attach_nic *nic = &head->nic[device->nic];
    error = attached_ring(device, nic->events, ATTACH_EVENTS, sizeof(struct attach_event), &device->events);
    if (error == 0) error = attached_ring(device, nic->mads, ATTACH_MADS, sizeof(struct device_mad), &device->mads);
    if (error < 0) {
        (void)attached_ask_once(device, ATTACH_OP_CLOSE, 0, NULL, 0);
        release(device);
        return error;
    }
    device->next = list;
    list = device;
    *ret = device;
    return 0;
}

static int attached_open(const struct device_info *info, struct device **ret, char *why, size_t why_bytes)
{
    int error = 0;

    snprintf(why, why_bytes, "%s", "");
    pthread_mutex_lock(&list_lock);
    struct device *device = list;
    while (device && strcmp(device->info.name, info->name) != 0)
        device = device->next;
    if (device) {
        device->users++;
        *ret = device;
    } else {
        error = attached_api()->head ? open_new(info, ret) : -ENODEV;
        if (error < 0) snprintf(why, why_bytes, "the fabric does not open it: %s", strerror(-error));
    }
    pthread_mutex_unlock(&list_lock);
    return error;
}

void attached_close(struct device *device)
{
    if (attached_inert(device)) return;
    pthread_mutex_lock(&list_lock);
    bool last = --device->users == 0;
    if (last) {
        struct device **at = &list;
        while (*at != device)
            at = &(*at)->next;
        *at = device->next;
        (void)attached_ask_once(device, ATTACH_OP_CLOSE, 0, NULL, 0);
    }
    pthread_mutex_unlock(&list_lock);
    if (last) release(device);
}

const struct device_info *attached_info_of(const struct device *device)
{
    return &device->info;
}

const struct device_ops attached_ops = {
    .list = attached_list,
    .refresh = attached_refresh,
    .open = attached_open,
    .source = attached_source,
    .counters = attached_counters,
#define OP(type, name, object, parameters, arguments) .name = attached_##name,
#define OP_VOID(name, object, parameters, arguments) .name = attached_##name,
#include "device/device_ops.def"
};

DEVICE_OPS_FIRST;

/* Whether this process is attached: it may be so later than this library is loaded, and a child may not be. */
static const struct device_ops *attached(void)
{
    const struct attach_api *api = find_api();

    return api && api->head ? &attached_ops : NULL;
}

__attribute__((constructor)) static void offer(void)
{
    device_provider_asked(attached);
}
