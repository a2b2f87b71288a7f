/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bill of materials: parts with money and watts, then every price that is in the sums, with source and year.
 */
#include "cli/plan/bom_print.h"

#include "base/units.h"
#include "cli/cli.h"
#include "fabric/copper.h"
#include "fabric/fabric.h"
#include "report/rows/rows.h"
#include "report/table.h"

static const char *const unit_names[] = {[PRICE_USD] = "USD", [PRICE_W] = "W", [PRICE_X] = "x"};

/* What holds for an item: the file's line, or 0 and the table's. */
static uint32_t said_at(const struct fabric *fabric, uint32_t item)
{
    const struct fabric_price *price = fabric->operations.price;
    return price ? price[item].at.line : 0;
}

static uint64_t milli_of(const struct fabric *fabric, uint32_t item)
{
    return said_at(fabric, item) ? fabric->operations.price[item].milli : price_items[item].milli;
}

/* Thousandths without zeros at their end. */
static const char *milli_text(uint64_t milli, char buf[TEXT_COUNT])
{
    if (milli % 1000 == 0) return text_count(milli / 1000, buf);
    return text_fixed(milli, 1000, milli % 100 == 0 ? 1 : milli % 10 == 0 ? 2 : 3, buf);
}

bool bom_copper_text(const struct fabric *fabric, char text[BOM_COPPER_TEXT])
{
    struct fabric_crowd crowd;
    char length[UNIT_TEXT];
    uint32_t crowds = fabric_crowds(fabric, &crowd);

    if (!crowds) return false;
    snprintf(text, BOM_COPPER_TEXT,
             "%s has %u hosts on %s of copper, which reaches %u of their size (%u rack%s)%s: longer cables, which need "
             "optics, cost more (rule CAB001)",
             fabric->node[fabric->port[crowd.port].node].name, crowd.hosts,
             unit_format(UNIT_LENGTH, crowd.cable_mm, length), crowd.reach, crowd.racks, crowd.racks == 1 ? "" : "s",
             crowds > 1 ? ", and it is not the only one" : "");
    return true;
}

void bom_prices_text(const struct fabric *fabric, const bool used[PRICE_ITEMS_MAX], FILE *out)
{
    const struct text_style style = cli_style();
    char copper[BOM_COPPER_TEXT];
    struct table table;

    TABLE_BEGIN(&table, LEFT("price"), RIGHT("each"), LEFT("unit"), RIGHT("year"), LEFT("source", .min_width = 24));
    for (uint32_t i = 0; i < price_item_count; i++) {
        const struct price_item *item = &price_items[i];
        char name[PRICE_NAME], each[TEXT_COUNT], year[16] = "", source[64];
        uint32_t line = said_at(fabric, i);

        if (!used[i]) continue;
        if (line)
            snprintf(source, sizeof source, "the fabric file, line %u", line);
        else
            snprintf(year, sizeof year, "%u", item->year);
        TABLE_ROW(&table, price_name(item, name), milli_text(milli_of(fabric, i), each), unit_names[item->unit], year,
                  line ? source : item->source);
    }
    table_end(&table, out, &style, 0);
    if (bom_copper_text(fabric, copper)) {
        fputc('\n', out);
        text_outside_lines(out, &style, copper);
        fputc('\n', out);
    }
}

void bom_prices_json(struct jout *jout, const struct fabric *fabric, const bool used[PRICE_ITEMS_MAX])
{
    jout_open(jout, "prices", '[');
    for (uint32_t i = 0; i < price_item_count; i++) {
        const struct price_item *item = &price_items[i];
        uint32_t line = said_at(fabric, i);
        char name[PRICE_NAME];

        if (!used[i]) continue;
        jout_open_line(jout, NULL, '{');
#include "report/rows/bom_price.def"
        if (line)
            jout_u64(jout, "line", line);
        else
            jout_u64(jout, "year", item->year);
        jout_close(jout);
    }
    jout_close(jout);
}

static const char *whole(uint64_t milli, char buf[TEXT_COUNT])
{
    return milli ? text_count((milli + 500) / 1000, buf) : "";
}

void bom_text(const struct fabric *fabric, const struct bom *bom, FILE *out)
{
    const struct text_style style = cli_style();
    char usd[TEXT_COUNT], watts[TEXT_COUNT], year[TEXT_COUNT], least[TEXT_COUNT], most[TEXT_COUNT];
    struct table table;

    TABLE_BEGIN(&table, LEFT("part"), LEFT("what"), RIGHT("count"), RIGHT("USD"), RIGHT("W"));
    for (uint32_t r = 0; r < bom->rows; r++) {
        const struct bom_row *row = &bom->row[r];
        char number[24];
        const char *const cell[] = {row->part, row->what, number, whole(row->usd_milli, usd),
                                    whole(row->watt_milli, watts)};
        snprintf(number, sizeof number, "%llu", (unsigned long long)row->count);
        table_row(&table, cell);
    }
    table_end(&table, out, &style, 0);
    fprintf(out, "\nAll: %s USD", whole(bom->usd_milli, usd));
    if (bom->usd_least_milli != bom->usd_most_milli)
        fprintf(out, " (%s to %s)", whole(bom->usd_least_milli, least), whole(bom->usd_most_milli, most));
    fprintf(out, ", %s W, %s USD a year for power. Hosts, software and work are not in it.\n\n",
            whole(bom->watt_milli, watts), whole(bom->usd_year_milli, year));
    bom_prices_text(fabric, bom->used, out);
}

void bom_json(struct jout *jout, const struct fabric *fabric, const struct bom *bom)
{
    jout_open(jout, "parts", '[');
    for (uint32_t r = 0; r < bom->rows; r++) {
        const struct bom_row *row = &bom->row[r];
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "part", row->part);
        jout_text(jout, "what", row->what);
        jout_u64(jout, "count", row->count);
        jout_fixed(jout, "usd", row->usd_milli, 3);
        jout_fixed(jout, "watts", row->watt_milli, 3);
        jout_close(jout);
    }
    jout_close(jout);
    jout_fixed(jout, "usd", bom->usd_milli, 3);
    jout_fixed(jout, "usd_least", bom->usd_least_milli, 3);
    jout_fixed(jout, "usd_most", bom->usd_most_milli, 3);
    jout_fixed(jout, "watts", bom->watt_milli, 3);
    jout_fixed(jout, "usd_year", bom->usd_year_milli, 3);
    bom_prices_json(jout, fabric, bom->used);
}
