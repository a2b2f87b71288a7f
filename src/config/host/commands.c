/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that set an adapter up: mlnx_qos, dcb, cma_roce_tos, mlxconfig, sysfs, ip link, NCCL's variables.
 *
 * Each reads its own words and answers whether it understood all of them: what is left over is told to the user by the
 * caller, with the line.
 */
#include <string.h>

#include "config/host/host_int.h"

#define WORDS 160
#define BUFFER_BYTES_MOST (1 << 30)

struct words {
    const char *word[WORDS];
    uint32_t count;
};

static void split(char *line, struct words *ret)
{
    ret->count = 0;
    for (char *at = line; *at && ret->count < WORDS;) {
        at += strspn(at, " \t=\"'");
        if (!*at || *at == '#') break;
        ret->word[ret->count++] = at;
        at += strcspn(at, " \t=\"'");
        if (*at) *at++ = 0;
    }
}

static const char *after(const struct words *words, const char *name, const char *other)
{
    for (uint32_t i = 0; i + 1 < words->count; i++)
        if (strcmp(words->word[i], name) == 0 || (other && strcmp(words->word[i], other) == 0))
            return words->word[i + 1];
    return NULL;
}

/* --- mlnx_qos --- */

void host_set_pfc(struct host *in, struct host_nic *nic, unsigned priorities)
{
    nic->pfc = priorities;
    nic->has_pfc = true;
    nic->pfc_line = in->line;
    nic->pfc_loop = in->loop_line;
    nic->reset_line = 0;
}

void host_set_dscp(struct host *in, struct host_nic *nic, int64_t dscp, int64_t priority)
{
    nic->dscp[dscp] = (uint8_t)priority;
    nic->dscp_lines[dscp] = nic->dscp_line = in->line;
    nic->has_dscp = true;
}

static bool set_pfc(struct host *in, struct host_nic *nic, const char *value)
{
    int64_t bits[FABRIC_PRIOS];
    unsigned priorities = 0;

    if (!host_eight(value, 100, bits)) return false;
    for (unsigned p = 0; p < FABRIC_PRIOS; p++)
        priorities |= bits[p] ? 1u << p : 0;
    host_set_pfc(in, nic, priorities);
    return true;
}

static bool set_tsa(struct host *in, struct host_nic *nic, const char *value)
{
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        size_t length = strcspn(value, ",");
        if (!length) return false;
        nic->strict[q] = strncmp(value, "strict", length) == 0;
        value += length + (value[length] == ',');
    }
    nic->turns = true;
    nic->turns_line = in->line;
    return true;
}

static void say_trust(struct host *in, struct host_nic *nic, bool dscp)
{
    nic->trusts_dscp = dscp;
    nic->trust_line = in->line;
    SAY(in, in->line, in->port, "trust", dscp ? "dscp" : "pcp");
}

/* As mlx5 has it: the first entry makes it trust DSCPs, an entry that is deleted is priority 0, and without any it
 * trusts PCP again. */
static bool set_dscp(struct host *in, struct host_nic *nic, const char *value)
{
    int64_t dscp, prio;
    const char *comma = strchr(value, ',');

    nic->has_dscp = true;
    nic->dscp_line = in->line;
    if (strcmp(value, "flush") == 0) {
        memset(nic->dscp, 0, sizeof(nic->dscp));
        if (nic->map_line) nic->flush_line = in->line;
        say_trust(in, nic, false);
        return true;
    }
    const char *second = comma ? strchr(comma + 1, ',') : NULL;
    if (!second || !host_number(comma + 1, 0, 63, &dscp) || !host_number(second + 1, 0, 7, &prio)) return false;
    if (begins(value, "set,"))
        nic->dscp[dscp] = (uint8_t)prio, nic->dscp_lines[dscp] = in->line;
    else if (begins(value, "del,"))
        nic->dscp[dscp] = 0;
    else
        return false;
    if (value[0] == 's') {
        nic->map_line = in->line;
        nic->flush_line = 0;
        if (!nic->trusts_dscp) say_trust(in, nic, true);
    }
    return true;
}

/* Where DSCPs were not trusted, mlnx_qos writes DSCP / 8 into the map; else it leaves the map alone. */
static bool set_trust(struct host *in, struct host_nic *nic, const char *value)
{
    bool dscp = strcmp(value, "dscp") == 0;

    if (!dscp && strcmp(value, "pcp") != 0) return false;
    if (dscp && !nic->trusts_dscp)
        for (unsigned d = 0; d < 64; d++)
            nic->dscp[d] = (uint8_t)(d / 8);
    say_trust(in, nic, dscp);
    nic->trust_said = dscp;
    nic->trust_said_line = in->line;
    return true;
}

static bool is_either(const char *option, const char *name, const char *other)
{
    return strcmp(option, name) == 0 || strcmp(option, other) == 0;
}

/* One option and its value; `ret_known`: it is one that has a value.  False: not understood. */
static bool qos_option(struct host *in, struct host_nic *nic, const char *option, const char *value, bool *ret_known)
{
    int64_t eight[FABRIC_PRIOS], metres;
    bool good = true;

    *ret_known = true;
    if (is_either(option, "-i", "--interface")) return true;
    if (is_either(option, "-d", "--dcbx")) { /* the firmware then takes nothing from the peer */
        if (strcmp(value, "os") == 0 && !config_said(in->set, in->device, in->port, "dcbx.willing"))
            SAY(in, in->line, in->port, "dcbx.willing", "false");
        return strcmp(value, "os") == 0 || strcmp(value, "fw") == 0;
    }
    if (strcmp(option, "--trust") == 0) return set_trust(in, nic, value);
    if (is_either(option, "--pfc", "-f")) return set_pfc(in, nic, value);
    if (strcmp(option, "--dscp2prio") == 0) return set_dscp(in, nic, value);
    if (is_either(option, "--tsa", "-s")) return set_tsa(in, nic, value);
    if (is_either(option, "--tcbw", "-t")) {
        nic->weight_line = in->line;
        return host_eight(value, 100, nic->weight);
    }
    if (strcmp(option, "--prio2buffer") == 0) {
        good = host_eight(value, FABRIC_PRIOS - 1, nic->buffer_of);
        if (good) nic->buffer_line = in->line;
        return good;
    }
    if (strcmp(option, "--buffer_size") == 0) {
        good = host_eight(value, BUFFER_BYTES_MOST, nic->buffer_bytes);
        if (good) nic->bytes_line = in->line;
        return good;
    }
    if (strcmp(option, "--cable_len") == 0) {
        good = host_number(value, 1, 100000, &metres);
        if (good) SAY(in, in->line, in->port, "cable-length", "%lldm", (long long)metres);
        return good;
    }
    *ret_known = is_either(option, "--prio_tc", "-p");
    if (!*ret_known) return false;
    good = host_eight(value, 100, eight);
    for (unsigned p = 0; p < FABRIC_PRIOS; p++)
        good = good && eight[p] < FABRIC_PRIOS;
    for (unsigned p = 0; good && p < FABRIC_PRIOS; p++)
        nic->prio_tc[p] = (uint8_t)eight[p];
    if (good) nic->prio_tc_line = in->line;
    return good;
}

static bool mlnx_qos(struct host *in, const struct words *words)
{
    const char *name = after(words, "-i", "--interface");
    struct host_nic *nic = name ? host_nic_named(in, name) : NULL;

    if (!nic) return false;
    if (in->hidden && !in->hidden_line) in->hidden_line = in->line;
    in->in_pfc = in->in_dscp = false;
    in->tc = -1;
    for (uint32_t i = 1; i < words->count; i++) {
        const char *option = words->word[i], *value = i + 1 < words->count ? words->word[i + 1] : "";
        bool known = false, good = strcmp(option, "-a") == 0 || qos_option(in, nic, option, value, &known);
        if (known) i++;
        if (good) continue;
        NOTE(in, in->line, NULL, CONFIG_NONE, "mlnx_qos: '%.40s%s%.40s' is not understood", option, known ? " " : "",
             known ? value : "");
        if (!known && i + 1 < words->count && words->word[i + 1][0] != '-') i++; /* its value, by the looks of it */
    }
    return true;
}

/* --- dcb --- */

/* `26:3`, `all:off`; first -1 for all. */
static bool pair(const char *text, int64_t *ret_first, const char **ret_second)
{
    const char *colon = strchr(text, ':');

    if (!colon) return false;
    *ret_second = colon + 1;
    if (begins(text, "all:")) {
        *ret_first = -1;
        return true;
    }
    char buf[8];
    size_t length = (size_t)(colon - text);
    if (length >= sizeof(buf)) return false;
    memcpy(buf, text, length);
    buf[length] = 0;
    return host_number(buf, 0, 63, ret_first);
}

static bool dcb_value(struct host *in, struct host_nic *nic, const char *kind, const char *text)
{
    int64_t key, number = 0;
    const char *value;

    if (!pair(text, &key, &value)) return false;
    bool numeric = host_number(value, 0, 100, &number);
    int64_t first = key < 0 ? 0 : key, last = key < 0 ? 7 : key;
    if (strcmp(kind, "dscp-prio") == 0) {
        if (!numeric || number > 7 || key < 0) return false;
        host_set_dscp(in, nic, key, number);
        if (!nic->trusts_dscp) say_trust(in, nic, true);
        return true;
    }
    if (last > 7) return false;
    for (int64_t p = first; p <= last; p++) {
        if (strcmp(kind, "prio-pfc") == 0) {
            host_set_pfc(in, nic, (nic->pfc & ~(1u << p)) | (strcmp(value, "on") == 0 ? 1u << p : 0));
            continue;
        }
        nic->turns = true;
        nic->turns_line = in->line;
        if (strcmp(kind, "tc-tsa") == 0) nic->strict[p] = strcmp(value, "strict") == 0;
        if (strcmp(kind, "tc-bw") == 0) nic->weight[p] = number;
        if (strcmp(kind, "prio-tc") == 0) nic->prio_tc[p] = (uint8_t)(number & 7);
    }
    return true;
}

static bool dcb(struct host *in, const struct words *words)
{
    static const char *const kinds[] = {"dscp-prio", "prio-pfc", "tc-tsa", "tc-bw", "prio-tc", NULL};
    const char *name = after(words, "dev", NULL), *kind = NULL;
    struct host_nic *nic = name ? host_nic_named(in, name) : NULL;
    bool good = true, shows = false;
    uint32_t i = 1;

    if (!nic) return false;
    if (strcmp(words->word[1], "dcbx") == 0) return true; /* who decides; what was decided is elsewhere */
    if (strcmp(words->word[1], "app") == 0 && strcmp(words->word[2], "flush") == 0) return set_dscp(in, nic, "flush");
    for (; strcmp(words->word[i], "dev") != 0; i++)
        shows = shows || strcmp(words->word[i], "show") == 0 || strcmp(words->word[i], "get") == 0;
    for (i += 2; i < words->count && !shows; i++) {
        const char *word = words->word[i];
        bool is_kind = false;
        for (int k = 0; kinds[k] && !is_kind; k++)
            if (strcmp(word, kinds[k]) == 0) {
                kind = kinds[k];
                is_kind = true;
            }
        if (is_kind) continue;
        if (strcmp(word, "willing") == 0 && i + 1 < words->count) {
            SAY(in, in->line, in->port, "dcbx.willing", "%s", strcmp(words->word[++i], "on") == 0 ? "true" : "false");
            continue;
        }
        if (strcmp(word, "delay") == 0 && i + 1 < words->count) { /* mlx5 takes it for metres, of less than 1000 */
            int64_t metres;
            good = host_number(words->word[++i], 0, 65535, &metres) && good;
            if (good && metres && metres < 1000)
                SAY(in, in->line, in->port, "cable-length", "%lldm", (long long)metres);
            continue;
        }
        good = kind && strchr(word, ':') && dcb_value(in, nic, kind, word) && good;
    }
    return good;
}

/* lldptool -T -i eth0 -V PFC enabled=3,4 willing=no: splitting has taken the = away */
static bool lldptool(struct host *in, const struct words *words)
{
    const char *name = after(words, "-i", NULL), *enabled = after(words, "enabled", NULL);
    const char *willing = after(words, "willing", NULL), *kind = after(words, "-V", NULL);
    struct host_nic *nic = name ? host_nic_named(in, name) : NULL;

    if (!nic || !kind || strcmp(kind, "PFC") != 0) return false;
    if (enabled) {
        unsigned priorities = 0;
        for (const char *c = enabled; *c && strcmp(enabled, "none") != 0; c++)
            if (*c >= '0' && *c <= '7') priorities |= 1u << (*c - '0');
        host_set_pfc(in, nic, priorities);
    }
    if (willing) SAY(in, in->line, in->port, "dcbx.willing", "%s", strcmp(willing, "yes") == 0 ? "true" : "false");
    return enabled || willing;
}

/* --- the rest --- */

static bool set_tos(struct host *in, struct host_nic *nic, int64_t tos)
{
    if (!nic || tos > 255) return false;
    nic->tos = (int)tos;
    nic->tos_line = in->line;
    return true;
}

static bool set_cm_tos(struct host *in, struct host_nic *nic, int64_t tos)
{
    if (!nic || tos > 255) return false;
    nic->cm_tos = (int)tos;
    nic->cm_tos_line = in->line;
    return true;
}

static bool write_sysfs(struct host *in, const char *value, const char *path)
{
    int64_t number;
    const char *at;

    if (!host_number(value, 0, 1000000, &number)) return strstr(path, "/default_roce_mode") != NULL;
    if (begins(path, "/sys/class/infiniband/"))
        return strstr(path, "/traffic_class") && set_tos(in, host_nic_rdma(in, path + 22), number);
    if (begins(path, "/sys/kernel/config/rdma_cm/"))
        return strstr(path, "/default_roce_tos") && set_cm_tos(in, host_nic_rdma(in, path + 27), number);
    struct host_nic *nic = begins(path, "/sys/class/net/") ? host_nic_named(in, path + 15) : NULL;
    if (!nic) return false;
    at = strstr(path, "/ecn/roce_");
    if (!at) return false;
    if (strstr(at, "np/cnp_dscp") && number < 64) {
        SAY(in, in->line, in->port, "cnp-dscp", "%lld", (long long)number);
        nic->cnp_dscp = (int)number;
        nic->cnp_dscp_line = in->line;
    } else if (strstr(at, "np/cnp_802p_prio") && number < 8) {
        nic->cnp_prio = (int)number;
        nic->cnp_prio_line = in->line;
        in->set->classes |= (uint8_t)(1u << number);
        SAY(in, in->line, in->port, "cnp-class", "@%lld", (long long)number);
    } else if (strstr(at, "rp/enable/") || strstr(at, "np/enable/")) {
        struct host_half *half = at[10] == 'r' ? &nic->rp : &nic->np;
        const char *digit = strstr(at, "enable/") + 7;
        if (digit[0] < '0' || digit[0] > '7') return false;
        unsigned bit = 1u << (digit[0] - '0');
        if (!number || !half->line || half->on == half->said) half->line = in->line;
        half->said |= bit;
        half->on = number ? half->on | bit : half->on & ~bit;
    } else {
        return strstr(at, "min_time_between_cnps") != NULL;
    }
    return true;
}

static bool mlxconfig(struct host *in, struct words *words)
{
    const char *name = after(words, "-d", "--dev");
    bool good = true, set = false;

    if (!name || !host_nic_rdma(in, name)) return false;
    for (uint32_t i = 1; i < words->count; i++) {
        if (strcmp(words->word[i], "query") == 0 || strcmp(words->word[i], "q") == 0) return true;
        if (set && i + 1 < words->count) {
            good = host_mlxconfig(in, words->word[i], words->word[i + 1]) && good;
            i++;
        }
        set = set || strcmp(words->word[i], "set") == 0 || strcmp(words->word[i], "s") == 0;
    }
    return good;
}

void host_say_mtu(struct config_set *set, struct origin at, uint32_t device, uint32_t port, int64_t mtu)
{
    int64_t verbs = 256;

    while (verbs < 4096 && verbs * 2 + HOST_MTU_NEEDS <= mtu)
        verbs *= 2;
    if (mtu == verbs * 2) /* the number of a path MTU, without room for what is around it */
        config_finding(set, at, "TOP006", CONFIG_WARNING, device, port,
                       "an interface MTU of %lld has no room for RDMA's %lld bytes and their headers: RDMA falls back "
                       "to %lld (%lld are needed)",
                       (long long)mtu, (long long)mtu, (long long)verbs, (long long)mtu + HOST_MTU_NEEDS);
    config_say(set, at, device, port, "mtu", "%lld", (long long)verbs);
}

static bool set_mtu(struct host *in, const struct words *words)
{
    const char *name = after(words, "dev", NULL), *text = after(words, "mtu", NULL);
    int64_t mtu;

    if (!text || !host_number(text, 68, 65535, &mtu)) return false;
    if (!name && strcmp(words->word[0], "ifconfig") == 0) name = words->word[1];
    if (!name) name = words->count > 3 ? words->word[3] : NULL;
    if (!name || !host_nic_named(in, name)) return false;
    struct host_nic *nic = host_nic_here(in);
    if (nic) nic->mtu = (unsigned)mtu, nic->mtu_line = in->line;
    host_say_mtu(in->set, CONFIG_AT(in->text, in->line), in->device, in->port, mtu);
    return true;
}

/* ethtool -A eth0 rx on tx on: 802.3x pauses */
static bool ethtool(struct host *in, const struct words *words)
{
    bool pauses = words->count > 2 && is_either(words->word[1], "-A", "--pause");
    struct host_nic *nic = pauses ? host_nic_named(in, words->word[2]) : NULL;
    const char *rx = after(words, "rx", NULL), *tx = after(words, "tx", NULL);

    if (!nic) return words->count > 1 && !pauses; /* rings, offloads, what it shows */
    if (rx || tx) {
        nic->pause = (rx && strcmp(rx, "on") == 0) || (tx && strcmp(tx, "on") == 0);
        nic->pause_line = in->line;
    }
    return rx || tx;
}

/* A word of the shell without its quotes: 'a b'c"d" is a bcd. */
static void unquote(const char *word, char *to, size_t bytes)
{
    char quote = 0;
    size_t length = 0;

    for (const char *c = word; *c && (quote || !strchr(" \t;", *c)) && length + 1 < bytes; c++) {
        if (*c == quote)
            quote = 0;
        else if (!quote && (*c == '"' || *c == '\''))
            quote = *c;
        else {
            if (*c == '\\' && quote != '\'' && c[1]) c++;
            to[length++] = *c;
        }
    }
    to[length] = '\0';
}

static bool nccl(struct host *in, const char *line)
{
    const char *equals = strchr(line, '=');
    char path[96], value[512];

    if (!equals || equals - line > 64) return false;
    snprintf(path, sizeof(path), "nccl.%.*s", (int)(equals - line), line);
    if (path[5 + strspn(path + 5, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")]) return false;
    for (const char *c = equals; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) return false;
    unquote(equals + 1, value, sizeof value);
    SAY(in, in->line, CONFIG_NONE, path, "%s", value);
    return true;
}

static bool pairing(struct host *in, const struct words *words)
{
    if (words->count < 4 || strcmp(words->word[2], "rdma") != 0) return false;
    struct host_nic *nic = host_nic_named(in, words->word[1]);
    if (nic) snprintf(nic->rdma, sizeof(nic->rdma), "%.31s", words->word[3]);
    return nic != NULL;
}

static bool cma(struct host *in, const struct words *words)
{
    const char *name = after(words, "-d", NULL), *tos = after(words, "-t", NULL);
    struct host_nic *nic = name ? host_nic_rdma(in, name) : NULL;
    int64_t number;

    if (!nic) return false;
    const char *mode = strcmp(words->word[0], "cma_roce_mode") == 0 ? after(words, "-m", NULL) : NULL;
    if (mode && strcmp(mode, "1") == 0)
        NOTE(in, in->line, "HOST003", in->port,
             "RDMA-CM connects by RoCEv1, which no router forwards: mode 2 is RoCEv2");
    return !tos || (host_number(tos, 0, 255, &number) && set_cm_tos(in, nic, number));
}

/* echo 48 > FILE, echo 48 | sudo tee FILE, printf '48' > "FILE" */
static bool write_file(struct host *in, const char *line)
{
    const char *to = strchr(line, '>'), *tee = strstr(line, "tee ");
    const char *value = strchr(line, ' ');

    if (tee && (!to || tee < to)) to = tee + 3; /* what tee prints may go elsewhere: > /dev/null */
    if (!to) return false;
    value += strspn(value, " \t\"'");
    if (begins(value, "-n ")) value += 3 + strspn(value + 3, " \t\"'");
    if (begins(value, "%s")) value += 2 + strspn(value + 2, "\\n \t\"'");
    to += 1 + strspn(to + 1, " \t\"'");
    if (begins(to, "-a ")) to += 3 + strspn(to + 3, " \t\"'");
    if (!write_sysfs(in, value, to)) return false;
    if (in->hidden && !in->hidden_line && strstr(to, "/ecn/")) in->hidden_line = in->line;
    return true;
}

/* A command that takes the interfaces down and makes new ones: what was set on them is gone. */
static bool resets(struct host *in, const char *line)
{
    static const char *const commands[] = {"devlink dev reload ",
                                           "mlxfwreset ",
                                           "mstfwreset ",
                                           "modprobe -r mlx5_core",
                                           "rmmod mlx5_core",
                                           "systemctl restart openibd",
                                           "/etc/init.d/openibd restart",
                                           NULL};
    bool is = begins_any(line, commands);

    for (uint32_t p = 0; is && p < in->nics; p++)
        if (in->nic[p].met && in->nic[p].has_pfc && !in->nic[p].shown) in->nic[p].reset_line = in->line;
    return is;
}

bool host_is_command(const char *line)
{
    static const char *const programs[] = {"mlnx_qos ",  "dcb ",          "nic=",           "mlxconfig ",
                                           "mstconfig ", "cma_roce_tos ", "cma_roce_mode ", "ip link set ",
                                           "ifconfig ",  "lldptool ",     "ethtool ",       NULL};

    return begins_any(line, programs);
}

bool host_command(struct host *in, char *line)
{
    struct words words;

    if (resets(in, line)) return true;
    if (begins(line, "export NCCL_")) return nccl(in, line + 7);
    if (begins(line, "NCCL_")) return nccl(in, line);
    if (begins(line, "echo ") || begins(line, "printf ")) return write_file(in, line);
    if (begins(line, "cat /sys/")) return true;
    if (!host_is_command(line)) return false;
    split(line, &words);
    if (!words.count) return false;
    if (strcmp(words.word[0], "mlnx_qos") == 0) return mlnx_qos(in, &words);
    if (strcmp(words.word[0], "dcb") == 0) return dcb(in, &words);
    if (is_either(words.word[0], "mlxconfig", "mstconfig")) return mlxconfig(in, &words);
    if (is_either(words.word[0], "cma_roce_tos", "cma_roce_mode")) return cma(in, &words);
    if (strcmp(words.word[0], "nic") == 0) return pairing(in, &words);
    if (strcmp(words.word[0], "lldptool") == 0) return lldptool(in, &words);
    if (strcmp(words.word[0], "ethtool") == 0) return ethtool(in, &words);
    return after(&words, "mtu", NULL) ? set_mtu(in, &words) : true;
}

/* Lines of `dcb … show`: the same pairs behind the same words, about the interface that was named last. */
bool host_dcb_shown(struct host *in, char *line)
{
    struct words words;
    struct host_nic *nic = host_nic_here(in);
    bool good = true;

    split(line, &words);
    if (!nic || words.count < 2) return false;
    for (uint32_t i = 1; i < words.count; i++)
        good = dcb_value(in, nic, words.word[0], words.word[i]) && good;
    return good;
}
