/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters in shared memory, so that `rocelab counters` sees what runs.
 *
 * Each opened device has a small file in /dev/shm that holds a copy of its counters; the loop renews the copy every
 * few milliseconds while it works and before it sleeps.  A reader may see a copy that is being renewed: counters are
 * 8 bytes each and only ever grow, so each is right by itself.  A file whose process is gone is removed by
 * whoever finds it.  No file, no harm: the adapter runs without.  Each shard has a file; the reader adds up those of a
 * device.
 */
#include "live/counters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/live_int.h"
#include "nic/counters.h"

#define FOLDER "/dev/shm"
#define PREFIX "rocelab-counters-"
#define MAGIC 0x726f63656c616202ull

struct live_export {
    uint64_t magic, bytes;
    uint32_t pid, slot; /* of the device: its first shard's slot */
    uint32_t own_slot, spare;
    char device[LIVE_NAME_MAX], ifname[LIVE_NAME_MAX], program[LIVE_NAME_MAX];
    struct nic_counters nic;
    struct wire_counters wire;
    struct live_own_counters own;
};

static void file_name(char *name, size_t bytes, unsigned pid, unsigned slot)
{
    snprintf(name, bytes, FOLDER "/" PREFIX "%u-%u-%u", (unsigned)getuid(), pid, slot);
}

static void program_name(char name[LIVE_NAME_MAX])
{
    FILE *file = fopen("/proc/self/comm", "r");

    if (file == NULL) return;
    if (fgets(name, LIVE_NAME_MAX, file)) name[strcspn(name, "\n")] = 0;
    fclose(file);
}

void counters_open(struct live *live)
{
    char name[128];
    struct live_counter_set *others = NULL;
    unsigned count;

    /* Most programs end without closing: looking at what is there removes what they left. */
    if (live_counters_read(&others, &count) == 0) free(others);
    file_name(name, sizeof name, (unsigned)getpid(), registry_slot(live->registry));
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return;
    if (ftruncate(fd, sizeof *live->page) == 0) {
        void *page = mmap(NULL, sizeof *live->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (page != MAP_FAILED) live->page = page;
    }
    close(fd);
    if (live->page == NULL) return;
    live->page->pid = (uint32_t)getpid();
    live->page->slot = registry_slot(live->first->registry);
    live->page->own_slot = registry_slot(live->registry);
    snprintf(live->page->device, LIVE_NAME_MAX, "%s", live->device.name);
    snprintf(live->page->ifname, LIVE_NAME_MAX, "%s", live->device.ifname);
    program_name(live->page->program);
    live->page->bytes = sizeof *live->page;
    __atomic_store_n(&live->page->magic, MAGIC, __ATOMIC_RELEASE);
}

void counters_close(struct live *live)
{
    char name[128];

    if (live->page == NULL) return;
    file_name(name, sizeof name, live->page->pid, live->page->own_slot);
    unlink(name);
    munmap(live->page, sizeof *live->page);
    live->page = NULL;
}

void counters_export(struct live *live)
{
    if (live->page == NULL) return;
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
    if (shard_enter_all(live) == 0) {
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
    if (set->counters < LIVE_COUNTERS_MAX)
        set->counter[set->counters++] = (struct live_counter){.name = name, .help = help, .value = value};
}

static void convert(const struct live_export *page, struct live_counter_set *set)
{
    *set = (struct live_counter_set){.pid = page->pid, .slot = page->slot};
    snprintf(set->device, LIVE_NAME_MAX, "%.*s", LIVE_NAME_MAX - 1, page->device);
    snprintf(set->ifname, LIVE_NAME_MAX, "%.*s", LIVE_NAME_MAX - 1, page->ifname);
    snprintf(set->program, LIVE_NAME_MAX, "%.*s", LIVE_NAME_MAX - 1, page->program);
    for (const struct nic_counter *c = nic_counter_list; c->name; c++) {
        uint64_t value;
        memcpy(&value, (const char *)&page->nic + c->offset, sizeof value);
        add(set, c->name, c->help, value);
    }
#define X(name) add(set, "wire_" #name, NULL, page->wire.name);
    WIRE_COUNTER_LIST(X)
#undef X
#define X(name, help) add(set, #name, help, page->own.name);
    LIVE_COUNTER_LIST(X)
#undef X
}

/* 0; -ENOENT: not one of ours, or its process is gone. */
static int read_one(const char *entry, struct live_counter_set *set)
{
    struct live_export page;
    char name[sizeof FOLDER + 256];

    snprintf(name, sizeof name, FOLDER "/%s", entry);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return -ENOENT;
    ssize_t bytes = read(fd, &page, sizeof page);
    close(fd);
    if (bytes != (ssize_t)sizeof page || page.magic != MAGIC || page.bytes != sizeof page) return -ENOENT;
    if (kill((pid_t)page.pid, 0) < 0 && errno == ESRCH) {
        unlink(name);
        return -ENOENT;
    }
    convert(&page, set);
    return 0;
}

/* The last of the list is another shard of one before it: counted there. */
static bool joins(struct live_counter_set *list, unsigned last)
{
    const struct live_counter_set *shard = &list[last];

    for (unsigned i = 0; i < last; i++) {
        if (list[i].pid != shard->pid || list[i].slot != shard->slot) continue;
        for (unsigned c = 0; c < shard->counters; c++)
            list[i].counter[c].value += shard->counter[c].value;
        return true;
    }
    return false;
}

int live_counters_read(struct live_counter_set **ret, unsigned *ret_count)
{
    struct live_counter_set *list = NULL;
    unsigned count = 0;
    char prefix[64];
    DIR *folder = opendir(FOLDER);

    if (folder == NULL) return -errno;
    snprintf(prefix, sizeof prefix, PREFIX "%u-", (unsigned)getuid());
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
        struct live_counter_set *grown = realloc(list, (count + 1) * sizeof *grown);
        if (grown == NULL) {
            free(list);
            closedir(folder);
            return -ENOMEM;
        }
        list = grown;
        if (read_one(entry->d_name, &list[count]) == 0 && !joins(list, count)) count++;
    }
    closedir(folder);
    *ret = list;
    *ret_count = count;
    return 0;
}
