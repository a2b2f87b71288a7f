/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of programs through this very fabric: perftest, unchanged, on two hosts of it, by `rocelab up`.
 *
 * Programs live in the fabric's time, so what they print is the fabric's, the same on a machine that is busy, and can
 * be held against closed forms.  The file is taken without its jobs, faults and `stop`: a pair that is alone.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "fabric/fabric.h"
#include "study/clock.h"
#include "validate/live/machine.h"
#include "json/json_in.h"

#define UP_PATIENCE_NS (UINT64_C(120) * 1000000000)
#define WAYS 8u

static const char *const left[] = {"fabric.yaml", "pair.up", "up.json", "up.err", NULL};

struct pair {
    const char *program, *words; /* of both ends */
    char src[FABRIC_NAME], dst[FABRIC_NAME];
    uint32_t src_nic, dst_nic; /* of their hosts */
};

struct heard {
    double figure; /* of the client's last row, as asked for */
    double events; /* packets sent again, dropped, lost, marked, and pauses */
    char why[160]; /* it did not come to that; "": it did */
};

/* Keys of the file that are left out, with all that is below them: from their line to the next key. */
static bool left_out(const char *line)
{
    static const char *const keys[] = {"jobs:", "faults:", "stop:"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strncmp(line, keys[i], strlen(keys[i])) == 0) return true;
    return false;
}

static bool write_fabric(const struct validate_case *of, const char *folder)
{
    char path[LIVE_PATH];
    bool skip = false;

    snprintf(path, sizeof path, "%.200s/fabric.yaml", folder);
    FILE *to = fopen(path, "w");
    if (to == NULL) return false;
    for (const char *line = of->plan->text; *line;) {
        size_t length = strcspn(line, "\n");
        length += line[length] == '\n';
        if (isalpha((unsigned char)*line) || *line == '"' || *line == '\'') skip = left_out(line);
        if (!skip) fwrite(line, 1, length, to);
        line += length;
    }
    return fclose(to) == 0;
}

/* `loss=1%` and `corrupt=1%` of --fault are a cable that loses so many; others a fabric has no word for. */
static bool fault_share(const char *faults, char share[32])
{
    const char *at = strstr(faults, "loss=");

    if (!at) at = strstr(faults, "corrupt=");
    if (!at) return false;
    at = strchr(at, '=') + 1;
    snprintf(share, 32, "%.*s", (int)strcspn(at, ","), at);
    return true;
}

static bool write_script(const struct validate_case *of, const char *folder, const struct pair *pair)
{
    char path[LIVE_PATH], share[32];

    snprintf(path, sizeof path, "%.200s/pair.up", folder);
    FILE *to = fopen(path, "w");
    if (to == NULL) return false;
    fprintf(to, "%s: %s -d rocelab%u %s\n", pair->dst, pair->program, pair->dst_nic, pair->words);
    fprintf(to, "%s after 10ms: %s -d rocelab%u %s %s\n", pair->src, pair->program, pair->src_nic, pair->words,
            pair->dst);
    if (of->plan->live_fault && fault_share(of->plan->live_fault, share))
        fprintf(to, "at 1us: corrupt %s:%u share %s\n", pair->dst, pair->dst_nic, share);
    return fclose(to) == 0;
}

static double sum_of(const struct json *list, const char *const *names)
{
    double sum = 0, value;

    for (const struct json *one = list ? list->child : NULL; one; one = one->next)
        for (const char *const *name = names; *name; name++)
            if (json_real(json_get(one, *name), &value)) sum += value;
    return sum;
}

static void read_report(const char *folder, struct heard *ret)
{
    static const char *const of_ports[] = {"pfc_tx", "ecn_marked", "drops", "lost", NULL};
    static const char *const of_nics[] = {"retransmitted", "naks", NULL};
    struct arena arena;
    const char *why = NULL;
    uint32_t line = 0;
    size_t length;
    char *text = machine_output(folder, "up.json", &length);

    arena_init(&arena, 0);
    const struct json *document = text ? json_parse(&arena, text, length, 1, &why, &line) : NULL;
    if (document)
        ret->events = sum_of(json_get(document, "ports"), of_ports) + sum_of(json_get(document, "nics"), of_nics);
    else
        snprintf(ret->why, sizeof ret->why, "its report cannot be read");
    arena_release(&arena);
    free(text);
}

/* The last line of what it said, without what would end a row. */
static void read_complaint(const char *folder, char why[160])
{
    size_t length;
    char *text = machine_output(folder, "up.err", &length);

    while (text && length && text[length - 1] == '\n')
        text[--length] = '\0';
    char *last = text ? strrchr(text, '\n') : NULL;
    snprintf(why, 160, "up: %.150s", last ? last + 1 : text ? text : "nothing was said");
    free(text);
}

/* False after a row. */
static bool run_up(struct validate_case *of, const struct pair *pair, const char *subject, int figure,
                   struct heard *ret)
{
    char folder[LIVE_PATH], fabric[LIVE_PATH], script[LIVE_PATH];

    *ret = (struct heard){0};
    if (!machine_open(folder)) {
        validate_tell(of, VALIDATE_FAIL, subject, "it can be run", "no folder can be made in /tmp");
        return false;
    }
    snprintf(fabric, sizeof fabric, "%.200s/fabric.yaml", folder);
    snprintf(script, sizeof script, "%.200s/pair.up", folder);
    const char *const words[] = {"rocelab", "up", fabric, "--script", script, "--json", NULL};
    if (!write_fabric(of, folder) || !write_script(of, folder, pair)) {
        snprintf(ret->why, sizeof ret->why, "files cannot be written in /tmp");
    } else if (machine_finish(machine_start(folder, "up.json", "up.err", words), clock_now_ns() + UP_PATIENCE_NS) !=
               0) {
        read_complaint(folder, ret->why);
    } else {
        ret->figure = machine_figure(folder, "up.err", figure);
        read_report(folder, ret);
    }
    machine_close(folder, left);
    if (ret->why[0]) validate_tell(of, VALIDATE_FAIL, subject, "it completes", "%s", ret->why);
    return ret->why[0] == '\0';
}

static void judge_events(struct validate_case *of, const char *name, double events)
{
    const char *subject = case_text(of, "%.200s: pauses, marks, drops, packets lost and sent again", name);
    JUDGE(of, .subject = subject, .criterion = CRITERION_IDLE_EVENTS, .value = events,
          .why = "a pair that is alone loses packets, or is paused");
}

/* 64 KiB messages, a thousand and two thousand of them, alone: the closed form of their way. */
static double way_rate(struct validate_case *of, const struct endpoint_pair *ends)
{
    const char *src = case_endpoint(of, ends->src), *dst = case_endpoint(of, ends->dst);
    const char *jobs = case_text(of, "[{flows: \"%s %s 8MB\\n%s %s 16MB 10ms\"}]", src, dst, src, dst);
    struct variant variant = {0};
    double rate = 0;

    if (variant_open(of, "the way of the pair", jobs, &variant, NULL) &&
        variant_run(of, "the way of the pair", &variant, PS_S)) {
        rate = payload_rate(&variant.result.flow[0], &variant.result.flow[1]);
        variant_close(&variant);
    }
    return rate;
}

static uint32_t nic_of(const struct fabric *fabric, uint32_t endpoint)
{
    uint32_t first = endpoint;

    while (first > 0 && fabric->endpoint[first - 1].host == fabric->endpoint[endpoint].host)
        first--;
    return endpoint - first;
}

static void judge_bandwidth(struct validate_case *of, struct pair *pair, const struct endpoint_pair *ends)
{
    struct heard heard;

    pair->program = "ib_write_bw";
    pair->words = "-F --report_gbits -s 65536 -n 1000";
    const char *name = case_text(of, "ib_write_bw from %.64s to %.64s", pair->src, pair->dst);
    if (!run_up(of, pair, name, 3, &heard)) return;
    double payload = way_rate(of, ends);
    if (payload <= 0) return;
    const char *words = case_text(of, "payload rate of the way, %s", case_number(of, VALIDATE_RATE, payload));
    JUDGE(of, .subject = name, .criterion = CRITERION_POINT_RATE, .unit = VALIDATE_RATE, .value = heard.figure * 1e9,
          .base = payload, .of = words, .why = "what the simulation of this pair reaches, a program does not");
    judge_events(of, name, heard.events);
}

static void judge_latency(struct validate_case *of, struct pair *pair)
{
    struct heard heard;

    pair->program = "ib_write_lat";
    pair->words = "-F -s 8 -n 100";
    const char *name = case_text(of, "ib_write_lat from %.64s to %.64s", pair->src, pair->dst);
    if (!run_up(of, pair, name, 4, &heard)) return;
    const char *subject = case_text(of, "%.200s, typically %.2f us", name, heard.figure);
    judge_events(of, subject, heard.events);
}

void test_live_up(struct validate_case *of)
{
    struct endpoint_pair ends[WAYS];
    uint32_t ways = choose_distances(of->fabric, ends, WAYS);
    struct pair pair = {0};
    char share[32];

    if (access("/usr/bin/ib_write_bw", X_OK) != 0) {
        validate_skip(of, "", "ib_write_bw is not installed (Debian: perftest)");
    } else if (ways == 0) {
        validate_skip(of, "", "no two hosts reach each other over a switch");
    } else if (of->plan->live_fault && !fault_share(of->plan->live_fault, share)) {
        validate_skip(of, "", "a fabric has no fault like '%.100s': loss and corrupt it has", of->plan->live_fault);
    } else {
        const struct endpoint_pair *far = &ends[ways - 1];
        snprintf(pair.src, sizeof pair.src, "%s", of->fabric->node[of->fabric->endpoint[far->src].host].name);
        snprintf(pair.dst, sizeof pair.dst, "%s", of->fabric->node[of->fabric->endpoint[far->dst].host].name);
        pair.src_nic = nic_of(of->fabric, far->src);
        pair.dst_nic = nic_of(of->fabric, far->dst);
        judge_bandwidth(of, &pair, far);
        judge_latency(of, &pair);
    }
}
