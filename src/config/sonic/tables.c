/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_db.json into what a fabric file can say.
 *
 * Two passes: the tables are laid on ports (names joined by commas and ranges of queues are unfolded), then every
 * port says what holds for it, all of it, and config_write() finds what ports have in common.
 *
 * A traffic class is a class of the fabric; its queue and group are followed through the maps.  A class is lossless
 * where its group's profile has xoff; where the file has no buffers, or leaves them to the switch's dynamic model
 * ("NULL"), where PFC is on.  So a priority that pauses without headroom stays visible.  A pool's size is what is
 * shared: `buffer` becomes the pool, its xoff, and what the groups' profiles set aside.
 *
 * Where SONiC acts by default: a port without a DSCP map of its own takes that of `global`; without either all goes
 * to class 0; an entry that a map lacks is 0; WRED marks and drops nothing unless it is enabled, its probability is
 * 100 %.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/sonic/sonic_int.h"
#include "config/words.h"
#include "fabric/qos/models.h"

bool sonic_number(const char *text, int64_t low, int64_t high, int64_t *ret)
{
    char *end = NULL;

    if (!text || !text[0]) return false;
    errno = 0;
    long long got = strtoll(text, &end, 10);
    if (errno || *end || got < low || got > high) return false;
    *ret = got;
    return true;
}

bool sonic_read(struct sonic *in, const struct sonic_row *row, const char *name, int64_t low, int64_t high,
                int64_t *ret)
{
    uint32_t line = 0;
    const char *text = sonic_field(row, name, &line);

    if (!text) return false;
    if (sonic_number(text, low, high, ret)) return true;
    NOTE(in, line, "SYN001", CONFIG_NONE, "%s %s: %s '%.40s' is not a number from %lld to %lld", row->table, row->key,
         name, text, (long long)low, (long long)high);
    return false;
}

/* The row a field refers to; a name that nothing defines is a finding. */
const struct sonic_row *sonic_follow(struct sonic *in, const struct sonic_row *row, const char *name, const char *table)
{
    uint32_t line = 0;
    const char *text = sonic_field(row, name, &line);

    if (!text || !text[0]) return NULL;
    const char *wanted = sonic_reference(in->arena, text);
    const struct sonic_row *got = sonic_row_find(&in->rows, table, wanted);
    if (!got && strcmp(wanted, "NULL") != 0 && sonic_partial(in, table))
        sonic_dangling(in, table);
    else if (!got && strcmp(wanted, "NULL") != 0)
        NOTE(in, line, "MAP007", CONFIG_NONE, "%s %s refers to %s '%.60s', which is not defined", row->table, row->key,
             table, wanted);
    return got;
}

/* --- ports --- */

struct sonic_port *sonic_port_get(struct sonic *in, const char *name, uint32_t line)
{
    uint32_t p = config_port(in->set, CONFIG_AT(in->text, line), in->device, name);

    if (p == CONFIG_NONE) return NULL;
    in->port = arena_more(in->arena, in->port, p + 1, &in->room, sizeof(*in->port));
    if (p >= in->ports) in->ports = p + 1;
    in->port[p].met = true;
    return &in->port[p];
}

/* A chassis keys rows of queues by `host|asic0|Ethernet0|3`, for the ports of all its cards: the port and what is
 * behind it, where the card is this one; else NULL. */
static const char *own_key(struct sonic *in, const struct sonic_row *row)
{
    const char *asic = strchr(row->key, '|'), *port = asic ? strchr(asic + 1, '|') : NULL;
    const struct sonic_row *metadata = sonic_row_find(&in->rows, "DEVICE_METADATA", "localhost");
    const char *host = sonic_field(metadata, "hostname", NULL), *chip = sonic_field(metadata, "asic_name", NULL);

    if (!port || !strchr(port + 1, '|')) return row->key;
    size_t host_length = (size_t)(asic - row->key), chip_length = (size_t)(port - asic - 1);
    if (host && (strlen(host) != host_length || strncmp(row->key, host, host_length) != 0)) return NULL;
    if (chip && (strlen(chip) != chip_length || strncasecmp(asic + 1, chip, chip_length) != 0)) return NULL;
    return port + 1;
}

/* `3`, `3-4`: bits. */
static unsigned range_bits(struct sonic *in, const struct sonic_row *row, const char *text)
{
    int64_t first = 0, last = 0;
    char buf[16];
    size_t length = strcspn(text, "-");
    unsigned bits = 0;

    if (length < sizeof(buf)) {
        memcpy(buf, text, length);
        buf[length] = 0;
        if (sonic_number(buf, 0, 63, &first)) {
            last = first;
            if (!text[length] || sonic_number(text + length + 1, first, 63, &last))
                for (int64_t b = first; b <= last && b < 8; b++)
                    bits |= 1u << b;
        }
    }
    if (!bits && !(first >= 8)) /* queues above 7 are of multicast and carry no class */
        NOTE(in, row->line, "SYN001", CONFIG_NONE, "%s|%.60s: '%.20s' is neither a queue (3) nor a range (3-4)",
             row->table, row->key, text);
    return bits;
}

static void lay_cables(struct sonic *in, const struct sonic_row *row)
{
    for (const struct tree *item = row->fields->first; item; item = item->next) {
        struct sonic_port *port = item->type == TREE_SCALAR ? sonic_port_get(in, item->key, item->key_at.line) : NULL;
        if (port) port->cable = item;
    }
}

/* Where a port keeps rows of a table: one, or one for each number behind the bar. */
struct laying {
    const char *table;
    size_t at;
    bool numbered;
};

static void lay_row(struct sonic *in, struct sonic_port *port, const struct sonic_row *row, const char *rest,
                    const struct laying *as)
{
    const struct sonic_row **to = (const struct sonic_row **)((char *)port + as->at);
    unsigned bits = as->numbered ? range_bits(in, row, rest) : 1;

    port->used |= as->at != offsetof(struct sonic_port, port_row);
    for (unsigned b = 0; b < FABRIC_PRIOS; b++)
        if (bits >> b & 1) to[b] = row;
}

/* On every port of a key: `Ethernet0`, `Ethernet0,Ethernet4`, each with what is behind the bar. */
static void lay_ports(struct sonic *in, const struct sonic_row *row, const struct laying *as)
{
    const char *key = own_key(in, row);

    if (!key) {
        if (!in->foreign++) in->foreign_line = row->line;
        return;
    }
    const char *bar = strchr(key, '|');
    size_t length = bar ? (size_t)(bar - key) : strlen(key);
    for (size_t at = 0; at < length;) {
        size_t part = strcspn(key + at, ",|");
        char name[FABRIC_NAME];
        if (at + part > length) part = length - at;
        if (part > 0 && part < sizeof(name)) {
            memcpy(name, key + at, part);
            name[part] = 0;
            struct sonic_port *port = sonic_port_get(in, name, row->line);
            if (port) lay_row(in, port, row, bar ? bar + 1 : "", as);
        }
        at += part + 1;
    }
}

static void lay_rows(struct sonic *in)
{
    static const struct laying tables[] = {
        {"PORT", offsetof(struct sonic_port, port_row), false},
        {"PORT_QOS_MAP", offsetof(struct sonic_port, qos), false},
        {"QUEUE", offsetof(struct sonic_port, queue), true},
        {"BUFFER_PG", offsetof(struct sonic_port, pg), true},
        {"BUFFER_QUEUE", offsetof(struct sonic_port, buffer_queue), true},
        {"PFC_WD", offsetof(struct sonic_port, watchdog), false},
    };

    for (unsigned t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        for (uint32_t r = 0; r < in->rows.count; r++) {
            const struct sonic_row *row = &in->rows.row[r];
            if (strcmp(row->table, tables[t].table) != 0) continue;
            if (strcasecmp(row->key, "global") == 0) {
                if (t == 1) in->global = row;
                if (t == 5) in->watchdog = row;
                continue;
            }
            lay_ports(in, row, &tables[t]);
        }
    }
    for (uint32_t r = 0; r < in->rows.count; r++)
        if (strcmp(in->rows.row[r].table, "CABLE_LENGTH") == 0) lay_cables(in, &in->rows.row[r]);
    if (in->foreign)
        NOTE(in, in->foreign_line, NULL, CONFIG_NONE, "%u row%s of other cards of a chassis %s not read", in->foreign,
             in->foreign == 1 ? "" : "s", in->foreign == 1 ? "is" : "are");
}

/* A port of this switch that another table's key names, alone or as one of its parts. */
static void use_named(struct sonic *in, const char *key)
{
    char name[FABRIC_NAME];

    for (size_t at = 0, part; key[at]; at += part + (key[at + part] == '|')) {
        part = strcspn(key + at, "|");
        if (part == 0 || part >= sizeof(name)) continue;
        memcpy(name, key + at, part);
        name[part] = 0;
        uint32_t p = config_port_find(in->set, in->device, name);
        if (p < in->ports) in->port[p].used = true;
    }
}

/* Ports that are shut.  orchagent takes a port without `admin_status` for one that is shut; what generates
 * configurations leaves it out of ports in use too, so only one of which nothing else speaks is taken as shut. */
static void lay_states(struct sonic *in)
{
    static const char users[] =
        "INTERFACE PORTCHANNEL_MEMBER VLAN_MEMBER VLAN_SUB_INTERFACE BGP_NEIGHBOR MIRROR_SESSION"
        " DEVICE_NEIGHBOR";
    uint32_t silent = 0, first = 0;

    for (uint32_t r = 0; r < in->rows.count; r++) {
        const struct sonic_row *row = &in->rows.row[r];
        const char *own = sonic_field(row, "local_port", NULL);
        if (words_have(users, row->table)) use_named(in, own ? own : row->key);
    }
    for (uint32_t p = 0; p < in->ports; p++) {
        struct sonic_port *port = &in->port[p];
        const char *state = sonic_field(port->port_row, "admin_status", NULL);
        port->down = state ? strcmp(state, "down") == 0 : in->whole && port->port_row && !port->used;
        if (!port->down || state) continue;
        if (!silent++) first = port->port_row->line;
    }
    if (silent)
        ASSUME(in, first, CONFIG_NONE, "%u port%s without `admin_status`, of which nothing else speaks: taken as down",
               silent, silent == 1 ? "" : "s");
}

/* --- the device --- */

/* NULL: not known. */
static const struct switch_model *say_model(struct sonic *in)
{
    const struct sonic_row *row = sonic_row_find(&in->rows, "DEVICE_METADATA", "localhost");
    uint32_t line = 0;
    const char *sku = sonic_field(row, "hwsku", &line), *platform = sonic_field(row, "platform", &line);
    uint64_t rates = 0;

    for (uint32_t p = 0; p < in->ports; p++)
        rates += in->port[p].rate_mbps;
    const struct switch_model *model = sku ? switch_model_of_product(sku) : NULL;
    if (!model && platform) model = switch_model_of_product(platform);
    if (!model || in->ports > model->ports_most || rates > (uint64_t)model->ports * model->rate_gbps * 1000)
        return NULL;
    SAY(in, line, CONFIG_NONE, "model", "%s", model->name);
    return model;
}

static bool table_known(const struct tree *table)
{
    return sonic_table_read(table->key, strcspn(table->key, "|")) != NULL;
}

/* Could this table have a say in what becomes of a RoCE packet? */
static bool table_matters(const struct tree *table)
{
    static const char *const words[] = {"QOS",  "BUFFER", "PFC",  "WRED", "QUEUE", "DSCP",     "DOT1P", "SCHED",
                                        "_TC_", "TC_TO",  "TRIM", "HASH", "ECN",   "LOSSLESS", "PAUSE", "SHAPER"};

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(table->key, words[i])) return true;
    return false;
}

/* Tables that are not read: each that could matter, all others in one line. */
static void note_tables(struct sonic *in)
{
    uint32_t others = 0, first = 0;
    char names[200] = "";
    size_t used = 0;

    for (uint32_t t = 0; t < in->rows.tables; t++) {
        const struct tree *table = in->rows.table[t].tree;
        int length = (int)strcspn(table->key, "|");
        uint32_t line = table->key_at.line;

        if (in->rows.table[t].replaced)
            NOTE(in, line, table_known(table) ? "SYN001" : NULL, CONFIG_NONE,
                 "table %.60s is given again in line %u: nothing of this one counts", table->key,
                 in->rows.table[t].replaced);
        if (table_known(table) || in->rows.table[t].replaced) continue;
        if (table_matters(table)) {
            NOTE(in, line, NULL, CONFIG_NONE, "table %.*s is not read", length, table->key);
            continue;
        }
        if (!others++) first = line;
        if (used < sizeof(names) - 64)
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.*s", used ? ", " : "",
                                     length < 40 ? length : 40, table->key);
    }
    if (others)
        NOTE(in, first, NULL, CONFIG_NONE, "%u table%s without a word of QoS %s not read: %s%s", others,
             others == 1 ? "" : "s", others == 1 ? "is" : "are", names, used >= sizeof(names) - 64 ? ", ..." : "");
}

/* A program that reads JSON keeps the last of two rows, with nothing of the first. */
static void note_twice(struct sonic *in)
{
    for (uint32_t r = 1; r < in->rows.count; r++) {
        const struct sonic_row *first = &in->rows.sorted[r - 1], *last = &in->rows.sorted[r];
        if (strcmp(first->table, last->table) != 0 || strcmp(first->key, last->key) != 0) continue;
        bool known = table_known(in->rows.table[first->of].tree);
        NOTE(in, first->line, known ? "SYN001" : NULL, CONFIG_NONE,
             "%s %.60s is given again in line %u: nothing of this row counts", first->table, first->key, last->line);
    }
}

/* What is at the other end of a port, as the switch has been told. */
static void read_neighbours(struct sonic *in)
{
    for (uint32_t r = 0; r < in->rows.count; r++) {
        const struct sonic_row *row = &in->rows.row[r];
        if (strcmp(row->table, "DEVICE_NEIGHBOR") != 0) continue;
        const char *name = sonic_field(row, "name", NULL), *there = sonic_field(row, "port", NULL);
        /* older databases key the row by the neighbour and say the own port within */
        const char *own = sonic_field(row, "local_port", NULL);
        uint32_t port = config_port_find(in->set, in->device, own ? own : row->key);
        if (name && there && port != CONFIG_NONE)
            config_neighbour(in->set, CONFIG_AT(in->text, row->line), in->device, port, name, there);
        else
            NOTE(in, row->line, NULL, CONFIG_NONE,
                 "DEVICE_NEIGHBOR %.60s: no link without `name`, `port` and a port of this switch", row->key);
    }
}

/* What else leads to the other end of a port: `INTERFACE|Ethernet0|10.0.0.0/31`, and its description. */
static void read_ends(struct sonic *in)
{
    char name[FABRIC_NAME];

    for (uint32_t r = 0; r < in->rows.count; r++) {
        const struct sonic_row *row = &in->rows.row[r];
        const char *bar = strchr(row->key, '|'), *described = NULL;
        uint32_t at = row->line;
        if (strcmp(row->table, "PORT") == 0) described = sonic_field(row, "description", &at);
        if (described)
            config_described(in->set, CONFIG_AT(in->text, at), in->device,
                             config_port_find(in->set, in->device, row->key), described);
        if (strcmp(row->table, "INTERFACE") != 0 || !bar || (size_t)(bar - row->key) >= sizeof(name)) continue;
        snprintf(name, sizeof(name), "%.*s", (int)(bar - row->key), row->key);
        config_address(in->set, CONFIG_AT(in->text, at), in->device, config_port_find(in->set, in->device, name),
                       bar + 1);
    }
}

/* Fields that are not read, of the tables that are. */
static void note_fields(struct sonic *in)
{
    for (uint32_t r = 0; r < in->rows.count; r++) {
        const struct sonic_row *row = &in->rows.row[r];
        const struct sonic_known *known = sonic_table_read(row->table, strlen(row->table));
        for (const struct tree *item = known && known->fields[0] ? row->fields->first : NULL; item; item = item->next)
            if (!words_have(known->fields, item->key))
                NOTE(in, item->key_at.line, NULL, CONFIG_NONE, "%s %.60s: field '%.60s' is not read", row->table,
                     row->key, item->key);
    }
}

static const char *device_name(struct sonic *in, uint32_t *ret_line)
{
    const struct sonic_row *row = sonic_row_find(&in->rows, "DEVICE_METADATA", "localhost");
    const char *name = sonic_field(row, "hostname", ret_line);

    if (in->text->device) return in->text->device;
    return name && name[0] ? name : config_device_name(in->set, in->text);
}

/* SWITCH_HASH|GLOBAL: the fields of the hash, a list. */
static void say_hash(struct sonic *in)
{
    static const char *const fields[] = {"SRC_IP", "DST_IP", "L4_SRC_PORT"}, *const names[] = {"src", "dst", "sport"};
    const struct sonic_row *row = sonic_row_find(&in->rows, "SWITCH_HASH", "GLOBAL");
    const struct tree *list = row ? tree_get(row->fields, "ecmp_hash") : NULL;
    char text[32] = "";
    size_t used = 0;

    for (unsigned f = 0; list && list->type == TREE_LIST && f < 3; f++)
        for (const struct tree *item = list->first; item; item = item->next)
            if (item->type == TREE_SCALAR && strcmp(item->text, fields[f]) == 0 && used + 8 < sizeof(text)) {
                used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "", names[f]);
                break;
            }
    if (used)
        SAY(in, list->key_at.line, CONFIG_NONE, "ecmp.hash", "[%s]", text);
    else if (list)
        NOTE(in, list->key_at.line, NULL, CONFIG_NONE,
             "SWITCH_HASH GLOBAL: ecmp_hash is no list with SRC_IP, DST_IP or L4_SRC_PORT in it");
}

static int import_rows(struct sonic *in)
{
    uint32_t line = 1;
    int result = sonic_rows_read(in->text, in->arena, &in->rows);

    if (result < 0) return result;
    const char *name = device_name(in, &line);
    in->device = config_device(in->set, CONFIG_AT(in->text, line), name, "sonic", false);
    in->has_buffers = sonic_has_table(&in->rows, "BUFFER_PG");
    in->has_qos = sonic_has_table(&in->rows, "PORT_QOS_MAP");
    if (in->rows.patch) config_change(in->set);
    in->whole = !in->rows.patch && sonic_has_table(&in->rows, "PORT") && sonic_has_table(&in->rows, "DEVICE_METADATA");
    lay_rows(in);
    lay_states(in);
    sonic_say_ports(in);
    sonic_say_buffer(in, say_model(in));
    sonic_note_leaving(in);
    sonic_say_watchdog(in);
    sonic_unjudge_partial(in);
    read_neighbours(in);
    say_hash(in);
    if (in->rows.removed)
        NOTE(in, in->rows.removed_line, NULL, CONFIG_NONE,
             "%u operation%s of the patch that take%s something away %s not read", in->rows.removed,
             in->rows.removed == 1 ? "" : "s", in->rows.removed == 1 ? "s" : "", in->rows.removed == 1 ? "is" : "are");
    read_ends(in);
    say_model(in);
    note_tables(in);
    note_twice(in);
    note_fields(in);
    return 0;
}

int sonic_import(struct config_set *set, const struct config_text *text)
{
    struct arena arena;
    struct sonic in = {.set = set, .text = text, .arena = &arena};

    arena_init_or_end(&arena, (size_t)2 << 30);
    int result = import_rows(&in);
    arena_release(&arena);
    return result;
}
