/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters in shared memory, so that `rocelab counters` sees what runs.
 *
 * Each opened device has a small file in the user's own folder (runtime.c) that holds a copy of its counters; the loop
 * renews the copy every few milliseconds while it works and before it sleeps.  A reader may see a copy that is being
 * renewed: counters are 8 bytes each and only ever grow, so each is right by itself.  No file, no harm: the adapter
 * runs without.  Each shard has a file; the reader adds up those of a device.
 *
 * Who lives holds a lock on its file, which the kernel lets go of however the process ends; a file that nobody holds is
 * removed by whoever finds it.  Process numbers would not do: containers that share the folder have numbers of their
 * own, so that one process may be nobody there, and two have the same.
 *
 * Behind the counters are the last events, by their number modulo the places.  An event is written before the number
 * that says so, so a reader who looks at the number once more knows which places may have been written meanwhile.
 *
 * The room is taken before it is mapped: where the folder is full a write into the mapping would be a bus error.
 */
#include "live/counters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/live_int.h"
#include "live/runtime.h"
#include "nic/counters.h"

#define PREFIX "counters-"
#define NAME_BYTES (RUNTIME_PATH + 264)
#define SAME_NUMBER_MAX 64 /* files of processes that have the same number, each in a namespace of its own */
#define MAGIC 0x726f63656c616204ull

struct live_export {
    uint64_t magic, bytes;
    uint32_t pid, slot; /* of the device: its first shard's slot */
    uint64_t device_id; /* the same for all shards of an opened device, and no other's */
    char device[LIVE_NAME_MAX], ifname[LIVE_NAME_MAX], program[LIVE_NAME_MAX];
    struct nic_counters nic;
    struct wire_counters wire;
    struct live_own_counters own;
    uint64_t noted; /* events so far */
    struct observe_event event[LIVE_EVENTS_KEPT];
};

static void program_name(char name[LIVE_NAME_MAX])
{
    FILE *file = fopen("/proc/self/comm", "r");

    if (file == NULL) return;
    if (fgets(name, LIVE_NAME_MAX, file)) name[strcspn(name, "\n")] = 0;
    fclose(file);
}

static struct flock life_lock(short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_len = 1};
}

static bool lives(int file)
{
    struct flock lock = life_lock(F_RDLCK);
    return fcntl(file, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

/* Makes the file.  Whoever had its name before and is gone makes room.  -EEXIST: somebody who lives has it, or is
 * making it: the lock is taken before the magic number is written. */
static int file_make(const char *name)
{
    const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    uint64_t magic = 0;

    int old = open(name, O_RDONLY | flags);
    if (old >= 0) {
        if (read(old, &magic, sizeof magic) == (ssize_t)sizeof magic && magic == MAGIC && !lives(old)) unlink(name);
        close(old);
    }
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
    return fd < 0 ? -errno : fd;
}

/* A new file with room for the page, and held; -1: none. */
static int file_new(const struct live *live, char name[NAME_BYTES])
{
    char folder[RUNTIME_PATH];
    struct flock lock = life_lock(F_WRLCK);

    for (unsigned n = 0;; n++) {
        int rc = runtime_folder(n, true, folder), fd = -EEXIST;
        if (rc == -ENOENT) return -1;
        if (rc < 0) continue;
        for (unsigned i = 0; fd == -EEXIST && i < SAME_NUMBER_MAX; i++) {
            snprintf(name, NAME_BYTES, "%s/" PREFIX "%u-%u.%u", folder, (unsigned)getpid(),
                     registry_slot(live->registry), i);
            fd = file_make(name);
        }
        if (fd < 0) continue;
        if (fcntl(fd, F_OFD_SETLK, &lock) == 0 && posix_fallocate(fd, 0, sizeof *live->page) == 0) return fd;
        unlink(name);
        close(fd);
    }
}

static uint64_t device_id(struct live *first)
{
    if (first->counters_id == 0 && getrandom(&first->counters_id, sizeof first->counters_id, 0) < 0)
        first->counters_id = (uint64_t)(uintptr_t)first ^ (uint64_t)getpid() << 48;
    return first->counters_id;
}

void counters_open(struct live *live)
{
    struct live_counter_set *others = NULL;
    char name[NAME_BYTES];
    unsigned count;

    /* Most programs end without closing: looking at what is there removes what they left. */
    if (live_counters_read(&others, &count) == 0) free(others);
    int fd = file_new(live, name);
    if (fd < 0) return;
    void *page = mmap(NULL, sizeof *live->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    live->page_name = page == MAP_FAILED ? NULL : strdup(name);
    if (live->page_name == NULL) {
        if (page != MAP_FAILED) munmap(page, sizeof *live->page);
        unlink(name);
        close(fd);
        return;
    }
    live->page = page;
    live->page_fd = fd;
    live->page->pid = (uint32_t)getpid();
    live->page->slot = registry_slot(live->first->registry);
    live->page->device_id = device_id(live->first);
    snprintf(live->page->device, LIVE_NAME_MAX, "%s", live->device.name);
    snprintf(live->page->ifname, LIVE_NAME_MAX, "%s", live->device.ifname);
    program_name(live->page->program);
    live->page->bytes = sizeof *live->page;
    __atomic_store_n(&live->page->magic, MAGIC, __ATOMIC_RELEASE);
}

void counters_close(struct live *live)
{
    if (live->page == NULL) return;
    unlink(live->page_name);
    munmap(live->page, sizeof *live->page);
    close(live->page_fd);
    free(live->page_name);
    live->page = NULL;
}

void counters_fork(struct live *live)
{
    if (live->page) close(live->page_fd);
}

/* What was noted goes to the page, in place of the oldest there. */
static bool events_export(struct observe_ring *ring)
{
    struct live *live = (struct live *)(void *)((char *)ring - offsetof(struct live, events));
    struct live_export *page = live->page;

    for (uint32_t i = 0; page && i < ring->count; i++) {
        page->event[page->noted % LIVE_EVENTS_KEPT] = ring->event[i];
        __atomic_store_n(&page->noted, page->noted + 1, __ATOMIC_RELEASE);
    }
    ring->count = 0;
    return true;
}

struct observe_ring *counters_events(struct live *live)
{
    live->events =
        (struct observe_ring){.event = live->noted, .room = LIVE_NOTED, .kinds = OBSERVE_RARE, .grow = events_export};
    return &live->events;
}

void counters_export(struct live *live, ps_t now)
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

const struct nic_counters *live_counters(struct live *live)
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

const struct wire_counters *live_wire_counters(struct live *live)
{
    if (shard_enter_all(live) == 0) {
        live->wire_told = live->wire->counters;
        for (unsigned i = 1; i < live->shards; i++)
            if (live->shard[i]) sum(&live->wire_told, &live->shard[i]->wire->counters, sizeof live->wire_told);
        shard_leave_all(live);
    }
    return &live->wire_told;
}

static void add(struct live_counter_set *set, const char *name, const char *help, uint64_t value)
{
    if (set->counters == LIVE_COUNTERS_MAX) return;
    struct live_counter *counter = &set->counter[set->counters++];
    *counter = (struct live_counter){.help = help, .value = value};
    snprintf(counter->name, sizeof counter->name, "%s", name);
}

/* As ethtool has them for mlx5: rx_prio3_pause. */
static void add_priority(struct live_counter_set *set, const struct nic_prio_counters *prio, unsigned number)
{
    char name[LIVE_COUNTER_NAME];
    uint64_t value;

    for (const struct nic_counter *c = nic_prio_counter_list; c->name; c++) {
        int direction = (int)strcspn(c->name, "_");
        snprintf(name, sizeof name, "%.*s_prio%u%s", direction, c->name, number, c->name + direction);
        memcpy(&value, (const char *)prio + c->offset, sizeof value);
        add(set, name, c->help, value);
    }
}

static void convert(const struct live_export *page, struct live_counter_set *set)
{
    *set = (struct live_counter_set){.pid = page->pid, .slot = page->slot, .device_id = page->device_id};
    snprintf(set->device, LIVE_NAME_MAX, "%.*s", LIVE_NAME_MAX - 1, page->device);
    snprintf(set->ifname, LIVE_NAME_MAX, "%.*s", LIVE_NAME_MAX - 1, page->ifname);
    snprintf(set->program, LIVE_NAME_MAX, "%.*s", LIVE_NAME_MAX - 1, page->program);
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
static void convert_events(const struct live_export *page, uint64_t now, struct live_counter_set *set)
{
    uint64_t first = now >= LIVE_EVENTS_KEPT ? now - LIVE_EVENTS_KEPT + 1 : 0;

    if (page->noted > now) return;
    set->noted = page->noted;
    for (uint64_t i = first; i < page->noted; i++) {
        const struct observe_event *event = &page->event[i % LIVE_EVENTS_KEPT];
        if (event->kind < OBSERVE_EVENTS) set->event[set->events++] = *event;
    }
}

/* 0; -ENOENT: not one of ours, or its process is gone. */
static int read_one(const char *folder, const char *entry, struct live_counter_set *set)
{
    struct live_export page;
    struct stat is;
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "%s/%s", folder, entry);
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return -ENOENT;
    ssize_t bytes =
        fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_uid == geteuid() ? read(fd, &page, sizeof page) : 0;
    bool ours = bytes == (ssize_t)sizeof page && page.magic == MAGIC && page.bytes == sizeof page, alive = lives(fd);
    uint64_t noted = 0;
    if (ours) ours = pread(fd, &noted, sizeof noted, offsetof(struct live_export, noted)) == (ssize_t)sizeof noted;
    close(fd);
    if (ours && !alive) unlink(name);
    if (!ours || !alive) return -ENOENT;
    convert(&page, set);
    convert_events(&page, noted, set);
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct observe_event *one = a, *other = b;

    return one->at < other->at ? -1 : one->at > other->at;
}

/* The last of both. */
static void join_events(struct live_counter_set *set, const struct live_counter_set *shard)
{
    struct observe_event all[2 * LIVE_EVENTS_KEPT];
    unsigned count = set->events + shard->events, kept = count < LIVE_EVENTS_KEPT ? count : LIVE_EVENTS_KEPT;

    memcpy(all, set->event, set->events * sizeof all[0]);
    memcpy(all + set->events, shard->event, shard->events * sizeof all[0]);
    qsort(all, count, sizeof all[0], by_time);
    memcpy(set->event, all + count - kept, kept * sizeof all[0]);
    set->events = kept;
    set->noted += shard->noted;
}

/* The last of the list is another shard of one before it: counted there. */
static bool joins(struct live_counter_set *list, unsigned last)
{
    const struct live_counter_set *shard = &list[last];

    for (unsigned i = 0; i < last; i++) {
        if (list[i].device_id != shard->device_id) continue;
        for (unsigned c = 0; c < shard->counters; c++)
            list[i].counter[c].value += shard->counter[c].value;
        join_events(&list[i], shard);
        return true;
    }
    return false;
}

static int read_folder(const char *name, struct live_counter_set **list, unsigned *count)
{
    DIR *folder = opendir(name);

    if (folder == NULL) return 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0) continue;
        struct live_counter_set *grown = realloc(*list, (*count + 1) * sizeof *grown);
        if (grown == NULL) {
            closedir(folder);
            return -ENOMEM;
        }
        *list = grown;
        if (read_one(name, entry->d_name, &grown[*count]) == 0 && !joins(grown, *count)) ++*count;
    }
    closedir(folder);
    return 0;
}

int live_counters_read(struct live_counter_set **ret, unsigned *ret_count)
{
    struct live_counter_set *list = NULL;
    unsigned count = 0;
    char folder[RUNTIME_PATH];
    int rc;

    for (unsigned n = 0; (rc = runtime_folder(n, false, folder)) != -ENOENT; n++) {
        if (rc == 0 && read_folder(folder, &list, &count) < 0) {
            free(list);
            return -ENOMEM;
        }
    }
    *ret = list;
    *ret_count = count;
    return 0;
}
