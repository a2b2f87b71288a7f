/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An NX-OS running configuration (Nexus 9000) into what it means for RoCE: interfaces met with `system qos`.
 *
 * Where a configuration is silent, the system's own behaviour is said: frames of 1500 bytes, every packet in
 * qos-group 0 without a policy of type qos, priority-flow-control `auto`.  `auto` counts as PFC only where the port
 * classifies something as lossless; elsewhere nothing would be paused.  A member of a port-channel has what the
 * port-channel says unless it says otherwise itself.  The watchdog needs its global line and that of the interface.
 * Sizes in kbytes are of 1000.
 */
#include <errno.h>
#include <string.h>

#include "config/lines/statements.h"
#include "config/nxos/nxos_int.h"
#include "config/words.h"
#include "fabric/errors.h"

#define CHANNELS 4096u

static bool look_only(const struct statement_said *said)
{
    struct nxos *nxos = said->system;
    struct nxos_port *port = said->object;

    port->watch = true;
    NOTE(nxos, said->line->number, "WD005", CONFIG_NONE, "the watchdog looks at %.40s and does nothing", port->name);
    return true;
}

static bool address(const struct statement_said *said)
{
    struct nxos_port *port = said->object;

    port->used |= lines_port_address((struct lines_port *)port, said->line, said->match);
    return true;
}

/* service-policy [type qos] input NAME, service-policy type queuing input|output NAME */
static bool service(const struct statement_said *said)
{
    struct line *line = said->line;
    struct nxos *nxos = said->system;
    struct nxos_port *port = said->object;
    bool queuing = strcmp(line->word[1], "type") == 0 && strcmp(line->word[2], "queuing") == 0;
    bool out = queuing && strcmp(line->word[3], "output") == 0;
    struct nxos_policy **io_policy = out ? &port->out : queuing ? &port->in : &port->qos;
    struct nxos_policy *policy =
        nxos_policy(nxos, queuing ? NXOS_QUEUING : NXOS_QOS, said->match->word[0], line->number, CONFIG_NONE);

    if (nxos->missing) *(queuing ? &port->out_missing : &port->qos_missing) = line->number;
    if (policy != *io_policy) *(out ? &port->out_line : queuing ? &port->in_line : &port->qos_line) = line->number;
    *io_policy = policy;
    return true;
}

#define OBJECT struct nxos_port
static const struct statement port_says[] = {
#include "config/nxos/interface.def"
};
#undef OBJECT

/* What does not matter at the end of a service-policy: counters. */
static void drop_statistics(struct line *line)
{
    if (line->words > 1 && strcmp(line->word[line->words - 1], "no-stats") == 0) line->words--;
}

/* In system qos; false: it is none. */
static bool read_service(struct nxos *nxos, struct line *line)
{
    struct line_match match;
    uint32_t n = line->number;

    drop_statistics(line);
    if (line_take_part(line, "service-policy type qos input *", &match) ||
        line_take_part(line, "service-policy input *", &match))
        nxos->qos = nxos_policy(nxos, NXOS_QOS, match.word[0], n, CONFIG_NONE);
    else if (line_take_part(line, "service-policy type queuing output *", &match))
        nxos->queuing_out = nxos_policy(nxos, NXOS_QUEUING, match.word[0], n, CONFIG_NONE);
    else if (line_take_part(line, "service-policy type queuing input *", &match))
        nxos->queuing_in = nxos_policy(nxos, NXOS_QUEUING, match.word[0], n, CONFIG_NONE);
    else if (line_take_part(line, "service-policy type network-qos *", &match))
        nxos->network = nxos_policy(nxos, NXOS_NETWORK, match.word[0], n, CONFIG_NONE);
    else
        return false;
    return true;
}

static void read_line(struct lines_import *in, uint32_t index, struct line *line, void *port)
{
    (void)index;
    if (strcmp(line->word[0], "service-policy") == 0) drop_statistics(line);
    STATEMENTS_READ(port_says, in, port, line);
}

/* What a port-channel says holds for its members. */
static void join_channel(const struct nxos_port *ports, uint32_t count, struct nxos_port *port)
{
    char name[32];

    snprintf(name, sizeof(name), "port-channel%u", port->channel);
    for (uint32_t p = 0; p < count; p++) {
        const struct nxos_port *channel = &ports[p];
        if (strcmp(channel->name, name) != 0) continue;
        if (!port->qos && channel->qos) port->qos = channel->qos, port->qos_line = channel->qos_line;
        if (!port->out && channel->out) port->out = channel->out, port->out_line = channel->out_line;
        if (!port->in && channel->in) port->in = channel->in, port->in_line = channel->in_line;
        if (!port->mtu && channel->mtu) port->mtu = channel->mtu, port->mtu_line = channel->mtu_line;
        if (port->pfc == PFC_UNSAID) port->pfc = channel->pfc, port->pfc_line = channel->pfc_line;
        if (!port->watch_line) port->watch = channel->watch, port->watch_line = channel->watch_line;
        port->routed |= channel->routed;
        port->home_line = channel->line;
    }
}

/* Commands of an interface that other modes have too, by their second word. */
static bool of_interface(const struct line *line)
{
    static const char words[] =
        "priority-flow-control mtu service-policy speed shutdown switchport flowcontrol fec description"
        " channel-group duplex negotiate load-interval ip ipv6 vrf lldp medium spanning-tree"
        " storm-control udld vpc cdp lacp beacon logging snmp bandwidth delay";
    static const char shared[] = "ip ipv6 vrf spanning-tree vpc cdp lacp logging snmp";
    static const char global[] =
        "load-sharing route prefix-list access-list domain-lookup domain-name name-server as-path context"
        " community-list mode vlan mst domain level server loopguard pathcost timer system-priority";

    if (line->words > 1 && line_command(line, shared) && words_have(global, line->word[1])) return false;
    return line_command(line, words);
}

static bool belongs(const struct line *block, const struct line *line, bool flat)
{
    static const char class[] =
        "set mtu pause bandwidth priority random-detect queue-limit congestion-control shape police";
    const char *mode = block->word[0];

    if (strcmp(mode, "interface") == 0) return flat && of_interface(line);
    if (strcmp(mode, "class") == 0) return line_command(line, class);
    if (strcmp(mode, "class-map") == 0) return line_command(line, "match description");
    if (strcmp(mode, "policy-map") == 0) return line_command(line, "class description");
    return block->words > 1 && strcmp(block->word[1], "qos") == 0 && line_command(line, "service-policy");
}

static const struct lines_foreign foreign[] = {
#define FOREIGN(pattern, instead) {pattern, instead},
#include "config/nxos/foreign.def"
#undef FOREIGN
    {NULL, NULL},
};

static const char aside[] =
    "version feature vlan ip ipv6 router route-map snmp-server ntp logging username vrf line clock"
    " vdc boot spanning-tree vpc tacacs-server aaa ssh switchport cdp hsrp lacp cli banner password"
    " user userpassphrase rmon nxapi key errdisable fips service login switching-mode system"
    " load-interval storm-control fec negotiate udld hostname icam telemetry track crypto copp lldp"
    " bfd evpn nv name NOTICE control-plane";

static void read_globals(struct nxos *nxos, struct lines_ports *ports)
{
    for (uint32_t i = 0; i < nxos->lines.count; i++) {
        struct line *line = &nxos->lines.line[i];
        if (line->parent != LINES_NONE) continue;
        if (line_take(line, "system qos", NULL)) {
            nxos->system_line = line->number;
            for (uint32_t s = i + 1; s < line->end; s++) {
                struct line *service = &nxos->lines.line[s];
                if (line_is(service, "service-policy type network-qos * ...", NULL))
                    nxos->network_line = service->number;
                if (line_is(service, "service-policy type queuing output * ...", NULL))
                    nxos->queuing_line = service->number;
                if (read_service(nxos, service) && nxos->missing)
                    nxos_unknown(nxos, service->number,
                                 strstr(service->text, "network-qos") ? NXOS_NETWORK
                                 : strstr(service->text, "queuing")   ? NXOS_QUEUING
                                                                      : NXOS_QOS,
                                 CONFIG_NONE);
            }
        } else if (line_is(line, "interface * ...", NULL) && strcmp(line->word[1], "breakout") != 0) {
            lines_ports_read(ports, i, "port-channel", read_line);
        }
    }
    nxos->network_mtu |= nxos->network && nxos->network->own_classes;
}

static const struct lines_part parts[] = {
    {"watch-dog", "WD001", "a watchdog"},          {"mtu ", "MTU", "frames"},
    {"type network-qos", "PFC HR", "network-qos"}, {"type queuing", "ECN SCH MAP005", "queues"},
    {"type qos", "MAP PFC008", "classification"},
};

/* What ports are beside their own lines: by their port-channel, and by the switch. */
static void complete_ports(struct nxos *nxos, struct nxos_port *ports, uint32_t count)
{
    for (uint32_t p = 0; p < count; p++) {
        struct nxos_port *port = &ports[p];
        port->home_line = port->line;
        if (port->channel) join_channel(ports, count, port);
        port->routed = port->layer_said || port->routed ? port->routed : nxos->routed;
        struct nxos_policy *qos = port->qos ? port->qos : nxos->qos;
        if (qos && !port->routed && !port->down && port->used) qos->bridged = true;
    }
}

int nxos_import(struct config_set *set, const struct config_text *text)
{
    static const char opens[] = "interface policy-map class-map class system";
    static const struct lines_grammar grammar = {opens, belongs};
    struct nxos nxos = {.lines_in = {.set = set, .text = text}};
    struct lines_ports ports;

    if (nxos_is_os10(text->text, text->length)) {
        fabric_errors_add(text->errors, (struct fabric_at){0, 0},
                          "this is a configuration of Dell OS10, which is not read: it looks like NX-OS, and its maps "
                          "and classes are others");
        return -EINVAL;
    }
    int result = lines_begin(&nxos.lines_in, &grammar, "nxos");
    if (result != 0) return result;
    lines_ports_init(&ports, &nxos.lines_in, sizeof(struct nxos_port));
    lines_foreign(&nxos.lines_in, foreign);
    nxos_system(&nxos);
    nxos_policies(&nxos);
    read_globals(&nxos, &ports);
    nxos_say_watchdog(&nxos);
    struct nxos_port *port = ports.port;
    complete_ports(&nxos, port, ports.count);
    for (uint32_t p = 0; p < ports.count; p++)
        if (strncmp(port[p].name, "Ethernet", 8) == 0) nxos_say_port(&nxos, &port[p]);
    nxos_judge_groups(&nxos);
    nxos_judge_mtu(&nxos);
    nxos_unused(&nxos);
    lines_judge_part(&nxos.lines_in, parts, sizeof(parts) / sizeof(parts[0]));
    return lines_end(&nxos.lines_in, aside, &config_nxos, "NX-OS");
}
