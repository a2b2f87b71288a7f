/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters in shared memory, so that `rocelab counters` sees what runs.
 *
 * Each opened device has a page (page/page.c) that holds a copy of its counters; the loop renews the copy every few
 * milliseconds while it works and before it sleeps.  A reader may see a copy that is being renewed: counters are 8
 * bytes each and only ever grow, so each is right by itself.  No page, no harm: the adapter runs without.  Each shard
 * has one; the reader adds up those of a device.
 *
 * Behind the counters are the last events, by their number modulo the places.  An event is written before the number
 * that says so, so a reader who looks at the number once more knows which places may have been written meanwhile.
 */
#include "live/counters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "live/live_int.h"
#include "nic/counters.h"

#define PREFIX "counters-"
#define MAGIC 0x726f63656c616204ull

struct live_export {
    struct shared_page_head head;
    uint32_t pid, slot; /* of the device: its first shard's slot */
    uint64_t device_id; /* the same for all shards of an opened device, and no other's */
    char device[DEVICE_NAME_MAX], ifname[DEVICE_NAME_MAX], program[DEVICE_NAME_MAX];
    struct nic_counters nic;
    struct wire_counters wire;
    struct live_own_counters own;
    uint64_t noted; /* events so far */
    struct record_event event[DEVICE_EVENTS_KEPT];
};

static uint64_t device_id(struct device *first)
{
    if (first->counters_id == 0 && getrandom(&first->counters_id, sizeof first->counters_id, 0) < 0)
        first->counters_id = (uint64_t)(uintptr_t)first ^ (uint64_t)getpid() << 48;
    return first->counters_id;
}

void counters_open(struct device *live)
{
    struct device_counter_set *others = NULL;
    unsigned count;

    /* Most programs end without closing: looking at what is there removes what they left. */
    if (live_counters_read(&others, &count) == 0) free(others);
    shared_page_open(&live->page_file, PREFIX, registry_slot(live->registry), MAGIC, sizeof *live->page);
    live->page = live->page_file.at;
    if (live->page == NULL) return;
    live->page->pid = (uint32_t)getpid();
    live->page->slot = registry_slot(live->first->registry);
    live->page->device_id = device_id(live->first);
    snprintf(live->page->device, DEVICE_NAME_MAX, "%s", live->device.name);
    snprintf(live->page->ifname, DEVICE_NAME_MAX, "%s", live->device.ifname);
    shared_page_program(live->page->program, DEVICE_NAME_MAX);
    shared_page_publish(&live->page_file, MAGIC);
}

void counters_close(struct device *live)
{
    shared_page_close(&live->page_file);
    live->page = NULL;
}

void counters_fork(struct device *live)
{
    shared_page_fork(&live->page_file);
    live->page = NULL;
}

/* What was noted goes to the page, in place of the oldest there. */
static bool events_export(struct record_ring *ring)
{
    struct device *live = (struct device *)(void *)((char *)ring - offsetof(struct device, events));
    struct live_export *page = live->page;

    for (uint32_t i = 0; page && i < ring->count; i++) {
        page->event[page->noted % DEVICE_EVENTS_KEPT] = ring->event[i];
        __atomic_store_n(&page->noted, page->noted + 1, __ATOMIC_RELEASE);
    }
    ring->count = 0;
    return true;
}

struct record_ring *counters_events(struct device *live)
{
    live->events =
        (struct record_ring){.event = live->noted, .room = LIVE_NOTED, .kinds = RECORD_RARE, .grow = events_export};
    return &live->events;
}

void counters_export(struct device *live, ps_t now)
{
    if (live->page == NULL) return;
    if (live->events.count) events_export(&live->events);
    nic_settle(live->nic, now);
    live->page->nic = *nic_counters(live->nic);
    live->page->wire = live->wire->counters;
    live->page->own = live->own;
}

/* Counters are uint64_t throughout. */
static void sum(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
        ((uint64_t *)to)[i] += ((const uint64_t *)from)[i];
}
_Static_assert(sizeof(struct nic_counters) % sizeof(uint64_t) == 0 &&
                   sizeof(struct wire_counters) % sizeof(uint64_t) == 0,
               "nothing else in between");

const struct nic_counters *live_counters(struct device *live)
{
    ps_t now = live_now();

    if (shard_enter_all(live) == 0) {
        for (unsigned i = 0; i < live->shards; i++)
            if (live->shard[i]) nic_settle(live->shard[i]->nic, now);
        live->told = *nic_counters(live->nic);
        for (unsigned i = 1; i < live->shards; i++)
            if (live->shard[i]) sum(&live->told, nic_counters(live->shard[i]->nic), sizeof live->told);
        shard_leave_all(live);
    }
    return &live->told;
}

const struct wire_counters *live_wire_counters(struct device *live)
{
    if (shard_enter_all(live) == 0) {
        live->wire_told = live->wire->counters;
        for (unsigned i = 1; i < live->shards; i++)
            if (live->shard[i]) sum(&live->wire_told, &live->shard[i]->wire->counters, sizeof live->wire_told);
        shard_leave_all(live);
    }
    return &live->wire_told;
}

static void add(struct device_counter_set *set, const char *name, const char *help, uint64_t value)
{
    if (set->counters == DEVICE_COUNTERS_MAX) return;
    struct device_counter *counter = &set->counter[set->counters++];
    *counter = (struct device_counter){.help = help, .value = value};
    snprintf(counter->name, sizeof counter->name, "%s", name);
}

/* As ethtool has them for mlx5: rx_prio3_pause. */
static void add_priority(struct device_counter_set *set, const struct nic_prio_counters *prio, unsigned number)
{
    char name[DEVICE_COUNTER_NAME];
    uint64_t value;

    for (const struct nic_counter *c = nic_prio_counter_list; c->name; c++) {
        int direction = (int)strcspn(c->name, "_");
        snprintf(name, sizeof name, "%.*s_prio%u%s", direction, c->name, number, c->name + direction);
        memcpy(&value, (const char *)prio + c->offset, sizeof value);
        add(set, name, c->help, value);
    }
}

static void convert(const struct live_export *page, struct device_counter_set *set)
{
    *set = (struct device_counter_set){.pid = page->pid, .slot = page->slot, .device_id = page->device_id};
    snprintf(set->device, DEVICE_NAME_MAX, "%.*s", DEVICE_NAME_MAX - 1, page->device);
    snprintf(set->ifname, DEVICE_NAME_MAX, "%.*s", DEVICE_NAME_MAX - 1, page->ifname);
    snprintf(set->program, DEVICE_NAME_MAX, "%.*s", DEVICE_NAME_MAX - 1, page->program);
    for (const struct nic_counter *c = nic_counter_list; c->name; c++) {
        uint64_t value;
        memcpy(&value, (const char *)&page->nic + c->offset, sizeof value);
        add(set, c->name, c->help, value);
    }
    for (unsigned p = 0; p < NIC_PRIOS; p++)
        add_priority(set, &page->nic.prio[p], p);
#define X(name) add(set, "wire_" #name, NULL, page->wire.name);
    WIRE_COUNTER_LIST(X)
#undef X
#define X(name, help) add(set, #name, help, page->own.name);
    LIVE_COUNTER_LIST(X)
#undef X
}

/* Those that nobody can have written over by the time their number was `now`. */
static void convert_events(const struct live_export *page, uint64_t now, struct device_counter_set *set)
{
    uint64_t first = now >= DEVICE_EVENTS_KEPT ? now - DEVICE_EVENTS_KEPT + 1 : 0;

    if (page->noted > now) return;
    set->noted = page->noted;
    for (uint64_t i = first; i < page->noted; i++) {
        const struct record_event *event = &page->event[i % DEVICE_EVENTS_KEPT];
        if (event->kind < RECORD_EVENTS) set->event[set->events++] = *event;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct record_event *one = a, *other = b;

    return one->at < other->at ? -1 : one->at > other->at;
}

/* The last of both. */
static void join_events(struct device_counter_set *set, const struct device_counter_set *shard)
{
    struct record_event all[2 * DEVICE_EVENTS_KEPT];
    unsigned count = set->events + shard->events, kept = count < DEVICE_EVENTS_KEPT ? count : DEVICE_EVENTS_KEPT;

    memcpy(all, set->event, set->events * sizeof all[0]);
    memcpy(all + set->events, shard->event, shard->events * sizeof all[0]);
    qsort(all, count, sizeof all[0], by_time);
    memcpy(set->event, all + count - kept, kept * sizeof all[0]);
    set->events = kept;
    set->noted += shard->noted;
}

/* The last of the list is another shard of one before it: counted there. */
static bool joins(struct device_counter_set *list, unsigned last)
{
    const struct device_counter_set *shard = &list[last];

    for (unsigned i = 0; i < last; i++) {
        if (list[i].device_id != shard->device_id) continue;
        for (unsigned c = 0; c < shard->counters; c++)
            list[i].counter[c].value += shard->counter[c].value;
        join_events(&list[i], shard);
        return true;
    }
    return false;
}

struct reading {
    struct device_counter_set *list;
    unsigned count;
};

static int read_one(void *context, const void *at, int fd)
{
    struct reading *reading = context;
    const struct live_export *page = at;
    struct device_counter_set *grown = realloc(reading->list, (reading->count + 1) * sizeof *grown);
    uint64_t noted;

    if (grown == NULL) return -ENOMEM;
    reading->list = grown;
    if (pread(fd, &noted, sizeof noted, offsetof(struct live_export, noted)) != (ssize_t)sizeof noted) return 0;
    convert(page, &grown[reading->count]);
    convert_events(page, noted, &grown[reading->count]);
    if (!joins(grown, reading->count)) reading->count++;
    return 0;
}

int live_counters_read(struct device_counter_set **ret, unsigned *ret_count)
{
    struct reading reading = {.list = NULL};
    int error = shared_page_walk(PREFIX, MAGIC, sizeof(struct live_export), read_one, &reading);

    if (error < 0) {
        free(reading.list);
        return error;
    }
    *ret = reading.list;
    *ret_count = reading.count;
    return 0;
}
