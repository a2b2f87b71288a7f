/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands inside of something else: a line of a systemd unit, of a udev rule, of /etc/network/interfaces or of a
 * playbook, and `sh -c '...'`.  What is around the command is taken away; what the wrapper puts in (%i, %k, {{ item }})
 * becomes a variable of the shell.
 */
#include <string.h>

#include "config/host/host_int.h"

static const char *past(const char *text, const char *letters)
{
    return text + strspn(text, letters);
}

/* Behind `ExecStart=` and its flags; NULL: it is no such line.  hidden: a failure is passed over. */
static const char *of_unit(const char *text, bool *hidden)
{
    if (begins(text, "ExecStop") || begins(text, "ExecReload") || begins(text, "ExecCondition")) return ""; /* later */
    if (!begins(text, "ExecStart")) return NULL;
    const char *equals = strchr(text, '=');
    if (!equals || equals - text > 14) return NULL;
    const char *command = past(equals + 1, "-@:+!|");
    *hidden = memchr(equals, '-', (size_t)(command - equals)) != NULL;
    return command;
}

/* The command in RUN+="..." of a udev rule, which ends at its quote; NULL: there is none. */
static const char *of_udev(const char *text, size_t *ret_length)
{
    const char *run = strstr(text, "RUN");

    if (!run || (run > text && !strchr(" ,\t", run[-1]))) return NULL;
    run = past(run + 3, "{}program+= ");
    if (*run != '"') return NULL;
    *ret_length = strcspn(run + 1, "\"");
    return run + 1;
}

/* What a udev rule is about, where it names one device: KERNEL=="eth0". */
static size_t udev_device(const char *text, const char **ret)
{
    static const char *const keys[] = {"KERNEL==\"", "NAME==\"", "ENV{INTERFACE}==\"", "NAME=\""};

    for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *at = strstr(text, keys[i]);
        if (!at) continue;
        *ret = at + strlen(keys[i]);
        size_t length = strcspn(*ret, "\"");
        if (length && strcspn(*ret, "*?[|") >= length) return length;
    }
    return 0;
}

/* Behind the words that playbooks and interfaces(5) have before a command. */
static const char *of_list(const char *text)
{
    static const char *const words[] = {"post-up ",
                                        "pre-up ",
                                        "up ",
                                        "command: ",
                                        "shell: ",
                                        "cmd: ",
                                        "raw: ",
                                        "ansible.builtin.command: ",
                                        "ansible.builtin.shell: ",
                                        NULL};
    const char *from = begins(text, "- ") ? past(text + 2, " ") : text;

    size_t length = begins_any(from, words);

    if (length) return past(from + length, " \"'");
    return from != text && host_is_command(from) ? from : NULL;
}

/* Behind `sh -c` and a quote, up to the last one like it; NULL: it is none. */
static const char *of_shell(const char *text, size_t length, size_t *ret_length)
{
    const char *at = text, *end = text + length;

    if (begins(at, "/usr/bin/env ")) at = past(at + 13, " ");
    for (const char *slash = at; (slash = memchr(slash, '/', (size_t)(end - slash))) && slash - at < 16; slash++)
        if (begins(slash + 1, "sh ") || begins(slash + 1, "bash ") || begins(slash + 1, "dash ")) at = slash + 1;
    if (!begins(at, "sh ") && !begins(at, "bash ") && !begins(at, "dash ")) return NULL;
    at = past(at + strcspn(at, " "), " ");
    if (at[0] != '-' || !strchr("cleux", at[1])) return NULL;
    at = past(at + strcspn(at, " "), " ");
    if (at >= end || (*at != '"' && *at != '\'')) return NULL;
    for (size_t back = (size_t)(end - at); back-- > 1;)
        if (at[back] == *at) {
            *ret_length = back - 1;
            return at + 1;
        }
    return NULL;
}

struct out {
    char *to;
    size_t used, size;
};

static void put(struct out *out, const char *text, size_t length)
{
    if (out->used + length + 1 > out->size) length = out->size - out->used - 1;
    memcpy(out->to + out->used, text, length);
    out->used += length;
}

/* Letters of the wrapper become the shell's: $$ is $, %i and %k are the device, {{ item }} is $item. */
static void put_plain(struct out *out, const char *text, size_t length, const char *device, size_t device_length)
{
    for (size_t i = 0; i < length; i++) {
        bool more = i + 1 < length;
        if (more && text[i] == '$' && text[i + 1] == '$') {
            continue;
        } else if (more && text[i] == '%' && strchr("iIkEn", text[i + 1])) {
            put(out, device_length ? device : "$device", device_length ? device_length : 7);
            i++;
        } else if (more && text[i] == '{' && text[i + 1] == '{') {
            const char *name = past(text + i + 2, " ");
            const char *close = strstr(text + i, "}}");
            if (!close || close >= text + length) continue;
            put(out, "$", 1);
            put(out, name, host_name_length(name));
            i = (size_t)(close + 1 - text);
        } else {
            put(out, &text[i], 1);
        }
    }
}

bool host_unwrap(const char *line, size_t length, char *to, size_t size, bool *hidden)
{
    char whole[HOST_LINE];
    const char *device = NULL, *command = NULL, *inner = NULL;
    size_t device_length = 0, inner_length = 0;
    struct out out = {to, 0, size};

    *hidden = false;
    if (length >= sizeof(whole) || !length) return false;
    memcpy(whole, line, length);
    whole[length] = 0;
    const char *text = past(whole, " \t");
    size_t taken = 0;
    if ((command = of_unit(text, hidden))) {
        taken = strlen(command);
    } else if (begins(text, "Environment=")) {
        command = past(text + 12, "\"'");
        taken = strcspn(command, "\"'");
    } else if ((command = of_udev(text, &taken))) {
        device_length = udev_device(text, &device);
    } else if ((command = of_list(text))) {
        taken = strlen(command);
    }
    bool wrapped = command != NULL;
    if (!command) command = text, taken = strlen(text);
    if ((inner = of_shell(command, taken, &inner_length))) command = inner, taken = inner_length;
    if (!wrapped && !inner) return false;
    if (wrapped)
        put_plain(&out, command, taken, device, device_length);
    else
        put(&out, command, taken);
    to[out.used] = 0;
    return true;
}
