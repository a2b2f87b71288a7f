/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the reader of fabric files asks of each value: for schema.py, which writes fabric.schema.json.
 *
 * Documents on standard input, each after a line with its length; for each a line of JSON: what was asked of values and
 * which errors there were, with their places.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/file/read.h"
#include "fabric/handle.h"
#include "fabric/work.h"
#include "load/load.h"

extern const char *const fabric_job_names[FABRIC_JOB_KINDS];

static void put_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        if ((unsigned char)*text >= ' ') putchar(*text);
    }
    putchar('"');
}

static void put_choices(const char *const *choices)
{
    printf(",\"choices\":[");
    for (uint32_t i = 0; choices[i]; i++) {
        if (i) putchar(',');
        put_text(choices[i]);
    }
    putchar(']');
}

/* As read.c: the largest value of a member means "not given". */
static uint64_t most_of(const struct field *field)
{
    if (field->max || field->width == 8 || field->width == 0) return field->max;
    return (UINT64_C(1) << (8 * field->width)) - 2;
}

static void put_fields(const struct read_asked *asked)
{
    const char *comma = "";

    printf(",\"what\":");
    put_text(asked->what);
    printf(",\"fields\":[");
    for (uint32_t s = 0; s < asked->sets; s++)
        for (uint32_t f = 0; f < asked->set[s].count; f++, comma = ",") {
            const struct field *field = &asked->set[s].field[f];
            printf("%s{\"name\":", comma);
            put_text(field->name);
            printf(",\"kind\":%u,\"min\":%llu,\"max\":%llu", field->kind, (unsigned long long)field->min,
                   (unsigned long long)most_of(field));
            if (field->kind == FIELD_CALL) printf(",\"call\":\"%p\"", *(void *const *)&field->call);
            if (field->kind == FIELD_CHOICE) put_choices(field->choices);
            putchar('}');
        }
    putchar(']');
}

static void watch(void *watcher, const struct read_asked *asked)
{
    bool *later = watcher;

    printf("%s{\"how\":%d,\"line\":%u,\"column\":%u", *later ? "," : "", asked->how, asked->value->at.line,
           asked->value->at.column);
    *later = true;
    if (asked->how == READ_MAP) put_fields(asked);
    if (asked->how == READ_CHOICE) put_choices(asked->choices);
    printf(",\"unit\":%u,\"min\":%llu,\"max\":%llu}", asked->unit, (unsigned long long)asked->min,
           (unsigned long long)asked->max);
}

static void read_one(const char *text)
{
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    bool later = false;
    const struct fabric_with with = {.watch = watch, .watcher = &later};

    printf("{\"asked\":[");
    if (fabric_load_with("f.yaml", text, &with, &fabric, &errors) == 0) fabric_free(fabric);
    printf("],\"errors\":[");
    for (uint32_t e = 0; e < errors.count; e++) {
        printf("%s{\"line\":%u,\"column\":%u,\"text\":", e ? "," : "", errors.error[e].at.line,
               errors.error[e].at.column);
        put_text(errors.error[e].text);
        putchar('}');
    }
    printf("]}\n");
    fflush(stdout);
}

int main(void)
{
    char line[32], *text;
    size_t length;

    printf("[");
    for (int k = 0; k < FABRIC_JOB_KINDS; k++) {
        if (k) putchar(',');
        put_text(fabric_job_names[k]);
    }
    printf("]\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        length = strtoul(line, NULL, 10);
        text = calloc(length + 1, 1);
        if (!text || fread(text, 1, length, stdin) != length) return 1;
        read_one(text);
        free(text);
    }
    return 0;
}
