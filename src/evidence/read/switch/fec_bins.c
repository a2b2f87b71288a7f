/* SPDX-License-Identifier: Apache-2.0 */
/* SONiC: portstat -fh; show interfaces counters fec-histogram PORT.  What bins mean is in the header. */
#include "evidence/read/switch/fec_bins.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HIGH 8u  /* of MOST: what single wrong bits do not reach */
#define MOST 15u /* symbols that FEC can put right */

void fec_bins_take(struct reading *in, struct fec_bins *bins, unsigned bin, const struct text_field *count)
{
    uint64_t words;

    if (bin > MOST || !field_number(count, &words) || !words) return;
    if (bin && __builtin_add_overflow(bins->corrected, words, &bins->corrected)) bins->corrected = UINT64_MAX;
    if (bin < HIGH) return;
    if (__builtin_add_overflow(bins->many, words, &bins->many)) bins->many = UINT64_MAX;
    if (bin > bins->most) bins->most = bin;
    bins->source = in->source;
}

void fec_bins_end(struct reading *in, struct fec_bins *bins, uint32_t port)
{
    struct evidence_source source = in->source;
    char text[128];

    if (port != EVIDENCE_NONE && bins->many) {
        snprintf(text, sizeof text, "%" PRIu64 " code words with up to %u wrong symbols, and FEC puts %u right",
                 bins->many, bins->most, MOST);
        struct text_field detail = field_of(text);
        in->source = bins->source;
        reading_event(in, EVIDENCE_EVENT_OPTIC_ALARM, port, EVIDENCE_NO_PRIORITY, NULL, NULL, &detail);
        in->source = source;
    }
    if (port != EVIDENCE_NONE && bins->corrected)
        evidence_offer(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_FEC_CORRECTED, bins->corrected, &source);
    *bins = (struct fec_bins){0};
}

/* --- SONiC --- */

static bool table_head(const char *line)
{
    return line_words(line, "IFACE BIN0 BIN1");
}

static bool list_head(const char *line)
{
    return line_words(line, "Symbol Errors Per Codeword");
}

static bool head(const char *line)
{
    return table_head(line) || list_head(line);
}

static bool is_rule(const char *line)
{
    return *line_text(line) == '-' && !line[strspn(line, " \t-")];
}

static bool one_line(struct reading *in, const char *line)
{
    struct fec_bins *bins = (struct fec_bins *)in->state;
    struct text_field word[MOST + 2];
    size_t words = field_split(line, word, MOST + 2);

    if (head(line)) {
        reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
        return true;
    }
    if (is_rule(line) || line_begins(line, "Last cached time")) return true;
    if (words == 2 && word[0].length > 4 && word[0].at[word[0].length - 1] == ':') { /* "BIN3:  17" */
        word[0].length--;
        int bin = field_suffix(&word[0], "BIN");
        if (bin >= 0) fec_bins_take(in, bins, (unsigned)bin, &word[1]);
        return bin >= 0;
    }
    if (words < 3 || words > MOST + 2 || !field_is_port(&word[0])) return false;
    uint32_t port = reading_port(in, &word[0]);
    for (size_t i = 1; i < words; i++)
        fec_bins_take(in, bins, (unsigned)i - 1, &word[i]);
    fec_bins_end(in, bins, port);
    return true;
}

/* Of a list the command says the port. */
static void end(struct reading *in)
{
    struct fec_bins *bins = (struct fec_bins *)in->state;
    struct text_field port = field_of(in->hint);

    if (bins->corrected && field_is_port(&port)) fec_bins_end(in, bins, reading_port(in, &port));
}
const struct text_reader reader_sonic_fec_bins = {
    "sonic-fec-histogram", "SONiC: portstat -fh, show interfaces counters fec-histogram", head, one_line, end};
