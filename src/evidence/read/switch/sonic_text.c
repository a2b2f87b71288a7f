/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `show` prints on a SONiC switch.
 *
 * All of it are tables of Python's tabulate, as sonic-utilities fills them.  Counts are what changed since somebody
 * said sonic-clear in the same account, so that a dump of the database, which never resets, is the better source:
 * counts are weak.  A chassis prints a table for each namespace; names of ports are the chassis', so nothing has to be
 * kept of that.
 */
#include <string.h>

#include "evidence/read/table.h"

#define ROW_WORDS 20

#define TEXT_TABLE(id, kind_, what_, words, layout)                                                                    \
    static bool id##_head(const char *line)                                                                            \
    {                                                                                                                  \
        return line_words(line, words);                                                                                \
    }                                                                                                                  \
    static bool id##_line(struct reading *in, const char *line)                                                        \
    {                                                                                                                  \
        return read_table(in, line, layout, id##_head(line));                                                          \
    }                                                                                                                  \
    const struct text_reader reader_##id = {kind_, what_, id##_head, id##_line, NULL};

static bool read_table(struct reading *in, const char *line, const struct text_column *layout, bool titles)
{
    struct text_table *table = (struct text_table *)in->state;

    if (!titles) return table_line(in, table, line);
    reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
    table_titles(table, layout, line);
    return true;
}

/* --- pauses --- */

static const struct text_column rx_pauses[] = {
    {"Port Rx", TABLE_PORT, 0, 0},
    {"PFC#", TABLE_WEAK, EVIDENCE_RX_PAUSE_FRAMES, 0},
    {NULL, 0, 0, 0},
};
static const struct text_column tx_pauses[] = {
    {"Port Tx", TABLE_PORT, 0, 0},
    {"PFC#", TABLE_WEAK, EVIDENCE_TX_PAUSE_FRAMES, 0},
    {NULL, 0, 0, 0},
};
static const struct text_column history[] = {
    {"Port", TABLE_PORT, 0, 0},
    {"Priority", TABLE_PRIORITY, 0, 0},
    {"RX Pause Transitions", TABLE_WEAK, EVIDENCE_RX_PAUSE_EVENTS, 0},
    {"Total RX Pause Time US", TABLE_WEAK, EVIDENCE_RX_PAUSE_NS, 1000},
    {NULL, 0, 0, 0},
};
static const struct text_column lossless[] = {
    {"Interface", TABLE_PORT, 0, 0},
    {"Lossless priorities", TABLE_LIST, EVIDENCE_PFC_ON, 0},
    {NULL, 0, 0, 0},
};
TEXT_TABLE(sonic_pfc_rx, "sonic-pfc", "SONiC: show pfc counters", "Port Rx", rx_pauses)
TEXT_TABLE(sonic_pfc_tx, "sonic-pfc", "SONiC: show pfc counters", "Port Tx", tx_pauses)
TEXT_TABLE(sonic_pfc_history, "sonic-pfc-history", "SONiC: show pfc counters --history", "Port Priority", history)
TEXT_TABLE(sonic_lossless, "sonic-pfc-priority", "SONiC: show pfc priority", "Interface Lossless priorities", lossless)

/* --- interfaces --- */

static const struct text_column interface_counters[] = {
    {"IFACE", TABLE_PORT, 0, 0},
    {"STATE", TABLE_STATE, EVIDENCE_LINK_UP, 0},
    {"RX_OK", TABLE_WEAK, EVIDENCE_PORT_RX_PACKETS, 0},
    {"RX_ERR", TABLE_WEAK, EVIDENCE_CRC_ERRORS, 0},
    {"RX_DRP", TABLE_WEAK, EVIDENCE_PORT_RX_DROPS, 0},
    {"RX_DROPS", TABLE_WEAK, EVIDENCE_PORT_RX_DROPS, 0},
    {"TX_DROPS", TABLE_WEAK, EVIDENCE_PORT_TX_DROPS, 0},
    {"RX_OVR", TABLE_WEAK, EVIDENCE_MTU_DROPS, 0},
    {"TX_OK", TABLE_WEAK, EVIDENCE_PORT_TX_PACKETS, 0},
    {"TX_DRP", TABLE_WEAK, EVIDENCE_PORT_TX_DROPS, 0},
    {"FEC_CORR", TABLE_WEAK, EVIDENCE_FEC_CORRECTED, 0},
    {"FEC_UNCORR", TABLE_WEAK, EVIDENCE_FEC_UNCORRECTED, 0},
    {"FEC_SYMBOL_ERR", TABLE_WEAK, EVIDENCE_SYMBOL_ERRORS, 0},
    {"FEC_PRE_BER", TABLE_REAL, EVIDENCE_PRE_FEC_BER, 0},
    {NULL, 0, 0, 0},
};
static const struct text_column interface_status[] = {
    {"Interface", TABLE_PORT, 0, 0},
    {"Speed", TABLE_RATE, EVIDENCE_RATE, 0},
    {"MTU", TABLE_COUNT, EVIDENCE_MTU, 0},
    {"Alias", TABLE_ALIAS, 0, 0},
    {"Oper", TABLE_STATE, EVIDENCE_LINK_UP, 0},
    {"Admin", TABLE_ADMIN, 0, 0},
    {"Description", TABLE_PEER, 0, 0},
    {NULL, 0, 0, 0},
};
TEXT_TABLE(sonic_interfaces, "sonic-interfaces", "SONiC: show interfaces counters, errors, fec-stats", "IFACE STATE",
           interface_counters)
TEXT_TABLE(sonic_status, "sonic-status", "SONiC: show interfaces status", "Interface Lanes Speed", interface_status)
static const struct text_column flaps[] = {
    {"Interface", TABLE_PORT, 0, 0},
    {"Flap Count", TABLE_COUNT, EVIDENCE_LINK_DOWN, 0},
    {"Oper", TABLE_STATE, EVIDENCE_LINK_UP, 0},
    {NULL, 0, 0, 0},
};
TEXT_TABLE(sonic_flaps, "sonic-flaps", "SONiC: show interfaces flap", "Interface Flap Count", flaps)
TEXT_TABLE(sonic_description, "sonic-description", "SONiC: show interfaces description", "Interface Oper Admin Alias",
           interface_status)

/* --- watermarks and drops of groups: a line of its own says of what the table is --- */

static const struct text_column queue_peaks[] = {
    {"Port", TABLE_PORT, 0, 0},
    {"UC#", TABLE_COUNT, EVIDENCE_QUEUE_PEAK, 0},
    {"ALL#", TABLE_COUNT, EVIDENCE_QUEUE_PEAK, 0},
    {NULL, 0, 0, 0},
};
static const struct text_column group_peaks[] = {
    {"Port", TABLE_PORT, 0, 0},
    {"PG#", TABLE_COUNT, EVIDENCE_GROUP_PEAK, 0},
    {NULL, 0, 0, 0},
};
static const struct text_column headroom_peaks[] = {
    {"Port", TABLE_PORT, 0, 0},
    {"PG#", TABLE_COUNT, EVIDENCE_HEADROOM_PEAK, 0},
    {NULL, 0, 0, 0},
};
static const struct text_column group_drops[] = {
    {"Port", TABLE_PORT, 0, 0},
    {"PG#", TABLE_WEAK, EVIDENCE_GROUP_DROPS, 0},
    {NULL, 0, 0, 0},
};
static const struct text_column nothing[] = {{NULL, 0, 0, 0}};
static const struct {
    const char *title;
    const struct text_column *layout;
} groups[] = {
    {"Egress shared pool occupancy per unicast queue", queue_peaks},
    {"Egress shared pool occupancy per all queue", queue_peaks},
    {"Egress shared pool occupancy per", nothing}, /* of multicast */
    {"Ingress shared pool occupancy per PG", group_peaks},
    {"Ingress headroom per PG", headroom_peaks},
    {"Ingress PG dropped packets", group_drops},
};

static bool groups_head(const char *line)
{
    return line_begins(line, "Egress shared pool occupancy per") ||
           line_begins(line, "Ingress shared pool occupancy") || line_begins(line, "Ingress headroom per PG") ||
           line_begins(line, "Ingress PG dropped packets");
}

static bool groups_line(struct reading *in, const char *line)
{
    struct text_table *table = (struct text_table *)in->state;

    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (!line_begins(line, groups[i].title)) continue;
        reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
        table->layout = groups[i].layout;
        return true;
    }
    if (!line_words(line, "Port")) return table->columns && table_line(in, table, line);
    table_titles(table, table->layout ? table->layout : nothing, line);
    return true;
}
const struct text_reader reader_sonic_groups = {
    "sonic-watermark", "SONiC: show queue|priority-group watermark, priority-group drop counters", groups_head,
    groups_line, NULL};

static bool pools_head(const char *line)
{
    return line_begins(line, "Shared pool maximum occupancy") || line_begins(line, "Headroom pool maximum occupancy");
}

static bool pools_line(struct reading *in, const char *line)
{
    bool *headroom = (bool *)in->state;
    struct text_field word[2];
    uint64_t bytes;

    if (pools_head(line)) {
        reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
        *headroom = line_begins(line, "Headroom");
    } else if (field_split(line, word, 2) == 2 && field_number(&word[1], &bytes) && in->device != EVIDENCE_NONE) {
        evidence_set(in->evidence, in->device, EVIDENCE_NO_PRIORITY,
                     *headroom ? EVIDENCE_HEADROOM_POOL_PEAK : EVIDENCE_POOL_PEAK, bytes, &in->source);
    }
    return true;
}
const struct text_reader reader_sonic_pools = {"sonic-pool", "SONiC: show buffer_pool watermark", pools_head,
                                               pools_line, NULL};

/* --- the pause watchdog --- */

static const struct text_column watchdog[] = {
    {"QUEUE", TABLE_PORT, 0, 0},
    {"STATUS", TABLE_STATE, 0, 0},
    {"STORM DETECTED/RESTORED", TABLE_COUNT, 0, 0},
    {"TX OK/DROP", TABLE_COUNT, 0, 0},
    {"RX OK/DROP", TABLE_COUNT, 0, 0},
    {NULL, 0, 0, 0},
};

static bool watchdog_head(const char *line)
{
    return line_words(line, "QUEUE STATUS STORM");
}

/* "100/300" */
static bool two_numbers(const struct text_field *cell, uint64_t *one, uint64_t *two)
{
    const char *slash = memchr(cell->at, '/', cell->length);

    if (!slash) return false;
    struct text_field before = {cell->at, (size_t)(slash - cell->at)};
    struct text_field after = {slash + 1, cell->length - before.length - 1};
    return field_number(&before, one) && field_number(&after, two);
}

static void watchdog_row(struct reading *in, const struct text_table *table, const char *line, uint32_t port,
                         unsigned priority)
{
    struct text_field cell;
    uint64_t one, two, drops = 0;
    bool counted = false;

    if (table_cell(table, line, table_column(table, "STATUS"), &cell) &&
        (field_is(&cell, "stormed") || field_is(&cell, "operational")))
        evidence_offer(in->evidence, port, priority, EVIDENCE_WATCHDOG_ON, field_is(&cell, "stormed"), &in->source);
    if (table_cell(table, line, table_column(table, "STORM DETECTED/RESTORED"), &cell) &&
        two_numbers(&cell, &one, &two)) {
        evidence_offer(in->evidence, port, priority, EVIDENCE_WATCHDOG_DETECTED, one, &in->source);
        evidence_offer(in->evidence, port, priority, EVIDENCE_WATCHDOG_RESTORED, two, &in->source);
    }
    for (int rx = 0; rx < 2; rx++)
        if (table_cell(table, line, table_column(table, rx ? "RX OK/DROP" : "TX OK/DROP"), &cell) &&
            two_numbers(&cell, &one, &two) && !__builtin_add_overflow(drops, two, &drops))
            counted = true;
    if (counted) evidence_offer(in->evidence, port, priority, EVIDENCE_WATCHDOG_DROPS, drops, &in->source);
}

static bool watchdog_take(struct reading *in, const struct text_table *table, const char *line)
{
    struct text_field cell;
    uint64_t priority;

    if (!table_cell(table, line, table_column(table, "QUEUE"), &cell) || !cell.length) return false;
    const char *colon = cell.at + cell.length;
    while (colon > cell.at && *--colon != ':')
        ;
    struct text_field name = {cell.at, (size_t)(colon - cell.at)};
    struct text_field number = {colon + 1, cell.length - name.length - 1};
    if (*colon != ':' || !field_is_port(&name) || !field_number(&number, &priority)) return false;
    if (priority < EVIDENCE_PRIORITIES) watchdog_row(in, table, line, reading_port(in, &name), (unsigned)priority);
    return true;
}

static bool watchdog_line(struct reading *in, const char *line)
{
    struct text_table *table = (struct text_table *)in->state;

    if (watchdog_head(line)) return read_table(in, line, watchdog, true);
    if (table_is_rule(line, 2)) return table_line(in, table, line);
    return watchdog_take(in, table, line);
}
const struct text_reader reader_sonic_watchdog = {"sonic-pfcwd", "SONiC: show pfcwd stats", watchdog_head,
                                                  watchdog_line, NULL};

/* `show pfcwd config`: whose the statistics could be. */
static bool watchdog_config_head(const char *line)
{
    return line_words(line, "PORT ACTION DETECTION TIME");
}

static bool watchdog_config_line(struct reading *in, const char *line)
{
    static const struct text_column layout[] = {{"PORT", TABLE_PORT, 0, 0}, {NULL, 0, 0, 0}};

    return read_table(in, line, layout, watchdog_config_head(line));
}
const struct text_reader reader_sonic_watchdog_config = {"sonic-pfcwd-config", "SONiC: show pfcwd config",
                                                         watchdog_config_head, watchdog_config_line, NULL};

/* --- rows whose head `grep` left out --- */

#define TITLES_WATCHDOG "QUEUE  STATUS  STORM DETECTED/RESTORED  TX OK/DROP  RX OK/DROP"
#define TITLES_COUNTERS                                                                                                \
    "IFACE  STATE  RX_OK  RX_BPS  RX_UTIL  RX_ERR  RX_DRP  RX_OVR  TX_OK  TX_BPS  TX_UTIL  TX_ERR  TX_DRP  TX_OVR"

/* "Ethernet4:3  stormed  1/0  0/7  0/0  0/7  0/0": the last two are not there before 201811. */
static bool watchdog_alone(struct reading *in, const struct text_field *word, size_t words)
{
    char row[256];
    struct text_table table;

    if (words < 5 || (!field_is(&word[1], "stormed") && !field_is(&word[1], "operational"))) return false;
    size_t length = (size_t)(word[4].at + word[4].length - word[0].at), used = 0;
    if (length >= sizeof row / 2) return false;
    for (size_t i = 0; i < 5; i++) {
        memcpy(row + used, word[i].at, word[i].length);
        used += word[i].length;
        memcpy(row + used, "  ", 3);
        used += 2;
    }
    table_titles(&table, watchdog, TITLES_WATCHDOG);
    return watchdog_take(in, &table, row);
}

/* "Ethernet0  U  471,729  653.87 MB/s  12.77%  ...": rates and shares stand nowhere else like this. */
static bool counters_alone(struct reading *in, const char *line, const struct text_field *word, size_t words)
{
    bool state = word[1].length == 1 && strchr("UDX", word[1].at[0]);

    if (words != 16 || !state || word[5].at[word[5].length - 1] != '%' || !line_has(line, "B/s ")) return false;
    return table_row_alone(in, interface_counters, TITLES_COUNTERS, line);
}

/* "Ethernet0  0,1,2,3  100G  9100  rs  Eth1/1  routed  up  up  ..." */
static bool status_alone(struct reading *in, const struct text_field *word, size_t words)
{
    uint64_t rate, mtu;

    if (words < 7 || !memchr(word[1].at, ',', word[1].length) || word[2].at[word[2].length - 1] != 'G' ||
        !field_rate(&word[2], &rate) || !field_number(&word[3], &mtu))
        return false;
    uint32_t port = reading_port(in, &word[0]);
    evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE, rate, &in->source);
    evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_MTU, mtu, &in->source);
    for (size_t i = 5; i + 1 < words && i + 1 < ROW_WORDS; i++) { /* operational, then administrative */
        bool is[2] = {field_is(&word[i], "up") || field_is(&word[i], "down"),
                      field_is(&word[i + 1], "up") || field_is(&word[i + 1], "down")};
        if (!is[0] || !is[1]) continue;
        reading_state(in, port, &word[i]);
        if (field_is(&word[i + 1], "down"))
            reading_event(in, EVIDENCE_EVENT_PORT_SHUT, port, EVIDENCE_NO_PRIORITY, NULL, NULL, NULL);
        break;
    }
    return true;
}

static bool sonic_row(struct reading *in, const char *line)
{
    /* What stands around tables, and says nothing of a port. */
    static const char *const known[] = {"Last cached time was ",
                                        "Changed polling interval to ",
                                        "For namespace ",
                                        "The rates are calculated within ",
                                        "Reminder: Please execute ",
                                        "BIG_RED_SWITCH status is ",
                                        NULL};
    struct text_field word[ROW_WORDS];

    for (size_t i = 0; known[i]; i++)
        if (line_begins(line, known[i])) return true;
    if (!line_begins(line, "Ethernet") || strnlen(line, 1024) == 1024) return false;
    size_t words = field_split(line, word, ROW_WORDS);
    if (words < 5 || words > ROW_WORDS || in->device == EVIDENCE_NONE) return false;
    if (!watchdog_alone(in, word, words) && !counters_alone(in, line, word, words) && !status_alone(in, word, words))
        return false;
    reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
    return true;
}
const struct row_reader reader_sonic_row = {"sonic-row", sonic_row};

/* --- profiles: who uses them is in CONFIG_DB alone, so that they are known and passed over --- */

static bool profiles_head(const char *line)
{
    return line_begins(line, "Profile: ") || line_begins(line, "Pool: ") ||
           line_begins(line, "Lossless traffic pattern:");
}

static bool profiles_line(struct reading *in, const char *line)
{
    (void)line;
    reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
    return true;
}
const struct text_reader reader_sonic_profiles = {"sonic-profiles", "SONiC: show ecn, show buffer configuration",
                                                  profiles_head, profiles_line, NULL};
