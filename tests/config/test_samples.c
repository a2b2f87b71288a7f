/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations that others published: every one is imported, and what is known to be wrong in them is found where it
 * stands.  They are not part of the tree: ROCELAB_SHARED names their folder, and without it nothing is tested here.
 *
 * Each note below was held against the file by hand; only rule and line are kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/testing.h"

static const struct known {
    const char *file, *rule;
    uint32_t line;
} known[] = {
    {"sonic/inventec-d7032-qos.json", "MAP001", 54},
    {"sonic/qos-arista7260-t1.json", "MAP001", 54},
    {"sonic/qos-arista7260-t1.json", "MAP001", 120},
    {"sonic/qos-dell9332.json", "MAP001", 66},
    {"sonic/qos-mellanox4600c-c64.json", "MAP001", 66},
    {"sonic/qos-mellanox4600c-c64.json", "MAP001", 132},
    {"sonic/centec-es6428a-qos.json", "ECN006", 101},
    {"sonic/centec-es6428a-qos.json", "ECN006", 101}, /* of both lossless classes */
    {"sonic/sample_config_db.json", "WD001", 2558},
    {"sonic/sample_config_db.json", "WD001", 2570},
};
#define KNOWN (sizeof(known) / sizeof(known[0]))

static const char *const files[] = {
    "sonic/buffer-arista7260-t1.json",        "sonic/buffers-mellanox4600c-t1.json",
    "sonic/centec-es6428a-qos.json",          "sonic/dbmig-acs-msn2700-t1-version_1_0_1.json",
    "sonic/fanout-7060_cx32s.json",           "sonic/inventec-d7032-qos.json",
    "sonic/qos-arista7260-t1.json",           "sonic/qos-dell9332.json",
    "sonic/qos-mellanox4600c-c64.json",       "sonic/sample_config_db.json",
    "host/mlnx_qos-transcript.txt",           "host/mlxconfig-query-roce.txt",
    "cumulus/hedgehog-cmls-config.tmpl.yaml",
};

static char *read_sample(const char *shared, const char *name)
{
    char path[1024];
    char *text = calloc(1, 1 << 20);

    snprintf(path, sizeof(path), "%s/data/configs/%s", shared, name);
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("no %s", path);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void test_samples(void **state)
{
    const char *shared = getenv("ROCELAB_SHARED");

    (void)state;
    if (!shared) skip();
    for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
        char *text = read_sample(shared, files[f]);
        unsigned expected = 0, rules = 0;
        struct imported got;

        import_text(&got, NULL, files[f], text);
        for (size_t k = 0; k < KNOWN; k++) {
            if (strcmp(known[k].file, files[f]) != 0) continue;
            expected++;
            if (!notes_of(&got, known[k].rule, known[k].line))
                fail_msg("%s:%u: no %s", files[f], known[k].line, known[k].rule);
        }
        for (uint32_t i = 0; i < got.set.notes; i++)
            rules += got.set.note[i].rule != NULL;
        if (rules != expected) fail_msg("%s: %u notes of rules, %u are known", files[f], rules, expected);
        import_release(&got);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_samples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
