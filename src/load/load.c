/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a fabric file to the arrays: the order of things.
 *
 * Text, tree, top level (version, name, model, system), topology, settings, routes, jobs, faults.  Every step is taken
 * even if one before it failed, so that a file's errors are told in one round; what would only follow from an error
 * before is not.  Without a topology jobs and faults are read blindly: keys, units and words, not names of hosts.
 */
#include "load/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/criteria.h"
#include "fabric/fabric.h"
#include "fabric/faults.h"
#include "fabric/file/override.h"
#include "fabric/file/read.h"
#include "fabric/owners.h"
#include "fabric/prices.h"
#include "fabric/qos/settings.h"
#include "fabric/reliability.h"
#include "fabric/system_keys.h"
#include "fabric/topology/topology.h"
#include "jobs/jobs.h"
#include "load/run_hash_int.h"

#define VERSION 1

static void read_version(struct loader *loader, const struct tree *value, void *into)
{
    uint64_t version = 0;

    (void)into;
    if (!read_unit(loader, value, UNIT_COUNT, 0, 0, &version)) return;
    if (version != VERSION)
        read_error(loader, value->at, "rocelab: version %llu of the format; this program reads version %d",
                   (unsigned long long)version, VERSION);
}

static void read_converge(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("detect", FIELD_TIME, struct fabric_converge, detect_ps, 0, PS_S * 100),
        F_VALUE("step", FIELD_TIME, struct fabric_converge, step_ps, 0, PS_S * 100),
        F_VALUE("ordered", FIELD_BOOL, struct fabric_converge, ordered, 0, 0),
    };
    struct fabric_converge *converge = &((struct fabric *)into)->converge;
    struct field_set set = {fields, COUNT_OF(fields), converge};

    *converge = (struct fabric_converge)FABRIC_CONVERGE_USUAL;
    if (value->type == TREE_SCALAR)
        read_bool(loader, value, &converge->on);
    else if (read_map(loader, value, "converge", &set, 1))
        converge->on = true;
}

static void read_system(struct loader *loader, const struct tree *value, void *into)
{
    struct fabric *fabric = into;

    if (!system_read(loader, value, &fabric->system)) return;
    fabric->system_at = value->at;
    if (!fabric_systems[fabric->system].runs)
        read_error(loader, value->at, "system '%s' cannot be run yet", fabric_system_names[fabric->system]);
}

static const char *const behaviours[] = {"native", "hpcc-ns3", "uet-htsim", "ns3-tcp", NULL};
static const struct field top_fields[] = {
    F_CALL("rocelab", read_version),
    F_VALUE("fabric", FIELD_TEXT, struct fabric, name, 0, 0),
    F_CHOICE("model", struct fabric, behaviour, behaviours),
    F_CALL("system", read_system),
    F_CALL("vls", lanes_read_vls),
    F_CALL("sl-to-vl", lanes_read_map),
    F_CALL("vl-arbitration", lanes_read_arbitration),
    F_CALL("credits", lanes_read_credits),
    F_CALL("fecn", lanes_read_fecn),
    F_CALL("sm", lanes_read_sm),
    F_VALUE("seed", FIELD_COUNT, struct fabric, seed, 0, 0),
    F_VALUE("stop", FIELD_TIME, struct fabric, stop, 1, 0),
    F_CALL("converge", read_converge),
#define PART(id, key, reader) F_READ_BY(key, reader),
#include "fabric/file/parts.def"
#undef PART
    F_CALL("llr", llr_read),
    F_CALL("cbfc", lanes_read_cbfc),
};

static void find_parts(struct loader *loader)
{
    static const char *const key[LOADER_PARTS] = {
#define PART(id, key, reader) key,
#include "fabric/file/parts.def"
#undef PART
    };

    for (int p = 0; p < LOADER_PARTS; p++)
        loader->part[p] = tree_get(loader->root, key[p]);
}

static bool model_fits(struct loader *loader, const struct tree *root)
{
    static const uint8_t of[] = {
        [FABRIC_HPCC_NS3] = FABRIC_ROCEV2, [FABRIC_UET_HTSIM] = FABRIC_UET, [FABRIC_NS3_TCP] = FABRIC_TCP};
    const struct fabric *fabric = loader->fabric;

    if (fabric->behaviour == FABRIC_NATIVE || fabric->system == of[fabric->behaviour]) return true;
    read_error(loader, tree_get(root, "model")->at, "model '%s' is of %s; this file is of system '%s'",
               behaviours[fabric->behaviour], fabric_systems[of[fabric->behaviour]].title, fabric_system(fabric)->name);
    return false;
}

static bool top_level(struct loader *loader)
{
    const struct tree *root = loader->root;
    struct field_set set = {top_fields, COUNT_OF(top_fields), loader->fabric};

    if (root->type != TREE_MAP || root->count == 0 || strcmp(root->first->key, "rocelab") != 0) {
        read_error(loader, root->at, "the first line of a fabric file must be 'rocelab: 1'");
        return false;
    }
    lanes_defaults(loader->fabric);
    llr_defaults(loader->fabric);
    bool good = read_map(loader, root, "a fabric file", &set, 1);
    lanes_finish(loader);
    return good && model_fits(loader, root);
}

static void load_parts(struct loader *loader)
{
    find_parts(loader);
    top_level(loader);
    if (loader->root->type != TREE_MAP) return;
    loader->blind = !topology_load(loader);
    if (loader->blind) loader->fabric->port = NULL;
    settings_load(loader);
    if (loader->errors->count == 0) lanes_check(loader);
    if (loader->errors->count == 0) llr_check(loader);
    uet_load(loader);
    operations_load(loader);
    if (!loader->blind && !routes_build(loader)) return;
    if (loader->errors->count == 0) balance_check(loader);
    jobs_load(loader);
    faults_load(loader);
}

/* The outcome, after everything was said. */
static int verdict(const struct loader *loader)
{
    char limit[UNIT_TEXT];

    if (loader->errors->count) return -EINVAL;
    if (!loader->no_memory) return 0;
    fabric_errors_add(loader->errors, (struct fabric_at){0, 0}, "memory for this fabric ran out (the limit is %s)",
                      unit_format_short(UNIT_SIZE, FABRIC_MEMORY_MAX, 3, limit));
    return -ENOMEM;
}

/* pcap in either order of bytes and of either resolution, or pcapng. */
static bool is_capture(const char *text, size_t length)
{
    static const uint32_t begins[] = {0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1, 0x0a0d0d0a};
    uint32_t begin;

    if (length < sizeof(begin)) return false;
    memcpy(&begin, text, sizeof(begin));
    for (uint32_t i = 0; i < COUNT_OF(begins); i++)
        if (begin == begins[i]) return true;
    return false;
}

/* Every name and text is one line, but a job's flows, which are a line each. */
static bool is_text(struct tree *root, struct fabric_errors *errors)
{
    for (struct tree *part = root->type == TREE_MAP ? root->first : NULL; part; part = part->next)
        for (struct tree *job = part->first; strcmp(part->key, "jobs") == 0 && job; job = job->next)
            for (struct tree *value = job->first; value; value = value->next)
                value->lines = strcmp(value->key, fabric_job_names[FABRIC_JOB_FLOWS]) == 0;
    return tree_refuse_controls(root, errors);
}

static int load(struct loader *loader, const char *path, const char *text, const struct fabric_with *with)
{
    size_t length = text ? strlen(text) : 0;
    struct tree *root = NULL;

    loader->fabric->path = arena_strndup(loader->keep, path, strlen(path));
    if (!loader->fabric->path) return -ENOMEM;
    loader->fabric->name = "fabric";
    loader->fabric->seed = 1;
    loader->fabric->stop = PS_NEVER;
    gpu_links_default(loader->fabric);
    if (!text) {
        errno = 0;
        text = file_read(loader, path, (struct fabric_at){0, 0}, &length);
        if (!text) return errno > 0 ? -errno : -EIO;
    }
    if (is_capture(text, length)) {
        read_error(loader, (struct fabric_at){0, 0},
                   "a packet capture, which 'rocelab capture' reads; a fabric file is YAML");
        return verdict(loader);
    }
    int result = tree_parse(text, length, &loader->scratch, &root, loader->errors);
    if (result == 0) result = tree_override(root, with->override, with->overrides, &loader->scratch, loader->errors);
    if (result == -ENOENT) return result;
    if (result == 0 && !is_text(root, loader->errors)) result = -EINVAL;
    if (result == -ENOMEM) loader->no_memory = true;
    if (result == 0) {
        if (!system_keys(root, with->left_out != NULL, &loader->scratch,
                         with->left_out ? with->left_out : loader->errors))
            loader->no_memory = true;
        loader->root = root;
        loader->files_hash = tree_hash(HASH_BEGIN, root);
        load_parts(loader);
        loader->fabric->source_hash = loader->files_hash;
        if (with->overrides && !loader->errors->count && !loader->no_memory)
            loader->fabric->run_hash = run_hash(loader);
    }
    return verdict(loader);
}

int fabric_load(const char *path, const char *text, struct fabric **ret, struct fabric_errors *errors)
{
    return fabric_load_with(path, text, &(struct fabric_with){0}, ret, errors);
}

int fabric_load_with(const char *path, const char *text, const struct fabric_with *with, struct fabric **ret,
                     struct fabric_errors *errors)
{
    struct fabric *fabric = calloc(1, sizeof(*fabric));
    struct loader loader = {.fabric = fabric,
                            .keep = &fabric->arena,
                            .errors = errors,
                            .judge = with->judge,
                            .watch = with->watch,
                            .watcher = with->watcher};

    if (!fabric) return -ENOMEM;
    if (!text && strcmp(path, "-") == 0) path = FILE_STDIN;
    errors->path = path;
    arena_init(&fabric->arena, (size_t)FABRIC_MEMORY_MAX);
    arena_init(&loader.scratch, (size_t)FABRIC_MEMORY_MAX);
    int result = load(&loader, path, text, with);
    arena_release(&loader.scratch);
    if (result < 0) {
        fabric_free(fabric);
        return result;
    }
    CHECK(fabric->node && fabric->first_endpoint); /* a topology that is not made has an error */
    *ret = fabric;
    return 0;
}
