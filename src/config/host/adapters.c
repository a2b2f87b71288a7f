/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host's settings out of scripts, transcripts and what tools print.
 *
 * A text is lines: commands (commands.c), perhaps behind a prompt, and output (output.c), which is about the
 * interface that the last command named.  The shell around them is in shell.c.  A text is one host.  When all lines
 * are read, each adapter says its maps in full: a DSCP map that nothing changes is DSCP / 8, as mlx5 has it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "config/host/host_int.h"
#include "fabric/errors.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

bool host_number(const char *text, int64_t low, int64_t high, int64_t *ret)
{
    char *end = NULL;

    if (!text || text[0] < '0' || text[0] > '9') return false;
    errno = 0;
    long long got = strtoll(text, &end, 10);
    if (errno || (*end && !strchr("%, \t\r", *end)) || got < low || got > high) return false;
    *ret = got;
    return true;
}

bool host_eight(const char *text, int64_t most, int64_t table[FABRIC_PRIOS])
{
    int64_t got[FABRIC_PRIOS];

    for (unsigned i = 0; i < FABRIC_PRIOS; i++) {
        if (!host_number(text, 0, most, &got[i])) return false;
        text += strspn(text, "0123456789");
        if (i < FABRIC_PRIOS - 1 && *text++ != ',') return false;
    }
    memcpy(table, got, sizeof(got));
    return true;
}

static struct host_nic *nic_at(struct host *in, uint32_t p)
{
    if (p == CONFIG_NONE) return NULL;
    in->nic = arena_more(in->arena, in->nic, p + 1, &in->room, sizeof(*in->nic));
    while (in->nics <= p) {
        struct host_nic *nic = &in->nic[in->nics++];
        nic->tos = nic->cm_tos = nic->dcqcn = nic->cnp_dscp = nic->cnp_prio = nic->trust_said = -1;
        for (unsigned d = 0; d < 64; d++)
            nic->dscp[d] = (uint8_t)(d / 8);
        for (uint8_t i = 0; i < FABRIC_PRIOS; i++)
            nic->prio_tc[i] = i;
    }
    in->nic[p].met = true;
    in->port = p;
    return &in->nic[p];
}

struct host_nic *host_nic_named(struct host *in, const char *netdev)
{
    char name[FABRIC_NAME];
    uint32_t p;

    netdev += strspn(netdev, "\"'"); /* "$IF" and $IF are one */
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(netdev, "/\r\n\"'"), netdev);
    if (!name[0]) return NULL;
    /* A port that was met by its RDMA device only waits for its name. */
    uint32_t before = in->set->device[in->device].ports;
    p = config_port(in->set, CONFIG_AT(in->text, in->line), in->device, name);
    if (name[0] == '$' && p == before) {
        in->open_netdevs++;
        in->open_netdev = p;
    }
    return nic_at(in, p);
}

struct host_nic *host_nic_rdma(struct host *in, const char *rdma)
{
    char name[32];
    int64_t number = 0;

    rdma += strspn(rdma, "\"'");
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(rdma, "/\r\n\"'"), rdma);
    if (name[0] == '$' && in->open_netdevs == 1) return nic_at(in, in->open_netdev); /* both stand for the same one */
    for (uint32_t p = 0; p < in->nics; p++)
        if (in->nic[p].met && strcmp(in->nic[p].rdma, name) == 0) return nic_at(in, p);
    /* Not said whose it is: by custom mlx5_2 is the third, where the third is known to carry RDMA. */
    if (begins(name, "mlx5_") && host_number(name + 5, 0, 255, &number) && (uint32_t)number < in->nics &&
        !in->nic[number].rdma[0] && host_nic_is_rdma(&in->nic[number]))
        return nic_at(in, (uint32_t)number);
    struct host_nic *nic = host_nic_named(in, name);
    if (nic) snprintf(nic->rdma, sizeof(nic->rdma), "%s", name);
    return nic;
}

struct host_nic *host_nic_here(struct host *in)
{
    if (in->port != CONFIG_NONE) return nic_at(in, in->port);
    return host_nic_named(in, "eth0");
}

/* Words of the shell that say nothing about the adapter. */
static bool shell_word(const char *line)
{
    static const char *const words[] = {
        "#",         "if ",     "else",       "fi",        "then",         "case ",     "esac",
        ";;",        "set)",    "set ",       "verify)",   "nccl)",        "cat <<",    "EOT",
        "echo \"",   "done",    "for ",       "exit",      "while ",       "do",        "elif ",
        "{",         "}",       "return",     "break",     "continue",     "shift",     "until ",
        "sleep ",    "true",    "echo '",     "[Unit]",    "[Service]",    "[Install]", "Description=",
        "After=",    "Before=", "Wants=",     "Requires=", "EOF",          "logger ",   "command -v ",
        "modprobe ", "mount ",  "systemctl ", "cat >",     "ibdev2netdev", "show_gids", "udevadm ",
        NULL};

    if (!line[0] || strcmp(line, "(") == 0 || strcmp(line, ")") == 0 || strcmp(line, "*)") == 0) return true;
    return begins_any(line, words) || begins(line, "host=");
}

/* Our scripts have dcb's commands for where mlnx_qos is not installed: the same again, which would hide what the first
 * were changed to. */
static bool otherwise(struct host *in, const char *line)
{
    if (strcmp(line, "install)") == 0)
        in->branch = 3;
    else if (in->branch == 3)
        in->branch = strcmp(line, ";;") == 0 ? 0 : 3;
    else if (begins(line, "if command -v mlnx_qos"))
        in->branch = 1;
    else if (in->branch && strcmp(line, "else") == 0)
        in->branch = 2;
    else if (strcmp(line, "fi") == 0)
        in->branch = 0;
    return in->branch >= 2;
}

/* Is all that is not known of this command which device it is about?  Then it is about one called $NAME. */
static bool device_open(char *line)
{
    static const char *const before[] = {"-i ", "-d ", "dev ", "--interface ", "--interface=", "link set ", "-A ", "/"};

    if (strchr(line, '`')) return false;
    for (char *at = strchr(line, '$'); at; at = strchr(at + 1, '$')) {
        bool device = false;
        const char *from = at > line && (at[-1] == '"' || at[-1] == '\'') ? at - 1 : at;
        for (unsigned i = 0; i < sizeof(before) / sizeof(before[0]) && !device; i++) {
            size_t length = strlen(before[i]);
            device = (size_t)(from - line) >= length && strncmp(from - length, before[i], length) == 0;
        }
        size_t brace = at[1] == '{';
        if (!device || strspn(at + 1 + brace, NAME_CHARS) == 0) return false;
        if (!brace) continue;
        size_t length = strspn(at + 2, NAME_CHARS);
        if (at[2 + length] != '}') return false; /* ${name#part} */
        memmove(at + 1, at + 2, length);
        memmove(at + 1 + length, at + 3 + length, strlen(at + 3 + length) + 1);
    }
    return true;
}

/* Without what may stand before a command: sudo, a condition, the folder of the program. */
static char *bare_command(char *line)
{
    static const char *const before[] = {"sudo ", "if ! ", "! ", "exec "};

    for (unsigned i = 0; i < sizeof(before) / sizeof(before[0]); i++)
        if (strncmp(line, before[i], strlen(before[i])) == 0) line += strlen(before[i]);
    if (begins(line, "if ") && host_is_command(line + 3)) line += 3;
    char *program = line;
    for (char *at = line; *at && !strchr(" \t", *at); at++)
        if (*at == '/') program = at + 1;
    return program != line && line[0] == '/' && host_is_command(program) ? program : line;
}

/* `{{ item }}` of a playbook is one word. */
static void join_braces(char *line)
{
    char *to = line;
    unsigned open = 0;

    for (const char *at = line; *at; at++) {
        if (at[0] == '{' && at[1] == '{') open = 2;
        if (at[0] == '}' && open) open--;
        if (*at == ' ' && open) continue;
        *to++ = *at;
    }
    *to = 0;
}

void host_line(struct host *in, char *line, bool open)
{
    if (strstr(line, "{{") && strstr(line, "}}")) join_braces(line);
    size_t length = strlen(line);

    while (length && strchr(" \t\r", line[length - 1]))
        line[--length] = 0;
    line += strspn(line, " \t");
    if (line[0] == '$' || (line[0] == '#' && line[1] == ' ' && host_command(in, line + 2))) { /* a prompt */
        if (line[0] == '#') return;
        line += 1 + strspn(line + 1, " \t");
    }
    line = bare_command(line);
    if (otherwise(in, line)) return;
    if (open && !shell_word(line) && !strstr(line, "NCCL_") && !device_open(line)) {
        NOTE(in, in->line, NULL, CONFIG_NONE, "'%.80s' depends on what only the machine knows: not understood", line);
        return;
    }
    if (shell_word(line) || host_command(in, line) || host_output(in, line)) return;
    NOTE(in, in->line, NULL, CONFIG_NONE, "'%.80s' is not understood", line);
}

/* --- what is said at the end --- */

static void say_turns(struct host *in, uint32_t p, const struct host_nic *nic, unsigned classes)
{
    uint32_t at = nic->turns_line;
    unsigned shared = 0;
    int64_t sum = 0;
    char buf[UNIT_TEXT];

    if (!nic->turns) return;
    for (unsigned q = 0; q < FABRIC_PRIOS; q++)
        if (!nic->strict[q]) sum += nic->weight[q];
    for (unsigned c = 0; c < FABRIC_PRIOS; c++) {
        unsigned q = nic->prio_tc[c];
        if (!(classes >> c & 1)) continue;
        if (nic->strict[q] || nic->weight[q]) SAY_CLASS(in, at, p, c, "strict", nic->strict[q] ? "true" : "false");
        if (nic->strict[q] || !nic->weight[q] || (shared >> q & 1)) continue;
        shared |= 1u << q;
        SAY_CLASS(in, at, p, c, "share", "%s",
                  unit_format(UNIT_SHARE, (uint64_t)(nic->weight[q] * 1000000 / sum), buf));
    }
}

static void say_nic(struct host *in, uint32_t p)
{
    const struct host_nic *nic = &in->nic[p];
    uint32_t dscp = nic->dscp_line, pfc = nic->pfc_line;
    unsigned classes = nic->pfc;

    const char *trust = config_said(in->set, in->device, p, "trust");
    if (nic->has_dscp || (trust && strcmp(trust, "dscp") == 0)) {
        if (!nic->has_dscp) dscp = config_said_at(in->set, in->device, p, "trust").line;
        for (unsigned d = 0; d < 64; d++) {
            uint32_t at = nic->dscp_lines[d] ? nic->dscp_lines[d] : dscp;
            SAY_MAP(in, at, p, "dscp-map", d, nic->dscp[d]);
            classes |= 1u << nic->dscp[d];
        }
    }
    if (nic->has_pfc) {
        SAY_BITS(in, pfc, p, "pfc", nic->pfc);
        for (unsigned c = 0; c < FABRIC_PRIOS; c++)
            if (classes >> c & 1) SAY_CLASS(in, pfc, p, c, "lossless", nic->pfc >> c & 1 ? "true" : "false");
    }
    if (nic->turns) {
        for (unsigned c = 0; c < FABRIC_PRIOS; c++) {
            unsigned q = nic->prio_tc[c];
            SAY_MAP(in, nic->turns_line, p, "queue-map", c, q);
            if (nic->weight[q] || nic->strict[q]) classes |= 1u << c;
        }
    }
    say_turns(in, p, nic, classes);
    for (int half = 0; half < 2; half++) {
        const struct host_half *as = half ? &nic->np : &nic->rp;
        unsigned asked = as->said & (nic->pfc ? nic->pfc : 0xff);
        if (!as->said) continue; /* firmware's mask holds */
        SAY(in, as->line, p, half ? "dcqcn.np" : "dcqcn.rp", asked && (as->on & asked) == asked ? "true" : "false");
    }
}

/* An RDMA device of which nothing but the type of service is said, and not whose it is. */
static bool is_device(const struct host *in, uint32_t p)
{
    const struct host_nic *nic = &in->nic[p];

    return nic->met && nic->rdma[0] && strcmp(in->set->device[in->device].port[p].name, nic->rdma) == 0 &&
           !nic->has_pfc && !nic->has_dscp && !nic->trust_line && !nic->mtu && nic->dcqcn < 0 &&
           (nic->tos >= 0 || nic->cm_tos >= 0);
}

/* Scripts name interfaces for mlnx_qos and RDMA devices for the type of service: the n-th of these is taken to be the
 * n-th interface that carries RDMA and has no type of service yet. */
static void join_devices(struct host *in)
{
    uint32_t p = 0;

    for (uint32_t d = 0; d < in->nics; d++) {
        struct host_nic *device = &in->nic[d], *nic;
        if (!is_device(in, d)) continue;
        while (p < in->nics && (!in->nic[p].met || is_device(in, p) || in->nic[p].rdma[0] || !in->nic[p].has_pfc ||
                                in->nic[p].tos >= 0 || in->nic[p].cm_tos >= 0))
            p++;
        if (p == in->nics) break;
        nic = &in->nic[p++];
        nic->tos = device->tos;
        nic->tos_line = device->tos_line;
        nic->cm_tos = device->cm_tos;
        nic->cm_tos_line = device->cm_tos_line;
        device->met = false;
        config_idle(in->set, in->device, d);
    }
}

/* Where a text says how some adapters carry RDMA, others (management, storage) have no vote. */
static void idle_others(struct host *in)
{
    bool any = false;

    for (uint32_t p = 0; p < in->nics; p++)
        any = any || (in->nic[p].met && host_nic_is_rdma(&in->nic[p]));
    for (uint32_t p = 0; p < in->nics && any; p++)
        if (in->nic[p].met && !host_nic_is_rdma(&in->nic[p])) config_idle(in->set, in->device, p);
}

static const char *host_name(struct host *in)
{
    const char *text = in->text->text, *at = begins(text, "host=") ? text : strstr(text, "\nhost=");

    if (in->text->device || !at) return config_device_name(in->set, in->text);
    at += *at == '\n';
    const char *name = arena_strndup(in->arena, at + 5, strcspn(at + 5, "\r\n \t;"));
    return name && name[0] ? name : config_device_name(in->set, in->text);
}

static int import_script(struct config_set *set, const struct config_text *text)
{
    struct arena arena;
    struct host in = {.set = set, .text = text, .port = CONFIG_NONE, .tc = -1, .arena = &arena};

    uint32_t devices = set->devices, notes = set->notes;

    arena_init_or_end(&arena, (size_t)1 << 30);
    in.device = config_device(set, CONFIG_AT(text, 1), host_name(&in), "host", true);
    host_shell(&in, text->text);
    for (uint32_t p = 0; p < in.nics; p++)
        if (in.nic[p].met) say_nic(&in, p);
    join_devices(&in);
    idle_others(&in);
    host_judge(&in);
    arena_release(&arena);
    if (in.nics) return 0;
    config_forget(set, devices, notes);
    fabric_errors_add(text->errors, (struct fabric_at){1, 1},
                      "nothing about an adapter: output or commands of mlnx_qos, dcb or mlxconfig are expected");
    return -ENODATA;
}

int host_import(struct config_set *set, const struct config_text *text)
{
    if (host_companion(text->text) == HOST_NETPLAN) return host_netplan(set, text);
    if (!config_host.late(text->text, text->length)) return import_script(set, text);
    host_runs(set, text);
    return 0;
}
