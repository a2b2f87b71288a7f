/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/testing.h"
#include "fabric/switches.h"
#include "load/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t trips(void)
{
    const char *text = getenv("CONFIG_TRIPS");
    return text ? strtoull(text, NULL, 10) : 200;
}

void import_text(struct imported *got, const struct config_format *format, const char *path, const char *text)
{
    struct fabric_errors errors = {0};

    *got = (struct imported){.yaml = NULL};
    config_set_init(&got->set);
    if (config_read(&got->set, format, path, text, strlen(text), NULL, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("%s is not imported", path);
    }
    config_write(&got->set, "imported", &got->yaml, &got->map);
    config_audit(&got->set);
    if (fabric_load(path, got->yaml, &got->fabric, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        print_message("%s\n", got->yaml);
        fail_msg("what %s became does not load", path);
    }
}

void import_release(struct imported *got)
{
    fabric_free(got->fabric);
    config_set_release(&got->set);
}

unsigned notes_of(const struct imported *got, const char *rule, uint32_t line)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < got->set.notes; i++) {
        const struct config_note *note = &got->set.note[i];
        bool same = rule ? note->rule && strcmp(note->rule, rule) == 0 : !note->rule;
        count += same && (!line || note->at.line == line);
    }
    return count;
}

const struct fabric_settings *settings_at(const struct imported *got, const char *device, unsigned port)
{
    uint32_t node = fabric_find_node(got->fabric, device);

    assert_int_not_equal(node, FABRIC_NONE);
    assert_true(port < got->fabric->node[node].ports);
    return &got->fabric->settings[got->fabric->port[got->fabric->node[node].first_port + port].settings];
}

void refused(const struct config_format *format, const char *text, size_t length, const char *part)
{
    struct fabric_errors errors = {0};
    struct config_set set;

    config_set_init(&set);
    int result = config_read(&set, format, "hostile", text, length, NULL, &errors);
    config_set_release(&set);
    assert_true(result < 0);
    assert_true(errors.count > 0);
    if (!strstr(errors.error[0].text, part)) fail_msg("'%s' has no '%s'", errors.error[0].text, part);
}

char *edited(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *changed = NULL;

    assert_non_null(at);
    assert_true(asprintf(&changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) > 0);
    return changed;
}

char *flattened(const char *text)
{
    char *flat = malloc(strlen(text) + 1), *to = flat;
    bool begins = true;

    assert_non_null(flat);
    for (; *text; text++) {
        if (!(begins && *text == ' ')) {
            begins = *text == '\n';
            *to++ = *text;
        }
    }
    *to = 0;
    return flat;
}

void wrong_lines(const struct config_format *format, const char *path, const char *good, const struct wrong_line *cases,
                 size_t count)
{
    for (size_t c = 0; c < count; c++) {
        char *text = edited(good, cases[c].from, cases[c].to);
        struct imported got;
        import_text(&got, format, path, text);
        if (notes_of(&got, cases[c].rule, cases[c].line) == 0)
            fail_msg("%s in line %u is not noted: %s", cases[c].rule, cases[c].line, cases[c].to);
        import_release(&got);
        free(text);
    }
}

void odd_lines(const struct config_format *format, const char *path, const char *good, const struct wrong_line *cases,
               size_t count)
{
    struct imported as, got;

    import_text(&as, format, path, good);
    for (size_t c = 0; c < count; c++) {
        char *text = edited(good, cases[c].from, cases[c].to);
        import_text(&got, format, path, text);
        if (strcmp(as.yaml, got.yaml) != 0) fail_msg("%s: lost", cases[c].to);
        if (notes_of(&got, NULL, cases[c].line) != 1) fail_msg("%s: not listed", cases[c].to);
        if (cases[c].rule && notes_of(&got, cases[c].rule, 0)) fail_msg("%s: %s", cases[c].to, cases[c].rule);
        import_release(&got);
        free(text);
    }
    import_release(&as);
}
