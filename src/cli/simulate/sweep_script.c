/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A point of a sweep with real programs: the fabric is up for as long as the script's programs run, in the process of
 * that point.  Their times and exit statuses are lines of its row; what they write is not kept.
 */
#include "cli/simulate/sweep_script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "cli/cli.h"
#include "cli/programs/up_script.h"

#define PATIENCE_MS 100
#define TURN_LIMIT_S 5

static void say(const char *text)
{
    cli_error("%s", text);
}

/* Named by its host; the second of a host is h0.2. */
static void print_programs(FILE *to, const struct up *up)
{
    uint32_t count = up_programs(up, NULL, 0);
    struct up_program *program = calloc(count + 1u, sizeof *program);

    if (program == NULL) return;
    count = up_programs(up, program, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t nth = 1;
        bool ended = program[i].end != PS_NEVER && program[i].start != PS_NEVER;
        for (uint32_t k = 0; k < i; k++)
            nth += strcmp(program[k].host, program[i].host) == 0;
        fprintf(to, "program %" PRIu64 " %d %d %s", ended ? program[i].end - program[i].start : 0, ended,
                program[i].exit, program[i].host);
        if (nth > 1) fprintf(to, ".%u", nth);
        fputc('\n', to);
    }
    free(program);
}

static bool simulate(void *context, struct fabric *fabric, const struct sim_options *options, FILE *to)
{
    struct sweep_script *script = context;
    char name[64];
    struct up_options with = {.sim = *options,
                              .name = name,
                              .dilation = 1,
                              .spin_proof = true,
                              .turn_limit_s = TURN_LIMIT_S,
                              .script = &script->script,
                              .runner = script->runner,
                              .say = say};
    struct fabric_errors errors = {.path = script->path};
    struct up *up = NULL;

    snprintf(name, sizeof name, "sweep-%d", (int)getpid());
    if (up_script_fit(&script->script, fabric, &errors) != 0 || up_create(fabric, &with, &up, &errors) != 0) {
        row_print_error(to, &errors);
        return false;
    }
    while (up_advance(up, PATIENCE_MS) == SIM_RUNNING)
        ;
    fprintf(to, "seed %" PRIu64 "\n", options->seed);
    bool good = row_print_result(to, fabric, up_sim(up));
    if (good)
        print_programs(to, up);
    else
        fputs("error not enough memory for the results\n", to);
    fputs("end\n", to);
    up_free(up);
    return good;
}

bool sweep_script_begin(struct sweep_script *script, struct sweep *sweep)
{
    ssize_t length = readlink("/proc/self/exe", script->runner, sizeof script->runner - 1);

    script->runner[length > 0 ? length : 0] = '\0';
    if (!cli_script_read(script->path, NULL, &script->script)) return false;
    uint64_t hash = HASH_BEGIN;
    for (uint32_t i = 0; i < script->script.commands; i++) {
        const struct up_command *command = &script->script.command[i];
        hash = hash_bytes(hash, command->host, strlen(command->host) + 1);
        hash = hash_bytes(hash, command->text, strlen(command->text) + 1);
        hash = hash_bytes(hash, &command->at, sizeof command->at);
    }
    for (uint32_t i = 0; i < script->script.faults; i++) {
        hash = hash_bytes(hash, script->script.fault[i].text, strlen(script->script.fault[i].text) + 1);
        hash = hash_bytes(hash, &script->script.fault[i].at, sizeof script->script.fault[i].at);
    }
    sweep->simulate = simulate;
    sweep->simulate_context = script;
    sweep->simulate_hash = hash;
    return true;
}

void sweep_script_end(struct sweep_script *script)
{
    up_script_free(&script->script);
}
