/* SPDX-License-Identifier: Apache-2.0 */
/* Words of lines, and numbers as operators' commands print them. */
#include <ctype.h>
#include <string.h>

#include "evidence/read/reader.h"

size_t field_split(const char *line, struct field *field, size_t most)
{
    size_t count = 0;

    for (;;) {
        while (*line && isspace((unsigned char)*line))
            line++;
        if (!*line) return count;
        const char *end = line;
        while (*end && !isspace((unsigned char)*end))
            end++;
        if (count < most) field[count] = (struct field){line, (size_t)(end - line)};
        count++;
        line = end;
    }
}

bool field_is(const struct field *field, const char *text)
{
    return strlen(text) == field->length && !memcmp(field->at, text, field->length);
}

bool field_number(const struct field *field, uint64_t *value)
{
    return json_text_u64(field->at, field->length, value);
}

bool field_real(const struct field *field, double *value)
{
    return json_text_real(field->at, field->length, value);
}

int field_suffix(const struct field *field, const char *prefix)
{
    size_t letters = strlen(prefix);
    uint64_t number;

    if (field->length <= letters || memcmp(field->at, prefix, letters)) return -1;
    struct field digits = {field->at + letters, field->length - letters};
    return field_number(&digits, &number) && number < 1000 ? (int)number : -1;
}

bool line_begins(const char *line, const char *text)
{
    while (isspace((unsigned char)*line))
        line++;
    return !strncmp(line, text, strlen(text));
}

bool line_has(const char *line, const char *text)
{
    return strstr(line, text) != NULL;
}

uint32_t reading_port(struct reading *in, const struct field *name)
{
    return evidence_port(in->evidence, in->device, name->at, name->length);
}

void reading_set(struct reading *in, uint32_t port, unsigned priority, enum evidence_counter counter,
                 const struct field *value)
{
    uint64_t number;

    if (field_number(value, &number)) evidence_set(in->evidence, port, priority, counter, number, &in->source);
}

void reading_system(struct reading *in, const char *system, enum fabric_role role)
{
    if (in->device == EVIDENCE_NONE) return;
    struct evidence_object *device = &in->evidence->object[in->device];
    device->system = system;
    if (device->role == FABRIC_ROLES) device->role = (uint8_t)role;
}
