/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab init [FILE]: a first fabric file, of a few answers.
 *
 * The options with a value are the questions, in the order and the words of their list.  They are asked where standard
 * input and output are a terminal; elsewhere, and with --yes, what is not given is assumed, and nothing waits.  What
 * was written is loaded before it takes its name: a file that rocelab would refuse is never left behind.
 */
#include "cli/plan/init.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/examples.h"
#include "cli/option.h"
#include "cli/outputs.h"
#include "cli/place.h"
#include "cli/source.h"
#include "fabric/copper.h"
#include "fabric/handle.h"
#include "nic/cc/cc.h"
#include "report/json_out.h"

#define ANSWER 256
#define PRESETS_MAX 64

struct settings {
    struct init_answers answers;
    bool yes, force, list;
};

static bool set_switch(void *to, const char *text)
{
    struct init_switch *sw = to;
    const struct switch_model *model = switch_model_find(text);
    const char *by = strchr(text, 'x'), *why = NULL;
    char number[16];
    uint64_t ports, bps;

    if (!model) model = switch_model_of_product(text);
    if (model) {
        *sw = (struct init_switch){.model = model};
        return true;
    }
    if (by && by > text && (size_t)(by - text) < sizeof number && strspn(text, "0123456789") == (size_t)(by - text)) {
        snprintf(number, sizeof number, "%.*s", (int)(by - text), text);
        if (unit_parse(UNIT_COUNT, number, &ports, &why) != 0 || ports < 4 || ports > 1024 ||
            unit_parse(UNIT_RATE, by + 1, &bps, &why) != 0 || bps < 1000000000) {
            return cli_fail("--switch '%s': PORTSxRATE is 4 to 1024 ports of 1G or more, as in 64x800G", text);
        }
        *sw = (struct init_switch){switch_model_find(SWITCH_MODEL_DEFAULT), "", (uint32_t)ports, bps};
        snprintf(sw->words, sizeof sw->words, "%s", text);
        for (uint32_t m = 0; m < switch_model_count; m++)
            if (switch_models[m].ports == ports && switch_models[m].rate_gbps * 1000000000ull == bps) {
                *sw = (struct init_switch){.model = &switch_models[m]};
                break;
            }
        return true;
    }
    const char *near = switch_model_nearest(text);
    if (near)
        cli_error("--switch '%s': unknown; did you mean '%s'?", text, near);
    else
        cli_error("--switch '%s': a chip or product, as in tomahawk5 or SN5600, or PORTSxRATE, as in 64x800G", text);
    return false;
}

static bool set_ratio(void *to, const char *text)
{
    __typeof__(((struct init_answers *)NULL)->over) *over = to;
    unsigned num, den = 1;
    char rest;

    if ((sscanf(text, "%3u:%3u%c", &num, &den, &rest) == 2 || sscanf(text, "%3u%c", &num, &rest) == 1) && den > 0 &&
        num >= den && num <= 64 * den) {
        over->num = num;
        over->den = den;
        return true;
    }
    return cli_fail("--oversubscription '%s': 1:1 to 64:1", text);
}

static bool set_system(void *to, const char *text)
{
    enum fabric_system system = fabric_system_find(text);

    if (system == FABRIC_SYSTEMS) return cli_fail("--system '%s': rocev2, rocev1, infiniband, uet, tcp or iwarp", text);
    *(uint32_t *)to = system;
    return true;
}

static const char *preset_name(const void *list, size_t index)
{
    (void)list;
    return cc_preset_name(index);
}

static bool set_preset(void *to, const char *text)
{
    size_t count = 0;

    while (cc_preset_name(count))
        count++;
    size_t which =
        cli_one_of("congestion", text, preset_name, NULL, count, "preset", "dcqcn/connectx, hpcc/paper, none ...");
    if (which < count) *(const char **)to = cc_preset_name(which);
    return which < count;
}

static const struct cli_option options[] = {
#include "cli/plan/init_options.def"
};
#define OPTIONS (sizeof options / sizeof options[0])

static const struct cli_command command = {
    .verb = "init",
    .operands = "[FILE]",
    .about = "Writes a first fabric file, with comments, that passes 'rocelab check' and runs. On a terminal it asks "
             "for what no option says; what is not answered is assumed, and marked so in the file. FILE is fabric.yaml "
             "where "
             "it is not said; - is standard output. A file that is there stays, but for --force.",
    CLI_OWN(options),
    .more = "Examples:\n"
            "  rocelab init\n"
            "  rocelab init --gpus 512 --nic 400G --oversubscription 2:1 pod.yaml\n"
            "  rocelab init --yes --job training - | rocelab sim -\n"
            "\nExit status: 0 written; 2 wrong use, answers that do not go together, or a file that could not be "
            "written.\n",
};

/* --- answers --- */

/* What no one said, as far as it depends on other answers.  False after a message. */
static bool complete(struct init_answers *answers)
{
    if (!answers->given.per_server)
        for (answers->per_server = 8; answers->per_server > 1 && answers->gpus < 2 * answers->per_server;)
            answers->per_server /= 2;
    if (!answers->given.preset) answers->preset = answers->system == FABRIC_ROCEV2 ? INIT_PRESET : NULL;
    if (answers->preset == NULL || answers->system == FABRIC_ROCEV2) return true;
    return cli_fail("--congestion is of rocev2: %s has its own", fabric_systems[answers->system].title);
}

static bool is_given(const struct settings *settings, const struct cli_option *option)
{
    return *(const bool *)((const char *)settings + option->also - 1);
}

/* False: there is no more input. */
static bool ask_one(struct settings *settings, const struct cli_option *option, FILE *out)
{
    char text[ANSWER];

    for (;;) {
        fprintf(out, "%s: %s\n> ", option->name, option->help);
        fflush(out);
        if (!fgets(text, sizeof text, stdin)) return false;
        text[strcspn(text, "\r\n")] = '\0';
        char *word = text + strspn(text, " \t");
        word[strcspn(word, " \t")] = '\0';
        if (!*word) return true;
        if (cli_option_set(option, settings, word)) return true;
        *(bool *)((char *)settings + option->also - 1) = false;
    }
}

/* What was neither given nor asked for before, where there is something to choose. */
static bool ask(struct settings *settings, bool asked[OPTIONS], FILE *out)
{
    for (size_t o = 0; o < OPTIONS; o++) {
        const struct cli_option *option = &options[o];
        bool idle = settings->answers.system != FABRIC_ROCEV2 && strcmp(option->name, "congestion") == 0;
        if (option->argument == NULL || idle || asked[o] || is_given(settings, option)) continue;
        if (!ask_one(settings, option, out)) return false;
        asked[o] = true;
    }
    return true;
}

/* How large the fabric can be hangs on these. */
static void ask_again(struct settings *settings, bool asked[OPTIONS])
{
    for (size_t o = 0; o < OPTIONS; o++) {
        const char *name = options[o].name;
        if (!asked[o] ||
            (strcmp(name, "topology") != 0 && strcmp(name, "switch") != 0 && strcmp(name, "oversubscription") != 0))
            continue;
        asked[o] = false;
        *(bool *)((char *)settings + options[o].also - 1) = false;
    }
}

/* Answers that go together, and what is built of them. */
static bool find_plan(struct settings *settings, bool asks, FILE *out, struct init_plan *plan)
{
    struct init_answers *answers = &settings->answers;
    const bool chosen = answers->given.shape && answers->given.sw && answers->given.over;
    bool asked[OPTIONS] = {false};
    char why[INIT_WHY];

    if (asks) fputs("A first fabric file. Enter takes what stands in brackets.\n\n", out);
    for (;;) {
        if (asks && !ask(settings, asked, out)) {
            fputc('\n', out);
            return cli_fail("init: no more answers: nothing was written");
        }
        if (!complete(answers)) return false;
        if (init_size(answers, plan, why)) return true;
        cli_error("init: %s", why);
        if (!asks || chosen) return false;
        ask_again(settings, asked);
    }
}

/* --- the file --- */

/* As the loader sees it; false after its messages.  ret_far: more servers hang on a switch than copper reaches. */
static bool is_good(const char *name, const char *text, bool *ret_far)
{
    struct fabric_errors errors = {.path = name};
    struct fabric *fabric = NULL;
    struct fabric_crowd crowd;
    int result = cli_fabric_load(name, text, NULL, 0, &fabric, &errors);

    if (result == 0) {
        *ret_far = fabric_crowds(fabric, &crowd) > 0;
        fabric_free(fabric);
        return true;
    }
    fabric_errors_print(&errors, stderr);
    return cli_fail("init: nothing was written: these answers make no fabric%s%s", errors.count ? "" : ": ",
                    errors.count ? "" : strerror(-result));
}

static bool save(const char *name, const char *text, FILE *out)
{
    struct cli_file file = {.path = NULL};

    if (strcmp(name, "-") == 0) return fputs(text, out) >= 0;
    if (!cli_file_open(&file, NULL, name)) return false;
    fputs(text, file.to);
    return cli_file_close(&file);
}

static void tell_json(const struct settings *settings, const struct init_plan *plan, const char *name, FILE *out)
{
    struct jout *jout = jout_begin(out, "init");

    jout_text(jout, "file", name);
    jout_u64(jout, "gpus", plan->gpus);
    jout_u64(jout, "servers", plan->servers);
    jout_u64(jout, "switches", init_switches(plan));
    jout_open(jout, "assumed", '[');
    for (size_t o = 0; o < OPTIONS; o++)
        if (options[o].argument && !is_given(settings, &options[o])) jout_text(jout, NULL, options[o].name);
    jout_close(jout);
    jout_end(jout);
}

static void tell(const struct init_answers *answers, const struct init_plan *plan, const char *name, FILE *out)
{
    const struct text_style style = cli_style();

    text_outside(out, &style, name);
    fprintf(out, ": %u GPUs in %u servers, %u switches. What was assumed is marked in it.\n\nNext:\n", plan->gpus,
            plan->servers, init_switches(plan));
    init_next(answers, name, "  ", out);
}

static char *text_of(const struct settings *settings, const struct init_plan *plan, const char *name)
{
    char schema[PATH_MAX], *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    bool found = cli_share("fabric.schema.json", schema);

    init_write(&settings->answers, plan, found ? schema : NULL, name, to);
    fclose(to);
    return text;
}

static int write_file(const struct settings *settings, const struct cli_common *common, struct init_plan *plan,
                      const char *name, FILE *out)
{
    char *text = text_of(settings, plan, name);
    bool good = is_good(name, text, &plan->far);

    if (good && plan->far) {
        free(text);
        text = text_of(settings, plan, name);
        good = is_good(name, text, &plan->far);
    }
    good = good && save(name, text, out);
    free(text);
    if (good && strcmp(name, "-") != 0 && common->json) tell_json(settings, plan, name, out);
    if (good && strcmp(name, "-") != 0 && !common->json && !common->quiet) tell(&settings->answers, plan, name, out);
    return good ? CLI_DONE : CLI_WRONG;
}

int verb_init(int argc, char **argv, FILE *out)
{
    struct settings settings = {
        .answers = {
            .gpus = 64, .nic_bps = 400000000000ull, .sw.model = switch_model_find("tomahawk5"), .over = {1, 1}}};
    struct cli_common common;
    struct init_plan plan;
    struct stat there;
    int first, answer = cli_options(&command, argc, argv, out, &common, &settings, &first);

    if (answer != CLI_GO) return answer;
    if (settings.list) return cli_list_examples(NULL, common.json, out) ? CLI_DONE : CLI_WRONG;
    if (argc - first > 1) return cli_wrong("init: one file at a time");
    const char *name = argc > first ? argv[first] : "fabric.yaml";
    if (strcmp(name, "-") != 0 && !settings.force && lstat(name, &there) == 0)
        return cli_wrong("init: %s is there already: name another file, or --force to replace it", name);
    bool asks = !settings.yes && !common.json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (!find_plan(&settings, asks, out, &plan)) return CLI_WRONG;
    return write_file(&settings, &common, &plan, name, out);
}
