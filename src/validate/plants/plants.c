/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which causes are planted in a fabric, and how a run with one of them is made.  Traffic is that of failures, a long
 * message from a host of each leaf to the next, or what a cause needs to show.
 */
#include <stdarg.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/override.h"
#include "fabric/switches.h"
#include "validate/plants/plants_int.h"

#define LONGEST_PS (10 * PS_S)
#define PLANTS_MOST 40u
#define STEPS 40u /* of training */

struct planted *plant_add(struct planting *planting, const char *name, const char *rules, const char *alerts,
                          enum plant_effect effect)
{
    CHECK(planting->count < PLANTS_MOST);
    struct planted *plant = &planting->plant[planting->count++];

    *plant = (struct planted){.name = name,
                              .cause = {{.rules = rules}},
                              .alerts = {alerts},
                              .follows = "AckTimeouts", /* who gets no answer asks again */
                              .quick = strstr("no fault|faults of the file|NIC storm|link down", name) != NULL,
                              .effect = effect,
                              .until = LONGEST_PS};
    return plant;
}

static char *next_culprit(struct plant_cause *cause)
{
    unsigned at = 0;

    while (at < PLANT_CULPRITS && cause->culprit[at][0])
        at++;
    CHECK(at < PLANT_CULPRITS);
    return cause->culprit[at];
}

void blame_queue(const struct fabric *fabric, struct plant_cause *cause, uint32_t port)
{
    fabric_port_name(fabric, port, next_culprit(cause));
}

const char *blame_port(const struct fabric *fabric, struct plant_cause *cause, uint32_t port)
{
    char *name = next_culprit(cause);

    cause->both_ends = true;
    fabric_port_name(fabric, port, name);
    return name;
}

void blame_node(const struct fabric *fabric, struct plant_cause *cause, uint32_t node)
{
    snprintf(next_culprit(cause), FABRIC_NAME, "%s", fabric->node[node].name);
}

void plant_set(struct planted *plant, const char *value, const char *path, ...)
{
    unsigned at = 0;
    va_list arguments;

    while (at < PLANT_OVERRIDES && plant->path[at][0])
        at++;
    CHECK(at < PLANT_OVERRIDES);
    va_start(arguments, path);
    vsnprintf(plant->path[at], sizeof plant->path[at], path, arguments);
    va_end(arguments);
    snprintf(plant->value[at], sizeof plant->value[at], "%s", value);
}

void plant_flow(struct planted *plant, uint32_t from, uint32_t to)
{
    CHECK(plant->flows < PLANT_FLOWS);
    plant->traffic = PLANT_FLOWS_OF_ITS_OWN;
    plant->flow[plant->flows++] = (struct plant_pair){from, to};
}

uint32_t leaf_of(const struct fabric *fabric, uint32_t endpoint)
{
    uint32_t port = fabric->port[fabric->endpoint[endpoint].port].peer;
    uint32_t node = port == FABRIC_NONE ? FABRIC_NONE : fabric->port[port].node;

    return node == FABRIC_NONE || node < fabric->hosts ? FABRIC_NONE : node;
}

bool plants_traffic(struct validate_case *of, struct failures *ret)
{
    uint32_t rank[FAILURE_RANKS], ranks = 0;

    if (!failures_choose(of, PS_MS, ret)) return false;
    for (uint32_t r = 0; r < ret->ranks; r++)
        if (of->fabric->port[of->fabric->endpoint[ret->rank[r]].port].rate_bps ==
            of->fabric->port[of->fabric->endpoint[ret->rank[0]].port].rate_bps)
            rank[ranks++] = ret->rank[r];
    if (ranks < 2) return true;
    memcpy(ret->rank, rank, ranks * sizeof rank[0]);
    ret->ranks = ranks;
    return true;
}

struct planted *plants_choose(const struct validate_case *of, const struct failures *failures, uint32_t *ret_count)
{
    struct planting planting = {.of = of,
                                .fabric = of->fabric,
                                .failures = failures,
                                .plant = ARENA_NEW(of->arena, struct planted, PLANTS_MOST),
                                .class = choose_class(of->fabric),
                                .host = of->fabric->endpoint[failures->rank[1]].port,
                                .at = failures->length / 4 / PS_NS};
    bool pauses = of->fabric->system == FABRIC_ROCEV2 && of->fabric->classes[planting.class].lossless;

    if (of->fabric->faults == 0)
        plant_add(&planting, "no fault", "", "", PLANT_ALWAYS)->good = true;
    else
        plant_add(&planting, "faults of the file", NULL, "", PLANT_ALWAYS)->own = true;
    plants_of_hosts(&planting);
    plants_of_gpus(&planting);
    plants_of_links(&planting);
    plants_of_switches(&planting);
    plants_of_settings(&planting);
    if (pauses) {
        plants_of_incasts(&planting);
        plants_of_cnps(&planting);
        plants_of_a_spine(&planting);
        plants_of_a_circle(&planting);
        plants_of_hashes(&planting);
    } else {
        plant_add(&planting, "causes of pauses, marks and CNPs", "", NULL, PLANT_ALWAYS)->lacks =
            "this fabric has none of them";
    }
    *ret_count = planting.count;
    return planting.plant;
}

/* --- a run --- */

static void write_flows(FILE *to, const struct validate_case *of, const struct failures *failures,
                        const struct planted *plant)
{
    fputs("flows: \"", to);
    for (uint32_t i = 0; i < plant->flows; i++)
        fprintf(to, "%s %s %lluB\\n", case_endpoint(of, plant->flow[i].from), case_endpoint(of, plant->flow[i].to),
                (unsigned long long)failures->bytes * (plant->times ? plant->times : 1));
    fputs("\"", to);
}

/* Data parallel, a GPU of each host. */
static void write_training(FILE *to, const struct fabric *fabric, const struct failures *failures)
{
    fprintf(to,
            "training: {model: {layers: 2, hidden: 128, sequence: 256}, groups: {dp: %u}, compute: {forward: 20us}, "
            "optimizer: replicated, steps: %u}, ranks: [",
            failures->ranks, STEPS);
    for (uint32_t r = 0; r < failures->ranks; r++)
        fprintf(to, "%s\"%s:0\"", r ? ", " : "", fabric->node[fabric->endpoint[failures->rank[r]].host].name);
    fputc(']', to);
}

static const char *write_jobs(struct validate_case *of, const struct failures *failures, const struct planted *plant)
{
    if (plant->traffic == PLANT_ROUND) return failures_jobs(of, failures);
    FILE *to = case_open(of);
    fputs("[{name: across, ", to);
    if (plant->traffic == PLANT_FLOWS_OF_ITS_OWN)
        write_flows(to, of, failures, plant);
    else if (plant->traffic == PLANT_ALL_TO_ALL)
        fprintf(to, "all-to-all: at-once, size: %lluB, ranks: %s", (unsigned long long)failures->bytes,
                case_list(of, failures->rank, failures->ranks));
    else
        write_training(to, of->fabric, failures);
    fputs("}]", to);
    return case_close(of);
}

/* The faults of a plant in the words of a fabric file: read when it is opened. */
static void write_faults(const struct validate_case *of, const struct planted *plant, struct variant *variant)
{
    const char **fault = ARENA_NEW(of->arena, const char *, plant->ways + 1u);

    for (uint32_t i = 0; i < plant->ways; i++)
        fault[variant->faults++] =
            case_text(of, "misroute %s to %s", case_port(of, plant->way[i].from), case_endpoint(of, plant->way[i].to));
    fault[variant->faults++] = plant->fault;
    variant->fault = fault;
}

bool plant_open(struct validate_case *of, const struct failures *failures, const struct planted *plant,
                struct variant *variant)
{
    const struct sim_options options = {.threads = 1, .keep_going = true}; /* after a deadlock, for alerts to fire */
    bool says = false;

    *variant = (struct variant){0};
    for (unsigned i = 0; i < PLANT_OVERRIDES; i++) {
        if (!plant->path[i][0]) continue;
        says |= strcmp(plant->path[i], "converge") == 0;
        variant->override[variant->overrides++] = (struct fabric_override){plant->path[i], plant->value[i]};
    }
    if (!of->fabric->converge.on && !says)
        variant->override[variant->overrides++] = (struct fabric_override){"converge", failures->converge_text};
    write_faults(of, plant, variant);
    return variant_open(of, plant->name, write_jobs(of, failures, plant), variant, &options);
}
