/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's log: host:pid:tid [gpu] NCCL WARN|INFO text, a time before it or not.
 *
 * Lines of many hosts stand in one log.  A completion with status 12 (retries used up) is charged to the adapter that
 * the line names; older versions name none: then to the first that the host uses.
 */
#include <stdio.h>
#include <string.h>

#include "evidence/read/gpu/jobs.h"

static bool log_head(const char *line)
{
    return line_has(line, " NCCL WARN ") || line_has(line, " NCCL INFO ");
}

/* "12", "12:" or "IBV_WC_RETRY_EXC_ERR(12)". */
static uint64_t status_of(const struct text_field *word)
{
    const char *open = memchr(word->at, '(', word->length);
    struct text_field digits = *word;
    uint64_t value;

    if (open) digits = (struct text_field){open + 1, strcspn(open + 1, ")")};
    return field_number(&digits, &value) ? value : 0;
}

static uint32_t adapter(struct reading *in, uint32_t host, const struct text_field *name)
{
    struct text_field device = {name->at, 0};

    if (host == EVIDENCE_NONE) return EVIDENCE_NONE;
    while (device.length < name->length && device.at[device.length] != ':')
        device.length++;
    if (device.length) return evidence_port(in->evidence, host, device.at, device.length);
    if (in->evidence->object[host].next != EVIDENCE_NONE) return in->evidence->object[host].next;
    return evidence_port(in->evidence, host, "NIC", 3);
}

static void count(struct reading *in, uint32_t port, enum evidence_counter counter)
{
    evidence_sum(in->evidence, port, EVIDENCE_NO_PRIORITY, counter, 1, &in->source);
}

/* Counters of the adapter: what a fabric's other counters are held against.  Events are the other readers' too. */
static void counted(const struct job_line *of)
{
    struct text_field status = word_behind(of->line, "status="), hca = word_behind(of->line, " hca ");
    bool completion = strstr(of->line, "ot completion from peer") || strstr(of->line, "ot completion with error");

    if (!status.length) status = word_behind(of->line, "with error ");
    if (completion && status_of(&status) == 12) count(of->in, adapter(of->in, of->host, &hca), EVIDENCE_RETRY_EXCEEDED);
    if (completion && status_of(&status) == 13) count(of->in, adapter(of->in, of->host, &hca), EVIDENCE_RNR_NAKS);
    if (!strstr(of->line, "async") || !(strstr(of->line, "port error") || strstr(of->line, "device fatal"))) return;
    struct text_field device = word_behind(of->line, "NET/IB : ");
    if (!device.length) device = word_behind(of->line, "NET/IB: ");
    if (!memchr(device.at, ':', device.length)) device.length = 0; /* older versions say no adapter */
    count(of->in, adapter(of->in, of->host, &device), EVIDENCE_LINK_DOWN);
}

/* "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>": the adapters exist. */
static bool uses(struct reading *in, uint32_t host, const char *text)
{
    const char *at = strstr(text, "NET/IB : Using ");

    if (!at || host == EVIDENCE_NONE) return at != NULL;
    while ((at = strchr(at, '['))) {
        if (*++at < '0' || *at > '9') continue;
        if (!(at = strchr(at, ']'))) break;
        struct text_field name = {++at, 0};
        while (name.length < 64 && *at && !strchr(":/ ;", *at))
            name.length++, at++;
        if (name.length && name.length < 64) evidence_port(in->evidence, host, name.at, name.length);
    }
    return true;
}

/* "ncclCommInitRank comm 0x5581 rank 3 nranks 16 ... commId 0x9f1c2a77 - Init COMPLETE" */
static bool joins(struct reading *in, uint32_t host, const char *text)
{
    struct text_field rank = word_behind(text, " rank "), ranks = word_behind(text, " nranks "),
                      comm = word_behind(text, " commId ");
    uint64_t number, all;

    if (!line_has(text, "ncclCommInitRank") || !comm.length || !field_number(&rank, &number)) return false;
    uint32_t job = gpu_job(in, &comm);
    gpu_rank(in, job, number, host);
    if (field_number(&ranks, &all)) gpu_set(in, job, EVIDENCE_RANKS, all);
    return true;
}

/* "NCCL version 2.21.5+cuda12.4" */
static bool version(struct reading *in, uint32_t host, const char *text)
{
    struct text_field word = word_behind(text, "NCCL version ");
    const char *plus = word.length ? memchr(word.at, '+', word.length) : NULL;

    if (!word.length) return false;
    evidence_set_version(in->evidence, host, FABRIC_PART_NCCL, "", word.at,
                         plus ? (size_t)(plus - word.at) : word.length, &in->source);
    return true;
}

/* What a version says of its own, and errors, which other programs' logs have too. */
static bool log_line(struct reading *in, const char *line)
{
    const char *warn = strstr(line, " NCCL WARN "), *nccl = warn ? warn : strstr(line, " NCCL INFO ");
    struct job_line of;

    if (!nccl) return false;
    job_line_init(&of, in, line, &(struct text_field){line, 0});
    counted(&of);
    bool known = version(in, of.host, nccl);
    known = uses(in, of.host, nccl) || known;
    known = joins(in, of.host, nccl) || known;
    return job_line_read(in, line) || known || !warn;
}

const struct text_reader reader_nccl_log = {
    .kind = "nccl-log", .what = "NCCL's log (NCCL_DEBUG)", .head = log_head, .line = log_line};
