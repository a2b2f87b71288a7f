/* SPDX-License-Identifier: Apache-2.0 */
/* Which object of the evidence a sample's labels name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/read/metrics/metrics.h"

#define NAME 256

uint32_t metrics_port_named(struct metrics *metrics, const char *name)
{
    const char *colon = strrchr(name, ':');

    if (!colon || colon == name || !colon[1]) return EVIDENCE_NONE;
    uint32_t device = evidence_device(metrics->evidence, name, (size_t)(colon - name));
    return evidence_port(metrics->evidence, device, colon + 1, strlen(colon + 1));
}

/* Without the port of a service: "leaf0:57400" is leaf0. */
static uint32_t device_named(struct metrics *metrics, const char *name)
{
    return evidence_device(metrics->evidence, name, strcspn(name, ":"));
}

static uint32_t device_of(struct metrics *metrics, const struct sample *sample, enum fabric_role role)
{
    static const char *const keys[] = {"hostname", "Hostname", "nodename", "node",
                                       "host",     "source",   "target",   "instance"};
    uint32_t device = EVIDENCE_NONE;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && device == EVIDENCE_NONE; i++) {
        const char *name = sample_label(sample, keys[i]);
        if (*name) device = device_named(metrics, name);
    }
    if (device == EVIDENCE_NONE) device = metrics->in->device;
    if (device == EVIDENCE_NONE) device = evidence_device(metrics->evidence, "host", 4);
    if (device != EVIDENCE_NONE && metrics->evidence->object[device].role == FABRIC_ROLES)
        metrics->evidence->object[device].role = (uint8_t)role;
    return device;
}

uint32_t metrics_host(struct metrics *metrics, const struct sample *sample)
{
    return device_of(metrics, sample, FABRIC_ROLE_HOST);
}

/* Ports of an adapter beyond the first are told apart. */
static uint32_t nic(struct metrics *metrics, const struct sample *sample)
{
    const char *device = sample_label(sample, "device"), *port = sample_label(sample, "port");
    char name[NAME];

    if (strchr(device, ':')) return metrics_port_named(metrics, device);
    if (!*device) return EVIDENCE_NONE;
    bool first = !*port || !strcmp(port, "1");
    int length = snprintf(name, sizeof name, "%s%s%s", device, first ? "" : "/", first ? "" : port);
    if (length <= 0 || (size_t)length >= sizeof name) return EVIDENCE_NONE;
    return evidence_port(metrics->evidence, metrics_host(metrics, sample), name, (size_t)length);
}

static uint32_t interface(struct metrics *metrics, const struct sample *sample, const char *key, enum fabric_role role)
{
    const char *name = sample_label(sample, key);

    if (!*name || !strcmp(name, "lo")) return EVIDENCE_NONE;
    return evidence_port(metrics->evidence, device_of(metrics, sample, role), name, strlen(name));
}

static uint32_t job(struct metrics *metrics, const struct sample *sample)
{
    const char *name = sample_label(sample, "job_name");

    return *name ? evidence_job(metrics->evidence, name, strlen(name)) : EVIDENCE_NONE;
}

static uint32_t rank_of(struct metrics *metrics, uint32_t of, uint64_t number, uint32_t host)
{
    uint32_t rank = number < UINT32_MAX ? evidence_rank(metrics->evidence, of, (uint32_t)number) : EVIDENCE_NONE;

    if (rank != EVIDENCE_NONE && host != EVIDENCE_NONE) metrics->evidence->object[rank].host = host;
    return rank;
}

static uint32_t rank(struct metrics *metrics, const struct sample *sample)
{
    struct text_field number = field_of(sample_label(sample, "rank"));
    const char *gpu = sample_label(sample, "gpu");
    uint32_t of = job(metrics, sample);
    uint64_t value;

    if (of == EVIDENCE_NONE || !field_number(&number, &value)) return EVIDENCE_NONE;
    return rank_of(metrics, of, value, *gpu ? device_named(metrics, gpu) : EVIDENCE_NONE);
}

/* DCGM knows no ranks: GPUs of a host stand for them, in a job of that name. */
static uint32_t gpu(struct metrics *metrics, const struct sample *sample)
{
    struct text_field number = field_of(sample_label(sample, "gpu"));
    uint32_t host = metrics_host(metrics, sample);
    char name[NAME];
    uint64_t value;

    if (host == EVIDENCE_NONE || !field_number(&number, &value)) return EVIDENCE_NONE;
    int length = snprintf(name, sizeof name, "GPUs of %s", metrics->evidence->object[host].name);
    if (length <= 0 || (size_t)length >= sizeof name) return EVIDENCE_NONE;
    return rank_of(metrics, evidence_job(metrics->evidence, name, (size_t)length), value, host);
}

static unsigned priority_of(const struct sample *sample)
{
    struct text_field text = field_of(sample_label(sample, "priority"));
    uint64_t value;

    if (!text.length) text = field_of(sample_label(sample, "queue"));
    return field_number(&text, &value) && value < EVIDENCE_PRIORITIES ? (unsigned)value : EVIDENCE_NO_PRIORITY;
}

uint32_t metrics_object(struct metrics *metrics, const struct sample *sample, enum metric_object kind,
                        unsigned *priority)
{
    *priority = priority_of(sample);
    switch (kind) {
    case METRIC_SWITCH:
    case METRIC_LINK:
        return metrics_port_named(metrics, sample_label(sample, "port"));
    case METRIC_NIC:
        return nic(metrics, sample);
    case METRIC_NETDEV:
        return interface(metrics, sample, "device", FABRIC_ROLE_HOST);
    case METRIC_SONIC:
        return interface(metrics, sample, "device", FABRIC_ROLE_SWITCH);
    case METRIC_GNMI:
        return interface(metrics, sample, "interface_name", FABRIC_ROLE_SWITCH);
    case METRIC_JOB:
        return job(metrics, sample);
    case METRIC_RANK:
        return rank(metrics, sample);
    case METRIC_GPU:
        return gpu(metrics, sample);
    case METRIC_OBJECTS:
        break;
    }
    return EVIDENCE_NONE;
}
