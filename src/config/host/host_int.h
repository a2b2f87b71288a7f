/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts: what both directions share.  Private to src/config/host*.c.
 */
#ifndef ROCELAB_CONFIG_HOST_HOST_INT_H
#define ROCELAB_CONFIG_HOST_HOST_INT_H

#include <string.h>

#include "config/config.h"

/* A verbs MTU needs an interface MTU of so much more: IPv6, UDP, BTH, RETH and ICRC are 80. */
#define HOST_MTU_NEEDS 80u
#define HOST_MTU_OVER 104u /* what is written: 4200 for 4096 */
#define HOST_MTU_USUAL 9000u
#define HOST_FRAME_OVER 18u /* Ethernet and a tag */

/* Parameters of DCQCN as mlxconfig names them (without _P1), and as a fabric file does. */
struct host_param {
    const char *key, *name;
    const char *unit; /* of mlxconfig's number, in a fabric file; NULL: true or false */
    uint8_t kind;     /* enum unit_kind */
    uint64_t step;    /* of the unit, in its base unit */
};
extern const struct host_param host_params[]; /* ends with a NULL key */

int host_import(struct config_set *set, const struct config_text *text);
int host_emit(const struct config_emit *emit);
void host_emit_install(const struct config_emit *emit); /* install.c: the part that makes it hold after a reboot */

static inline bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}
/* Bytes of the first of the list, which NULL ends, that the text begins with; 0: of none. */
static inline size_t begins_any(const char *text, const char *const *list)
{
    while (*list && !begins(text, *list))
        list++;
    return *list ? strlen(*list) : 0;
}
/* State of an import: the port that lines without a name are about. */
struct host {
    struct config_set *set;
    const struct config_text *text;
    uint32_t device;
    uint32_t port;            /* CONFIG_NONE: none named yet */
    uint32_t line, loop_line; /* that is read, and the `for` it is in; 0: in none */
    bool hidden;              /* what fails in this line is passed over */
    uint32_t hidden_line;     /* the first such line that sets how RDMA is carried; 0: none */
    uint8_t branch;           /* of a script: 1 where mlnx_qos is, 2 where it is not, 3 what installs it */
    bool in_pfc, in_dscp;     /* within mlnx_qos's output */
    int tc;                   /* of its last `tc:` line, -1: none */
    struct host_nic {
        bool met;
        char rdma[32];
        bool has_dscp, has_pfc;
        bool trusts_dscp; /* by what was read so far */
        uint8_t dscp[64], prio_tc[FABRIC_PRIOS];
        int64_t buffer_of[FABRIC_PRIOS], buffer_bytes[FABRIC_PRIOS]; /* by mlnx_qos */
        uint32_t buffer_line, bytes_line;                            /* 0: not said */
        uint32_t dscp_line, pfc_line, turns_line;
        uint32_t pfc_loop;       /* the loop that set PFC; 0: none did */
        uint32_t reset_line;     /* that takes back what was set before; 0: nothing does */
        uint32_t dscp_lines[64]; /* of single entries; 0: as the rest of the map */
        uint32_t weight_line, prio_tc_line;
        int trust_said; /* by --trust, whatever an entry of the map made of it later; -1: not said */
        uint32_t trust_said_line;
        uint32_t map_line, flush_line; /* the last entry that was set, and the flush that took such entries back */
        unsigned pfc;
        int tos, cm_tos; /* of the packets it sends, by sysfs and of what RDMA-CM connects; -1: not said */
        uint32_t cm_tos_line;
        int dcqcn; /* bits: priorities with DCQCN, -1: not said */
        uint32_t tos_line, dcqcn_line;
        struct host_half {     /* of DCQCN, by sysfs */
            unsigned said, on; /* bits: priorities */
            uint32_t line;     /* the last, or the last that turns it off */
        } rp, np;
        int cnp_dscp, cnp_prio; /* -1: not said */
        uint32_t cnp_dscp_line, cnp_prio_line;
        unsigned mtu; /* of the interface, 0: not said */
        uint32_t mtu_line;
        bool pause; /* 802.3x, by ethtool */
        uint32_t pause_line, trust_line;
        bool no_agent; /* the firmware does not speak DCBX: whether it would be willing is nobody's matter */
        bool shown;    /* what was read is what a tool printed: all of it was said */
#define HOST_TOLD 8
        uint32_t told[HOST_TOLD], tolds; /* lines that something was found at */
        bool strict[FABRIC_PRIOS], turns;
        int64_t weight[FABRIC_PRIOS];
    } * nic;
    uint32_t nics, room;
    uint32_t open_netdevs, open_netdev; /* interfaces known by a variable's name alone: how many, and the last */
    struct arena *arena;
};

/* expand.c: variables of a script.  An element of an array is kept as NAME[key], the list of its keys as !NAME. */
#define HOST_VARIABLES 128
#define HOST_VARIABLE 64 /* bytes of a name */
struct host_variables {
    struct host_variable {
        char name[HOST_VARIABLE];
        const char *value; /* NULL: not known */
    } of[HOST_VARIABLES];
    uint32_t count;
};
size_t host_name_length(const char *text); /* letters, digits and _ that it begins with */
const char *host_variable(const struct host_variables *all, const char *name, size_t length); /* NULL: not known */
void host_variable_set(struct host_variables *all, const char *name, size_t length, const char *value);
/* The text with what is known put in; false: it does not fit. */
bool host_expand(const struct host_variables *all, const char *text, char *to, size_t size);
/* wrap.c: a command inside of a unit, a rule or `sh -c`, without what is around it; false: there is nothing around.
 * hidden: a failure is passed over. */
#define HOST_LINE 4096 /* bytes of a line that may have one */
bool host_unwrap(const char *line, size_t length, char *to, size_t size, bool *hidden);
/* companions.c: what a text that lies beside a host's script is, and whose (CONFIG_NONE: nobody's, or everybody's). */
enum host_companion { HOST_ALONE, HOST_NETPLAN, HOST_RUNS }; /* a host's own; netplan's YAML; what runs a script */
enum host_companion host_companion(const char *text);
uint32_t host_companion_of(const struct config_set *set, const struct config_text *text);
/* What a unit, a udev rule or a crontab runs is there after a reboot: HOST007 is taken back. */
#define HOST_NOT_LASTING "nothing runs this script again after a reboot: its settings are then lost"
void host_runs(struct config_set *set, const struct config_text *text);
int host_netplan(struct config_set *set, const struct config_text *text); /* netplan.c; as import() */
/* The verbs MTU that an interface's MTU has room for. */
void host_say_mtu(struct config_set *set, struct origin at, uint32_t device, uint32_t port, int64_t mtu);
/* shell.c: hands the commands of a script on, one by one. */
void host_shell(struct host *in, const char *text);
/* judge.c: adapters against each other, and against themselves */
void host_judge(struct host *in);
bool host_nic_is_rdma(const struct host_nic *nic); /* a line says how it carries RDMA */
/* adapters.c */
void host_line(struct host *in, char *line, bool open); /* open: it has variables that are not known */
struct host_nic *host_nic_named(struct host *in, const char *netdev);
struct host_nic *host_nic_rdma(struct host *in, const char *rdma); /* by its RDMA device */
struct host_nic *host_nic_here(struct host *in);
bool host_number(const char *text, int64_t low, int64_t high, int64_t *ret);
/* `0,1,0` into a table; false: not eight of them. */
bool host_eight(const char *text, int64_t most, int64_t table[FABRIC_PRIOS]);  /* `0,0,0,1,0,0,0,0` */
void host_set_pfc(struct host *in, struct host_nic *nic, unsigned priorities); /* by the line that is read */
void host_set_dscp(struct host *in, struct host_nic *nic, int64_t dscp, int64_t priority);
/* commands.c: true when the line is a command that is understood. */
bool host_command(struct host *in, char *line);
bool host_is_command(const char *line);           /* it begins with a program that is read */
bool host_dcb_shown(struct host *in, char *line); /* a line of `dcb … show` */
/* output.c: the same for lines that programs print. */
bool host_output(struct host *in, char *line);
bool host_mlxconfig(struct host *in, const char *key, const char *value);

#endif
