/* SPDX-License-Identifier: Apache-2.0 */
/* A line of Prometheus' text or of OpenMetrics: name{key="value",...} number [time] [# exemplar]. */
#include <ctype.h>
#include <string.h>

#include "evidence/read/metrics/metrics.h"

#define MILLISECONDS 1e11 /* a time beyond is of Prometheus, which counts milliseconds; OpenMetrics counts seconds */

static bool of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == ':';
}

static const char *blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* Behind the opening quote: the value into the sample's text.  NULL: it has no end, or there is no room. */
static const char *label_value(struct sample *sample, size_t *used, const char *at, const char *end)
{
    while (at < end && *at != '"') {
        char c = *at++;
        if (c == '\\' && at < end) {
            c = *at++;
            if (c == 'n') c = '\n';
        }
        if (*used + 2 > sizeof sample->text) return NULL;
        sample->text[(*used)++] = c ? c : '?';
    }
    if (at == end) return NULL;
    sample->text[(*used)++] = 0;
    return at + 1;
}

/* Behind '{': up to behind '}'. */
static const char *labels(struct sample *sample, const char *at, const char *end)
{
    size_t used = 0;

    for (;;) {
        at = blanks(at, end);
        if (at < end && *at == '}') return at + 1;
        const char *key = sample->text + used, *begin = at;
        while (at < end && of_name(*at))
            at++;
        size_t length = (size_t)(at - begin);
        if (!length || used + length + 2 > sizeof sample->text) return NULL;
        memcpy(sample->text + used, begin, length);
        used += length;
        sample->text[used++] = 0;
        at = blanks(at, end);
        if (at == end || *at++ != '=') return NULL;
        at = blanks(at, end);
        if (at == end || *at++ != '"') return NULL;
        const char *value = sample->text + used;
        if (!(at = label_value(sample, &used, at, end))) return NULL;
        if (sample->labels < METRICS_LABELS) {
            sample->label[sample->labels].key = key;
            sample->label[sample->labels++].value = value;
        }
        at = blanks(at, end);
        if (at < end && *at == ',') at++;
    }
}

static struct text_field word(const char **at, const char *end)
{
    struct text_field field = {blanks(*at, end), 0};

    *at = field.at;
    while (*at < end && !isspace((unsigned char)**at))
        ++*at;
    field.length = (size_t)(*at - field.at);
    return field;
}

bool sample_parse(struct sample *sample, const char *line, const char *end)
{
    const char *at = line = blanks(line, end);

    if (line == end || *line == '#') return false;
    sample->labels = 0;
    while (at < end && of_name(*at))
        at++;
    sample->name = (struct text_field){line, (size_t)(at - line)};
    at = blanks(at, end);
    if (!sample->name.length || (at < end && *at == '{' && !(at = labels(sample, at + 1, end)))) return false;
    struct text_field value = word(&at, end), time = word(&at, end);
    sample->whole = field_number(&value, &sample->number);
    if (!field_real(&value, &sample->real)) return false;
    sample->timed = time.length && field_real(&time, &sample->at_s);
    if (sample->timed && sample->at_s > MILLISECONDS) sample->at_s /= 1000;
    return sample->real >= 0;
}

const char *sample_label(const struct sample *sample, const char *key)
{
    for (uint32_t i = 0; i < sample->labels; i++)
        if (!strcmp(sample->label[i].key, key)) return sample->label[i].value;
    return "";
}
