/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public functions of include/rocelab/rocelab.h, over load, sim, study and report: what `rocelab sim` does, without
 * its options, its clock and its progress.  Results as tables are in tables.c.
 */
#include "rocelab/rocelab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_stream.h"
#include "fabric/fabric.h"
#include "fabric/override.h"
#include "lab.h"
#include "load/load.h"
#include "observe/series.h"
#include "plant/plant.h"
#include "plugin/plugin.h"
#include "report/sim_report.h"
#include "sim/sim.h"

#define WINDOWS (1u << 16) /* run at a time */
#define THREADS_MOST 1024

#define SERIES_BYTES_MOST ((uint64_t)1 << 30)

_Static_assert(ROCELAB_NAME == FABRIC_NAME, "a port's name fits");
_Static_assert(ROCELAB_NEVER == PS_NEVER, "one never");
_Static_assert((int)ROCELAB_RUNNING == (int)SIM_RUNNING && (int)ROCELAB_DONE == (int)SIM_DONE &&
                   (int)ROCELAB_UNTIL == (int)SIM_UNTIL && (int)ROCELAB_STUCK == (int)SIM_STUCK &&
                   (int)ROCELAB_DEADLOCK == (int)SIM_DEADLOCK && (int)ROCELAB_FAILED == (int)SIM_FAILED,
               "states are the simulator's");

PUBLIC const char *rocelab_version(void)
{
    return ROCELAB_VERSION;
}

PUBLIC void rocelab_text_free(char *text)
{
    free(text);
}

/* The errors as text; NULL where there are none, nobody asked, or memory ran out. */
static void tell(const struct fabric_errors *errors, char **ret_message)
{
    size_t length;

    if (ret_message == NULL) return;
    *ret_message = NULL;
    if (errors->count == 0) return;
    FILE *stream = text_stream(ret_message, &length);
    if (stream == NULL) return;
    fabric_errors_print(errors, stream);
    if (fclose(stream) != 0) {
        free(*ret_message);
        *ret_message = NULL;
    }
}

static int load(const char *path, const char *text, const struct rocelab_setting *settings, size_t count,
                struct fabric **ret, struct fabric_errors *errors)
{
    struct fabric_override *override = calloc(count + 1, sizeof *override);

    if (override == NULL) return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        override[i] = (struct fabric_override){.path = settings[i].path, .value = settings[i].value};
    const struct fabric_with with = {.override = override, .overrides = (uint32_t)count, .judge = plant_judge_nic};
    int error = fabric_load_with(path, text, &with, ret, errors);
    free(override);
    return error;
}

/* What the caller's struct has, which may be an older and shorter one. */
static int read_options(const struct rocelab_options *from, struct rocelab_options *ret)
{
    const char *bytes = (const char *)from;

    *ret = (struct rocelab_options){.size = sizeof *ret};
    if (from == NULL) return 0;
    if (from->size < sizeof from->size) return -EINVAL;
    for (size_t i = sizeof *ret; i < from->size; i++)
        if (bytes[i] != 0) return -EINVAL; /* asks for what this library does not know */
    memcpy(ret, from, from->size < sizeof *ret ? from->size : sizeof *ret);
    if (ret->settings_count > UINT16_MAX || (ret->settings_count > 0 && ret->settings == NULL)) return -EINVAL;
    return ret->threads > THREADS_MOST || ret->flags & ~(uint32_t)ROCELAB_SEEDED ? -EINVAL : 0;
}

static int build(struct rocelab *lab, const char *path, const struct rocelab_options *options,
                 struct fabric_errors *errors)
{
    int error = load(path, options->text, options->settings, options->settings_count, &lab->fabric, errors);

    if (error != 0) return error;
    lab->seed = options->flags & ROCELAB_SEEDED ? options->seed : lab->fabric->seed;
    const struct sim_options with = {.seed = lab->seed,
                                     .threads = lab->threads,
                                     .until = PS_NEVER,
                                     .rtt = options->sample_ps != 0,
                                     .memory_max_bytes = options->memory_max_bytes};
    error = sim_create(lab->fabric, &with, &lab->sim, errors);
    if (error != 0 || options->sample_ps == 0) return error;
    const struct sim_series_options series = {
        .step = options->sample_ps,
        .most_bytes = options->samples_max_bytes ? options->samples_max_bytes : SERIES_BYTES_MOST,
        .connections = options->sample_qps < UINT32_MAX ? (uint32_t)options->sample_qps : UINT32_MAX};
    error = sim_series_create(lab->sim, &series, &lab->series);
    if (error != 0) return error;
    uint32_t connections = series_objects(lab->series, OBSERVE_OBJECT_CONNECTION);
    lab->connection = calloc(connections + 1u, sizeof *lab->connection);
    if (lab->connection == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < connections; i++)
        sim_sample_connection(lab->sim, i, &lab->connection[i]);
    sim_watch(lab->sim, lab->series);
    return 0;
}

PUBLIC int rocelab_open_with(const char *path, const struct rocelab_options *options, struct rocelab **ret,
                             char **ret_message)
{
    struct fabric_errors errors = {.path = path};
    struct rocelab_options with;

    if (ret_message) *ret_message = NULL;
    if (path == NULL || read_options(options, &with) != 0) return -EINVAL;
    struct rocelab *lab = calloc(1, sizeof *lab);
    if (lab == NULL) return -ENOMEM;
    lab->threads = with.threads ? with.threads : 1;
    int error = build(lab, path, &with, &errors);
    if (error != 0) {
        tell(&errors, ret_message);
        rocelab_close(lab);
        return error;
    }
    *ret = lab;
    return 0;
}

PUBLIC int rocelab_open(const char *path, const char *text, const struct rocelab_setting *settings, size_t count,
                        uint32_t threads, struct rocelab **ret, char **ret_message)
{
    const struct rocelab_options options = {
        .size = sizeof options, .text = text, .settings = settings, .settings_count = count, .threads = threads};

    return rocelab_open_with(path, &options, ret, ret_message);
}

PUBLIC void rocelab_allow_plugin(const char *path)
{
    plugin_allow(path);
}

static void forget_result(struct rocelab *lab)
{
    if (lab->read) sim_result_free(&lab->result);
    lab->read = false;
}

PUBLIC void rocelab_close(struct rocelab *lab)
{
    if (lab == NULL) return;
    forget_result(lab);
    if (lab->sim) sim_free(lab->sim);
    series_free(lab->series);
    free(lab->connection);
    if (lab->fabric) fabric_free(lab->fabric);
    free(lab);
}

PUBLIC enum rocelab_state rocelab_step(struct rocelab *lab, uint64_t windows, uint64_t until_ps)
{
    forget_result(lab);
    return (enum rocelab_state)sim_advance(lab->sim, windows ? windows : 1, until_ps);
}

PUBLIC enum rocelab_state rocelab_advance(struct rocelab *lab, uint64_t until_ps)
{
    enum rocelab_state state;

    do
        state = rocelab_step(lab, WINDOWS, until_ps);
    while (state == ROCELAB_RUNNING);
    return state;
}

PUBLIC int rocelab_fault(struct rocelab *lab, const char *fault, char **ret_message)
{
    struct fabric_errors errors = {.path = "fault"};
    forget_result(lab);
    int error = sim_fault(lab->sim, lab->fabric, fault, &errors);
    tell(&errors, ret_message);
    return error;
}

PUBLIC uint64_t rocelab_now_ps(const struct rocelab *lab)
{
    return sim_progress(lab->sim).now;
}

PUBLIC uint64_t rocelab_packet_hops(const struct rocelab *lab)
{
    return sim_progress(lab->sim).packet_hops;
}

PUBLIC uint32_t rocelab_ports(const struct rocelab *lab)
{
    return lab->fabric->ports;
}

PUBLIC int rocelab_port_name(const struct rocelab *lab, uint32_t port, char ret[ROCELAB_NAME])
{
    if (port >= lab->fabric->ports) return -EINVAL;
    fabric_port_name(lab->fabric, port, ret);
    return 0;
}

PUBLIC int rocelab_port_find(const struct rocelab *lab, const char *name, uint32_t *ret)
{
    uint32_t port = fabric_find_port(lab->fabric, name);

    if (port == FABRIC_NONE) return -ENOENT;
    *ret = port;
    return 0;
}

PUBLIC int rocelab_port_sample(struct rocelab *lab, uint32_t port, struct rocelab_port *ret)
{
    struct sim_sample sample;

    if (port >= lab->fabric->ports) return -EINVAL;
    sim_sample_port(lab->sim, port, &sample);
    *ret = (struct rocelab_port){.queue_bytes = sample.queue_bytes,
                                 .line_bytes = sample.line_bytes,
                                 .paused_ps = sample.paused_ps,
                                 .paused = sample.paused};
    return 0;
}

PUBLIC uint64_t rocelab_digest(struct rocelab *lab)
{
    return sim_digest(lab->sim);
}

PUBLIC int rocelab_progress(struct rocelab *lab, struct rocelab_progress *ret)
{
    const struct sim_progress now = sim_progress(lab->sim);
    const struct rocelab_progress all = {.size = ret->size,
                                         .now_ps = now.now,
                                         .packet_hops = now.packet_hops,
                                         .jobs = now.jobs,
                                         .jobs_done = now.jobs_done,
                                         .samples = lab->series ? series_steps(lab->series) : 0,
                                         .samples_full = lab->series && series_full(lab->series)};

    if (ret->size < sizeof ret->size) return -EINVAL;
    memcpy(ret, &all, all.size < sizeof all ? all.size : sizeof all);
    return 0;
}

int lab_report(struct rocelab *lab, struct sim_report *ret)
{
    if (!lab->read) {
        if (sim_result(lab->sim, &lab->result) != 0) return -ENOMEM;
        if (sim_imbalance(lab->sim, &lab->result) != 0) {
            sim_result_free(&lab->result);
            return -ENOMEM;
        }
        lab->read = true;
    }
    *ret = (struct sim_report){.fabric = lab->fabric,
                               .result = &lab->result,
                               .seed = lab->seed,
                               .threads = lab->threads,
                               .series = lab->series,
                               .series_connection = lab->connection};
    return 0;
}

PUBLIC int rocelab_json(struct rocelab *lab, char **ret)
{
    struct sim_report report;
    size_t length;
    char *text = NULL;

    FILE *stream = lab_report(lab, &report) == 0 ? text_stream(&text, &length) : NULL;
    if (stream == NULL) return -ENOMEM;
    bool good = sim_json_write(stream, &report);
    if (fclose(stream) != 0) good = false;
    if (!good) {
        free(text);
        return -ENOMEM;
    }
    *ret = text;
    return 0;
}

PUBLIC uint32_t rocelab_abi(void)
{
    return ROCELAB_ABI;
}
