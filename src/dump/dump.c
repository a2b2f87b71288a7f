/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folders of a moment, and what each device writes into its own.
 *
 * Names of devices are letters, digits, - _ and . (the fabric file's reader sees to it), and so good names of folders.
 */
#include "dump/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/draft.h"
#include "dump/dump_int.h"
#include "fabric/fabric.h"

static void failed(struct dump_failure *failure, int error, const char *path)
{
    failure->error = error;
    snprintf(failure->path, sizeof failure->path, "%s", path);
}

/* Seconds with nine digits behind the point: names of a run below ten seconds sort by time. */
static void time_name(ps_t at, char *buf, size_t size)
{
    snprintf(buf, size, "%" PRIu64 ".%09" PRIu64, (uint64_t)(at / PS_S), (uint64_t)(at % PS_S / PS_NS));
}

/* 0, or errno. */
static int make_folder(const char *path)
{
    if (mkdir(path, 0777) != 0) return errno;
    draft_tree_add(path, true);
    return 0;
}

static void write_device(struct out *out, const struct moment *m, const char *folder, uint32_t node)
{
    char path[DUMP_PATH];

    if (snprintf(path, sizeof path, "%s/%s", folder, m->fabric->node[node].name) >= (int)sizeof path) {
        failed(out->failure, ENAMETOOLONG, folder);
        return;
    }
    int error = make_folder(path);
    if (error) {
        failed(out->failure, error, path);
        return;
    }
    out->folder = path;
    if (node < m->fabric->hosts) {
        dump_host(out, m, node);
        dump_jobs(out, m, node);
    } else {
        dump_switches()->write(out, m, node);
    }
}

static void write_moment(const struct dump *dump, const struct moment *m, struct dump_failure *failure)
{
    char folder[DUMP_PATH], time[64];
    struct out *out = calloc(1, sizeof *out);
    int error;

    time_name(m->at, time, sizeof time);
    if (snprintf(folder, sizeof folder, "%s/%s", dump->folder, time) >= (int)sizeof folder) {
        failed(failure, ENAMETOOLONG, dump->folder);
    } else if ((error = make_folder(folder)) != 0) {
        if (error != EEXIST) failed(failure, error, folder); /* else the run is where it was */
    } else {
        out->failure = failure;
        for (uint32_t node = 0; node < m->fabric->nodes && failure->error == 0; node++)
            if (!fabric_node_unknown(m->fabric, node)) write_device(out, m, folder, node);
        out_release(out);
    }
    free(out);
}

int dump_write(struct dump *dump, const struct fabric *fabric, struct sim *sim, struct dump_failure *ret_failure)
{
    struct sim_result result;

    if (dump->drops == NULL) dump->drops = calloc(fabric->ports + 1u, sizeof(*dump->drops));
    int error = sim_result(sim, &result);

    *ret_failure = (struct dump_failure){.error = -error};
    if (error) return error;
    struct moment m = {.fabric = fabric,
                       .result = &result,
                       .format = dump_switches()->format,
                       .seed = dump->seed,
                       .drops = dump->drops};
    moment_read(&m, sim);
    if (m.at < dump->last)
        m.at = dump->last; /* a run that is stuck ends with its last frame, and was looked at later */
    write_moment(dump, &m, ret_failure);
    dump->last = m.at;
    moment_release(&m);
    sim_result_free(&result);
    return -ret_failure->error;
}

void dump_release(struct dump *dump)
{
    free(dump->drops);
    dump->drops = NULL;
}
