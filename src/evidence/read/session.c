/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prompts, heads and dates of recorded sessions.
 *
 * A line is taken for one of these by its beginning alone and by what a command begins with: outputs have lines with
 * '#' and '>' of their own.
 */
#include "evidence/read/session.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define NAME 64
#define PATH_MOST 200

/* What commands begin with, in order. */
static const char *const commands[] = {
    "all_gather_perf",
    "all_reduce_perf",
    "alltoall_perf",
    "awk",
    "bash",
    "bcmcmd",
    "broadcast_perf",
    "cat",
    "cd",
    "clear",
    "config",
    "configure",
    "counterpoll",
    "curl",
    "date",
    "dcb",
    "devlink",
    "display",
    "dmesg",
    "docker",
    "echo",
    "egrep",
    "end",
    "ethtool",
    "exit",
    "export",
    "fgrep",
    "for",
    "grep",
    "head",
    "hostname",
    "ib_atomic_bw",
    "ib_read_bw",
    "ib_read_lat",
    "ib_send_bw",
    "ib_send_lat",
    "ib_write_bw",
    "ib_write_lat",
    "ibdev2netdev",
    "ibdiagnet",
    "iblinkinfo",
    "ibnetdiscover",
    "ibqueryerrors",
    "ibstat",
    "ibstatus",
    "ibv_devices",
    "ibv_devinfo",
    "ibv_rc_pingpong",
    "ifconfig",
    "intfutil",
    "ip",
    "iperf",
    "iperf3",
    "journalctl",
    "kubectl",
    "l1-show",
    "less",
    "lldpcli",
    "lldpctl",
    "lldptool",
    "ls",
    "lspci",
    "mlnx_perf",
    "mlnx_qos",
    "mlnx_tune",
    "mlxconfig",
    "mlxfwmanager",
    "mlxlink",
    "mlxreg",
    "more",
    "mpirun",
    "mst",
    "ncclras",
    "net",
    "netstat",
    "niccli",
    "no",
    "nv",
    "nvidia-smi",
    "perfquery",
    "pfcstat",
    "pfcwd",
    "ping",
    "portstat",
    "python",
    "python3",
    "queuestat",
    "rdma",
    "redis-cli",
    "redis-dump",
    "rping",
    "run",
    "saquery",
    "sed",
    "sfputil",
    "sh",
    "sho",
    "show",
    "show_counters",
    "show_drop",
    "show_gids",
    "sleep",
    "sminfo",
    "sonic-clear",
    "sonic-db-cli",
    "sonic-db-dump",
    "srun",
    "ssh",
    "sudo",
    "systemctl",
    "tail",
    "tc",
    "term",
    "terminal",
    "torchrun",
    "traceroute",
    "ucx_info",
    "ucx_perftest",
    "uname",
    "uptime",
    "vtysh",
    "watch",
    "watermarkstat",
    "while",
    "xargs",
    "zcat",
    "zgrep",
};

static int compare(const char *word, size_t length, const char *with)
{
    int order = strncmp(word, with, length);

    return order ? order : -(with[length] != 0);
}

bool session_is_command(const char *text)
{
    size_t low = 0, high = sizeof commands / sizeof commands[0];

    text += strspn(text, " ");
    size_t length = strcspn(text, " \t|;");
    const char *slash = length ? memrchr(text, '/', length) : NULL; /* "./all_reduce_perf" */
    if (slash) length -= (size_t)(slash + 1 - text), text = slash + 1;
    while (length && low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(text, length, commands[middle]);
        if (!order) return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static bool is_name_sign(char is)
{
    return isalnum((unsigned char)is) || is == '.' || is == '_' || is == '-';
}

/* A name at the beginning of a text; length 0: there is none. */
static struct text_field name_at(const char *at)
{
    struct text_field name = {at, 0};

    if (!isalnum((unsigned char)*at)) return name;
    while (name.length <= NAME && is_name_sign(at[name.length]))
        name.length++;
    if (name.length > NAME) name.length = 0;
    return name;
}

/* --- prompts --- */

/* Behind "user@host": a path, or what a system puts there, up to the sign.  NULL: none follows. */
static const char *behind_path(const char *at)
{
    const char *end = at + strnlen(at, PATH_MOST);

    if (strchr("$#>%", *at) && *at) return at + 1;
    if (*at != ':' && !(*at == ' ' && (at[1] == '~' || at[1] == '/' || at[1] == '(')) &&
        !(*at == ' ' && strchr("#$>", at[1]) && at[1]))
        return NULL;
    for (at++; at < end; at++)
        if (strchr("$#>%", *at) && (!at[1] || at[1] == ' ')) return at + 1;
    return NULL;
}

/* "[root@host dir]# ", "[host ~]# " */
static const char *bracketed(const char *line, struct text_field *device)
{
    struct text_field user = name_at(line + 1);
    const char *at = user.at + user.length;

    if (!user.length || (*at != '@' && !(*at == ' ' && (at[1] == '~' || at[1] == '/')))) return NULL;
    *device = *at == '@' ? name_at(at + 1) : user;
    if (!device->length) return NULL;
    size_t path = strcspn(device->at + device->length, "]");
    at = device->at + device->length + path;
    if (path > PATH_MOST || *at != ']') return NULL;
    at += 1 + (at[1] == ' ');
    return *at && strchr("$#>%", *at) ? at + 1 : NULL;
}

/* "user@host:~$ ", "user@host> " */
static const char *with_user(const char *line, struct text_field *device)
{
    struct text_field user = name_at(line);

    if (!user.length || line[user.length] != '@') return NULL;
    *device = name_at(line + user.length + 1);
    return device->length ? behind_path(device->at + device->length) : NULL;
}

/* "leaf1# ", "leaf1(config-if)# ", "switch [standalone: master] (config) # ", "RP/0/RP0/CPU0:router#" */
static const char *of_switch(const char *line, struct text_field *device)
{
    if (!strncmp(line, "RP/", 3)) {
        const char *colon = strchr(line, ':');
        if (!colon || colon - line > 24) return NULL;
        line = colon + 1;
    }
    *device = name_at(line);
    const char *at = line + device->length;
    bool letter = false;
    for (size_t i = 0; i < device->length; i++)
        letter |= isalpha((unsigned char)device->at[i]) != 0;
    if (!letter) return NULL;
    for (int i = 0; i < 2; i++) {
        const char *open = *at == ' ' ? at + 1 : at;
        if (*open != '(' && !(*open == '[' && open > at)) continue;
        size_t inside = strcspn(open, *open == '(' ? ")" : "]");
        if (inside > NAME || !open[inside]) return NULL;
        at = open + inside + 1;
    }
    if (*at == ' ' && (at[-1] == ')' || at[-1] == ']')) at++;
    return *at == '#' || *at == '>' ? at + 1 : NULL;
}

/* "(venv) user@host$", "[10:00:01] user@host#" */
static const char *without_badge(const char *line)
{
    char close = *line == '(' ? ')' : *line == '[' ? ']' : 0;
    const char *end = close ? memchr(line, close, strnlen(line, NAME)) : NULL;

    return end && end[1] == ' ' && !strchr("#$>%", end[2]) ? end + 2 : line;
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

static enum session_kind prompt(const char *line, struct session_said *said)
{
    const char *rest = *line == '[' ? bracketed(line, &said->device) : NULL;

    if (!rest) rest = with_user(line, &said->device);
    if (!rest && (*line == '(' || *line == '[')) rest = with_user(without_badge(line), &said->device);
    if (rest) {
        said->command = skip_blanks(rest);
        return SESSION_COMMAND;
    }
    rest = of_switch(line, &said->device);
    if (rest && session_is_command(rest)) {
        said->command = skip_blanks(rest);
        return SESSION_COMMAND;
    }
    return rest && !*skip_blanks(rest) ? SESSION_PROMPT : SESSION_TEXT;
}

/* "$ ethtool -S eth0", "# show pfc counters", "+ rdma link", "`ibstat`": nobody says where. */
static enum session_kind command_alone(const char *line, struct session_said *said)
{
    const char *at = line + 1;

    if (*line == '`') {
        if (!session_is_command(at) || *line != line[strlen(line) - 1]) return SESSION_TEXT;
    } else if (*line == '$') {
        if (*at != ' ' || !isalpha((unsigned char)*skip_blanks(at))) return SESSION_TEXT;
    } else if ((*line != '#' && *line != '+') || *at != ' ' || !session_is_command(at)) {
        return SESSION_TEXT;
    }
    said->device.length = 0;
    said->command = skip_blanks(at);
    return SESSION_COMMAND;
}

/* --- dates --- */

static bool two_digits(const char **at, int least, int most, int *value)
{
    if (!isdigit((unsigned char)**at) || !isdigit((unsigned char)(*at)[1])) return false;
    *value = ((*at)[0] - '0') * 10 + ((*at)[1] - '0');
    *at += 2;
    return *value >= least && *value <= most;
}

/* 10:00:01.25, also with an offset behind it. */
static bool day_time(const struct text_field *word, struct tm *tm, double *fraction, double *offset_s)
{
    const char *at = word->at, *end = word->at + word->length;
    int hours, minutes;

    if (word->length < 8 || !two_digits(&at, 0, 23, &tm->tm_hour) || *at++ != ':' ||
        !two_digits(&at, 0, 59, &tm->tm_min) || *at++ != ':' || !two_digits(&at, 0, 60, &tm->tm_sec))
        return false;
    if (at < end && (*at == '.' || *at == ',')) {
        double unit = 0.1;
        for (at++; at < end && isdigit((unsigned char)*at); at++, unit /= 10)
            *fraction += (*at - '0') * unit;
    }
    if (at == end || (at + 1 == end && *at == 'Z')) return true;
    char sign = *at++;
    if ((sign != '+' && sign != '-') || !two_digits(&at, 0, 14, &hours)) return false;
    if (at < end && *at == ':') at++;
    if (at == end)
        minutes = 0;
    else if (!two_digits(&at, 0, 59, &minutes))
        return false;
    *offset_s = (sign == '-' ? -1.0 : 1.0) * (hours * 3600 + minutes * 60);
    return at == end;
}

/* 2026-11-19, 2026/11/19 */
static bool calendar(const struct text_field *word, struct tm *tm)
{
    const char *at = word->at;
    int century, year, month;

    if (word->length != 10 || !two_digits(&at, 19, 21, &century) || !two_digits(&at, 0, 99, &year)) return false;
    char sign = *at++;
    if ((sign != '-' && sign != '/') || !two_digits(&at, 1, 12, &month) || *at++ != sign ||
        !two_digits(&at, 1, 31, &tm->tm_mday))
        return false;
    tm->tm_year = century * 100 + year - 1900;
    tm->tm_mon = month - 1;
    return true;
}

static int index_of(const struct text_field *word, const char *names, int count)
{
    for (int i = 0; i < count; i++)
        if (word->length >= 3 && !strncasecmp(word->at, names + 3 * i, 3)) return i;
    return -1;
}

struct date {
    struct tm tm;
    double fraction, offset_s;
    bool time, day, month, afternoon, morning;
};

/* One word of a date; false: a date has no such word. */
static bool date_word(struct date *date, struct text_field word)
{
    uint64_t number;
    const char *split = word.length > 11 && !date->time ? memchr(word.at, 'T', word.length) : NULL;

    while (word.length && (word.at[word.length - 1] == ',' || word.at[word.length - 1] == ':'))
        word.length--;
    if (*word.at == '*' && word.length > 1) word.at++, word.length--; /* not synchronised */
    if (split && split - word.at == 10) {
        struct text_field day = {word.at, 10}, rest = {split + 1, word.length - 11};
        date->day = date->month = calendar(&day, &date->tm);
        return date->day && (date->time = day_time(&rest, &date->tm, &date->fraction, &date->offset_s));
    }
    if (!date->time && day_time(&word, &date->tm, &date->fraction, &date->offset_s)) return date->time = true;
    if (!date->month && calendar(&word, &date->tm)) return date->day = date->month = true;
    if (isdigit((unsigned char)*word.at) && field_number(&word, &number)) {
        if (number >= 1970 && number < 2200) {
            date->tm.tm_year = (int)number - 1900;
            return true;
        }
        if (date->day || !number || number > 31) return false;
        date->tm.tm_mday = (int)number;
        return date->day = true;
    }
    int month = date->month ? -1 : index_of(&word, "janfebmaraprmayjunjulaugsepoctnovdec", 12);
    if (month >= 0 && word.length <= 9) {
        date->tm.tm_mon = month;
        return date->month = true;
    }
    if (word.length == 2 && !strncasecmp(word.at, "PM", 2)) return date->afternoon = true;
    if (word.length == 2 && !strncasecmp(word.at, "AM", 2)) return date->morning = true;
    if (index_of(&word, "montuewedthufrisatsun", 7) >= 0 && word.length <= 9) return true;
    for (size_t i = 0; i < word.length; i++) /* "UTC", "+0100" */
        if (!isupper((unsigned char)word.at[i]) && !(i && isdigit((unsigned char)word.at[i])) &&
            !strchr("+-", word.at[i]))
            return false;
    return date->time && word.length <= 6;
}

/* By its first letters, and that it has a time of day: this is asked of every line. */
static bool may_be_date(const char *line)
{
    static const char first[] = "MTWFSJAOND*0123456789";
    size_t length = strnlen(line, 80);

    line = line_text(line);
    return length < 80 && *line && memchr(first, *line, sizeof first - 1) && strchr(line, ':') &&
           (!isalpha((unsigned char)*line) || isalpha((unsigned char)line[1]));
}

bool session_date(const char *line, double *at_s)
{
    struct date date = {.tm = {.tm_year = 70}};

    if (!may_be_date(line)) return false;
    for (line = line_text(line); *line; line = line_text(line)) {
        struct text_field word = {line, strcspn(line, " \t")};
        if (!date_word(&date, word)) return false;
        line += word.length;
    }
    if (!date.time || !date.day || !date.month) return false;
    if (date.afternoon && date.tm.tm_hour < 12) date.tm.tm_hour += 12;
    if (date.morning && date.tm.tm_hour == 12) date.tm.tm_hour = 0;
    *at_s = (double)timegm(&date.tm) + date.fraction - date.offset_s;
    return true;
}

/* --- heads --- */

bool session_is_interface(const struct text_field *name)
{
    static const char *const begins[] = {"Ethernet", "Et",    "Eth",   "eth",     "ens",   "enp",   "eno",
                                         "swp",      "mlx5_", "mlx4_", "bnxt_re", "irdma", "rocep", "xe-",
                                         "et-",      "ge-",   "ib",    "rdma",    NULL};

    for (size_t i = 0; begins[i]; i++) {
        size_t length = strlen(begins[i]);
        if (name->length > length && !strncmp(name->at, begins[i], length) && isdigit((unsigned char)name->at[length]))
            return true;
    }
    return false;
}

/* Words that a head may have before a device's name. */
static bool is_device_word(const struct text_field *word)
{
    static const char *const words[] = {"host", "hostname", "device", "switch", "node", "server", "machine", NULL};

    for (size_t i = 0; words[i]; i++)
        if (word->length >= strlen(words[i]) && !strncasecmp(word->at, words[i], strlen(words[i])) &&
            (word->length == strlen(words[i]) || word->at[strlen(words[i])] == ':'))
            return true;
    return false;
}

static bool is_look_word(const struct text_field *word)
{
    static const char *const words[] = {"before", "after", "look", "round", "iteration", "sample", "snapshot", NULL};

    for (size_t i = 0; words[i]; i++)
        if (word->length == strlen(words[i]) && !strncasecmp(word->at, words[i], word->length)) return true;
    return false;
}

/* Not a title's: it has a digit, or a sign inside. */
bool session_is_device(const struct text_field *name)
{
    bool digit = false, letter = false, sign = false;

    for (size_t i = 0; i < name->length; i++) {
        if (!is_name_sign(name->at[i])) return false;
        digit |= isdigit((unsigned char)name->at[i]) != 0;
        letter |= isalpha((unsigned char)name->at[i]) != 0;
        sign |= i && i + 1 < name->length && strchr(".-_", name->at[i]);
    }
    return letter && (digit || sign) && isalpha((unsigned char)*name->at);
}

/* What stands in a head: "leaf1", "host leaf1", "leaf1: show pfc counters", "ethtool -S eth0", "eth0", "after". */
static enum session_kind head_of(char *inside, struct session_said *said)
{
    struct text_field word[3];
    char *bar = strchr(inside, '|'); /* "leaf1 | before | 10:00" */

    if (bar && bar > inside) *bar = 0;
    size_t words = field_split(inside, word, 3);
    if (!words) return SESSION_TEXT;
    if (session_date(inside, &said->at_s)) return SESSION_TIME;
    if (words <= 2 && is_look_word(&word[0])) return SESSION_LOOK;
    if (words > 1 && session_is_command(inside)) {
        said->command = inside;
        return SESSION_COMMAND;
    }
    size_t at = words > 1 && is_device_word(&word[0]) ? 1 : 0;
    if (words > 2 && at && word[1].length == 1 && *word[1].at == ':') at = 2;
    struct text_field name = word[at];
    bool colon = name.length > 1 && name.at[name.length - 1] == ':';
    if (colon) name.length--;
    if (words == at + 1 && !at && session_is_interface(&name)) {
        said->device = name;
        return SESSION_PORT;
    }
    if (!session_is_device(&name) && !(at && name_at(name.at).length == name.length)) return SESSION_TEXT;
    if (words > at + 1 && !session_is_command(word[at + 1].at)) return SESSION_TEXT;
    said->device = name;
    if (words > at + 1) said->command = word[at + 1].at;
    return SESSION_DEVICE;
}

/* "===== leaf1 =====", "--- host h0 ---", "### leaf1", "==> leaf1.txt <==" */
static enum session_kind ruled_head(const char *line, struct session_said *said, char inside[2 * NAME])
{
    size_t rule = strspn(line, "=-#*~+"), length;
    const char *at = line + rule;

    if (rule < 2) return SESSION_TEXT;
    bool file = !strncmp(line, "==> ", 4);
    if (file) at = line + 4;
    at = skip_blanks(at);
    length = strlen(at);
    while (length && strchr(" =-#*~+<:", at[length - 1]))
        length--;
    if (!length || length >= 2 * NAME || !strncmp(at, "More", 4)) return SESSION_TEXT;
    bool closed = at[length] != 0;
    memcpy(inside, at, length);
    inside[length] = 0;
    if (file && !strncmp(at + length, " <==", 4)) {
        said->device = (struct text_field){at, length};
        return SESSION_FILE;
    }
    if (!closed && *line != '#' && *line != '=') return SESSION_TEXT;
    enum session_kind kind = head_of(inside, said);
    if (kind == SESSION_TEXT) return kind;
    /* What it said stands in the copy; the same stands in the line. */
    if (said->device.length) said->device.at = at + (said->device.at - inside);
    if (*said->command) said->command = at + (said->command - inside);
    return kind;
}

/* ansible: "leaf1 | CHANGED | rc=0 >>" */
static bool ansible(const char *line, struct session_said *said)
{
    static const char *const states[] = {" | CHANGED", " | SUCCESS", " | FAILED", " | UNREACHABLE"};

    said->device = name_at(line);
    for (size_t i = 0; said->device.length && i < sizeof states / sizeof states[0]; i++)
        if (!strncmp(line + said->device.length, states[i], strlen(states[i]))) return true;
    return false;
}

enum session_kind session_line(const char *line, struct session_said *said)
{
    enum session_kind kind = SESSION_TEXT;
    char inside[2 * NAME];

    *said = (struct session_said){.command = ""};
    line = skip_blanks(line);
    switch (*line) {
    case 0:
        return SESSION_TEXT;
    case '`':
        if (!strncmp(line, "```", 3)) return SESSION_NOTHING;
        return command_alone(line, said);
    case '~':
        if (!strncmp(line, "~~~", 3) && !line[strspn(line, "~")]) return SESSION_NOTHING;
        break;
    case '<': /* what somebody left out */
        if (!strncmp(line, "<trimmed>", 9) || !strncmp(line, "<snip", 5) || !strncmp(line, "<omitted>", 9) ||
            !strncmp(line, "<output omitted>", 16))
            return SESSION_NOTHING;
        break;
    case '{': /* Junos: "{master:0}" */
        if (!strncmp(line, "{master", 7) || !strncmp(line, "{primary", 8)) return SESSION_NOTHING;
        break;
    case '$':
        return command_alone(line, said);
    default:
        break;
    }
    if (strchr("=-#*~+", *line)) kind = ruled_head(line, said, inside);
    if (kind == SESSION_TEXT && (*line == '#' || *line == '+')) kind = command_alone(line, said);
    if (kind != SESSION_TEXT) return kind;
    if (isalnum((unsigned char)*line) || *line == '[' || *line == '(' || *line == '*') {
        kind = prompt(line, said);
        if (kind == SESSION_TEXT && isalnum((unsigned char)*line) && ansible(line, said)) kind = SESSION_DEVICE;
        if (kind == SESSION_TEXT && session_date(line, &said->at_s)) kind = SESSION_TIME;
    }
    if (kind == SESSION_TEXT) *said = (struct session_said){.command = ""};
    return kind;
}

bool session_interface(const char *command, char *buf, size_t size)
{
    static const char *const before[] = {"ethtool ",  "nv show interface ", "nv show platform transceiver ",
                                         "mlnx_qos ", "show_counters ",     "fec-histogram ",
                                         NULL};
    const char *word = NULL;

    for (size_t i = 0; before[i] && !word; i++)
        if ((word = strstr(command, before[i]))) word += strlen(before[i]);
    if (!word) return false;
    for (word = skip_blanks(word); *word == '-'; word = skip_blanks(word))
        word += strcspn(word, " ");
    size_t length = strcspn(word, " \t|;)`'\"");
    if (!length || length >= size) return false;
    memcpy(buf, word, length);
    buf[length] = 0;
    return true;
}

bool session_says_nothing(const char *command)
{
    static const char *const words[] = {"cd", "clear", "date",       "echo", "end",      "exit",   "export", "hostname",
                                        "no", "sleep", "show clock", "term", "terminal", "uptime", NULL};

    for (size_t i = 0; words[i]; i++)
        if (line_words(command, words[i])) return true;
    return false;
}
