/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that are not ours: `--port h7=veth7` makes of h7 whatever is behind that interface (foreign_int.h).
 *
 * With the real clock alone: those outside know no other.  Between windows frames are read and written; a host's visit
 * sends them at the rate of its line.  Where this machine is late the kernel throws frames away; that is counted, and
 * told at once, for nobody outside waits as programs do.  Where the fabric is behind the clock a frame enters when it
 * has caught up: no way is shorter than its links.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "fabric/fabric.h"
#include "up/foreign_int.h"

#define PROBE_NS 1000000000u /* between questions for a neighbour that nobody has shown ... */
#define WANTED_NS 100000000u /* ... and where frames wait for the answer */
#define TELL_NS 1000000000u  /* between lines about losses */

struct foreign {
    struct up_port *port; /* [ports] in the order of the options */
    uint32_t ports;
    struct directory directory;
    void *directory_memory;
    uint64_t told_ns;
};

/* --- making --- */

/* The endpoint that an option names, or FABRIC_NONE after an error. */
static uint32_t find_endpoint(const struct fabric *fabric, const struct up_port_option *option,
                              struct fabric_errors *errors)
{
    uint32_t node = fabric_find_node(fabric, option->port), port = fabric_find_port(fabric, option->port);

    if (node < fabric->hosts) {
        uint32_t first = fabric->first_endpoint[node], count = fabric->first_endpoint[node + 1] - first;
        if (count == 1) return first;
        if (count > 1)
            fabric_errors_add(errors, (struct fabric_at){0},
                              "--port %s=%s: '%s' has %u adapters: say which, as in %s:0=%s", option->port,
                              option->interface, option->port, count, option->port, option->interface);
        else
            fabric_errors_add(errors, (struct fabric_at){0}, "--port %s=%s: '%s' has no adapter", option->port,
                              option->interface, option->port);
        return FABRIC_NONE;
    }
    if (port != FABRIC_NONE && fabric->port[port].node < fabric->hosts)
        return fabric->first_endpoint[fabric->port[port].node] + fabric->port[port].index;
    fabric_errors_add(errors, (struct fabric_at){0}, "--port %s=%s: there is no host '%s' in fabric %s", option->port,
                      option->interface, option->port, fabric->name);
    return FABRIC_NONE;
}

static bool cabled(const struct fabric *fabric, const struct up_port_option *option, uint32_t endpoint,
                   struct fabric_errors *errors)
{
    const struct fabric_port *own = &fabric->port[fabric->endpoint[endpoint].port];

    if (own->up && own->peer != FABRIC_NONE && fabric->port[own->peer].node >= fabric->hosts) return true;
    fabric_errors_add(errors, (struct fabric_at){0}, "--port %s=%s: no link leads from '%s' to a switch", option->port,
                      option->interface, option->port);
    return false;
}

static bool named_twice(const struct foreign *foreign, const struct up_port_option *option, uint32_t endpoint,
                        struct fabric_errors *errors)
{
    for (uint32_t i = 0; i < foreign->ports; i++) {
        const struct up_port *other = &foreign->port[i];
        if (other->endpoint != endpoint && strcmp(other->name, option->interface) != 0) continue;
        fabric_errors_add(errors, (struct fabric_at){0}, "--port %s=%s: '%s' is named twice", option->port,
                          option->interface, other->endpoint == endpoint ? option->port : option->interface);
        return true;
    }
    return false;
}

static int open_interface(const struct up_port_option *option, struct interface **ret, struct fabric_errors *errors)
{
    int error = interface_open(option->interface, ret);

    if (error == -ENODEV)
        fabric_errors_add(errors, (struct fabric_at){0},
                          "--port %s=%s: there is no interface '%s' in this network namespace", option->port,
                          option->interface, option->interface);
    else if (error == -EPERM)
        fabric_errors_add(errors, (struct fabric_at){0},
                          "--port %s=%s: no right to open an interface: it takes root (CAP_NET_RAW), in a network "
                          "namespace as a rule",
                          option->port, option->interface);
    else if (error)
        fabric_errors_add(errors, (struct fabric_at){0}, "--port %s=%s: %s", option->port, option->interface,
                          strerror(-error));
    return error;
}

static int add_port(struct up *up, const struct up_port_option *option, struct fabric_errors *errors)
{
    const struct fabric *fabric = up->fabric;
    struct foreign *foreign = up->foreign;
    uint32_t endpoint = find_endpoint(fabric, option, errors);

    if (endpoint == FABRIC_NONE || !cabled(fabric, option, endpoint, errors) ||
        named_twice(foreign, option, endpoint, errors))
        return -EINVAL;
    const struct fabric_port *own = &fabric->port[fabric->endpoint[endpoint].port];
    struct up_host *host = &up->host[own->node];
    if (host->port == NULL) host->port = calloc(fabric->node[own->node].ports + 1u, sizeof(struct up_port *));
    if (host->port == NULL) return -ENOMEM;
    struct up_port *port = &foreign->port[foreign->ports];
    *port = (struct up_port){.host = host,
                             .endpoint = endpoint,
                             .name = option->interface,
                             .directory = &foreign->directory,
                             .rate_bps = own->rate_bps};
    int error = open_interface(option, &port->interface, errors);
    if (error) return error;
    foreign->ports++;
    host->port[own->index] = port;
    sim_port_mac(own->peer, port->mac);
    return foreign_port_init(port);
}

static int make_directory(struct foreign *foreign, const struct fabric *fabric)
{
    foreign->directory_memory = malloc(directory_bytes(fabric->endpoints));
    if (foreign->directory_memory == NULL) return -ENOMEM;
    directory_init(&foreign->directory, foreign->directory_memory, fabric->endpoints);
    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        struct pkt_addr address = pkt_addr_ipv4(load_be32(fabric->endpoint[e].address));
        int error = directory_add(&foreign->directory, &address, e);
        if (error) return error;
    }
    return 0;
}

static bool script_on_foreign(const struct up *up, struct fabric_errors *errors)
{
    for (uint32_t i = 0; i < up->launches; i++) {
        const struct up_command *command = up->launch[i].command;
        if (up->launch[i].host->port == NULL) continue;
        fabric_errors_add(errors, (struct fabric_at){0},
                          "line %u of the script: '%s' is behind an interface (--port), and no program can be started "
                          "there",
                          command->line, command->host);
    }
    return errors->count > 0;
}

int foreign_create(struct up *up, struct fabric_errors *errors)
{
    struct foreign *foreign = calloc(1, sizeof *foreign);
    int error = foreign ? 0 : -ENOMEM;

    CHECK(up->options.real);
    up->foreign = foreign;
    if (!error) foreign->port = calloc(up->options.ports, sizeof *foreign->port);
    if (!error && foreign->port == NULL) error = -ENOMEM;
    if (!error) error = make_directory(foreign, up->fabric);
    for (uint32_t i = 0; i < up->options.ports && !error; i++)
        error = add_port(up, &up->options.port[i], errors);
    if (!error && script_on_foreign(up, errors)) error = -EINVAL;
    return error;
}

int foreign_begin(struct up *up, struct fabric_errors *errors)
{
    const struct fabric *fabric = up->fabric;
    const struct plant *plant = sim_plant(up->sim);

    if (plant->needs.telemetry || fabric->behaviour == FABRIC_HPCC_NS3) {
        fabric_errors_add(errors, (struct fabric_at){0},
                          "--port: no machine outside has in-band telemetry (hpcc): another congestion control, as in "
                          "nics: {congestion: dcqcn/connectx}");
        return -EINVAL;
    }
    for (uint32_t i = 0; i < up->foreign->ports; i++) {
        struct up_port *port = &up->foreign->port[i];
        const struct fabric_port *peer = &fabric->port[fabric->port[fabric->endpoint[port->endpoint].port].peer];
        port->rules = &plant->sw[peer->node - fabric->hosts].config.port[peer->index]->rules;
        port->watch = (struct up_watch){UP_WATCH_PORT, interface_fd(port->interface)};
        if (!session_watch(up, &port->watch)) return -errno;
    }
    return 0;
}

void foreign_release(struct up *up)
{
    struct foreign *foreign = up->foreign;

    if (foreign == NULL) return;
    for (uint32_t i = 0; i < foreign->ports; i++) {
        interface_close(foreign->port[i].interface);
        foreign_port_release(&foreign->port[i]);
    }
    for (uint32_t i = 0; up->host && i < up->fabric->hosts; i++)
        free(up->host[i].port);
    free(foreign->port);
    free(foreign->directory_memory);
    free(foreign);
    up->foreign = NULL;
}

/* --- between windows --- */

static void look_for_neighbour(struct up_port *port, uint64_t real_ns)
{
    if (port->known || real_ns - port->probed_ns < (port->wanted ? WANTED_NS : PROBE_NS)) return;
    port->probed_ns = real_ns;
    foreign_port_probe(port);
}

static void tell_losses(const struct up *up, struct up_port *port)
{
    struct up_port_counts *counts = &port->counts;
    char text[320], name[FABRIC_NAME];

    counts->late += interface_lost(port->interface);
    uint64_t lost = counts->late + counts->full + counts->refused;
    if (lost == port->told || up->options.say == NULL) return;
    port->told = lost;
    snprintf(
        text, sizeof text,
        "%s (%s) has lost frames: %llu that this machine read too late, %llu that the port could not send in time, "
        "%llu that the interface did not take",
        fabric_port_name(up->fabric, up->fabric->endpoint[port->endpoint].port, name), port->name,
        (unsigned long long)counts->late, (unsigned long long)counts->full, (unsigned long long)counts->refused);
    up->options.say(text);
}

static void take_frame(void *context, const uint8_t *data, uint32_t bytes)
{
    struct up_port *port = context;

    port->reads_at = real_time(port->host->up);
    foreign_port_frame(port, data, bytes);
}

bool foreign_look(struct up *up, uint64_t real_ns, ps_t now)
{
    struct foreign *foreign = up->foreign;
    bool any = false, tell = real_ns - foreign->told_ns >= TELL_NS;

    up->between = true;
    for (uint32_t i = 0; i < foreign->ports; i++) {
        struct up_port *port = &foreign->port[i];
        if (interface_read(port->interface, take_frame, port)) {
            any = true;
            if (port->words || foreign_port_waits(port)) turn_wake(port->host, now);
        }
        look_for_neighbour(port, real_ns);
        if (port->outs) foreign_port_flush(port);
        if (tell) tell_losses(up, port);
    }
    if (tell) foreign->told_ns = real_ns;
    up->between = false;
    return any;
}

/* --- in the host's visit --- */

static struct up_port *port_of(void *owner, uint32_t host, uint32_t port)
{
    const struct up *up = owner;

    return up->host[host].port[port]; /* NULL: an adapter of the host that no option names */
}

static void set_next(struct up_host *host, ps_t now)
{
    host->next = PS_NEVER;
    for (uint32_t i = 0; i < host->node->adapters; i++) {
        ps_t at = host->port[i] ? foreign_port_deadline(host->port[i], now) : PS_NEVER;
        if (at < host->next) host->next = at;
    }
}

/* What those outside have said goes to the switch.  Frames are asked for port by port, after this. */
void foreign_turn(struct up_host *host, ps_t now, struct node_io *io)
{
    for (uint32_t i = 0; i < host->node->adapters; i++) {
        struct up_port *port = host->port[i];
        for (uint32_t w = 0; port && w < port->words && io->controls < NODE_CONTROLS_MAX; w++) {
            io->control[io->controls++] =
                (struct node_control){.word = port->word[w], .port = (uint16_t)i, .cause = SW_NO_CAUSE};
            io->answers |= NODE_CONTROLS;
        }
        if (port) port->words = 0;
    }
    set_next(host, now);
}

static bool call_is(void *owner, uint32_t host)
{
    const struct up *up = owner;

    return up->host[host].port != NULL;
}

static void call_received(void *owner, uint32_t host, uint32_t port, pkt_t id, ps_t now, struct node_io *io)
{
    struct up_port *to = port_of(owner, host, port);

    (void)now;
    if (to) foreign_port_packet(to, id, io->pool);
}

static pkt_t call_sends(void *owner, uint32_t host, uint32_t port, ps_t now, struct node_io *io)
{
    struct up *up = owner;
    struct up_port *from = port_of(owner, host, port);
    pkt_t id = from ? foreign_port_next(from, now, io->pool) : PKT_NONE;

    if (id == PKT_NONE) set_next(&up->host[host], now);
    return id;
}

static bool call_more(void *owner, uint32_t host, uint32_t port)
{
    const struct up_port *from = port_of(owner, host, port);

    return from && foreign_port_waits(from);
}

static void call_word(void *owner, uint32_t host, uint32_t port, uint32_t word, ps_t now)
{
    struct up *up = owner;
    struct up_port *to = port_of(owner, host, port);

    if (to) foreign_port_paused(to, word, now);
    set_next(&up->host[host], now);
}

const struct sim_foreign foreign_calls = {
    .is = call_is, .received = call_received, .sends = call_sends, .more = call_more, .word = call_word};

void foreign_link(struct up_host *host, uint32_t adapter, bool up, ps_t now)
{
    struct up_port *port = host->port[adapter];

    if (port == NULL) return;
    port->down = !up;
    if (!up) foreign_port_clear(port);
    set_next(host, now);
}

/* --- the report --- */

uint32_t up_ports(const struct up *up, struct up_port_result *ret, uint32_t most)
{
    uint32_t count = up->foreign ? up->foreign->ports : 0;

    for (uint32_t i = 0; i < count && i < most; i++) {
        struct up_port *port = &up->foreign->port[i];
        port->counts.late += interface_lost(port->interface);
        ret[i] = (struct up_port_result){.endpoint = port->endpoint, .interface = port->name, .counts = port->counts};
    }
    return count;
}
