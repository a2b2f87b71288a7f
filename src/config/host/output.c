/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What mlnx_qos, dcb, mlxconfig and ibdev2netdev print.
 */
#include <string.h>

#include "base/units.h"
#include "config/host/host_int.h"

static bool truth(const char *value)
{
    return value[0] == '1' || begins(value, "True");
}

/* Firmware's mask of priorities; what sysfs says of either half holds over it. */
static void set_dcqcn(struct host *in, int bits)
{
    struct host_nic *nic = host_nic_here(in);

    if (!nic) return;
    nic->dcqcn = bits;
    nic->dcqcn_line = in->line;
    if (!config_said(in->set, in->device, in->port, "dcqcn.rp"))
        SAY(in, in->line, in->port, "dcqcn.rp", bits ? "true" : "false");
    if (!config_said(in->set, in->device, in->port, "dcqcn.np"))
        SAY(in, in->line, in->port, "dcqcn.np", bits ? "true" : "false");
}

/* LLDP_NB_DCBX is whether the firmware speaks DCBX at all; it does not, and is willing, as adapters are delivered. */
static void set_dcbx(struct host *in, const char *name, bool on)
{
    struct host_nic *nic = host_nic_here(in);
    bool agent = strcmp(name, "LLDP_NB_DCBX") == 0;

    if (agent && nic) nic->no_agent = !on;
    if (agent && (on || !config_said(in->set, in->device, in->port, "dcbx.willing"))) return;
    bool willing = on && !agent && !(nic && nic->no_agent);
    SAY(in, in->line, in->port, "dcbx.willing", willing ? "true" : "false");
}

/* A key of firmware, `NAME_P1`: of the device's first port. */
bool host_mlxconfig(struct host *in, const char *key, const char *value)
{
    size_t length = strlen(key);
    int64_t number = 0;

    if (length < 4 || key[length - 3] != '_' || key[length - 2] != 'P') return false;
    if (key[length - 1] != '1') return true; /* the second port is a device of its own */
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)(length - 3 < 60 ? length - 3 : 60), key);
    bool good = host_number(value, 0, 1000000000, &number);
    if (strcmp(name, "CNP_DSCP") == 0 && good && number < 64) {
        SAY(in, in->line, in->port, "cnp-dscp", "%lld", (long long)number);
        struct host_nic *nic = host_nic_here(in);
        if (nic) nic->cnp_dscp = (int)number, nic->cnp_dscp_line = in->line;
    } else if (strcmp(name, "CNP_802P_PRIO") == 0 && good && number < 8) {
        in->set->classes |= (uint8_t)(1u << number);
        SAY(in, in->line, in->port, "cnp-class", "@%lld", (long long)number);
    } else if (strcmp(name, "ROCE_CC_PRIO_MASK") == 0 && good && number < 256) {
        set_dcqcn(in, (int)number);
    } else if (strcmp(name, "DCBX_WILLING") == 0 || strcmp(name, "LLDP_NB_DCBX") == 0) {
        set_dcbx(in, name, truth(value));
    } else if (strcmp(name, "DCBX_IEEE") == 0 || strcmp(name, "DCBX_CEE") == 0) {
        bool ieee = name[5] == 'I';
        const char *before = config_said(in->set, in->device, in->port, "dcbx.mode");
        if (truth(value) && (ieee || !before || strcmp(before, "off") == 0))
            SAY(in, in->line, in->port, "dcbx.mode", ieee ? "ieee" : "cee");
        else if (!before)
            SAY(in, in->line, in->port, "dcbx.mode", "off");
    } else {
        for (const struct host_param *known = host_params; known->key; known++) {
            char path[64];
            if (strcmp(known->key, name) != 0) continue;
            snprintf(path, sizeof(path), "congestion.%s", known->name);
            if (!known->unit) {
                SAY(in, in->line, in->port, path, truth(value) ? "true" : "false");
                return true;
            }
            if (!good) return false;
            if (known->kind == UNIT_SIZE) number *= (int64_t)known->step;
            SAY(in, in->line, in->port, path, "%lld%s", (long long)number, known->unit);
            return true;
        }
        /* Known to firmware and of no matter here. */
        static const char *const rest[] = {"ROCE_CC_ALGORITHM", "LLDP_", "NUM_OF_", NULL};
        return begins_any(name, rest);
    }
    return true;
}

/* `prio:3 dscp:31,30,29,` */
static bool dscp_line(struct host *in, const char *line)
{
    struct host_nic *nic = host_nic_here(in);
    const char *list = strstr(line, "dscp:");
    int64_t prio, dscp;

    if (!nic || !list || !host_number(line + 5, 0, 7, &prio)) return false;
    nic->has_dscp = true;
    nic->dscp_line = in->line;
    for (const char *at = list + 5; *at;) {
        if (!host_number(at, 0, 63, &dscp)) return *at == 0;
        host_set_dscp(in, nic, dscp, prio);
        at += strspn(at, "0123456789");
        at += strspn(at, ", ");
    }
    return true;
}

/* `enabled 0 0 0 1 0 0 0 0` */
static bool enabled_line(struct host *in, const char *line)
{
    struct host_nic *nic = host_nic_here(in);
    unsigned bits = 0, count = 0;

    for (const char *at = line + 7; *at && count < FABRIC_PRIOS; at++) {
        if (*at != '0' && *at != '1') continue;
        bits |= (*at == '1') ? 1u << count : 0;
        count++;
    }
    if (!nic || count != FABRIC_PRIOS) return false;
    uint32_t reset = nic->reset_line;
    host_set_pfc(in, nic, bits);
    nic->reset_line = reset; /* what a tool shows takes nothing back */
    return true;
}

/* `tc: 0 ratelimit: unlimited, tsa: ets, bw: 50%` */
static bool tc_line(struct host *in, const char *line)
{
    struct host_nic *nic = host_nic_here(in);
    const char *tsa = strstr(line, "tsa: "), *bw = strstr(line, "bw: ");
    int64_t tc = 0, percent = 0;

    if (!nic || !host_number(line + 3 + strspn(line + 3, " "), 0, 7, &tc)) return false;
    in->tc = (int)tc;
    nic->turns = true;
    nic->turns_line = in->line;
    nic->strict[tc] = tsa && begins(tsa + 5, "strict");
    nic->weight[tc] = bw && host_number(bw + 4, 0, 100, &percent) ? percent : 0;
    return true;
}

static bool qos_output(struct host *in, const char *line)
{
    static const char *const headings[] = {"DCBX mode:",
                                           "dscp2prio mapping:",
                                           "PFC configuration:",
                                           "Receive buffer",
                                           "buffer",
                                           "Priority trust state is not",
                                           "tc: not",
                                           NULL};
    struct host_nic *nic;
    int64_t number;

    if (begins(line, "Priority trust state: ")) {
        nic = host_nic_here(in);
        const char *trust = strstr(line + 22, "dscp") ? "dscp" : "pcp";
        if (nic) SAY(in, in->line, in->port, "trust", "%s", trust);
        if (nic) nic->trusts_dscp = trust[0] == 'd', nic->shown = true, nic->trust_line = in->line;
        return nic != NULL;
    }
    if (begins(line, "prio:")) return dscp_line(in, line);
    if (begins(line, "enabled")) return enabled_line(in, line);
    if (begins(line, "tc:")) return tc_line(in, line);
    if (begins(line, "Cable len: ")) {
        nic = host_nic_here(in);
        if (!nic || !host_number(line + 11, 0, 100000, &number)) return false;
        if (number) SAY(in, in->line, in->port, "cable-length", "%lldm", (long long)number);
        return true;
    }
    if (begins(line, "priority:")) { /* of the tc line above */
        nic = host_nic_here(in);
        if (!nic || in->tc < 0 || !host_number(line + 9 + strspn(line + 9, " "), 0, 7, &number)) return false;
        nic->prio_tc[number] = (uint8_t)in->tc;
        return true;
    }
    if (begins(line, "priority ")) return true;              /* the table's heading */
    if (strcmp(line, "default priority:") == 0) return true; /* none is set */
    return begins_any(line, headings);
}

bool host_output(struct host *in, char *line)
{
    static const char *const shown[] = {"dscp-prio ", "prio-pfc ", "tc-tsa ", "tc-bw ", "prio-tc ", NULL};
    char *space = strpbrk(line, " \t");

    if (qos_output(in, line)) return true;
    if (begins_any(line, shown)) return host_dcb_shown(in, line);
    if (begins(line, "pfc-cap ") || begins(line, "willing ")) return true;
    if (begins(line, "Device: ")) return true;
    const char *to = strstr(line, " ==> "); /* mlx5_0 port 1 ==> eth0 (Up) */
    if (to && space) {
        char rdma[32], netdev[64];
        snprintf(rdma, sizeof(rdma), "%.*s", (int)(space - line < 31 ? space - line : 31), line);
        snprintf(netdev, sizeof(netdev), "%.*s", (int)strcspn(to + 5, " ("), to + 5);
        struct host_nic *nic = host_nic_named(in, netdev);
        if (nic) snprintf(nic->rdma, sizeof(nic->rdma), "%s", rdma);
        return nic != NULL;
    }
    if (!space || line[0] < 'A' || line[0] > 'Z') return false;
    *space = 0;
    const char *value = space + 1 + strspn(space + 1, " \t");
    bool known = strlen(line) > 3 && begins(line + strlen(line) - 3, "_P") && host_nic_here(in) &&
                 host_mlxconfig(in, line, value);
    *space = ' ';
    return known;
}
