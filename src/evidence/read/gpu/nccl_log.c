/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's log: host:pid:tid [gpu] NCCL WARN|INFO text, a time before it or not.
 *
 * Lines of many hosts stand in one log.  A completion with status 12 (retries used up) is charged to the adapter that
 * the line names; older versions name none: then to the first that the host uses.
 */
#include <stdio.h>
#include <string.h>

#include "evidence/read/gpu/gpu.h"

static bool log_head(const char *line)
{
    return line_has(line, " NCCL WARN ") || line_has(line, " NCCL INFO ");
}

/* The word "host:pid:tid" before "NCCL"; times, the GPU and a file's name may stand there too. */
static struct text_field log_host(const char *line, const char *nccl)
{
    struct text_field word[16];
    size_t count = field_split(line, word, 16);

    for (size_t i = 0; i < count && i < 16 && word[i].at < nccl; i++) {
        size_t name = strcspn(word[i].at, ": "), pid = strspn(word[i].at + name + 1, "0123456789");
        if (!name || name >= word[i].length || !pid || word[i].at[name + 1 + pid] != ':') continue;
        size_t tid = strspn(word[i].at + name + pid + 2, "0123456789");
        bool time = strspn(word[i].at, "0123456789") == name; /* 10:00:01 */
        if (tid && name + pid + tid + 2 == word[i].length && !time) return (struct text_field){word[i].at, name};
    }
    return field_of("");
}

/* The word behind a text; empty: the text is not there. */
static struct text_field behind(const char *line, const char *text)
{
    const char *at = strstr(line, text);

    if (!at) return field_of("");
    at += strlen(text);
    return (struct text_field){at, strcspn(at, " \t,;")};
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

static bool completion(struct reading *in, uint32_t host, const char *text)
{
    struct text_field status = behind(text, "status="), hca = behind(text, " hca ");

    if (!line_has(text, "Got completion from peer") && !line_has(text, "got completion with error")) return false;
    if (!status.length) status = behind(text, "with error ");
    switch (status_of(&status)) {
    case 12:
        count(in, adapter(in, host, &hca), EVIDENCE_RETRY_EXCEEDED);
        break;
    case 13: /* RNR retries used up */
        count(in, adapter(in, host, &hca), EVIDENCE_RNR_NAKS);
        break;
    default: /* 5: flushed because of another; others are not the network's */
        break;
    }
    return true;
}

/* "NET/IB : mlx5_0:1 Got async event : port error", "NET/IB : mlx5_0:1 async fatal event: ..." */
static bool async_event(struct reading *in, uint32_t host, const char *text)
{
    if (!line_has(text, "async event") && !line_has(text, "async fatal event")) return false;
    if (!line_has(text, "port error") && !line_has(text, "device fatal")) return true;
    struct text_field device = behind(text, "NET/IB : ");
    if (!device.length) device = behind(text, "NET/IB: ");
    count(in, adapter(in, host, &device), EVIDENCE_LINK_DOWN);
    return true;
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
    struct text_field rank = behind(text, " rank "), ranks = behind(text, " nranks "), comm = behind(text, " commId ");
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
    struct text_field word = behind(text, "NCCL version ");
    const char *plus = word.length ? memchr(word.at, '+', word.length) : NULL;

    if (!word.length) return false;
    evidence_set_version(in->evidence, host, FABRIC_PART_NCCL, "", word.at,
                         plus ? (size_t)(plus - word.at) : word.length, &in->source);
    return true;
}

static bool log_line(struct reading *in, const char *line)
{
    const char *nccl = strstr(line, " NCCL WARN "), *text;

    if (!nccl) nccl = strstr(line, " NCCL INFO ");
    if (!nccl) return false;
    text = nccl + strlen(" NCCL WARN ") - 1;
    struct text_field name = log_host(line, nccl);
    uint32_t host = gpu_host(in, &name);
    if (version(in, host, text) || completion(in, host, text) || async_event(in, host, text) || uses(in, host, text) ||
        joins(in, host, text))
        return true;
    if (line_has(text, "Call to ibv_modify_qp failed"))
        evidence_remark(in->evidence, in->source.file, in->source.line,
                        "NCCL could not set a queue pair up: a GID, an address or the route of %.*s is wrong",
                        (int)(name.length < 64 ? name.length : 64), name.at);
    return true;
}

const struct text_reader reader_nccl_log = {
    .kind = "nccl-log", .what = "NCCL's log (NCCL_DEBUG)", .head = log_head, .line = log_line};
