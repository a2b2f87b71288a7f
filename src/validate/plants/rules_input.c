/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promtool takes its time for every series, so that what no alert that is judged depends on is left out.  A microsecond
 * of the run is stretched to a second.
 */
#include "validate/plants/rules_input.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/sim_report.h"

#define STEP_S 20        /* RULES_STEP_PS, stretched */
#define STRETCH 1e6      /* a microsecond becomes a second */
#define EPOCH 1767225600 /* 2026-01-01, where sim_openmetrics() begins */
#define FIRED "ALERTS{alertstate=\\\"firing\\\", severity!=\\\"info\\\"}"

struct one {         /* a series */
    char *name;      /* with its labels */
    char *values;    /* as promtool reads them: `_ 1 2` */
    bool zero, unit; /* each value is 0; is 1 */
    bool left_out;
};

struct input {
    struct one *one;
    uint32_t count, room;
    size_t values_room, values_used; /* of the last one's values */
    long step, last;                 /* of the last one; of all */
    bool wanted;                     /* lines of the name at hand are kept */
};

/* A metric that some rule asks for. */
static bool is_wanted(const char *name, size_t length)
{
    for (const char *at = alert_rules; (at = strstr(at, name)); at += length)
        if (!strchr("_abcdefghijklmnopqrstuvwxyz", at[length])) return true;
    return false;
}

static bool is_among(const char *const *names, const char *series)
{
    for (; *names; names++) {
        size_t length = strlen(*names);
        if (strncmp(series, *names, length) == 0 && series[length] == '{') return true;
    }
    return false;
}

/* --- what is said of the run --- */

/* A value that never changes is written every four minutes alone, which is too seldom for a rate: of counters, what is
 * between is filled in. */
static bool add_value(struct input *input, const char *value, long step)
{
    struct one *one = &input->one[input->count - 1];
    const char *between = input->step && strstr(one->name, "_total{") ? value : "_";
    size_t each = strlen(value) + 1;

    if (step < input->step || step > (long)(RULES_LONGEST_PS / RULES_STEP_PS) + 2) return true;
    size_t need = input->values_used + (size_t)(step - input->step + 1) * (each > 2 ? each : 2) + 1;
    if (need > input->values_room) {
        char *grown = realloc(one->values, 2 * need);
        one->values = grown;
        input->values_room = 2 * need;
    }
    for (; input->step <= step; input->step++)
        input->values_used +=
            (size_t)snprintf(one->values + input->values_used, input->values_room - input->values_used, "%s ",
                             input->step < step ? between : value);
    if (input->last < step) input->last = step;
    double number = strtod(value, NULL);
    one->zero = one->zero && number == 0;
    one->unit = one->unit && number == 1;
    return true;
}

static bool add_series(struct input *input, const char *name)
{
    GROW(input->one, input->count, input->room);
    struct one *one = &input->one[input->count];
    *one = (struct one){.name = strdup(name), .zero = true, .unit = true};
    input->values_room = input->values_used = 0;
    input->step = 0;
    if (one->name) input->count++;
    return one->name != NULL;
}

/* `name{labels} value time` */
static bool add_sample(struct input *input, char *line)
{
    char *time = strrchr(line, ' ');

    if (line[0] == '#' || time == NULL) return true;
    *time++ = '\0';
    char *value = strrchr(line, ' ');
    if (value == NULL) return true;
    *value++ = '\0';
    if (input->count == 0 || strcmp(input->one[input->count - 1].name, line) != 0) {
        size_t length = strcspn(line, "{");
        char end = line[length];
        line[length] = '\0';
        input->wanted = is_wanted(line, length);
        line[length] = end;
        if (input->wanted && !add_series(input, line)) return false;
    }
    return !input->wanted || add_value(input, value, (long)((strtod(time, NULL) - EPOCH) / STEP_S + 0.5));
}

static bool read_run(struct input *input, const struct fabric *fabric, const struct series *series)
{
    char *text = NULL, *rest = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    bool good = to && sim_openmetrics(to, fabric, series, STRETCH);

    if (to && fclose(to) != 0) good = false;
    for (char *line = good ? strtok_r(text, "\n", &rest) : NULL; line && good; line = strtok_r(NULL, "\n", &rest))
        good = add_sample(input, line);
    free(text);
    return good;
}

/* --- what is left out --- */

static const char *const sent_bytes[] = {"rocelab_switch_tx_bytes_total", NULL};
static const char *const cnps_sent[] = {"rdma_np_cnp_sent_total", NULL};
static const char *const cnps_handled[] = {"rdma_rp_cnp_handled_total", NULL};

/* Counters that stayed 0 say no more than none, but for sent bytes and CNPs handled, where 0 is what a rule looks for;
 * nor do links that are up and at their rate; and some are for dashboards and what is for information alone. */
static bool is_mute(const struct one *one)
{
    static const char *const others[] = {"rocelab_link_busy_seconds_total", "rocelab_link_tx_line_bytes_total",
                                         "rocelab_switch_tx_packets_total", NULL};
    static const char *const links[] = {"rocelab_link_up", "rocelab_link_speed_ratio", NULL};
    static const char *const zeros[] = {"rocelab_switch_tx_bytes_total", "rdma_rp_cnp_handled_total", NULL};
    static const char *const marks[] = {"rocelab_switch_headroom_max_bytes", NULL};

    if (!one->values || is_among(others, one->name) || (one->unit && is_among(links, one->name))) return true;
    if (!one->zero) return false;
    return is_among(marks, one->name) || (strstr(one->name, "_total{") && !is_among(zeros, one->name));
}

/* They count where another series of their port or device does. */
static bool is_beside(const struct one *one)
{
    static const char *const beside[] = {"rocelab_link_info", "rocelab_switch_headroom_limit_bytes",
                                         "rdma_tx_data_packets_total", NULL};

    return is_among(beside, one->name) || (one->zero && is_among(sent_bytes, one->name));
}

/* The value of `device`, else of `port`, with what follows it; "": it has neither. */
static const char *key_of(const struct one *one)
{
    static const char *const labels[] = {"device=\"", "port=\""};

    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        const char *at = strstr(one->name, labels[i]);
        if (at) return at + strlen(labels[i]);
    }
    return "";
}

static int by_key(const void *a, const void *b)
{
    const char *one = *(const char *const *)a, *other = *(const char *const *)b;
    size_t length = strcspn(one, "\""), others = strcspn(other, "\"");
    int order = strncmp(one, other, length < others ? length : others);

    return order ? order : (length > others) - (length < others);
}

static bool leave_out(struct input *input)
{
    const char **key = calloc(input->count + 1u, sizeof *key);
    size_t keys = 0;
    bool sent = false;

    for (uint32_t i = 0; i < input->count; i++) {
        struct one *one = &input->one[i];
        one->left_out = is_mute(one);
        if (one->left_out || is_beside(one) || is_among(sent_bytes, one->name)) continue;
        if (is_among(cnps_sent, one->name) || is_among(cnps_handled, one->name))
            sent |= is_among(cnps_sent, one->name);
        else
            key[keys++] = key_of(one);
    }
    qsort(key, keys, sizeof *key, by_key);
    for (uint32_t i = 0; i < input->count; i++) {
        const char *wanted = key_of(&input->one[i]);
        if (is_beside(&input->one[i]) && !bsearch(&wanted, key, keys, sizeof *key, by_key))
            input->one[i].left_out = true;
        if (!sent && is_among(cnps_handled, input->one[i].name)) input->one[i].left_out = true;
    }
    free(key);
    return true;
}

static void write_series(FILE *to, const struct input *input)
{
    bool first = true;

    for (uint32_t i = 0; i < input->count; i++) {
        const struct one *one = &input->one[i];
        if (one->left_out) continue;
        fprintf(to, "%s{\"series\": \"", first ? "" : ",\n");
        for (const char *at = one->name; *at; at++)
            fprintf(to, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
        fprintf(to, "\", \"values\": \"%s\"}", one->values);
        first = false;
    }
}

bool rules_input_write(FILE *to, const struct fabric *fabric, const struct series *series)
{
    struct input input = {0};
    bool good = read_run(&input, fabric, series) && leave_out(&input);

    fprintf(to,
            "{\"rule_files\": [\"rules.yml\"], \"evaluation_interval\": \"%ds\", \"tests\": [{\"interval\": \"%ds\", "
            "\"input_series\": [\n",
            STEP_S, STEP_S);
    if (good) write_series(to, &input);
    fprintf(to,
            "],\n\"promql_expr_test\": [{\"expr\": \"group by (alertname, severity) (max_over_time(" FIRED
            "[1d]))\", \"eval_time\": \"%lds\", \"exp_samples\": []}]}]}\n",
            input.last * STEP_S);
    for (uint32_t i = 0; i < input.count; i++) {
        free(input.one[i].name);
        free(input.one[i].values);
    }
    free(input.one);
    return good;
}
