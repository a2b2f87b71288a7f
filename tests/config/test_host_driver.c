/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host's script leaves in its adapters: its commands are replayed against a model of the driver, with each tool
 * and from two states, and the adapter must have what the fabric says.  Random fabrics and the examples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/mlx5_model.h"
#include "config/random_fabric.h"
#include "config/testing.h"
#include "fabric/switches.h"
#include "load/load.h"

static const char *const tool_names[MLX5_TOOLS] = {"mlnx_qos", "an old mlnx_qos", "mlnx_qos with sysfs", "dcb"};

#define LOOP "    for entry in "

struct replay {
    const char *what; /* the fabric's name or seed */
    const char *host, *netdev;
    enum mlx5_tool tool;
};

static void differ(const struct replay *at, const char *field, unsigned index, unsigned due, unsigned is)
{
    if (due != is)
        fail_msg("%s, %s %s, %s: %s[%u] is %u, the fabric says %u", at->what, at->host, at->netdev,
                 tool_names[at->tool], field, index, is, due);
}

static void command(const struct replay *at, struct mlx5_model *model, const char *line)
{
    const char *bad = mlx5_command(model, line);

    if (bad) fail_msg("%s, %s, %s: '%s': %s", at->what, at->host, tool_names[at->tool], line, bad);
}

/* `for entry in 0,0 1,0; do mlnx_qos ... "set,$entry"; done`: the command for each word. */
static void looped(const struct replay *at, struct mlx5_model *model, const char *line)
{
    const char *words = line + strlen(LOOP), *body = strstr(line, "; do "), *mark = strstr(line, "\"set,$entry\"");
    char whole[256];

    assert_true(body && mark && body < mark);
    for (const char *word = words; word < body;) {
        size_t length = strcspn(word, " ;");
        snprintf(whole, sizeof(whole), "%.*sset,%.*s", (int)(mark - body - 5), body + 5, (int)length, word);
        command(at, model, whole);
        word += length + 1;
    }
}

/* The commands about one interface, up to the end of `set)`. */
static void replay(const struct replay *at, const char *script, struct mlx5_model *model)
{
    char *copy = strdup(script), *rest = copy, name[FABRIC_NAME + 4];

    assert_non_null(copy);
    snprintf(name, sizeof(name), " %s ", at->netdev);
    for (char *line; (line = strsep(&rest, "\n")) && strcmp(line, "    ;;") != 0;) {
        if (!strstr(line, name)) continue;
        if (strncmp(line, LOOP, strlen(LOOP)) == 0)
            looped(at, model, line);
        else
            command(at, model, line);
    }
    free(copy);
}

static void compare(const struct replay *at, const struct fabric *fabric, uint32_t port, const struct mlx5_model *model)
{
    const struct fabric_settings *due = &fabric->settings[fabric->port[port].settings];
    const struct fabric_nic *nic = &fabric->nic[fabric->endpoint[port].nic];
    unsigned percent[FABRIC_PRIOS];
    uint8_t queues = config_queues(fabric, due);

    differ(at, "trust dscp", 0, due->trust == SW_TRUST_DSCP, model->trust_dscp);
    for (unsigned d = 0; d < 64 && due->trust == SW_TRUST_DSCP; d++)
        differ(at, "priority of DSCP", d, due->dscp_to_tc[d], model->prio[d]);
    differ(at, "pfc", 0, due->pfc_rx | due->pfc_tx, model->pfc);
    if (nic->cable_mm) differ(at, "cable", 0, (unsigned)((nic->cable_mm + 999) / 1000), model->cable_m);
    differ(at, "dcbx by the host", 0, nic->dcbx_willing != 1, model->host_dcbx);
    config_percents(due, queues, true, percent);
    for (unsigned p = 0; p < FABRIC_PRIOS; p++) {
        differ(at, "class of priority", p, due->tc_to_queue[p], model->tc[p]);
        if (!(queues >> p & 1)) continue;
        differ(at, "strict", p, due->queue[p].strict, model->tsa[p] == MLX5_STRICT);
        if (!due->queue[p].strict) differ(at, "share", p, percent[p], model->bw[p]);
    }
}

static void each_host(const char *what, const struct fabric *fabric, uint32_t most)
{
    for (uint32_t h = 0; h < fabric->hosts && h < most; h++) {
        struct config_emit emit = {.fabric = fabric, .node = h, .comments = h % 2};
        char *script = NULL, name[FABRIC_NAME];
        size_t size = 0;

        emit.to = open_memstream(&script, &size);
        assert_non_null(emit.to);
        assert_int_equal(config_host.emit(&emit), 0);
        fclose(emit.to);
        for (uint32_t p = 0; p < fabric->node[h].ports; p++) {
            uint32_t port = fabric->node[h].first_port + p;
            config_port_label(&emit, &config_host, port, name, sizeof(name));
            for (unsigned i = 0; i < MLX5_TOOLS * 2u; i++) {
                struct replay at = {what, fabric->node[h].name, name, (enum mlx5_tool)(i / 2)};
                struct mlx5_model model;
                mlx5_start(&model, at.tool, i % 2);
                replay(&at, script, &model);
                compare(&at, fabric, port, &model);
            }
        }
        free(script);
    }
}

static struct fabric *load(const char *name, const char *text)
{
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;

    if (fabric_load(name, text, &fabric, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("%s does not load", name);
    }
    return fabric;
}

static void test_random(void **state)
{
    static const struct random_limits limits = {.host = true, .lossless_most = 2};
    uint64_t count = trips();
    char what[32];

    (void)state;
    for (uint64_t seed = 1; seed <= count; seed++) {
        char *text = random_fabric(seed, &limits);
        struct fabric *fabric = load("random", text);
        snprintf(what, sizeof(what), "seed %llu", (unsigned long long)seed);
        each_host(what, fabric, UINT32_MAX);
        fabric_free(fabric);
        free(text);
    }
}

/* What mlnx_qos does with a map that was flushed is what the model is right or wrong about. */
static void test_model(void **state)
{
    struct mlx5_model model;

    (void)state;
    mlx5_start(&model, MLX5_QOS, true);
    assert_null(mlx5_command(&model, "mlnx_qos -i e --dscp2prio flush"));
    assert_false(model.trust_dscp);
    assert_int_equal(model.prio[26], 0);
    assert_null(mlx5_command(&model, "mlnx_qos -i e --trust dscp"));
    assert_int_equal(model.prio[26], 3);
    assert_null(mlx5_command(&model, "mlnx_qos -i e --dscp2prio del,26,3"));
    assert_int_equal(model.prio[26], 0);
    assert_non_null(mlx5_command(&model, "mlnx_qos -i e --dscp2prio del,26,3"));
    assert_non_null(mlx5_command(&model, "mlnx_qos -i e --trust dscp --dscp2prio set,26,3"));
    assert_non_null(mlx5_command(&model, "mlnx_qos -i e --tsa ets,ets,ets,ets,ets,ets,ets,ets --tcbw 1,1,1,1,1,1,1,1"));
    mlx5_start(&model, MLX5_QOS_OLD, true);
    assert_null(mlx5_command(&model, "mlnx_qos -i e --cable_len 20"));
    assert_int_equal(model.pfc, 0);
    assert_null(mlx5_command(&model, "mlnx_qos -i e --dscp2prio set,26,6 --dscp2prio set,27,6"));
    assert_int_equal(model.prio[26], 26 * 5 % 8); /* the last of several is kept, and nothing said of the others */
    assert_int_equal(model.prio[27], 6);
}

static char *file_text(const char *path)
{
    FILE *from = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;

    assert_non_null(from);
    assert_true(getdelim(&text, &room, 0, from) > 0);
    fclose(from);
    return text;
}

static void test_examples(void **state)
{
    const char *folder = getenv("EXAMPLES");
    DIR *dir = folder ? opendir(folder) : NULL;
    unsigned count = 0;

    (void)state;
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name);
        char path[4096];
        if (length < 5 || strcmp(entry->d_name + length - 5, ".yaml") != 0) continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        char *text = file_text(path);
        struct fabric *fabric = load(path, text);
        free(text);
        each_host(entry->d_name, fabric, 4); /* the others are as these */
        fabric_free(fabric);
        count++;
    }
    closedir(dir);
    assert_true(count > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
