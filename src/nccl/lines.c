/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of JSON; see lines.h.
 *
 * Names come from the program and from NCCL: of a text only printable ASCII is written, anything else as '?'.
 */
#include "nccl/lines.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define HOST_BYTES 65

bool lines_name(const char *pattern, int rank, char *ret, size_t bytes)
{
    char host[HOST_BYTES] = "", part[HOST_BYTES];
    size_t used = 0;

    if (gethostname(host, sizeof host - 1) < 0) host[0] = 0;
    for (; *pattern; pattern++) {
        char kind = pattern[0] == '%' ? pattern[1] : 0;
        if (kind == 'p')
            snprintf(part, sizeof part, "%d", (int)getpid());
        else if (kind == 'r')
            snprintf(part, sizeof part, "%d", rank);
        else if (kind == 'h')
            snprintf(part, sizeof part, "%s", host);
        else
            snprintf(part, sizeof part, "%c", *pattern);
        if (kind && strchr("prh%", kind)) pattern++;
        size_t length = strlen(part);
        if (used + length >= bytes) return false;
        memcpy(ret + used, part, length);
        used += length;
    }
    ret[used] = 0;
    return used > 0;
}

static void text(FILE *out, const char *key, const char *value)
{
    fprintf(out, ",\"%s\":\"", key);
    for (; *value; value++) {
        bool plain = *value >= ' ' && *value <= '~';
        if (*value == '"' || *value == '\\') fputc('\\', out);
        fputc(plain ? *value : '?', out);
    }
    fputc('"', out);
}

static void number(FILE *out, const char *key, uint64_t value)
{
    fprintf(out, ",\"%s\":%" PRIu64, key, value);
}

/* Microseconds, to the nanosecond. */
static void time_us(FILE *out, const char *key, uint64_t ns)
{
    fprintf(out, ",\"%s\":%" PRIu64 ".%03" PRIu64, key, ns / 1000, ns % 1000);
}

static void begin(FILE *out, const char *kind)
{
    fprintf(out, "{\"kind\":\"%s\"", kind);
}

static void whose(FILE *out, const struct recorder_comm *comm)
{
    fprintf(out, ",\"comm\":\"%016" PRIx64 "\",\"rank\":%d", comm->id, comm->rank);
}

void lines_header(FILE *out, int api, uint64_t wall_ns)
{
    char host[HOST_BYTES] = "";

    if (gethostname(host, sizeof host - 1) < 0) host[0] = 0;
    fputs("{\"version\":1,\"kind\":\"nccl\"", out);
    text(out, "host", host);
    number(out, "pid", (uint64_t)getpid());
    number(out, "api", (uint64_t)api);
    time_us(out, "time_us", wall_ns);
    fputs("}\n", out);
}

void lines_comm(FILE *out, const struct recorder_comm *comm, uint64_t wall_ns)
{
    begin(out, "communicator");
    whose(out, comm);
    fprintf(out, ",\"ranks\":%d,\"nodes\":%d", comm->ranks, comm->nodes);
    text(out, "name", comm->name);
    time_us(out, "time_us", wall_ns);
    fputs("}\n", out);
}

static void side(FILE *out, const struct wait_times *times, bool send)
{
    fprintf(out, ",\"%s\":{\"ops\":%" PRIu64, send ? "send" : "recv", times->ops);
    number(out, "steps", times->steps);
    number(out, "bytes", times->bytes);
    time_us(out, "time_us", times->time_ns);
    time_us(out, "gpu_us", times->wait_ns[WAIT_GPU]);
    if (send) {
        time_us(out, "peer_us", times->wait_ns[WAIT_PEER]);
        time_us(out, "network_us", times->wait_ns[WAIT_NETWORK]);
    } else {
        time_us(out, "data_us", times->wait_ns[WAIT_DATA]);
        time_us(out, "flush_us", times->wait_ns[WAIT_FLUSH]);
    }
    time_us(out, "other_us", times->wait_ns[WAIT_OTHER]);
    fputc('}', out);
}

static void waits(FILE *out, const struct wait_times times[2])
{
    struct wait_times sum = times[0];

    wait_times_add(&sum, &times[1]);
    number(out, "ops", sum.ops);
    time_us(out, "proxy_us", sum.time_ns);
    time_us(out, "wait_gpu_us", sum.wait_ns[WAIT_GPU] + sum.wait_ns[WAIT_FLUSH]);
    time_us(out, "wait_peer_us", sum.wait_ns[WAIT_PEER]);
    time_us(out, "wait_network_us", sum.wait_ns[WAIT_NETWORK]);
    time_us(out, "wait_data_us", sum.wait_ns[WAIT_DATA]);
    time_us(out, "wait_other_us", sum.wait_ns[WAIT_OTHER]);
    side(out, &times[1], true);
    side(out, &times[0], false);
}

/* From the GPU's clock where its kernels told it, else from the proxy's first and last step. */
static void exec(FILE *out, const struct recorder_coll *coll)
{
    bool gpu = coll->gpu_first && coll->gpu_last >= coll->gpu_first;
    bool proxy = coll->proxy_first && coll->proxy_last >= coll->proxy_first;

    text(out, "exec_from", gpu ? "gpu" : proxy ? "proxy" : "none");
    time_us(out, "exec_us", gpu ? coll->gpu_last - coll->gpu_first : proxy ? coll->proxy_last - coll->proxy_first : 0);
}

void lines_coll(FILE *out, const struct recorder_comm *comm, const struct recorder_coll *coll, bool done,
                uint64_t begun_ns)
{
    begin(out, "collective");
    whose(out, comm);
    number(out, "seq", coll->seq);
    text(out, "func", coll->func);
    number(out, "bytes", coll->bytes);
    number(out, "count", coll->count);
    text(out, "datatype", coll->datatype);
    if (coll->peer >= 0) {
        number(out, "peer", (uint64_t)coll->peer);
    } else {
        text(out, "algo", coll->algo);
        text(out, "proto", coll->proto);
        number(out, "channels", coll->channels);
    }
    time_us(out, "begin_us", begun_ns);
    fprintf(out, ",\"done\":%s", done ? "true" : "false");
    exec(out, coll);
    waits(out, coll->times);
    fputs("}\n", out);
}

void lines_total(FILE *out, const struct recorder_comm *comm, const struct recorder_totals *totals, uint64_t wall_ns)
{
    begin(out, "total");
    whose(out, comm);
    time_us(out, "time_us", wall_ns);
    number(out, "collectives", totals->collectives);
    number(out, "bytes", totals->bytes);
    waits(out, totals->times);
    number(out, "lost_collectives", totals->lost_collectives);
    number(out, "lost_ops", totals->lost_ops);
    number(out, "foreign_ops", totals->foreign_ops);
    fputs("}\n", out);
}
