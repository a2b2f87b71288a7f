/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `rocelab check` is given: a fabric file, or configurations of real systems, which are imported into one.
 *
 * An imported fabric's findings are told at the configuration's lines: the importer keeps a map of lines.
 */
#include "cli/check.h"

#include <string.h>

#include "cli/cli.h"

bool check_is_fabric(const char *path)
{
    char line[512];
    bool is = false;
    FILE *from = strcmp(path, "-") == 0 ? NULL : fopen(path, "r");

    if (!from) return true; /* standard input is one; a file that cannot be opened is complained about later */
    while (fgets(line, sizeof line, from)) {
        size_t blank = strspn(line, " \t\r\n\xef\xbb\xbf");
        if (!line[blank] || line[blank] == '#' || strncmp(line, "---", 3) == 0) continue;
        is = strncmp(line + blank, "rocelab:", 8) == 0;
        break;
    }
    fclose(from);
    return is;
}

/* Places of the imported file become the configurations', and importers' notes findings. */
static void go_back(struct check_input *input)
{
    struct check *check = &input->check;
    const struct config_set *set = &input->source.set;

    for (uint32_t f = 0; f < check->findings; f++) {
        struct check_finding *finding = &check->finding[f];
        struct fabric_at at = {finding->line, finding->column};
        struct cli_place place = cli_source_place(&input->source, at);
        finding->file = place.path;
        finding->line = place.line;
        finding->column = place.column ? place.column : 1;
    }
    for (uint32_t n = 0; n < set->notes; n++) {
        const struct config_note *note = &set->note[n];
        if (!note->rule) continue;
        check_note(check, note->rule, set->path[note->at.source], note->at.line, 1, note->device, note->port,
                   note->message);
    }
    check_sort(check);
}

bool check_input_open(struct check_input *input, const struct cli_inputs *from, const struct check_options *options)
{
    if (!cli_source_load(&input->source, from)) return false;
    check_init(&input->check, input->source.fabric, input->source.places, options);
    if (check_run(&input->check) < 0) {
        cli_error("check: not enough memory");
        return false;
    }
    if (input->source.imported) go_back(input);
    return true;
}

void check_input_close(struct check_input *input)
{
    check_release(&input->check);
    cli_source_release(&input->source);
}
