/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of queues as SONiC and EOS both print them: Port, TxQ, Counter/pkts, ...  Names of ports tell which of the
 * two it is: EOS writes Et1/1.  And configurations, which are known and passed over: `rocelab config` reads them.
 */
#include <string.h>

#include "evidence/read/table.h"

static const struct text_column queues[] = {
    {"Port", TABLE_PORT, 0, 0},
    {"TxQ", TABLE_QUEUE, 0, 0},
    {"Voq", TABLE_QUEUE, 0, 0},
    {"Counter/pkts", TABLE_WEAK, EVIDENCE_TX_PACKETS, 0},
    {"Counter/bytes", TABLE_WEAK, EVIDENCE_TX_BYTES, 0},
    {"Drop/pkts", TABLE_WEAK, EVIDENCE_QUEUE_DROPS, 0},
    {"WredDrp/pkts", TABLE_WEAK, EVIDENCE_WRED_DROPS, 0},
    {"EcnMarked/pkts", TABLE_WEAK, EVIDENCE_MARKED, 0},
    {NULL, 0, 0, 0},
};

static bool queues_head(const char *line)
{
    return line_words(line, "Port TxQ") || line_words(line, "Port Voq");
}

/* Which priority a queue of multicast carries is not said: its drops are the port's, all of its queues together. */
static void multicast_drops(struct reading *in, const struct text_table *table, const char *line)
{
    size_t queue = table_column(table, "TxQ"), drops = table_column(table, "Drop/pkts");
    size_t port = table_column(table, "Port");
    struct text_field cell, name;
    uint64_t number;

    if (!table_cell(table, line, queue, &cell) || field_suffix(&cell, "MC") < 0) return;
    if (!table_cell(table, line, drops, &cell) || !field_number(&cell, &number)) return;
    if (table_cell(table, line, port, &name) && field_is_port(&name))
        evidence_sum(in->evidence, reading_port(in, &name), EVIDENCE_NO_PRIORITY, EVIDENCE_MULTICAST_DROPS, number,
                     &in->source);
}

static bool queues_line(struct reading *in, const char *line)
{
    struct text_table *table = (struct text_table *)in->state;
    struct text_field name;

    if (queues_head(line)) {
        table_titles(table, queues, line);
        return true;
    }
    if (field_split(line, &name, 1) > 1 && field_is_port(&name))
        reading_system(in, line_begins(line, "Et") && !line_begins(line, "Ethernet") ? "eos" : "sonic",
                       FABRIC_ROLE_SWITCH);
    multicast_drops(in, table, line);
    return table_line(in, table, line);
}
const struct text_reader reader_queues = {
    "queues", "SONiC: show queue counters, wredcounters; EOS: show interfaces counters queue detail", queues_head,
    queues_line, NULL};

/* "Ethernet132  UC0  1094660240  869159650295  29124  23220137": what `grep` leaves. */
static bool queues_row(struct reading *in, const char *line)
{
    static const char *const kinds[] = {"UC", "MC", "ALL", "VOQ"};
    struct text_table table;
    struct text_field word[8];
    size_t words = field_split(line, word, 8), kind = 0;
    uint64_t number;

    if (words != 6 || !field_is_port(&word[0])) return false;
    while (kind < sizeof kinds / sizeof kinds[0] && field_suffix(&word[1], kinds[kind]) < 0)
        kind++;
    if (kind == sizeof kinds / sizeof kinds[0]) return false;
    for (size_t i = 2; i < words; i++)
        if (!field_number(&word[i], &number) && !field_is(&word[i], "N/A")) return false;
    reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
    table_titles(&table, queues, "Port  TxQ  Counter/pkts  Counter/bytes  Drop/pkts  Drop/bytes");
    multicast_drops(in, &table, line);
    return table_line(in, &table, line);
}
const struct row_reader reader_queues_row = {"queues", queues_row};

static bool configuration_head(const char *line)
{
    return !strncmp(line, "hostname ", 9) || !strncmp(line, "- set:", 6) || !strncmp(line, "- header:", 9) ||
           !strncmp(line, "!Command: show running-config", 29);
}

static bool configuration_line(struct reading *in, const char *line)
{
    (void)in, (void)line;
    return true;
}
const struct text_reader reader_configuration = {"configuration", "any: a running configuration, which is passed over",
                                                 configuration_head, configuration_line, NULL};
