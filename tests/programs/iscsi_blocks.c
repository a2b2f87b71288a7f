/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: iscsi_blocks URL BYTES REQUESTS DEPTH
 *
 * An initiator made with libiscsi: writes a disk in REQUESTS requests of BYTES each, DEPTH at a time, reads all of it
 * back and compares.  URL is iscsi://... (TCP) or iser://....  Prints "iscsi_blocks: REQUESTS requests: right" and how
 * long both took.
 */
#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK = 512 };

struct job {
    struct iscsi_context *iscsi;
    unsigned char *written;
    uint32_t bytes;
    int lun, requests, next, done, reads;
};

static void need(int good, const char *what, struct iscsi_context *iscsi)
{
    if (good) return;
    fprintf(stderr, "iscsi_blocks: %s failed: %s\n", what, iscsi != NULL ? iscsi_get_error(iscsi) : "");
    exit(1);
}

static int number(const char *text)
{
    long value = strtol(text, NULL, 10);

    need(value > 0 && value < 1 << 30, text, NULL);
    return (int)value;
}

static void start(struct job *job);

static void ended(struct iscsi_context *iscsi, int status, void *data, void *opaque)
{
    struct scsi_task *task = data;
    struct job *job = opaque;

    need(status == SCSI_STATUS_GOOD, job->reads ? "a read" : "a write", iscsi);
    if (job->reads) {
        uint64_t place = (uint64_t)scsi_get_uint64(&task->cdb[2]) * BLOCK;
        need(task->datain.size == (int)job->bytes, "the size of a read", NULL);
        need(memcmp(task->datain.data, job->written + place, job->bytes) == 0, "the comparison of a read", NULL);
    }
    scsi_free_scsi_task(task);
    job->done++;
    start(job);
}

static void start(struct job *job)
{
    uint64_t place = (uint64_t)job->next * job->bytes, lba = place / BLOCK;
    struct scsi_task *task;

    if (job->next == job->requests) return;
    job->next++;
    if (job->reads)
        task = iscsi_read16_task(job->iscsi, job->lun, lba, job->bytes, BLOCK, 0, 0, 0, 0, 0, ended, job);
    else
        task = iscsi_write16_task(job->iscsi, job->lun, lba, job->written + place, job->bytes, BLOCK, 0, 0, 0, 0, 0,
                                  ended, job);
    need(task != NULL, "a request", job->iscsi);
}

/* All requests, `depth` of them under way; answers the seconds. */
static double all(struct job *job, int reads, int depth)
{
    struct timespec from, to;

    job->reads = reads;
    job->next = job->done = 0;
    clock_gettime(CLOCK_MONOTONIC, &from);
    while (depth-- > 0)
        start(job);
    while (job->done < job->requests) {
        struct pollfd wait = {.fd = iscsi_get_fd(job->iscsi), .events = (short)iscsi_which_events(job->iscsi)};
        need(poll(&wait, 1, 60000) == 1, "poll", NULL);
        need(iscsi_service(job->iscsi, wait.revents) == 0, "iscsi_service", job->iscsi);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

int main(int argc, char **argv)
{
    need(argc == 5, "usage: iscsi_blocks URL BYTES REQUESTS DEPTH; this", NULL);
    struct iscsi_context *iscsi = iscsi_create_context("iqn.2026-11.lab:blocks");
    struct iscsi_url *url = iscsi_parse_full_url(iscsi, argv[1]);
    struct job job = {.iscsi = iscsi, .bytes = (uint32_t)number(argv[2]), .requests = number(argv[3])};
    size_t size = (size_t)job.bytes * (size_t)job.requests;
    double writes, reads;

    need(url != NULL, "the URL", iscsi);
    job.lun = url->lun;
    job.written = malloc(size);
    need(job.written != NULL, "malloc", NULL);
    for (size_t i = 0; i < size; i++)
        job.written[i] = (unsigned char)(i * i >> 9 ^ i);
    iscsi_set_session_type(iscsi, ISCSI_SESSION_NORMAL);
    iscsi_set_targetname(iscsi, url->target);
    need(iscsi_full_connect_sync(iscsi, url->portal, url->lun) == 0, "the login", iscsi);
    writes = all(&job, 0, number(argv[4]));
    reads = all(&job, 1, number(argv[4]));
    printf("iscsi_blocks: %d requests: right; %.3f s of writes, %.3f s of reads\n", job.requests, writes, reads);
    iscsi_logout_sync(iscsi);
    iscsi_destroy_url(url);
    iscsi_destroy_context(iscsi);
    free(job.written);
    return 0;
}
