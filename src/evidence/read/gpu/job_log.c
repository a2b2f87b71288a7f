/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs of jobs: NCCL and RCCL, UCX, SPDK, perftest's errors, rdma_cm's tools, MPI, PyTorch.
 *
 * What a line says is known by its phrase (phrases.def), whose it is and between whom by the words around it
 * (job_line.c).  Lines of many programs and hosts stand between each other, and between the rows of tables.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evidence/read/gpu/jobs.h"

/* Kept over a text. */
struct job_log {
    bool pending; /* an error of which the second line, with the peer, may follow */
    uint8_t kind;
    uint32_t object;
    uint32_t line;
    char process[64]; /* the line's first word */
    uint8_t dump;     /* lines that are left of a completion's dump */
};
_Static_assert(sizeof(struct job_log) <= READER_ASIDE, "kept in reading.aside");

static struct job_log *kept_of(struct reading *in)
{
    return (struct job_log *)in->aside;
}

/* --- work completions --- */

/* Of enum ibv_wc_status. */
static const struct {
    uint8_t status;
    const char *name;
    uint8_t kind;
} statuses[] = {
    {1, "local length error", EVIDENCE_EVENT_LENGTH_WRONG},
    {2, "local queue pair operation error", EVIDENCE_EVENT_REQUEST_REFUSED},
    {4, "local protection error", EVIDENCE_EVENT_ACCESS_REFUSED},
    {5, "flushed", EVIDENCE_EVENT_FLUSHED},
    {6, "memory window", EVIDENCE_EVENT_ACCESS_REFUSED},
    {7, "bad response", EVIDENCE_EVENT_REQUEST_REFUSED},
    {8, "local access error", EVIDENCE_EVENT_ACCESS_REFUSED},
    {9, "remote invalid request", EVIDENCE_EVENT_REQUEST_REFUSED},
    {10, "remote access error", EVIDENCE_EVENT_ACCESS_REFUSED},
    {11, "remote operation error", EVIDENCE_EVENT_REQUEST_REFUSED},
    {12, NULL, EVIDENCE_EVENT_RETRY_EXHAUSTED},
    {13, NULL, EVIDENCE_EVENT_RNR_EXHAUSTED},
    {14, "the peer aborted", EVIDENCE_EVENT_DISCONNECTED},
    {22, "the peer aborted", EVIDENCE_EVENT_DISCONNECTED},
};

static bool status_event(const struct job_line *of, uint64_t status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i].status == status) {
            job_line_event(of, (enum evidence_event_kind)statuses[i].kind, statuses[i].name);
            return true;
        }
    return false;
}

/* "status=12", "with error 12,", "status=IBV_WC_RETRY_EXC_ERR(12)", "Failed status 4:", "(12): transport retry ...". */
static bool status_in(const struct job_line *of, uint64_t *status)
{
    static const char *const before[] = {"status number ", "status=", "with error ", "Failed status ",
                                         "status: ",       "status ", "error: ",     NULL};
    const char *open = of->line;

    for (size_t i = 0; before[i]; i++)
        if (number_behind(of->line, before[i], status) && *status < 32) return true;
    while ((open = strchr(open + 1, '(')))
        if (number_behind(open, "(", status) && *status < 32 && open[2 + (*status > 9)] == ')') return true;
    return false;
}

/* The names of statuses are phrases themselves. */
static bool status_by_name(const struct job_line *of)
{
    static const uint8_t kinds[] = {
        [PHRASE_RETRY] = EVIDENCE_EVENT_RETRY_EXHAUSTED,   [PHRASE_RNR] = EVIDENCE_EVENT_RNR_EXHAUSTED,
        [PHRASE_FLUSHED] = EVIDENCE_EVENT_FLUSHED,         [PHRASE_ACCESS] = EVIDENCE_EVENT_ACCESS_REFUSED,
        [PHRASE_REQUEST] = EVIDENCE_EVENT_REQUEST_REFUSED, [PHRASE_LENGTH] = EVIDENCE_EVENT_LENGTH_WRONG};
    struct text_field phrase = of->phrase;
    enum phrase_what what;

    do
        what = phrase_find(phrase.at + phrase.length, &phrase);
    while (what == PHRASE_STATUS);
    if (what < PHRASE_RETRY || what > PHRASE_LENGTH) return false;
    job_line_event(of, (enum evidence_event_kind)kinds[what], NULL);
    return true;
}

/* mlx5's library says the peer's or the host's name, and then four lines of the completion as numbers. */
static bool completion(const struct job_line *of)
{
    uint64_t status;

    if (status_in(of, &status) && status_event(of, status)) return true;
    if (status_by_name(of)) return true;
    if (strstr(of->line, "mlx5: ") && strstr(of->line, "got completion with error:")) {
        kept_of(of->in)->dump = 4;
        kept_of(of->in)->object = of->host;
    }
    return true; /* "Completion with error at client": the next line has the status */
}

static bool is_dump(const char *line)
{
    return strspn(line, "0123456789abcdef") == 8 && line[8] == ' ' && strspn(line + 9, "0123456789abcdef") == 8;
}

/* "00000000 93005204 0a0019a1 c0921cd2": the fourth line; of the second word the last byte is the syndrome. */
static bool dumped(struct reading *in, const char *line)
{
    static const struct {
        const char *syndrome;
        uint8_t status;
    } known[] = {{"01", 1}, {"02", 2},  {"04", 4},  {"05", 5},  {"11", 8},
                 {"12", 9}, {"13", 10}, {"14", 11}, {"15", 12}, {"16", 13}};
    struct job_log *kept = kept_of(in);
    struct text_field word[5];

    if (!kept->dump) return false;
    if (--kept->dump || field_split(line, word, 5) != 4) return true;
    struct job_line of = {.in = in, .line = line, .host = kept->object, .port = EVIDENCE_NONE};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!strncmp(word[1].at + 6, known[i].syndrome, 2)) status_event(&of, known[i].status);
    return true;
}

/* --- UCX: two lines for an error --- */

static void pending_flush(struct reading *in, const struct text_field *to)
{
    struct job_log *kept = kept_of(in);
    uint32_t line = in->source.line;

    if (!kept->pending) return;
    kept->pending = false;
    in->source.line = kept->line;
    reading_event(in, (enum evidence_event_kind)kept->kind, kept->object, EVIDENCE_NO_PRIORITY, NULL, to, NULL);
    in->source.line = line;
}

static void process_of(const char *line, char process[64])
{
    line += strspn(line, " \t");
    snprintf(process, 64, "%.*s", (int)strcspn(line, " \t"), line);
}

static void pending_keep(const struct job_line *of, enum evidence_event_kind kind)
{
    struct job_log *kept = kept_of(of->in);

    pending_flush(of->in, NULL);
    *kept = (struct job_log){
        .pending = true, .kind = (uint8_t)kind, .object = job_line_whose(of), .line = of->in->source.line};
    process_of(of->line, kept->process);
}

static bool is_link_local(const struct text_field *gid)
{
    return gid->length > 4 && (!strncasecmp(gid->at, "fe80:", 5) || !strncasecmp(gid->at, "fe:80:", 6));
}

/* "DCI QP 0x1510 wqe[0]: SEND s-e [rqpn 0x223a4 rmac 0c:42:a1:7d:df:c8 sgix 0 dgid fe80::e42:a1ff:fe7d:dfc8 tc 0]" */
static bool ucx_queue_pair(struct job_line *of)
{
    struct job_log *kept = kept_of(of->in);
    char process[64], detail[48];
    uint64_t index = 0, lid = 0;

    if (!strstr(of->line, "wqe[") && !strstr(of->line, "rqpn")) return false;
    process_of(of->line, process);
    if (kept->pending && !strcmp(process, kept->process)) {
        char name[32];
        struct text_field to = of->to;
        if (!to.length && (number_behind(of->line, "rlid ", &lid) || number_behind(of->line, "dlid=", &lid))) {
            snprintf(name, sizeof name, "LID %u", (unsigned)(lid & 0xffff));
            to = field_of(name);
        }
        if (of->port == EVIDENCE_NONE) of->port = kept->object;
        pending_flush(of->in, to.length ? &to : NULL);
    }
    bool said = number_behind(of->line, "sgix ", &index) || number_behind(of->line, "sgid_index=", &index);
    if (!is_link_local(&of->to)) return true;
    snprintf(detail, sizeof detail, said ? "GID index %u, link-local" : "link-local", (unsigned)(index & 0xff));
    job_line_event(of, EVIDENCE_EVENT_GID_WRONG, detail);
    return true;
}

/* NCCL: "... GID 0 (80FE/1A8A41FEFF21A75E)"; Mooncake: "GID: (GID_Index 1) fe:80:00:..."; no error yet. */
static bool used_gid(const struct job_line *of)
{
    struct text_field gid = word_behind(of->line, "GID_Index ");
    const char *nccl = strstr(of->line, "(80FE/"), *bytes = strstr(of->line, ") fe:80:");
    char detail[48];
    uint64_t index = 0;

    if (!nccl && !bytes) return true;
    if (!number_behind(of->line, nccl ? " GID " : "GID_Index ", &index) && !gid.length) return true;
    snprintf(detail, sizeof detail, "GID index %u, link-local", (unsigned)(index & 0xff));
    job_line_event(of, EVIDENCE_EVENT_GID_WRONG, detail);
    return true;
}

/* verbs' examples: "local address:  LID 0x0000, QPN 0x000b65, PSN 0x2f5, GID fe80::9". */
static bool own_address(const struct job_line *of)
{
    struct text_field gid = word_behind(of->line, "GID ");
    struct job_line own = *of;

    if (!is_link_local(&gid)) return strstr(of->line, "GID") != NULL;
    own.from = gid;
    job_line_event(&own, EVIDENCE_EVENT_GID_WRONG, "link-local");
    return true;
}

/* --- before the first packet --- */

static const struct {
    const char *text;
    uint8_t number;
} errors[] = {{"Connection timed out", 110},
              {"No route to host", 113},
              {"Network is unreachable", 101},
              {"Connection refused", 111},
              {"Invalid argument", 22},
              {"No such device", 19},
              {"Cannot allocate memory", 12},
              {"Bad address", 14},
              {"Cannot assign requested address", 99},
              {"Operation not permitted", 1},
              {"Connection reset", 104},
              {"Resource temporarily unavailable", 11},
              {"No such file or directory", 2},
              {"Input/output error", 5},
              {"Remote I/O error", 121},
              {"Device or resource busy", 16},
              {"Software caused connection abort", 103},
              {"timed out", 110}};

/* The name of the error that a line has, in words or as its number; NULL. */
static const char *error_in(const char *line)
{
    uint64_t number = 0;

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (strstr(line, errors[i].text)) return errors[i].text;
    if (!number_behind(line, "errno ", &number) && !number_behind(line, "errno: ", &number) &&
        !number_behind(line, "error -", &number) && !number_behind(line, "error: -", &number) &&
        !number_behind(line, "status = -", &number) && !number_behind(line, "status -", &number) &&
        !number_behind(line, "errno=", &number) && !number_behind(line, "non-zero status: ", &number))
        return NULL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].number == number) return errors[i].text;
    return NULL;
}

/* Only the step to "ready to receive" has to do with the peer. */
static bool modify(const struct job_line *of)
{
    const char *error = error_in(of->line);
    char detail[96];

    if (!strstr(of->line, "ail")) return false;
    if (strstr(of->line, "next state") && !strstr(of->line, "next state RTR")) return true;
    if (strstr(of->line, "to RTS") || strstr(of->line, "to INIT") || strstr(of->line, "retrying ")) return true;
    snprintf(detail, sizeof detail, "queue pair to RTR%s%s", error ? ": " : "", error ? error : "");
    job_line_event(of, EVIDENCE_EVENT_UNREACHABLE, detail);
    return true;
}

static bool is_refused(const char *line)
{
    return strstr(line, "refused") != NULL || strstr(line, "errno: 111") != NULL;
}

/* A socket: the network of addresses, not yet RDMA's. */
static bool connected(const struct job_line *of)
{
    const char *error = error_in(of->line);
    bool perftest = strstr(of->line, "Couldn't connect to") != NULL;

    if (!error && !perftest) return strstr(of->line, "ail") != NULL;
    if (is_refused(of->line))
        job_line_event(of, EVIDENCE_EVENT_REJECTED, "a socket: nobody listens at that address");
    else if (perftest)
        job_line_event(of, EVIDENCE_EVENT_UNREACHABLE, "a socket of the test, before RDMA");
    else
        job_line_event(of, EVIDENCE_EVENT_UNREACHABLE, error);
    return true;
}

/* "RDMA_CM_EVENT_ADDR_ERROR, error -19"; perftest prints the event's number. */
static bool cm_event(const struct job_line *of)
{
    static const struct {
        const char *name;
        uint8_t number, kind;
    } known[] = {
        {"ADDR_ERROR", 1, EVIDENCE_EVENT_UNREACHABLE},    {"ROUTE_ERROR", 3, EVIDENCE_EVENT_UNREACHABLE},
        {"CONNECT_ERROR", 6, EVIDENCE_EVENT_UNREACHABLE}, {"UNREACHABLE", 7, EVIDENCE_EVENT_UNREACHABLE},
        {"REJECTED", 8, EVIDENCE_EVENT_REJECTED},         {"DEVICE_REMOVAL", 11, EVIDENCE_EVENT_ADAPTER_FAILED},
        {"TIMEWAIT_EXIT", 15, EVIDENCE_EVENTS},           {"DISCONNECTED", 10, EVIDENCE_EVENT_DISCONNECTED}};
    const char *error = error_in(of->line);
    const char *behind = of->phrase.at + of->phrase.length;
    struct text_field name = {behind, strcspn(behind, " ,.;:()\t")};
    uint64_t number = 0;
    char detail[96];

    bool numbered = number_behind(of->line, "blka ", &number) || number_behind(of->line, "CM event ", &number);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (numbered ? number != known[i].number : !field_is(&name, known[i].name)) continue;
        if (known[i].kind == EVIDENCE_EVENTS) return true;
        bool none = error && !strcmp(error, "No such device");
        snprintf(detail, sizeof detail, "%s%s%s", known[i].name, error ? ": " : "",
                 none    ? "the route to the address leaves by no RDMA device"
                 : error ? error
                         : "");
        job_line_event(of, (enum evidence_event_kind)known[i].kind, detail);
        return true;
    }
    return true;
}

/* --- the host's side --- */

/* As ibv_event_type_str() has them. */
static bool async_event(const struct job_line *of)
{
    static const struct {
        const char *text;
        uint8_t kind;
    } known[] = {{"local catastrophic error", EVIDENCE_EVENT_ADAPTER_FAILED},
                 {"device fatal", EVIDENCE_EVENT_ADAPTER_FAILED},
                 {"port error", EVIDENCE_EVENT_LINK_WENT_DOWN},
                 {"port active", EVIDENCE_EVENT_LINK_CAME_UP},
                 {"local access violation work queue error", EVIDENCE_EVENT_ACCESS_REFUSED},
                 {"invalid request local work queue error", EVIDENCE_EVENT_REQUEST_REFUSED},
                 {"local work queue catastrophic error", EVIDENCE_EVENT_REQUEST_REFUSED},
                 {"WQ fatal error", EVIDENCE_EVENT_REQUEST_REFUSED},
                 {"GID table change", EVIDENCE_EVENT_GID_CHANGED},
                 {"CQ error", EVIDENCE_EVENT_PROGRAM_FAILED}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strstr(of->line, known[i].text)) {
            job_line_event(of, (enum evidence_event_kind)known[i].kind, known[i].text);
            return true;
        }
    return true; /* nothing that is wrong */
}

static bool memory(const struct job_line *of)
{
    const char *error = error_in(of->line);
    char detail[96];

    if (!strstr(of->line, "ail") && !strstr(of->line, "Couldn't")) return false;
    snprintf(detail, sizeof detail, "a region was not registered%s%s", error ? ": " : "", error ? error : "");
    job_line_event(of, EVIDENCE_EVENT_MEMORY_LIMIT, detail);
    return true;
}

static bool create(const struct job_line *of)
{
    const char *error = error_in(of->line);
    bool limit = error && !strcmp(error, "Cannot allocate memory");
    char detail[128];

    if (!strstr(of->line, "ail") && !strstr(of->line, "Unable")) return false;
    snprintf(detail, sizeof detail, "a queue of the adapter was not made%s%s", error ? ": " : "", error ? error : "");
    job_line_event(of, limit ? EVIDENCE_EVENT_MEMORY_LIMIT : EVIDENCE_EVENT_PROGRAM_FAILED, detail);
    return true;
}

/* "Port number 1 state is Down" */
static bool port_state(const struct job_line *of)
{
    if (!strstr(of->line, " state is ")) return false;
    job_line_event(of, EVIDENCE_EVENT_LINK_WENT_DOWN, "the port is not active");
    return true;
}

/* Its own words, from the phrase on. */
static bool program(const struct job_line *of)
{
    char detail[96];

    snprintf(detail, sizeof detail, "%.80s", of->phrase.at);
    job_line_event(of, EVIDENCE_EVENT_PROGRAM_FAILED, detail);
    return true;
}

/* --- lines --- */

static bool simple(const struct job_line *of, enum evidence_event_kind kind, const char *detail)
{
    job_line_event(of, kind, detail);
    return true;
}

/* An error by its name; where UCX says it, its second line has the peer. */
static bool named_status(const struct job_line *of, enum evidence_event_kind kind)
{
    if (strstr(of->line, "(synd 0x") && strstr(of->line, " on "))
        pending_keep(of, kind);
    else
        job_line_event(of, kind, NULL);
    return true;
}

static bool act_on_others(struct job_line *of, enum phrase_what what)
{
    switch (what) {
    case PHRASE_UNREACHABLE:
        return simple(of, EVIDENCE_EVENT_UNREACHABLE, NULL);
    case PHRASE_NO_RDMA:
        return simple(of, EVIDENCE_EVENT_NO_RDMA, NULL);
    case PHRASE_DISCONNECTED:
    case PHRASE_CLOSED:
        return simple(of, EVIDENCE_EVENT_DISCONNECTED, NULL);
    case PHRASE_MIXED:
        return simple(of, EVIDENCE_EVENT_UNREACHABLE, "InfiniBand and Ethernet adapters are mixed");
    case PHRASE_GID_CHANGED:
        return simple(of, EVIDENCE_EVENT_GID_CHANGED, NULL);
    case PHRASE_GID_TYPES:
        return simple(of, EVIDENCE_EVENT_GID_WRONG, "GIDs of two kinds");
    case PHRASE_SILENT:
        return simple(of, EVIDENCE_EVENT_UNREACHABLE, "no message came");
    case PHRASE_WAITS:
        return simple(of, EVIDENCE_EVENT_COLLECTIVE_TIMEOUT, "a peer's message did not come");
    case PHRASE_TIMEOUT:
        return ranks_timeout(of);
    case PHRASE_STUCK:
        return ranks_stuck(of);
    case PHRASE_STORE:
        return ranks_store(of);
    case PHRASE_EXIT:
        return ranks_exit(of);
    case PHRASE_DUMP:
        return ranks_dump(of);
    case PHRASE_DIFFER:
        return ranks_differ(of);
    case PHRASE_ABSENT:
        return ranks_absent(of);
    case PHRASE_PROGRAM:
        return program(of);
    default:
        return true;
    }
}

static bool act_on(struct job_line *of, enum phrase_what what)
{
    switch (what) {
    case PHRASE_STATUS:
        return completion(of);
    case PHRASE_RETRY:
        return named_status(of, EVIDENCE_EVENT_RETRY_EXHAUSTED);
    case PHRASE_RNR:
        return named_status(of, EVIDENCE_EVENT_RNR_EXHAUSTED);
    case PHRASE_FLUSHED:
        return named_status(of, EVIDENCE_EVENT_FLUSHED);
    case PHRASE_ACCESS:
        return named_status(of, EVIDENCE_EVENT_ACCESS_REFUSED);
    case PHRASE_REQUEST:
        return named_status(of, EVIDENCE_EVENT_REQUEST_REFUSED);
    case PHRASE_LENGTH:
        return named_status(of, EVIDENCE_EVENT_LENGTH_WRONG);
    case PHRASE_QP:
        return ucx_queue_pair(of);
    case PHRASE_NCCL_GID:
        return used_gid(of);
    case PHRASE_ASYNC:
        return async_event(of);
    case PHRASE_MODIFY:
        return modify(of);
    case PHRASE_MEMORY:
        return memory(of);
    case PHRASE_CREATE:
        return create(of);
    case PHRASE_CONNECT:
        return connected(of);
    case PHRASE_CM:
        return cm_event(of);
    case PHRASE_PORT:
        return port_state(of);
    case PHRASE_ADDRESS:
        return own_address(of);
    default:
        return act_on_others(of, what);
    }
}

bool job_line_read(struct reading *in, const char *line)
{
    struct text_field phrase;
    enum phrase_what what = phrase_find(line, &phrase);
    struct job_line of;

    if (what == PHRASE_NONE) return dumped(in, line);
    job_line_init(&of, in, line, &phrase);
    bool known = act_on(&of, what);
    in->clock_s = NAN;
    return known;
}

void job_log_end(struct reading *in)
{
    pending_flush(in, NULL);
}

static bool job_head(const char *line)
{
    struct text_field phrase;

    return is_dump(line) || phrase_find(line, &phrase) != PHRASE_NONE;
}

const struct text_reader reader_job_log = {.kind = "job-log",
                                           .what = "Logs of UCX, SPDK, PyTorch, MPI, rdma_cm and their like",
                                           .head = job_head,
                                           .line = job_line_read,
                                           .end = job_log_end};
