/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file's fabric with other jobs: the text is loaded again with `jobs` and `stop` replaced, and whatever else a
 * test wants.  What runs is thus always something that a fabric file can say, and a person can run it again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/override.h"
#include "fabric/switches.h"
#include "load/load.h"
#include "plant/plant.h"
#include "validate/case.h"

#define WINDOWS (1u << 16)

static void refuse(struct validate_case *of, const char *subject, const struct fabric_errors *errors)
{
    validate_tell(of, VALIDATE_FAIL, subject, "it can be simulated", "%s",
                  errors->count ? errors->error[0].text : "not enough memory");
}

static bool add_faults(struct variant *variant, struct fabric_errors *errors)
{
    for (uint32_t i = 0; i < variant->faults; i++)
        if (variant->fault[i][0] && fabric_faults_add(variant->fabric, variant->fault[i], 0, errors) != 0) return false;
    return true;
}

bool variant_open(struct validate_case *of, const char *subject, const char *jobs, struct variant *variant,
                  const struct sim_options *options)
{
    struct fabric_errors errors = {.path = of->plan->path};
    struct sim_options run = options ? *options : (struct sim_options){.threads = 1};

    CHECK(variant->overrides + 2 <= VARIANT_OVERRIDES);
    variant->override[variant->overrides++] = (struct fabric_override){"jobs", jobs};
    variant->override[variant->overrides++] = (struct fabric_override){"stop", "1000s"};
    const struct fabric_with with = {
        .override = variant->override, .overrides = variant->overrides, .judge = plant_judge_nic};
    run.until = PS_NEVER;
    if (run.seed == 0) run.seed = of->plan->seed;
    if (fabric_load_with(of->plan->path, of->plan->text, &with, &variant->fabric, &errors) == 0 &&
        add_faults(variant, &errors) && sim_create(variant->fabric, &run, &variant->sim, &errors) == 0)
        return true;
    refuse(of, subject, &errors);
    variant_close(variant);
    return false;
}

bool variant_open_job(struct validate_case *of, const char *subject, uint32_t job, struct variant *variant)
{
    const struct sim_options run = {.threads = 1, .seed = of->plan->seed, .until = PS_NEVER};
    const struct fabric_with with = {.judge = plant_judge_nic};
    struct fabric_errors errors = {.path = of->plan->path};
    struct fabric_job *alone;
    struct fabric *view; /* with that job alone: what the simulation sees, and lives as long as the fabric */

    if (fabric_load_with(of->plan->path, of->plan->text, &with, &variant->fabric, &errors) == 0 &&
        (alone = ARENA_NEW(&variant->fabric->arena, struct fabric_job, 1)) != NULL &&
        (view = ARENA_NEW(&variant->fabric->arena, struct fabric, 1)) != NULL) {
        *alone = variant->fabric->job[job];
        alone->after = FABRIC_NONE;
        alone->at = 0;
        *view = *variant->fabric;
        view->job = alone;
        view->jobs = 1;
        view->stop = PS_NEVER;
        if (sim_create(view, &run, &variant->sim, &errors) == 0) return true;
    }
    refuse(of, subject, &errors);
    variant_close(variant);
    return false;
}

bool variant_run(struct validate_case *of, const char *subject, struct variant *variant, ps_t until)
{
    while (sim_advance(variant->sim, WINDOWS, until) == SIM_RUNNING)
        ;
    if (variant->read) sim_result_free(&variant->result);
    variant->read = sim_result(variant->sim, &variant->result) == 0;
    if (variant->read) return true;
    validate_tell(of, VALIDATE_FAIL, subject, "it can be simulated", "not enough memory");
    variant_close(variant);
    return false;
}

void variant_close(struct variant *variant)
{
    if (variant->read) sim_result_free(&variant->result);
    if (variant->sim) sim_free(variant->sim);
    if (variant->fabric) fabric_free(variant->fabric);
    *variant = (struct variant){0};
}

static void count_port(const struct variant *variant, const struct sim_port *port, struct variant_counts *ret)
{
    const struct fabric *fabric = variant->fabric;
    const struct fabric_settings *settings = &fabric->settings[fabric->port[port->port].settings];

    ret->drops += port->drops;
    if (port->sw) {
        ret->circled += port->sw->drop[SW_DROP_ttl];
        ret->crowded += port->sw->drop[SW_DROP_buffer] + port->sw->drop[SW_DROP_egress];
    } else {
        ret->discarded += port->drops;
    }
    ret->lost += port->lost;
    ret->pauses += port->pauses_sent;
    ret->marks += port->ecn_marked;
    for (int p = 0; port->sw && p < FABRIC_PRIOS; p++) {
        if (!(settings->lossless >> p & 1)) continue;
        double room = (double)settings->pg[p].headroom_bytes, used = (double)port->sw->prio[p].headroom_max_bytes;
        ret->lossless_drops += port->sw->prio[p].drops;
        if (room > 0 && used / room > ret->headroom) {
            ret->headroom = used / room;
            ret->headroom_port = port->port;
        }
    }
}

struct variant_counts variant_count(const struct variant *variant)
{
    struct variant_counts counts = {.headroom_port = FABRIC_NONE};

    for (uint32_t i = 0; i < variant->result.ports; i++)
        count_port(variant, &variant->result.port[i], &counts);
    for (uint32_t i = 0; i < variant->result.nics; i++) {
        const struct endpoint_counters *nic = &variant->result.nic[i].common;
        counts.again += nic->retransmitted_packets;
        counts.timeouts += nic->timeouts;
        counts.payload_bytes += nic->rx_payload_bytes;
    }
    return counts;
}

static int ascending(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;

    return (one > other) - (one < other);
}

double variant_p99(const struct variant *variant, uint32_t job)
{
    const struct sim_result *result = &variant->result;
    double *time = calloc(result->flows + 1u, sizeof *time), p99 = NAN;
    uint32_t count = 0;

    CHECK(time);
    for (uint32_t i = 0; i < result->flows; i++) {
        const struct sim_flow *flow = &result->flow[i];
        if ((job != FABRIC_NONE && flow->job != job) || flow->start == PS_NEVER) continue;
        time[count++] = flow->fct_ps == PS_NEVER ? INFINITY : (double)flow->fct_ps / (double)flow->ideal_ps;
    }
    qsort(time, count, sizeof *time, ascending);
    if (count) p99 = time[(uint64_t)count * 99 / 100];
    free(time);
    return p99;
}
