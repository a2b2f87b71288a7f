/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host as a POSIX shell script: `sh h0.sh` sets, `sh h0.sh verify` prints what is set.
 *
 * For each adapter: trust, DSCP map, PFC and ETS by mlnx_qos where it is installed and by iproute2's dcb where not; the
 * traffic class of RDMA by cma_roce_tos and sysfs; DCQCN by sysfs; what firmware keeps by mlxconfig (it holds after a
 * reset).  NCCL's variables are printed: `eval "$(sh h0.sh nccl)"`.  All of the rest is gone after a reboot:
 * `sh h0.sh install` has systemd set it again (install.c).
 *
 * What MLNX_OFED has and the kernel's own driver has not is set where it is there; where not, a line on standard error
 * says what is missing and the script goes on.  A command that fails ends the setting of its adapter alone: the others
 * are set, and the script says at the end which were not, and exits with 1.
 *
 * A line `nic=eth0 rdma=mlx5_0` says which RDMA device belongs to which interface.  Not written: what a simulated
 * adapter has and no tool sets (latencies, windows, timeouts of queue pairs).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "config/host/host_int.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

struct host_port { /* what is written of one adapter */
    const struct config_emit *emit;
    const struct fabric_settings *settings;
    const struct fabric_nic *nic;
    char name[FABRIC_NAME], rdma[32];
    unsigned lossless; /* bits: PFC's priorities */
    unsigned dcqcn;    /* bits: priorities with congestion control */
    uint8_t dscp;      /* of RDMA */
    int cnp_dscp, cnp_priority;
};

static void comment(const struct config_emit *emit, const char *text)
{
    config_comment_inside(emit, &config_host, text);
}

static unsigned traffic_class(const struct host_port *port)
{
    return (unsigned)port->dscp << 2 | 2; /* ECT(0): DCQCN needs marks */
}

static void fill_port(const struct config_emit *emit, uint32_t p, struct host_port *ret)
{
    const struct fabric *fabric = emit->fabric;
    const struct fabric_port *port = &fabric->port[p];

    *ret = (struct host_port){.emit = emit, .settings = config_settings(fabric, p), .cnp_dscp = -1};
    ret->nic = &fabric->nic[fabric->endpoint[p].nic];
    config_port_label(emit, &config_host, p, ret->name, sizeof(ret->name));
    snprintf(ret->rdma, sizeof(ret->rdma), "mlx5_%u", port->index);
    ret->lossless = config_paused(ret->settings);
    const struct fabric_class *rdma = &fabric->classes[0];
    for (uint32_t c = fabric->class_count; c-- > 0;)
        if (fabric->classes[c].lossless) rdma = &fabric->classes[c];
    ret->dscp = rdma->dscp;
    ret->dcqcn = ret->lossless ? ret->lossless : 1u << rdma->priority;
    ret->cnp_priority = -1;
    if (ret->nic->cnp_class != FABRIC_NONE) {
        ret->cnp_dscp = fabric->classes[ret->nic->cnp_class].dscp;
        ret->cnp_priority = fabric->classes[ret->nic->cnp_class].priority;
    }
    if (ret->nic->cnp_dscp != FABRIC_UNSAID) ret->cnp_dscp = ret->nic->cnp_dscp;
}

static uint8_t weights(const struct host_port *port, unsigned percent[FABRIC_PRIOS])
{
    uint8_t used = config_queues(port->emit->fabric, port->settings);

    config_percents(port->settings, used, true, percent);
    return used;
}

/* Every DSCP, in a call of its own: mlnx_qos of before MLNX_OFED 5.4 takes the last of several.  By netlink it trusts
 * DSCPs while it has entries, and one that is deleted (flush deletes all) is priority 0 afterwards and not DSCP / 8. */
static void emit_mlnx_map(const struct host_port *port)
{
    FILE *to = port->emit->to;

    fputs("    for entry in", to);
    for (unsigned d = 0; d < 64; d++)
        fprintf(to, " %u,%u", d, port->settings->dscp_to_tc[d]);
    fprintf(to, "; do mlnx_qos -i %s --dscp2prio \"set,$entry\"; done\n", port->name);
}

/* How a queue is served.  Without any share the driver refuses `ets`; an unused queue then is the vendor's. */
static const char *algorithm(const struct host_port *port, unsigned used, unsigned q)
{
    if (!(used >> q & 1)) return "vendor";
    return port->settings->queue[q].strict ? "strict" : "ets";
}

static void emit_mlnx_qos(const struct host_port *port)
{
    FILE *to = port->emit->to;
    const struct fabric_settings *settings = port->settings;
    unsigned percent[FABRIC_PRIOS], used = weights(port, percent);
    bool dscp = settings->trust == SW_TRUST_DSCP;

    fprintf(to, "    mlnx_qos -i %s -d %s --trust %s\n", port->name, port->nic->dcbx_willing == 1 ? "fw" : "os",
            dscp ? "dscp" : "pcp");
    if (dscp) emit_mlnx_map(port);
    /* both in one call: older ones take what is not said for zero */
    fprintf(to, "    mlnx_qos -i %s --pfc ", port->name);
    for (unsigned p = 0; p < FABRIC_PRIOS; p++)
        fprintf(to, "%s%u", p ? "," : "", port->lossless >> p & 1);
    if (port->nic->cable_mm) fprintf(to, " --cable_len %llu", (unsigned long long)config_metres(port->nic->cable_mm));
    fprintf(to, "\n    mlnx_qos -i %s --prio_tc ", port->name);
    for (unsigned p = 0; p < FABRIC_PRIOS; p++)
        fprintf(to, "%s%u", p ? "," : "", settings->tc_to_queue[p]);
    fputs(" --tsa ", to);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++)
        fprintf(to, "%s%s", q ? "," : "", algorithm(port, used, q));
    fputs(" --tcbw ", to);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++)
        fprintf(to, "%s%u", q ? "," : "", percent[q]);
    fputc('\n', to);
}

static void emit_dcb(const struct host_port *port)
{
    FILE *to = port->emit->to;
    const struct fabric_settings *settings = port->settings;
    unsigned percent[FABRIC_PRIOS], used = weights(port, percent);

    if (port->nic->dcbx_willing != 1) fprintf(to, "    dcb dcbx set dev %s host ieee\n", port->name);
    fprintf(to, "    dcb app flush dev %s dscp-prio\n", port->name); /* mlx5 trusts DSCP while it has a map of it */
    if (settings->trust == SW_TRUST_DSCP) {
        fprintf(to, "    dcb app add dev %s dscp-prio", port->name);
        for (unsigned d = 0; d < 64; d++)
            fprintf(to, " %u:%u", d, settings->dscp_to_tc[d]);
        fputc('\n', to);
    }
    fprintf(to, "    dcb pfc set dev %s prio-pfc all:off", port->name);
    for (unsigned p = 0; p < FABRIC_PRIOS; p++)
        if (port->lossless >> p & 1) fprintf(to, " %u:on", p);
    if (port->nic->cable_mm) /* mlx5 takes the delay for metres of cable */
        fprintf(to, " delay %llu", (unsigned long long)config_metres(port->nic->cable_mm));
    fprintf(to, "\n    dcb ets set dev %s prio-tc", port->name);
    for (unsigned p = 0; p < FABRIC_PRIOS; p++)
        fprintf(to, " %u:%u", p, settings->tc_to_queue[p]);
    fputs(" tc-tsa", to);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++)
        fprintf(to, " %u:%s", q, algorithm(port, used, q));
    fputs(" tc-bw", to);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++)
        fprintf(to, " %u:%u", q, percent[q]);
    fputc('\n', to);
}

/* What only some drivers have is set where it is, and missed aloud where it is not. */
static void unless(const struct host_port *port, const char *missing)
{
    fprintf(port->emit->to, "    else\n    echo \"%s: %s\" >&2\n    fi\n", port->name, missing);
}

static void emit_traffic_class(const struct host_port *port)
{
    FILE *to = port->emit->to;

    comment(port->emit, "HOST001, HOST002: RDMA is sent with this traffic class: DSCP x 4, and ECT");
    fputs("    if command -v cma_roce_tos >/dev/null; then\n", to);
    fprintf(to, "    cma_roce_tos -d %s -p 1 -t %u\n", port->rdma, traffic_class(port));
    unless(port, "no cma_roce_tos: what connects by RDMA-CM must set its type of service");
    fprintf(to, "    if [ -d /sys/class/infiniband/%s/tc/1 ]; then\n", port->rdma);
    fprintf(to, "    echo %u >/sys/class/infiniband/%s/tc/1/traffic_class\n", traffic_class(port), port->rdma);
    unless(port, "no traffic_class in sysfs: applications must set it, as NCCL_IB_TC does");
}

static void emit_dcqcn(const struct host_port *port)
{
    FILE *to = port->emit->to;
    bool dcqcn = strncmp(port->nic->congestion, "dcqcn", 5) == 0;
    unsigned rp = port->nic->dcqcn_rp == FABRIC_UNSAID ? dcqcn : port->nic->dcqcn_rp;
    unsigned np = port->nic->dcqcn_np == FABRIC_UNSAID ? dcqcn : port->nic->dcqcn_np;

    comment(port->emit, "HOST004: both ends of DCQCN on the priorities of RDMA");
    fprintf(to, "    if [ -d /sys/class/net/%s/ecn ]; then\n", port->name);
    for (unsigned p = 0; p < FABRIC_PRIOS; p++) {
        if (!(port->dcqcn >> p & 1)) continue;
        fprintf(to, "    echo %u >/sys/class/net/%s/ecn/roce_rp/enable/%u\n", rp, port->name, p);
        fprintf(to, "    echo %u >/sys/class/net/%s/ecn/roce_np/enable/%u\n", np, port->name, p);
    }
    if (port->cnp_dscp >= 0) {
        comment(port->emit, "MAP005, MAP006: CNPs in a class of their own");
        fprintf(to, "    echo %d >/sys/class/net/%s/ecn/roce_np/cnp_dscp\n", port->cnp_dscp, port->name);
    }
    if (port->cnp_dscp >= 0 && port->cnp_priority >= 0)
        fprintf(to, "    echo %d >/sys/class/net/%s/ecn/roce_np/cnp_802p_prio\n", port->cnp_priority, port->name);
    unless(port, "no ecn in sysfs: DCQCN and CNPs are as the firmware has them");
}

static void emit_params(const struct host_port *port)
{
    for (uint32_t i = 0; i < port->nic->params; i++) {
        const struct fabric_param *param = &port->nic->param[i];
        for (const struct host_param *known = host_params; known->key; known++) {
            uint64_t value;
            if (strcmp(known->name, param->name) != 0) continue;
            if (!known->unit) {
                fprintf(port->emit->to, " %s_P1=%d", known->key, strcmp(param->value, "true") == 0);
                continue;
            }
            if (unit_parse((enum unit_kind)known->kind, param->value, &value, NULL) != 0) continue;
            fprintf(port->emit->to, " %s_P1=%llu", known->key,
                    (unsigned long long)((value + known->step / 2) / known->step));
        }
    }
}

static void emit_firmware(const struct host_port *port)
{
    FILE *to = port->emit->to;
    const struct fabric_nic *nic = port->nic;

    comment(port->emit, "HOST004, HOST005: what firmware keeps; holds after mlxfwreset");
    fputs("    if command -v mlxconfig >/dev/null; then\n", to);
    fprintf(to, "    mlxconfig -d %s -y set ROCE_CC_PRIO_MASK_P1=%u", port->rdma, port->dcqcn);
    if (port->cnp_dscp >= 0) fprintf(to, " CNP_DSCP_P1=%d", port->cnp_dscp);
    if (port->cnp_priority >= 0) fprintf(to, " CNP_802P_PRIO_P1=%d", port->cnp_priority);
    fprintf(to, " DCBX_WILLING_P1=%d", nic->dcbx_willing == 1);
    if (nic->dcbx_mode != FABRIC_UNSAID)
        fprintf(to, " DCBX_IEEE_P1=%d DCBX_CEE_P1=%d", nic->dcbx_mode == 0, nic->dcbx_mode == 1);
    emit_params(port);
    fputc('\n', to);
    unless(port, "no mlxconfig: the firmware's settings stay");
}

/* Room for the verbs MTU; the usual 9000 for everything else, where the link takes such frames and it means no more to
 * verbs. */
static unsigned interface_mtu(const struct host_port *port)
{
    unsigned least = port->nic->mtu_bytes + HOST_MTU_OVER;

    return port->nic->mtu_bytes == 4096 && port->settings->mtu_bytes >= HOST_MTU_USUAL + HOST_FRAME_OVER
               ? HOST_MTU_USUAL
               : least;
}

/* In a subshell that ends where a command fails.  It is no condition: `( … ) || …` would turn `set -e` off there. */
static void emit_port(const struct host_port *port)
{
    FILE *to = port->emit->to;

    fputs("    (\n    set -e\n", to);
    fprintf(to, "    nic=%s rdma=%s\n", port->name, port->rdma);
    comment(port->emit, "MTU001: room for the verbs MTU and its headers");
    fprintf(to, "    ip link set dev %s mtu %u\n", port->name, interface_mtu(port));
    comment(port->emit, "HOST001, PFC001, SCH001, HR008: as the switch port has it");
    fputs("    if command -v mlnx_qos >/dev/null; then\n", to);
    emit_mlnx_qos(port);
    fputs("    else\n", to);
    emit_dcb(port);
    fputs("    fi\n", to);
    emit_traffic_class(port);
    emit_dcqcn(port);
    emit_firmware(port);
    fputs("    )\n    status=$?\n", to);
    fprintf(to, "    if [ \"$status\" != 0 ]; then failed=\"$failed %s\"; fi\n", port->name);
}

static void emit_verify(const struct host_port *port)
{
    FILE *to = port->emit->to;

    fprintf(to, "    mlnx_qos -i %s\n    dcb pfc show dev %s\n    dcb app show dev %s\n    dcb ets show dev %s\n",
            port->name, port->name, port->name, port->name);
    fprintf(to, "    cma_roce_tos -d %s -p 1\n    cat /sys/class/infiniband/%s/tc/1/traffic_class\n", port->rdma,
            port->rdma);
    fprintf(to, "    cat /sys/class/net/%s/ecn/roce_np/cnp_dscp\n", port->name);
    fprintf(to, "    mlxconfig -d %s query | grep -E 'ROCE_CC|CNP|DCBX'\n", port->rdma);
}

/* A value that the shell would read otherwise than as it stands is quoted. */
static void emit_variable(FILE *to, const struct fabric_param *param)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+=^-";

    if (param->value[0] && param->value[strspn(param->value, plain)] == 0) {
        fprintf(to, "export %s=%s\n", param->name, param->value);
        return;
    }
    fprintf(to, "export %s='", param->name);
    for (const char *c = param->value; *c; c++)
        fputs(*c == '\'' ? "'\\''" : (const char[]){*c, 0}, to);
    fputs("'\n", to);
}

/* Variables the fabric names, and those that must be explicit. */
static void emit_nccl(const struct host_port *port)
{
    FILE *to = port->emit->to;
    bool tc = false, fifo = false;

    comment(port->emit, "HOST002, HOST006: NCCL's own, for queue pairs that do not ask the kernel");
    for (uint32_t i = 0; i < port->nic->nccls; i++) {
        const struct fabric_param *param = &port->nic->nccl[i];
        tc = tc || strcmp(param->name, "NCCL_IB_TC") == 0;
        fifo = fifo || strcmp(param->name, "NCCL_IB_FIFO_TC") == 0;
        emit_variable(to, param);
    }
    if (!tc) fprintf(to, "export NCCL_IB_TC=%u\n", traffic_class(port));
    if (!fifo) fprintf(to, "export NCCL_IB_FIFO_TC=%u\n", traffic_class(port));
}

int host_emit(const struct config_emit *emit)
{
    const struct fabric *fabric = emit->fabric;
    const struct fabric_node *node = &fabric->node[emit->node];
    struct host_port port;
    FILE *to = emit->to;

    fprintf(to, "#!/bin/sh\n");
    config_head(emit, &config_host);
    config_comment(emit, &config_host,
                   "without an argument it sets, verify prints what is set, nccl prints variables, install makes it "
                   "hold after a boot");
    fprintf(to, "host=%s\ncase \"${1-set}\" in\nset)\n    failed=\n", node->name);
    for (uint32_t p = 0; p < node->ports; p++) {
        fill_port(emit, node->first_port + p, &port);
        emit_port(&port);
    }
    fputs("    if [ -n \"$failed\" ]; then\n    echo \"$host: a command failed, and not all is set on:$failed\" >&2\n"
          "    exit 1\n    fi\n",
          to);
    fputs("    ;;\nverify)\n    echo \"$host\"\n", to);
    for (uint32_t p = 0; p < node->ports; p++) {
        fill_port(emit, node->first_port + p, &port);
        emit_verify(&port);
    }
    fputs("    ;;\nnccl)\n    cat <<'EOT'\n", to);
    if (node->ports) {
        fill_port(emit, node->first_port, &port);
        emit_nccl(&port);
    }
    fputs("EOT\n    ;;\n", to);
    host_emit_install(emit);
    fputs("*)\n    echo \"usage: sh $0 [set|verify|nccl|install]\" >&2\n    exit 2\n    ;;\nesac\n", to);
    return ferror(to) ? -EIO : 0;
}
