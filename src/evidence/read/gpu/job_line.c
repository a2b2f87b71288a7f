/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a line of a job's log is, and which ends it names.
 *
 * Programs write the same few things in many ways: a host before the process id, the adapter behind "hca" or "on", the
 * local and the remote GID, the peer's address.  So ends are looked for by what stands before them, whoever wrote it.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "evidence/read/gpu/jobs.h"
#include "evidence/read/host/log.h"

struct text_field word_behind(const char *line, const char *text)
{
    const char *at = strstr(line, text);

    if (!at) return field_of("");
    at += strlen(text);
    return (struct text_field){at, strcspn(at, " \t,;|]\"')")};
}

bool number_behind(const char *line, const char *text, uint64_t *value)
{
    const char *at = strstr(line, text);

    if (!at) return false;
    at += strlen(text);
    struct text_field digits = {at, strspn(at, "0123456789")};
    return digits.length && field_number(&digits, value);
}

/* A file of a program: "src/net.cc", "rdma.c". */
static bool is_source(const struct text_field *name)
{
    static const char *const ends[] = {".c", ".cc", ".cpp", ".cu", ".h", ".py"};

    if (memchr(name->at, '/', name->length)) return true;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t length = strlen(ends[i]);
        if (name->length > length && !memcmp(name->at + name->length - length, ends[i], length)) return true;
    }
    return false;
}

/* mpirun --tag-output: "[1,12]<stdout>:name:4100:4177". */
static const char *behind_stream(const struct text_field *word)
{
    const char *stream = memmem(word->at, word->length, "<std", 4);
    const char *colon = stream ? memchr(stream, ':', (size_t)(word->at + word->length - stream)) : NULL;

    return colon ? colon + 1 : word->at;
}

/* "2019-06-02T16:13:44": no host. */
static bool is_date(const char *at)
{
    return strspn(at, "0123456789") == 4 && at[4] == '-' && strspn(at + 5, "0123456789") == 2 && at[7] == '-';
}

/* "name:4100:4177" before "[0]", "[name:24113:0:24113]", "[name:7391 :0]", "name:XXXXXX [5]": the name. */
static struct text_field process_host(const char *line)
{
    struct text_field word[12];
    size_t count = field_split(line, word, 12);

    for (size_t i = 0; i < count && i < 12; i++) {
        const char *begin = behind_stream(&word[i]), *at = begin + (*begin == '[');
        size_t name = strcspn(at, ": ]"), letters = 0;
        while (letters < name && !isalpha((unsigned char)at[letters]))
            letters++;
        if (!name || letters == name || is_date(at) || at[name] != ':' || at + name >= word[i].at + word[i].length)
            continue;
        size_t pid = strspn(at + name + 1, "0123456789X");
        if (!pid) continue;
        const char *end = at + name + 1 + pid;
        bool bracket = *begin == '[' && (*end == ':' || *end == ' '); /* UCX */
        bool thread = *end == ':' && isdigit((unsigned char)end[1]) && strchr(end, '[') != NULL;
        if (bracket || thread || !strncmp(end, " [", 2)) {
            struct text_field found = {at, name};
            if (!is_source(&found)) return found;
        }
    }
    return field_of("");
}

/* OpenMPI: "from node1 to: node2 error polling". */
static struct text_field mpi_host(const char *line, struct text_field *peer)
{
    const char *to = strstr(line, " to: ");

    if (!to || !strstr(line, "error polling")) return field_of("");
    *peer = word_behind(line, " to: ");
    return word_behind(line, " from ");
}

/* Of a GID or an address: without a port, and an IPv4 address as such. */
static void address_trim(struct text_field *of)
{
    const char *open = memchr(of->at, '<', of->length);

    if (open) of->length = (size_t)(open - of->at);
    if (of->length > 7 && !strncasecmp(of->at, "::ffff:", 7) && memchr(of->at, '.', of->length)) {
        of->at += 7;
        of->length -= 7;
    }
    while (of->length && strchr(".:", of->at[of->length - 1]))
        of->length--;
}

/* The first of these that the line has. */
static struct text_field first_of(const char *line, const char *const *before)
{
    for (; *before; before++) {
        struct text_field word = word_behind(line, *before);
        address_trim(&word);
        if (word.length && word.length < 64 && !field_is(&word, "with")) return word;
    }
    return field_of("");
}

static bool is_device(const struct text_field *name)
{
    bool digit = false;

    if (name->length < 3 || name->length > 32 || !isalpha((unsigned char)*name->at)) return false;
    for (size_t i = 0; i < name->length; i++) {
        unsigned char letter = (unsigned char)name->at[i];
        if (!isalnum(letter) && !strchr("_-.", letter)) return false;
        digit |= isdigit(letter) != 0;
    }
    return digit;
}

/* The adapter; its port, as in mlx5_0:1/RoCE, does not count. */
static uint32_t adapter_of(const struct job_line *of)
{
    static const char *const before[] = {" hca ",         " on dev ", "IB : ", "IB: ",      " on ",
                                         "RDMA device: ", " device ", " dev ", "Device : ", NULL};

    if (of->host == EVIDENCE_NONE) return EVIDENCE_NONE;
    for (size_t i = 0; before[i]; i++) {
        struct text_field word = word_behind(of->line, before[i]);
        const char *colon = memchr(word.at, ':', word.length);
        if (colon) word.length = (size_t)(colon - word.at);
        bool sure = i < 2;
        bool known = word.length > 4 &&
                     (!strncmp(word.at, "mlx", 3) || !strncmp(word.at, "bnxt", 4) || !strncmp(word.at, "irdma", 5) ||
                      !strncmp(word.at, "roce", 4) || !strncmp(word.at, "ionic", 5) || !strncmp(word.at, "rxe", 3) ||
                      !strncmp(word.at, "rdma", 4) || !strncmp(word.at, "rocep", 5));
        if (is_device(&word) && (sure || known || (colon && i < 4 && isdigit((unsigned char)colon[1]))))
            return evidence_port(of->in->evidence, of->host, word.at, word.length);
    }
    return EVIDENCE_NONE;
}

/* "localGid fd00::1", "local GID index 3, local GID ::ffff:10.0.0.1". */
static struct text_field local_gid(const char *line)
{
    struct text_field gid = word_behind(line, "localGid ");

    for (const char *at = line; !gid.length && (at = strstr(at, "local GID ")); at++)
        if (strncmp(at, "local GID index", 15) != 0) gid = word_behind(at, "local GID ");
    address_trim(&gid);
    return gid.length < 64 ? gid : field_of("");
}

void job_line_init(struct job_line *of, struct reading *in, const char *line, const struct text_field *phrase)
{
    static const char *const remote[] = {"remoteGids", "remoteGid ", "remote GID ", "dgid=", "dgid ", NULL};
    static const char *const peer[] = {"from peer ", "onnect to ", "remote peer ", "recv from ", "send to ", "remote=[",
                                       "by peer [",  "Peer: ",     "peer ",        "Peer ",      NULL};

    struct log_line log;

    *of = (struct job_line){.in = in, .line = line, .phrase = *phrase, .port = EVIDENCE_NONE};
    struct text_field name = mpi_host(line, &of->peer);
    if (!name.length) name = process_host(line);
    bool begins = log_begins(line, &log);
    in->clock_s = begins ? log.clock_s : NAN;
    if (!name.length && begins && log.host.length) name = log.host;
    of->host = gpu_host(in, &name);
    of->from = local_gid(line);
    of->to = first_of(line, remote);
    if (!of->peer.length) of->peer = first_of(line, peer);
    of->port = adapter_of(of);
}

uint32_t job_line_whose(const struct job_line *of)
{
    const struct reading *in = of->in;
    uint32_t object = job_line_object(of);

    if (object != EVIDENCE_NONE || in->device != EVIDENCE_NONE) return object;
    const char *path = in->source.file < in->evidence->files ? in->evidence->file[in->source.file] : "";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return *name ? evidence_job(in->evidence, name, strlen(name)) : EVIDENCE_NONE;
}

void job_line_event(const struct job_line *of, enum evidence_event_kind kind, const char *detail)
{
    const struct text_field text = field_of(detail);
    const struct text_field *to = of->to.length ? &of->to : of->peer.length ? &of->peer : NULL;
    char both[200];
    struct text_field more = {both, 0};

    if (of->to.length && of->peer.length) { /* the pair is of GIDs, and whose they are is said too */
        size_t room = sizeof both - 8 < of->peer.length ? sizeof both - 8 : of->peer.length;
        memcpy(both, "peer ", 5);
        memcpy(both + 5, of->peer.at, room);
        more.length = 5 + room;
    }
    reading_event(of->in, kind, job_line_whose(of), EVIDENCE_NO_PRIORITY, of->from.length ? &of->from : NULL, to,
                  detail        ? &text
                  : more.length ? &more
                                : NULL);
}
