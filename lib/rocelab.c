/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public functions of include/rocelab/rocelab.h, over load, sim, study and report: what `rocelab sim` does, without
 * its options, its clock and its progress.
 *
 * A lab owns its fabric, because a fault while running is added to it.
 */
#include "rocelab/rocelab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/text_stream.h"
#include "fabric/fabric.h"
#include "fabric/override.h"
#include "load/load.h"
#include "plant/plant.h"
#include "report/sim_report.h"
#include "sim/sim.h"
#include "study/row.h"

#define PUBLIC __attribute__((visibility("default")))
#define WINDOWS (1u << 16) /* run at a time */
#define THREADS_MOST 1024

struct rocelab {
    struct fabric *fabric;
    struct sim *sim;
    uint32_t threads;
};

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

PUBLIC int rocelab_open(const char *path, const char *text, const struct rocelab_setting *settings, size_t count,
                        uint32_t threads, struct rocelab **ret, char **ret_message)
{
    struct fabric_errors errors = {.path = path};

    if (ret_message) *ret_message = NULL;
    if (path == NULL || count > UINT16_MAX || (count > 0 && settings == NULL) || threads > THREADS_MOST) return -EINVAL;
    struct rocelab *lab = calloc(1, sizeof *lab);
    if (lab == NULL) return -ENOMEM;
    lab->threads = threads ? threads : 1;
    int error = load(path, text, settings, count, &lab->fabric, &errors);
    if (error == 0) {
        const struct sim_options options = {.seed = lab->fabric->seed, .threads = lab->threads, .until = PS_NEVER};
        error = sim_create(lab->fabric, &options, &lab->sim, &errors);
    }
    if (error != 0) {
        tell(&errors, ret_message);
        rocelab_close(lab);
        return error;
    }
    *ret = lab;
    return 0;
}

PUBLIC void rocelab_close(struct rocelab *lab)
{
    if (lab == NULL) return;
    if (lab->sim) sim_free(lab->sim);
    if (lab->fabric) fabric_free(lab->fabric);
    free(lab);
}

PUBLIC enum rocelab_state rocelab_advance(struct rocelab *lab, uint64_t until_ps)
{
    enum sim_state state;

    do
        state = sim_advance(lab->sim, WINDOWS, until_ps);
    while (state == SIM_RUNNING);
    return (enum rocelab_state)state;
}

PUBLIC int rocelab_fault(struct rocelab *lab, const char *fault, char **ret_message)
{
    struct fabric_errors errors = {.path = "fault"};
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

PUBLIC const char *rocelab_measure_name(size_t index)
{
    return index < MEASURES ? measure_infos[index].name : NULL;
}

PUBLIC const char *rocelab_measure_help(size_t index)
{
    return index < MEASURES ? measure_infos[index].help : NULL;
}

static double in_units(enum measure_kind kind, uint64_t value)
{
    switch (kind) {
    case MEASURE_KIND_TIME:
        return (double)value / 1e12;
    case MEASURE_KIND_GBPS:
        return (double)value * 1e3;
    case MEASURE_KIND_MILLI:
    case MEASURE_KIND_WHOLE:
        return (double)value / 1e3;
    case MEASURE_KIND_SHARE:
        return (double)value / 1e6;
    case MEASURE_KIND_COUNT:
    case MEASURE_KIND_BYTES:
        return (double)value;
    }
    CHECK(false);
}

/* The values of the run so far, by way of the text that a study keeps of each run. */
static int measure_all(struct rocelab *lab, struct row *ret)
{
    size_t length;
    char *text = NULL;
    FILE *stream = text_stream(&text, &length);

    if (stream == NULL) return -ENOMEM;
    bool good = row_print_result(stream, lab->fabric, lab->sim);
    fputs("end\n", stream);
    if (fclose(stream) != 0) good = false;
    good = good && row_parse(text, ret);
    free(text);
    return good ? 0 : -ENOMEM;
}

PUBLIC int rocelab_measure(struct rocelab *lab, const char *name, double *ret)
{
    struct row row = {0};
    unsigned which = 0;

    while (which < MEASURES && strcmp(name, measure_infos[which].name) != 0)
        which++;
    if (which == MEASURES) return -ENOENT;
    int error = measure_all(lab, &row);
    if (error != 0) return error;
    uint64_t value = row.value[which];
    row_release(&row);
    if (value == MEASURE_NOTHING) return -ENODATA;
    *ret = in_units(measure_infos[which].kind, value);
    return 0;
}

PUBLIC uint64_t rocelab_digest(struct rocelab *lab)
{
    return sim_digest(lab->sim);
}

PUBLIC int rocelab_json(struct rocelab *lab, char **ret)
{
    struct sim_result result;
    size_t length;
    char *text = NULL;

    if (sim_result(lab->sim, &result) != 0) return -ENOMEM;
    const struct sim_report report = {
        .fabric = lab->fabric, .result = &result, .seed = lab->fabric->seed, .threads = lab->threads};
    bool good = sim_imbalance(lab->sim, &result) == 0;
    FILE *stream = good ? text_stream(&text, &length) : NULL;
    if (stream) {
        good = sim_json_write(stream, &report);
        if (fclose(stream) != 0) good = false;
    }
    sim_result_free(&result);
    if (stream == NULL || !good) {
        free(text);
        return -ENOMEM;
    }
    *ret = text;
    return 0;
}
