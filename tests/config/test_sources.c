/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing is written that forms.txt has no form of, and nothing stands there that is never written: each
 * line of random fabrics is held against the forms of its system, and of NVUE's YAML each path of keys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/random_fabric.h"
#include "config/testing.h"
#include "load/load.h"

#define FORMS 80
#define FORM_BYTES 200
#define YAML_DEPTH 12

struct forms {
    char form[FORMS][FORM_BYTES];
    unsigned used[FORMS];
    unsigned count;
};

/* The forms below the heading: a line each, and below it, indented, the document that has it. */
static void read_forms(const char *heading, struct forms *ret)
{
    FILE *from = fopen(getenv("SOURCES"), "r");
    char line[1024], source[32];
    bool here = false;

    assert_non_null(from);
    memset(ret, 0, sizeof(*ret));
    while (fgets(line, sizeof(line), from)) {
        if (strncmp(line, "## ", 3) == 0) here = strncmp(line + 3, heading, strcspn(line + 3, "\n")) == 0;
        if (!here || *line == '#' || *line == '\n') continue;
        assert_true(ret->count < FORMS);
        assert_int_equal(sscanf(line, "%199[^\n]", ret->form[ret->count]), 1);
        assert_non_null(fgets(line, sizeof(line), from));
        assert_int_equal(sscanf(line, "    %31[^ ,:;\n]", source), 1);
        assert_true(strchr("NECJ", source[0]) && source[1] == '-'); /* a key of the documents */
        ret->count++;
    }
    fclose(from);
    assert_true(ret->count > 20);
}

static bool word_fits(const char *form, size_t form_length, size_t line_length, const char *line)
{
    if (form[0] == '<') return line_length > 0;
    return form_length == line_length && strncmp(form, line, line_length) == 0;
}

static bool fits(const char *form, const char *line)
{
    for (;;) {
        size_t f = strcspn(form, " "), l = strcspn(line, " ");
        if (strcmp(form, "<words>") == 0) return *line != 0;
        if (!word_fits(form, f, l, line)) return false;
        if (!form[f] || !line[l]) return !form[f] && !line[l];
        form += f + 1;
        line += l + 1;
    }
}

static void hold(struct forms *forms, const char *system, char *text)
{
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        unsigned f = 0;
        line += strspn(line, " ");
        if (!*line || *line == '!') continue;
        while (f < forms->count && !fits(forms->form[f], line))
            f++;
        if (f == forms->count) fail_msg("%s: no document is named for '%s'", system, line);
        forms->used[f]++;
    }
}

/* A key or a value without its quotes, and a blank behind it. */
static char *put_word(char *to, const char *word, size_t length)
{
    if (length >= 2 && (word[0] == '\'' || word[0] == '"')) word++, length -= 2;
    memcpy(to, word, length);
    to[length] = ' ';
    return to + length + 1;
}

/* NVUE's YAML as the statements that say the same: a word for each key on the way, and the value. */
static char *statements(const char *yaml)
{
    size_t ends[YAML_DEPTH + 1] = {0}, size = 0;
    char words[1024], *text = NULL;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    for (const char *line = yaml; *line; line += strcspn(line, "\n") + 1) {
        size_t indent = strspn(line, " "), length = strcspn(line, "\n"), depth = (indent - 4) / 2;
        const char *colon = memchr(line, ':', length), *value = colon ? colon + 1 : NULL;
        char *end;
        if (indent == length || line[indent] == '#' || indent == 0) continue; /* `- set:` and comments */
        assert_true(indent >= 4 && indent % 2 == 0 && depth < YAML_DEPTH);
        assert_non_null(colon);
        assert_true(length < sizeof(words) / 2 && ends[depth] < sizeof(words) / 2);
        end = put_word(words + ends[depth], line + indent, (size_t)(colon - line) - indent);
        ends[depth + 1] = (size_t)(end - words);
        value += strspn(value, " ");
        if (value >= line + length) continue;
        if (strncmp(value, "{}", 2) != 0) end = put_word(end, value, (size_t)(line + length - value));
        fprintf(to, "nv set %.*s\n", (int)(end - words) - 1, words);
    }
    fclose(to);
    return text;
}

static void hold_fabric(struct forms *forms, const struct config_format *format, const struct fabric *fabric)
{
    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++) {
        char *text = NULL;
        size_t size = 0;
        struct config_emit emit = {.fabric = fabric, .node = n, .to = open_memstream(&text, &size)};
        assert_non_null(emit.to);
        assert_int_equal(format->emit(&emit), 0);
        fclose(emit.to);
        if (format == &config_nvue) {
            char *yaml = text;
            text = statements(yaml);
            free(yaml);
        }
        hold(forms, format->name, text);
        free(text);
    }
}

/* A fabric or a configuration of what random fabrics do not lead to. */
static void hold_also(struct forms *forms, const struct config_format *format, const char *also)
{
    if (strncmp(also, "rocelab:", 8) == 0) {
        struct fabric_errors errors = {0};
        struct fabric *fabric = NULL;
        assert_int_equal(fabric_load("also", also, &fabric, &errors), 0);
        hold_fabric(forms, format, fabric);
        fabric_free(fabric);
    } else {
        struct imported got;
        import_text(&got, NULL, "x.txt", also);
        hold_fabric(forms, format, got.fabric);
        import_release(&got);
    }
}

/* `more`: NULL: none. */
static void hold_system(const char *heading, const struct config_format *format, const char *also, const char *more)
{
    struct forms forms;
    uint64_t count = trips();

    read_forms(heading, &forms);
    for (uint64_t seed = 1; seed <= count; seed++) {
        struct fabric_errors errors = {0};
        struct fabric *fabric = NULL;
        char *text = random_fabric(seed, &random_all);
        assert_int_equal(fabric_load("random", text, &fabric, &errors), 0);
        hold_fabric(&forms, format, fabric);
        fabric_free(fabric);
        free(text);
    }
    hold_also(&forms, format, also);
    if (more) hold_also(&forms, format, more);
    for (unsigned f = 0; f < forms.count; f++)
        if (!forms.used[f]) fail_msg("%s: nothing writes '%s'", heading, forms.form[f]);
}

/* More ports than cages, and another hash. */
static const char many[] =
    "rocelab: 1\ntopology: {leaf-spine: {hosts: 70, leaves: 1, spines: 2}}\n"
    "links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 800G, cable: 30m}}\n"
    "switches: {model: tomahawk5, ecmp: {hash: [src, dst]}, balance: {use: flowlet, gap: 100us}}\n"
    "devices: {spine1: {balance: spray}}\n";

static void test_nxos(void **state)
{
    (void)state;
    hold_system("NX-OS", &config_nxos, many, NULL);
}
static void test_eos(void **state)
{
    (void)state;
    hold_system("EOS", &config_eos, many, NULL);
}
static void test_nvue(void **state)
{
    (void)state;
    for (int yaml = 0; yaml < 2; yaml++)
        hold_system("NVUE", yaml ? &config_nvue : &config_nvue_set,
                    "nv set qos roce\nnv set interface swp1-2 link speed 400G\n"
                    "nv set interface swp3 link breakout 2x\nnv set interface swp3s0-1 link speed 400G\n"
                    "nv set router adaptive-routing state enabled\n"
                    "nv set interface swp1-2 router adaptive-routing state enabled\n",
                    many);
}
static void test_junos(void **state)
{
    (void)state;
    hold_system("Junos", &config_junos_set,
                "set interfaces et-0/0/0 number-of-sub-ports 2\nset interfaces et-0/0/0 speed 400g\n"
                "set interfaces et-0/0/0:0 description x\nset interfaces et-0/0/0:1 description y\n"
                "set forwarding-options enhanced-hash-key ecmp-dlb flowlet\n",
                NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nxos),
        cmocka_unit_test(test_eos),
        cmocka_unit_test(test_nvue),
        cmocka_unit_test(test_junos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
