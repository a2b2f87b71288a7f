/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that lie beside a host's script: a systemd unit, udev rules or a crontab that run it, and netplan's YAML.
 *
 * Such a text seldom says which host it is of.  It is of the one whose text lies in the same folder and begins with
 * the same words (`h1-60-roce.yaml`, `h1-roce-setup.sh`); with a name that could be of any host, of the only one there.
 * Callers read these texts after all others.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "config/host/host_int.h"

#define APART "-_."

/* The first line that is neither blank nor a comment nor YAML's `---`. */
static const char *first_line(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (begins(text, "#!")) return text;
        if (*text != '#' && *text != ';' && strncmp(text, "---", 3) != 0) return text;
        text += strcspn(text, "\n");
    }
}

static bool is_udev(const char *first)
{
    size_t length = strcspn(first, "\n");
    bool matches = memmem(first, length, "==\"", 3) != NULL;

    return matches && (begins(first, "ACTION") || begins(first, "SUBSYSTEM") || begins(first, "KERNEL") ||
                       begins(first, "DRIVERS"));
}

enum host_companion host_companion(const char *text)
{
    const char *first = first_line(text);

    if (begins(first, "network:") && (strstr(first, "ethernets:") || strstr(first, "bonds:"))) return HOST_NETPLAN;
    if (begins(first, "[Unit]") || begins(first, "[Service]"))
        return strstr(first, "ExecStart") ? HOST_RUNS : HOST_ALONE;
    return is_udev(first) || begins(first, "@reboot ") ? HOST_RUNS : HOST_ALONE;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool same_folder(const char *a, const char *b)
{
    size_t length = (size_t)(base_of(a) - a);

    return length == (size_t)(base_of(b) - b) && strncmp(a, b, length) == 0;
}

/* Letters of the words that both names begin with. */
static size_t words_alike(const char *a, const char *b)
{
    size_t alike = 0;

    for (size_t i = 0;; i++) {
        bool end = !a[i] || strchr(APART, a[i]);
        if (end && (!b[i] || strchr(APART, b[i]))) alike = i;
        if (!a[i] || a[i] != b[i]) return alike;
    }
}

/* `60-roce.yaml`, `netplan.yaml`: nothing in the name is a host's. */
static bool is_of_any(const char *name)
{
    return isdigit((unsigned char)name[0]) || !name[strcspn(name, "0123456789")];
}

static bool is_host_companion(const struct config_set *set, uint32_t d, const struct config_text *text)
{
    const struct config_device *device = &set->device[d];

    return device->host && device->nos && device->at.source < set->sources &&
           same_folder(set->path[device->at.source], text->path);
}

uint32_t host_companion_of(const struct config_set *set, const struct config_text *text)
{
    uint32_t best = CONFIG_NONE, only = CONFIG_NONE, hosts = 0;
    size_t most = 0;

    if (text->device) return config_device_find(set, text->device);
    for (uint32_t d = 0; d < set->devices; d++) {
        if (!is_host_companion(set, d, text)) continue;
        size_t alike = words_alike(base_of(text->path), base_of(set->path[set->device[d].at.source]));
        hosts++;
        only = d;
        if (alike && alike == most) best = CONFIG_NONE;
        if (alike > most) {
            most = alike;
            best = d;
        }
    }
    if (best != CONFIG_NONE) return best;
    return hosts == 1 && is_of_any(base_of(text->path)) ? only : CONFIG_NONE;
}

/* --- what runs a script --- */

/* Is `word`, a program with its folder, the script of this path, before whose name that of the host may stand? */
static bool is_script(const char *path, const char *word, size_t length)
{
    const char *name = base_of(path), *from = word + length;

    while (from > word && from[-1] != '/')
        from--;
    length -= (size_t)(from - word);
    size_t whole = strlen(name);
    if (length < 3 || whole < length || strncmp(name + whole - length, from, length) != 0) return false;
    return whole == length || strchr(APART, name[whole - length - 1]);
}

/* Nobody has to be told of this host that its script is not run again. */
static void is_run(struct config_set *set, uint32_t device)
{
    uint32_t kept = 0;

    for (uint32_t n = 0; n < set->notes; n++) {
        const struct config_note *note = &set->note[n];
        bool lost = note->rule && strcmp(note->rule, "HOST007") == 0 && note->device == set->device[device].name &&
                    strcmp(note->message, HOST_NOT_LASTING) == 0;
        if (!lost) set->note[kept++] = *note;
    }
    set->notes = kept;
}

/* The line of a unit, a rule or a crontab that runs something: behind its key; NULL: it runs nothing. */
static const char *runs(const char *line, size_t length)
{
    if (begins(line, "ExecStart") || begins(line, "@reboot")) return line;
    return memmem(line, length, "RUN", 3);
}

/* A unit that nothing starts: without a line that says by what it is wanted it cannot be enabled.  One that is a
 * template is started by who names an instance. */
static void judge_install(struct config_set *set, const struct config_text *text, uint32_t device)
{
    static const char *const wanted[] = {"\nWantedBy=", "\nRequiredBy=", "\nUpheldBy=", "\nAlso="};
    const char *service = strstr(text->text, "[Service]");
    uint32_t line = 1;

    if (!service || !strstr(text->text, "[Unit]") || strchr(base_of(text->path), '@')) return;
    for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (strstr(text->text, wanted[i])) return;
    for (const char *at = text->text; at < service; at++)
        line += *at == '\n';
    config_finding(
        set, CONFIG_AT(text, line), "HOST007", CONFIG_WARNING, device, CONFIG_NONE,
        "the unit has no [Install] with WantedBy: it cannot be enabled, and its settings are lost by a reboot");
}

void host_runs(struct config_set *set, const struct config_text *text)
{
    uint32_t whose = host_companion_of(set, text), first = CONFIG_NONE;

    for (const char *line = text->text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        const char *at = runs(line, length), *end = line + length;
        while (at && at < end) {
            size_t word = strcspn(at, " \t\r\n\"'=;");
            for (uint32_t d = 0; d < set->devices && word; d++) {
                if (!is_host_companion(set, d, text) || !is_script(set->path[set->device[d].at.source], at, word))
                    continue;
                if (first == CONFIG_NONE) first = d;
                if (whose == CONFIG_NONE || whose == d) is_run(set, d);
            }
            at += word ? word : 1;
        }
    }
    if (first != CONFIG_NONE) judge_install(set, text, first);
}
