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
#include "live/counters.h"
#include "nic/counters.h"

#define IF_HEADERS 80u /* of a frame beside its payload: what verbs take off an interface's MTU */
#define FIRST_IFINDEX 2u

const struct device_ops attached_ops;

/* Taken outside of enter and leave.  Recursive: who has it may be the one that finds the fabric gone. */
static pthread_mutex_t list_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct live *list;

/* The preloaded library's table; NULL: there is none. */
static struct attach_api *find_api(void)
{
    static struct attach_api *found;

    if (found == NULL) found = dlsym(RTLD_DEFAULT, ATTACH_API_SYMBOL);
    return found && found->version == ATTACH_API_VERSION ? found : NULL;
}

const struct attach_api *device_api(void)
{
    return find_api();
}

bool device_inert(const struct live *live)
{
    return __atomic_load_n(&live->inert, __ATOMIC_ACQUIRE);
}

int device_enter(struct live *live)
{
    return device_inert(live) ? -ENODEV : device_api()->enter();
}

void device_leave(void)
{
    device_api()->leave();
}

static int ask(struct live *live, enum attach_op op, uint32_t *object, void *data, size_t bytes, const int *fd)
{
    struct attach_request request = {.op = op, .nic = live->nic, .object = *object};

    if (bytes) memcpy(request.data, data, bytes);
    int result = device_api()->request(&request, fd, fd ? 1 : 0);
    if (result < 0) return result;
    if (bytes) memcpy(data, request.data, bytes);
    *object = request.object;
    return result;
}

int device_ask(struct live *live, enum attach_op op, uint32_t object, void *data, size_t bytes, uint32_t *ret_object)
{
    int result = ask(live, op, &object, data, bytes, NULL);

    if (result >= 0 && ret_object) *ret_object = object;
    return result;
}

int device_ask_with(struct live *live, enum attach_op op, int fd, void *data, size_t bytes, uint32_t *ret_object)
{
    uint32_t object = 0;
    int result = ask(live, op, &object, data, bytes, &fd);

    if (result >= 0 && ret_object) *ret_object = object;
    return result;
}

int device_ask_once(struct live *live, enum attach_op op, uint32_t object, void *data, size_t bytes)
{
    int result = device_enter(live);

    if (result < 0) return result;
    result = device_ask(live, op, object, data, bytes, NULL);
    device_leave();
    return result;
}

struct ring device_ring(const struct live *live, uint64_t offset, uint32_t entries)
{
    struct attach_ring *index = attach_at(live->head, offset);

    return (struct ring){.index = index, .entry = (uint8_t *)index + ATTACH_RING_HEAD, .mask = entries - 1};
}

int device_read_fd(int fd)
{
    uint64_t count;

    return read(fd, &count, sizeof count) < 0 ? -errno : 0;
}

/* --- found --- */

static void describe(const struct attach_head *head, uint32_t number, struct live_device *ret)
{
    const struct attach_nic *nic = &head->nic[number];

    *ret = (struct live_device){.ops = &attached_ops,
                                .ifindex = FIRST_IFINDEX + number,
                                .if_mtu = nic->mtu + IF_HEADERS,
                                .guid = nic->guid,
                                .line_bps = nic->line_bps,
                                .up = __atomic_load_n(&nic->up, __ATOMIC_ACQUIRE) != 0,
                                .gids = nic->gids};
    memcpy(ret->name, nic->name, sizeof ret->name - 1);
    memcpy(ret->ifname, nic->ifname, sizeof ret->ifname - 1);
    memcpy(ret->mac, nic->mac, sizeof ret->mac);
    memcpy(ret->gid, nic->gid, nic->gids * sizeof nic->gid[0]);
}

static int attached_devices(struct live_device **ret, unsigned *ret_count)
{
    const struct attach_head *head = device_api()->head;
    struct live_device *device = calloc(head->nics ? head->nics : 1, sizeof *device);

    if (device == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < head->nics; i++)
        describe(head, i, &device[i]);
    *ret = device;
    *ret_count = head->nics;
    return 0;
}

/* The adapter of that name; head->nics: there is none. */
static uint32_t number_of(const struct attach_head *head, const struct live_device *device)
{
    uint32_t number = 0;

    while (number < head->nics && strncmp(head->nic[number].name, device->name, sizeof device->name) != 0)
        number++;
    return number;
}

static int attached_device_refresh(struct live_device *device)
{
    const struct attach_head *head = device_api()->head;
    uint32_t number = head ? number_of(head, device) : 0;

    if (head == NULL || number == head->nics) return -ENODEV;
    describe(head, number, device);
    return 0;
}

static int attached_counters(const struct live_device *device, struct live_counter_set *ret)
{
    const struct attach_head *head = device_api()->head;
    struct attach_request request = {.op = ATTACH_OP_COUNTERS, .nic = head ? number_of(head, device) : 0};
    struct attach_counts counts;

    if (head == NULL || request.nic == head->nics) return -ENODEV;
    int result = device_api()->enter();
    if (result == 0) {
        result = device_api()->request(&request, NULL, 0);
        device_api()->leave();
    }
    if (result < 0) return result;
    memcpy(&counts, request.data, sizeof counts);
    memcpy(ret->ifname, device->ifname, sizeof ret->ifname);
    const unsigned most = sizeof counts.value / sizeof counts.value[0];
    for (unsigned i = 0; i < most && nic_counter_list[i].name; i++) {
        struct live_counter *counter = &ret->counter[ret->counters++];
        snprintf(counter->name, sizeof counter->name, "%s", nic_counter_list[i].name);
        counter->value = counts.value[i];
    }
    return 0;
}

/* --- gone, forked --- */

static void tell_gone(void)
{
    static const struct live_event event = {.kind = LIVE_EVENT_DEVICE_FATAL};

    pthread_mutex_lock(&list_lock);
    for (struct live *live = list; live; live = live->next) {
        listeners_push(&live->listeners, &event, true);
        attached_channel_gone(live);
    }
    pthread_mutex_unlock(&list_lock);
}

static void forked(void)
{
    for (struct live *live = list; live; live = live->next)
        __atomic_store_n(&live->inert, true, __ATOMIC_RELEASE);
    list = NULL;
    list_lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

static void install(void)
{
    find_api()->on_gone = tell_gone;
    pthread_atfork(NULL, NULL, forked);
}

/* --- opened --- */

static void release(struct live *live)
{
    if (live->mad_fd >= 0) close(live->mad_fd);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

static int open_new(const struct live_device *device, struct live **ret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct attach_head *head = device_api()->head;
    struct live *live = calloc(1, sizeof *live);

    if (live == NULL) return -ENOMEM;
    pthread_once(&once, install);
    live->ops = &attached_ops;
    live->users = 1;
    live->head = head;
    live->device = *device;
    live->nic = number_of(head, device);
    pthread_mutex_init(&live->lock, NULL);
    listeners_init(&live->listeners);
    live->mad_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error = live->nic == head->nics ? -ENODEV : live->mad_fd < 0 ? -errno : device_enter(live);
    if (error == 0) {
        error = device_ask_with(live, ATTACH_OP_OPEN, live->mad_fd, NULL, 0, NULL);
        device_leave();
    }
    if (error < 0) {
        release(live);
        return error;
    }
    live->events = device_ring(live, head->nic[live->nic].events, ATTACH_EVENTS);
    live->mads = device_ring(live, head->nic[live->nic].mads, ATTACH_MADS);
    live->next = list;
    list = live;
    *ret = live;
    return 0;
}

static int attached_open(const struct live_device *device, struct live **ret, char *why, size_t why_bytes)
{
    int error = 0;

    snprintf(why, why_bytes, "%s", "");
    pthread_mutex_lock(&list_lock);
    struct live *live = list;
    while (live && strcmp(live->device.name, device->name) != 0)
        live = live->next;
    if (live) {
        live->users++;
        *ret = live;
    } else {
        error = device_api()->head ? open_new(device, ret) : -ENODEV;
        if (error < 0) snprintf(why, why_bytes, "the fabric does not open it: %s", strerror(-error));
    }
    pthread_mutex_unlock(&list_lock);
    return error;
}

void attached_close(struct live *live)
{
    if (device_inert(live)) return;
    pthread_mutex_lock(&list_lock);
    bool last = --live->users == 0;
    if (last) {
        struct live **at = &list;
        while (*at != live)
            at = &(*at)->next;
        *at = live->next;
        (void)device_ask_once(live, ATTACH_OP_CLOSE, 0, NULL, 0);
    }
    pthread_mutex_unlock(&list_lock);
    if (last) release(live);
}

const struct live_device *attached_device_of(const struct live *live)
{
    return &live->device;
}

const struct device_ops attached_ops = {
    .devices = attached_devices,
    .device_refresh = attached_device_refresh,
    .open = attached_open,
    .source = attached_source,
    .counters = attached_counters,
#define OP(type, name, object, parameters, arguments) .name = attached_##name,
#define OP_VOID(name, object, parameters, arguments) .name = attached_##name,
#include "live/device_ops.def"
};

/* device_ops_of() */
_Static_assert(offsetof(struct live, ops) == 0 && offsetof(struct live_mr, ops) == 0 &&
                   offsetof(struct live_mw, ops) == 0 && offsetof(struct live_channel, ops) == 0 &&
                   offsetof(struct live_cq, ops) == 0 && offsetof(struct live_srq, ops) == 0 &&
                   offsetof(struct live_qp, ops) == 0 && offsetof(struct live_watch, ops) == 0,
               "every object begins with its table");

/* Whether this process is attached: it may be so later than this library is loaded, and a child may not be. */
static const struct device_ops *attached(void)
{
    const struct attach_api *api = find_api();

    return api && api->head ? &attached_ops : NULL;
}

__attribute__((constructor)) static void offer(void)
{
    live_provider_asked(attached);
}
