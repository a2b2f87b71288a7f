/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files. */
#include "evidence/read/text_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "evidence/read/reader.h"

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool text_name_time(const char *name, double *at_s)
{
    struct tm tm = {0};
    const char *rest = strptime(name, "%Y-%m-%dT%H:%M:%S", &tm);

    if (rest && (!*rest || !strcmp(rest, "Z"))) {
        *at_s = (double)timegm(&tm);
        return true;
    }
    return json_text_real(name, strlen(name), at_s) && *at_s >= 0;
}

unsigned text_name_packed(const char *name)
{
    static const char *const ends[] = {".tar.gz", ".tgz", ".tar", ".zip", ".gz"};
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t end = strlen(ends[i]);
        if (length > end && !strcasecmp(name + length - end, ends[i])) return (unsigned)end;
    }
    return 0;
}

static size_t without_suffix(const char *name)
{
    static const char *const ends[] = {"txt", "log", "json", "out", "csv", "prom", "md", "text", "gz"};
    size_t length = strlen(name);

    for (bool more = true; more;) {
        more = false;
        const char *dot = memrchr(name, '.', length);
        size_t suffix = dot && dot > name ? length - (size_t)(dot + 1 - name) : 0;
        for (size_t i = 0; suffix && i < sizeof ends / sizeof ends[0] && !more; i++)
            more = strlen(ends[i]) == suffix && !strncasecmp(dot + 1, ends[i], suffix);
        if (more) length = (size_t)(dot - name);
    }
    return length;
}

/* Some digits of a text as a number; -1: there are not so many. */
static int digits(const char *at, unsigned count)
{
    int number = 0;

    for (unsigned i = 0; i < count; i++) {
        if (!isdigit((unsigned char)at[i])) return -1;
        number = number * 10 + (at[i] - '0');
    }
    return number;
}

static const char *behind_sign(const char *at, const char *signs)
{
    return *at && strchr(signs, *at) ? at + 1 : at;
}

/* A time of day at the beginning of a text: 20261115-100000, 2026-11-15T10:00:00Z, 1731664800; its length; 0: none. */
static size_t time_at(const char *at, double *at_s)
{
    size_t run = strspn(at, "0123456789");
    const char *from = at;
    struct tm tm = {0};

    if (run == 10 && *at == '1' && at[1] >= '4') {
        *at_s = digits(at, 9) * 10.0 + (at[9] - '0');
        return run;
    }
    if (run != 4 && run != 8 && run != 14) return 0;
    int part[6];
    for (unsigned i = 0; i < 6; i++) {
        part[i] = digits(at, i ? 2 : 4);
        if (part[i] < 0) return 0;
        at += i ? 2 : 4;
        if (i < 5) at = behind_sign(at, i == 2 ? "T_- " : "-:._");
    }
    if (part[0] < 1990 || part[0] > 2199 || part[1] < 1 || part[1] > 12 || part[2] < 1 || part[2] > 31 ||
        part[3] > 23 || part[4] > 59 || part[5] > 60 || isdigit((unsigned char)*at))
        return 0;
    tm = (struct tm){.tm_year = part[0] - 1900,
                     .tm_mon = part[1] - 1,
                     .tm_mday = part[2],
                     .tm_hour = part[3],
                     .tm_min = part[4],
                     .tm_sec = part[5]};
    *at_s = (double)timegm(&tm);
    return (size_t)(at - from) + (*at == 'Z');
}

static bool is_sign(char is)
{
    return is && strchr("_-. ", is);
}

/* Takes the time out of a name. */
static void take_time(struct text_name *name)
{
    char *text = name->text;

    for (char *at = text; *at; at++) {
        if (at > text && !is_sign(at[-1])) continue;
        size_t length = time_at(at, &name->at_s);
        if (!length || (at[length] && !is_sign(at[length]))) continue;
        name->timed = true;
        const char *rest = at + length;
        if (at > text && !*rest) at--;
        if (*rest) rest++;
        memmove(at, rest, strlen(rest) + 1);
        return;
    }
}

/* What commands, and names of what they print, begin with. */
static const char *command_in(const char *text)
{
    static const char *const words[] = {
        "show",   "ethtool", "rdma",       "nv",      "pfcwd",     "ibstat",   "ibv",        "ib",      "lldpctl",
        "lldp",   "dmesg",   "journalctl", "syslog",  "messages",  "mlnx_qos", "perfquery",  "mlxlink", "sysfs",
        "nccl",   "dcb",     "portstat",   "pfcstat", "queuestat", "counters", "interfaces", "pfc",     "queue",
        "queues", "config",  "sonic",      "redis",   "nvidia",    "hw"};

    for (const char *at = text; *at; at++) {
        if (at > text && !is_sign(at[-1])) continue;
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            size_t length = strlen(words[i]);
            if (!strncmp(at, words[i], length) && (!at[length] || is_sign(at[length]))) return at;
        }
    }
    return NULL;
}

void text_name(struct text_name *name, const char *path)
{
    const char *base = base_of(path);
    size_t length = without_suffix(base);

    *name = (struct text_name){0};
    if (length >= TEXT_NAME) length = TEXT_NAME - 1;
    memcpy(name->text, base, length);
    take_time(name);
    const char *command = command_in(name->text);
    length = command && command > name->text ? (size_t)(command - 1 - name->text) : strlen(name->text);
    name->commands = command == name->text;
    memcpy(name->device, name->text, length);
    if (!length) snprintf(name->device, sizeof name->device, "%s", name->text);
    for (char *at = name->text; *at; at++)
        if (*at == '_') *at = ' ';
    name->command = command;
}

const char *reader_hint(const char *file, char *buf, size_t size)
{
    struct text_name name;

    text_name(&name, file);
    size_t end = strlen(name.text), begin = end;
    while (begin && (isalnum((unsigned char)name.text[begin - 1]) || name.text[begin - 1] == '.'))
        begin--;
    if (end - begin >= size) end = begin + size - 1;
    memcpy(buf, name.text + begin, end - begin);
    buf[end - begin] = 0;
    return buf;
}
