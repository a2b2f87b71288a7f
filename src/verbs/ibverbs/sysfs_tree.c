/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of files that stands for /sys/class/infiniband and its neighbours.
 *
 * Real files in the user's own folder (runtime/runtime.h): then every way to read a file works.  The tree's name is a
 * hash of its contents, so processes that see the same devices share one, and it is whole when it is there: it is built
 * beside and renamed.  Trees older than an hour go when a new one is built.
 */
#include "verbs/ibverbs/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/quiet.h"
#include "packet/protocol.h"
#include "runtime/runtime.h"
#include "verbs/ibverbs/verbs_int.h"

#define DEV "dev" /* in the tree: what lists as /dev/infiniband */

enum { TREE_AGE_S = 3600, FRESH_MOST = 10000, UVERBS_MAJOR = 231, UVERBS_MINOR = 192 }; /* the kernel's numbers */

struct tree { /* hashes what it is given and, with a root, writes it */
    uint64_t hash;
    const char *root;
    bool failed;
};

static void mix(struct tree *tree, const char *text)
{
    tree->hash = hash_text(tree->hash, text);
}

static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
}

__attribute__((format(printf, 3, 4))) static void put(struct tree *tree, const char *name, const char *format, ...)
{
    char text[256], path[PATH_MAX];
    va_list list;
    FILE *file;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    mix(tree, name);
    mix(tree, text);
    if (tree->root == NULL) return;
    snprintf(path, sizeof path, "%s/%s", tree->root, name);
    make_parents(path);
    file = fopen(path, "we");
    if (file == NULL || fprintf(file, "%s\n", text) < 0) tree->failed = true;
    if (file != NULL && fclose(file) != 0) tree->failed = true;
}

/* Gb/s and name of what verbs_port_attr() says. */
static void rate_text(const struct ibv_port_attr *attr, char *ret, size_t bytes)
{
    const unsigned lanes = attr->active_width == 2 ? 4 : 1;
    const struct {
        uint8_t speed;
        const char *name;
        unsigned tenths;
    } speed[] = {{1, "SDR", 25},   {2, "DDR", 50},   {4, "QDR", 100},   {16, "FDR", 140},
                 {32, "EDR", 250}, {64, "HDR", 500}, {128, "NDR", 1000}};

    for (unsigned i = 0; i < sizeof speed / sizeof speed[0]; i++) {
        unsigned tenths = speed[i].tenths * lanes;

        if (speed[i].speed != attr->active_speed) continue;
        if (tenths % 10)
            snprintf(ret, bytes, "%u.%u Gb/sec (%uX %s)", tenths / 10, tenths % 10, lanes, speed[i].name);
        else
            snprintf(ret, bytes, "%u Gb/sec (%uX %s)", tenths / 10, lanes, speed[i].name);
    }
}

static void put_gids(struct tree *tree, const struct device_info *device, const char *port)
{
    char name[256];

    for (unsigned i = 0; i < DEVICE_GIDS_MAX; i++) {
        static const uint8_t none[16];
        const bool there = i < device->gids && device->gid[i].usable;
        const uint8_t *b = there ? device->gid[i].addr.byte : none;

        snprintf(name, sizeof name, "%s/gids/%u", port, i);
        put(tree, name, "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x", b[0], b[1], b[2],
            b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
        if (!there) continue;
        snprintf(name, sizeof name, "%s/gid_attrs/types/%u", port, i);
        put(tree, name, "%s", device->gid[i].net == PKT_NET_V1 ? "IB/RoCE v1" : "RoCE v2");
        snprintf(name, sizeof name, "%s/gid_attrs/ndevs/%u", port, i);
        put(tree, name, "%s", device->ifname);
    }
}

static void put_port(struct tree *tree, const struct device_info *device)
{
    struct ibv_port_attr attr;
    char port[128], name[256], rate[64] = "";

    verbs_port_attr(device, &attr);
    rate_text(&attr, rate, sizeof rate);
    snprintf(port, sizeof port, "infiniband/%s/ports/1", device->name);
#define PUT(file, ...)                                                                                                 \
    do {                                                                                                               \
        snprintf(name, sizeof name, "%s/" file, port);                                                                 \
        put(tree, name, __VA_ARGS__);                                                                                  \
    } while (0)
    PUT("state", "%s", device->up ? "4: ACTIVE" : "1: DOWN");
    PUT("phys_state", "%s", device->up ? "5: LinkUp" : "3: Disabled");
    PUT("rate", "%s", rate);
    PUT("link_layer", "%s", "Ethernet");
    PUT("lid", "0x%x", 0);
    PUT("lid_mask_count", "%d", 0);
    PUT("sm_lid", "0x%x", 0);
    PUT("sm_sl", "%d", 0);
    PUT("cap_mask", "0x%08x", attr.port_cap_flags);
    PUT("pkeys/0", "0x%04x", PROTO_PKEY_DEFAULT);
#undef PUT
    for (unsigned i = 0; sysfs_counter_file(i, rate, sizeof rate) != NULL; i++) {
        snprintf(name, sizeof name, "%s/%s", port, rate);
        put(tree, name, "%d", 0);
    }
    put_gids(tree, device, port);
}

/* From the device to its network interface: where scripts look for the name. */
static void put_interface(struct tree *tree, const struct device_info *device)
{
    const uint8_t *m = device->mac;
    char name[256];

#define PUT(file, ...)                                                                                                 \
    do {                                                                                                               \
        snprintf(name, sizeof name, "infiniband/%s/device/net/%s/" file, device->name, device->ifname);                \
        put(tree, name, __VA_ARGS__);                                                                                  \
    } while (0)
    PUT("ifindex", "%u", device->ifindex);
    PUT("mtu", "%u", device->if_mtu);
    PUT("dev_port", "%d", 0);
    PUT("dev_id", "0x%x", 0);
    PUT("address", "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
#undef PUT
}

static void put_device(struct tree *tree, const struct device_info *device, unsigned index)
{
    const uint64_t g = device->guid;
    char name[256], guid[32];

    snprintf(guid, sizeof guid, "%04x:%04x:%04x:%04x", (unsigned)(g >> 48) & 0xffff, (unsigned)(g >> 32) & 0xffff,
             (unsigned)(g >> 16) & 0xffff, (unsigned)g & 0xffff);
#define PUT(file, ...)                                                                                                 \
    do {                                                                                                               \
        snprintf(name, sizeof name, "infiniband/%s/" file, device->name);                                              \
        put(tree, name, __VA_ARGS__);                                                                                  \
    } while (0)
    PUT("node_type", "%s", "1: CA");
    PUT("node_guid", "%s", guid);
    PUT("sys_image_guid", "%s", guid);
    PUT("node_desc", "%s", device->name);
    PUT("fw_ver", "%s", ROCELAB_VERSION);
    PUT("hw_rev", "0x%x", 0);
    PUT("hca_type", "%s", "rocelab");
    PUT("device/vendor", "%s", "0x0000"); /* no PCI device: whoever follows the link finds a plain folder */
    PUT("parent", "%s", device->ifname);
#undef PUT
    put_interface(tree, device);
    put_port(tree, device);
    snprintf(name, sizeof name, "infiniband_verbs/uverbs%u/ibdev", index);
    put(tree, name, "%s", device->name);
    snprintf(name, sizeof name, "infiniband_verbs/uverbs%u/abi_version", index);
    put(tree, name, "%d", 1);
    snprintf(name, sizeof name, "infiniband_verbs/uverbs%u/dev", index);
    put(tree, name, "%u:%u", UVERBS_MAJOR, UVERBS_MINOR + index);
    snprintf(name, sizeof name, DEV "/uverbs%u", index);
    put(tree, name, "%s", "");
}

static void put_all(struct tree *tree, const struct device_info *device, unsigned count)
{
    tree->hash = HASH_BEGIN;
    put(tree, "infiniband_verbs/abi_version", "%d", 6);
    put(tree, "infiniband_mad/abi_version", "%d", 5);
    put(tree, "misc/rdma_cm/abi_version", "%d", 4);
    put(tree, DEV "/rdma_cm", "%s", "");
    for (unsigned i = 0; i < count; i++)
        put_device(tree, &device[i], i);
}

/* The folder of this user's trees. */
static int base_folder(char ret[PATH_MAX])
{
    char folder[RUNTIME_PATH];
    int rc;

    for (unsigned n = 0; (rc = runtime_folder(n, true, folder)) != -ENOENT; n++) {
        snprintf(ret, PATH_MAX, "%s/sys", folder);
        if (rc == 0 && (mkdir(ret, 0700) == 0 || errno == EEXIST)) return 0;
    }
    return -EACCES;
}

static int remove_one(const char *path, const struct stat *is, int kind, struct FTW *where)
{
    (void)is, (void)kind, (void)where;
    return remove(path) != 0 && errno != ENOENT ? -1 : 0;
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A folder of our own to build in.  No clock and no random bytes name it: in virtual time both have a price. */
static int make_fresh(const char *base, char ret[PATH_MAX + 64])
{
    for (unsigned i = 0; i < FRESH_MOST; i++) {
        snprintf(ret, PATH_MAX + 64, "%s/new-%u", base, i);
        if (mkdir(ret, 0700) == 0) return 0;
        if (errno != EEXIST) return -errno;
    }
    return -EEXIST;
}

/* Trees of addresses that have gone, and what a killed process left half built.  Nobody is in the way: whoever finds
 * its tree removed builds it again.  `fresh` was made just now, which says what time it is. */
static void remove_old(const char *base, const char *fresh)
{
    time_t before;
    char path[PATH_MAX + 256];
    struct dirent *entry;
    struct stat is;
    if (lstat(fresh, &is) != 0) return;
    before = is.st_mtime - TREE_AGE_S;
    DIR *folder = opendir(base);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
        if (lstat(path, &is) == 0 && S_ISDIR(is.st_mode) && is.st_mtime < before) remove_tree(path);
    }
    if (folder != NULL) closedir(folder);
}

static int tree_find(const struct device_info *device, unsigned count, char ret[PATH_MAX])
{
    char base[PATH_MAX], fresh[PATH_MAX + 64];
    struct tree tree = {0};
    int error = base_folder(base);

    if (error) return error;
    put_all(&tree, device, count);
    if (snprintf(ret, PATH_MAX, "%s/%016" PRIx64, base, tree.hash) >= PATH_MAX) return -ENAMETOOLONG;
    if (access(ret, F_OK) == 0) return 0;
    error = make_fresh(base, fresh);
    if (error) return error;
    remove_old(base, fresh);
    tree.root = fresh;
    struct quiet quiet;
    quiet_begin(&quiet);
    put_all(&tree, device, count);
    quiet_end(&quiet);
    if (tree.failed) {
        error = -EIO;
    } else if (rename(fresh, ret) != 0) {
        /* Another process may have been first: then its tree is as good. */
        error = errno == ENOTEMPTY || errno == EEXIST ? 0 : -errno;
    } else {
        return 0;
    }
    remove_tree(fresh);
    return error;
}

static bool device_file(const char *path, unsigned count)
{
    unsigned index;
    char rest;

    if (strcmp(path, "/dev/infiniband/rdma_cm") == 0) return true;
    return sscanf(path, "/dev/infiniband/uverbs%u%c", &index, &rest) == 1 && index < count;
}

/* A counter of a port, or a folder of them, has the value of now. */
static void refresh(const struct device_info *device, unsigned count, const char *root, const char *below)
{
    static const char port[] = "/ports/1/";
    const char *at = strstr(below, port);
    char path[PATH_MAX];

    if (at == NULL || strncmp(below, "infiniband/", 11) != 0) return;
    const char *name = below + 11, *wanted = at + strlen(port);
    if (strncmp(wanted, "counters", 8) != 0 && strncmp(wanted, "hw_counters", 11) != 0) return;
    for (unsigned i = 0; i < count; i++) {
        if (strlen(device[i].name) != (size_t)(at - name) || strncmp(device[i].name, name, (size_t)(at - name)) != 0)
            continue;
        if (snprintf(path, sizeof path, "%s/infiniband/%s/ports/1", root, device[i].name) < (int)sizeof path)
            sysfs_counters_refresh(path, wanted, &device[i]);
    }
}

const char *sysfs_path(const char *path, char buffer[PATH_MAX])
{
    static const char folder[] = "/dev/infiniband";
    bool is_dev = strncmp(path, "/dev/", 5) == 0;
    bool lists = is_dev && (strcmp(path, folder) == 0 || strcmp(path, "/dev/infiniband/") == 0);
    const char *below = lists ? DEV : path + strlen("/sys/class/");
    struct device_info *device = NULL;
    const char *answer = path;
    unsigned count = 0;
    size_t used;

    if (device_list(&device, &count) < 0) return path;
    if (is_dev && !lists) {
        if (count > 0 && device_file(path, count)) answer = "/dev/null";
    } else if (count > 0 && tree_find(device, count, buffer) == 0) {
        if (!lists) refresh(device, count, buffer, below);
        used = strlen(buffer);
        if (used + strlen(below) + 2 <= PATH_MAX) {
            snprintf(buffer + used, PATH_MAX - used, "/%s", below);
            answer = buffer;
        }
    }
    free(device);
    return answer;
}
