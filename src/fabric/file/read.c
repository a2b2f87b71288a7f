/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values out of a tree, and the sentences for wrong ones: what was found, what would be right.
 */
#include "fabric/file/read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

void read_error(struct loader *loader, struct fabric_at at, const char *format, ...)
{
    char text[sizeof(loader->errors->error[0].text)];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fabric_errors_add(loader->errors, at, "%s", text);
}

void *read_alloc(struct loader *loader, struct arena *arena, size_t count, size_t size)
{
    void *memory = arena_alloc(arena, count, size, _Alignof(max_align_t));
    if (!memory) loader->no_memory = true;
    return memory;
}

static void note(const struct loader *loader, const struct read_asked *asked)
{
    if (loader->watch) loader->watch(loader->watcher, asked);
}

static const char *label(const struct tree *value)
{
    return value->key ? value->key : "value";
}

bool read_is_map(struct loader *loader, const struct tree *value, const char *what)
{
    char found[TREE_FOUND];

    note(loader, &(struct read_asked){.how = READ_ANY_MAP, .value = value});
    if (value->type == TREE_MAP) return true;
    read_error(loader, value->at, "%s: found %s where a map {key: value, ...} is expected", what,
               tree_found(value, found));
    return false;
}

bool read_is_list(struct loader *loader, const struct tree *value, const char *what)
{
    char found[TREE_FOUND];

    note(loader, &(struct read_asked){.how = READ_LIST, .value = value});
    if (value->type == TREE_LIST) return true;
    read_error(loader, value->at, "%s: found %s where a list is expected", what, tree_found(value, found));
    return false;
}

static bool is_scalar(struct loader *loader, const struct tree *value, const char *due)
{
    char found[TREE_FOUND];

    if (value->type == TREE_SCALAR && value->text[0]) return true;
    read_error(loader, value->at, "%s: found %s where %s is expected", label(value), tree_found(value, found), due);
    return false;
}

static const char *const unit_due[UNIT_KINDS] = {
    [UNIT_TIME] = "a time, as in 2us,",        [UNIT_RATE] = "a rate, as in 400G,",
    [UNIT_SIZE] = "a size, as in 1500KB,",     [UNIT_LENGTH] = "a length, as in 30m,",
    [UNIT_SHARE] = "a percentage, as in 10%,", [UNIT_COUNT] = "a number",
};

static bool in_range(struct loader *loader, const struct tree *value, enum unit_kind kind, uint64_t got, uint64_t min,
                     uint64_t max)
{
    char limit[UNIT_TEXT];

    if (got < min) {
        read_error(loader, value->at, "%s: %s is too small, the least is %s", label(value), value->text,
                   unit_format(kind, min, limit));
        return false;
    }
    if (max && got > max) {
        read_error(loader, value->at, "%s: %s is too large, the most is %s", label(value), value->text,
                   unit_format(kind, max, limit));
        return false;
    }
    return true;
}

bool read_unit(struct loader *loader, const struct tree *value, enum unit_kind kind, uint64_t min, uint64_t max,
               uint64_t *ret)
{
    const char *why = NULL;
    char found[TREE_FOUND];
    uint64_t got;

    note(loader, &(struct read_asked){.how = READ_UNIT, .value = value, .unit = (uint8_t)kind, .min = min, .max = max});
    if (!is_scalar(loader, value, unit_due[kind])) return false;
    if (unit_parse(kind, value->text, &got, &why) < 0) {
        read_error(loader, value->at, "%s %s: %s", label(value), tree_found(value, found), why);
        return false;
    }
    if (!in_range(loader, value, kind, got, min, max)) return false;
    *ret = got;
    return true;
}

bool read_bytes(struct loader *loader, const struct tree *value, uint64_t min, uint64_t max, uint64_t *ret)
{
    uint64_t got;

    note(loader, &(struct read_asked){.how = READ_BYTES, .value = value, .min = min, .max = max});
    if (!is_scalar(loader, value, "a number of bytes")) return false;
    if (!read_decimal(value->text, &got)) return read_unit(loader, value, UNIT_SIZE, min, max, ret);
    if (!in_range(loader, value, UNIT_COUNT, got, min, max)) return false;
    *ret = got;
    return true;
}

bool read_bool(struct loader *loader, const struct tree *value, bool *ret)
{
    static const char *const words[] = {"false", "true", "no", "yes", NULL};

    note(loader, &(struct read_asked){.how = READ_BOOL, .value = value});
    if (!is_scalar(loader, value, "true or false")) return false;
    for (uint32_t i = 0; words[i]; i++) {
        if (strcmp(value->text, words[i]) == 0) {
            *ret = i & 1;
            return true;
        }
    }
    read_error(loader, value->at, "%s: '%s' is neither true nor false", label(value), value->text);
    return false;
}

bool read_text(struct loader *loader, const struct tree *value, const char **ret)
{
    note(loader, &(struct read_asked){.how = READ_TEXT, .value = value});
    if (!is_scalar(loader, value, "a word")) return false;
    const char *copy = arena_strndup(loader->keep, value->text, strlen(value->text));
    if (!copy) {
        loader->no_memory = true;
        return false;
    }
    *ret = copy;
    return true;
}

static void list_words(char *into, size_t size, const char *const *words)
{
    size_t used = 0;

    into[0] = 0;
    for (; *words && used < size; words++) {
        int wrote = snprintf(into + used, size - used, "%s%s", used ? ", " : "", *words);
        if (wrote > 0) used += (size_t)wrote;
    }
}

bool read_choice(struct loader *loader, const struct tree *value, const char *const *choices, uint32_t *ret)
{
    char known[160];
    struct nearest nearest;

    note(loader, &(struct read_asked){.how = READ_CHOICE, .value = value, .choices = choices});
    list_words(known, sizeof(known), choices);
    if (!is_scalar(loader, value, known)) return false;
    nearest_init(&nearest, value->text);
    for (uint32_t i = 0; choices[i]; i++) {
        if (strcmp(value->text, choices[i]) == 0) {
            *ret = i;
            return true;
        }
        nearest_try(&nearest, choices[i]);
    }
    if (nearest.word)
        read_error(loader, value->at, "%s: unknown '%s'; did you mean '%s'?", label(value), value->text, nearest.word);
    else
        read_error(loader, value->at, "%s: unknown '%s'; write one of %s", label(value), value->text, known);
    return false;
}

bool read_decimal(const char *text, uint64_t *ret)
{
    uint64_t got = 0;

    if (!*text) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        if (__builtin_mul_overflow(got, (uint64_t)10, &got) ||
            __builtin_add_overflow(got, (uint64_t)(*text - '0'), &got))
            return false;
    }
    *ret = got;
    return true;
}

static bool parse_fraction(const char *text, uint64_t *num, uint64_t *den)
{
    char buf[32];
    size_t length = strlen(text);
    char *mark;

    if (length >= sizeof(buf)) return false;
    memcpy(buf, text, length + 1);
    *den = 1;
    if ((mark = strchr(buf, '/')) != NULL) {
        *mark = 0;
        return read_decimal(buf, num) && read_decimal(mark + 1, den);
    }
    if ((mark = strchr(buf, '.')) == NULL) return read_decimal(buf, num);
    size_t digits = strlen(mark + 1);
    if (digits == 0 || digits > 6 || mark == buf) return false;
    memmove(mark, mark + 1, digits + 1);
    while (digits--)
        *den *= 10;
    return read_decimal(buf, num);
}

bool read_fraction(struct loader *loader, const struct tree *value, uint32_t *ret_num, uint32_t *ret_den)
{
    uint64_t num, den;

    note(loader, &(struct read_asked){.how = READ_FRACTION, .value = value});
    if (!is_scalar(loader, value, "a fraction, as in 1/8,")) return false;
    if (!parse_fraction(value->text, &num, &den) || num == 0 || den == 0 || num > 1000000000 || den > 1000000000) {
        read_error(loader, value->at, "%s: '%s' is not a positive fraction, as in 1/8, 0.5 or 2", label(value),
                   value->text);
        return false;
    }
    for (uint64_t p = 2; p <= 5; p += 3) {
        while (num % p == 0 && den % p == 0) {
            num /= p;
            den /= p;
        }
    }
    *ret_num = (uint32_t)num;
    *ret_den = (uint32_t)den;
    return true;
}

bool read_bits(struct loader *loader, const struct tree *value, uint32_t below, uint64_t *ret)
{
    uint64_t bits = 0, bit;
    bool good = true;

    note(loader, &(struct read_asked){.how = READ_BITS, .value = value, .max = below - 1});
    CHECK(below >= 1 && below <= 64);
    if (value->type != TREE_LIST) {
        if (!read_unit(loader, value, UNIT_COUNT, 0, below - 1, &bit)) return false;
        *ret = UINT64_C(1) << bit;
        return true;
    }
    for (const struct tree *item = value->first; item; item = item->next) {
        if (read_unit(loader, item, UNIT_COUNT, 0, below - 1, &bit))
            bits |= UINT64_C(1) << bit;
        else
            good = false;
    }
    if (good) *ret = bits;
    return good;
}

static void store(const struct field *field, void *into, uint64_t value)
{
    unsigned char *at = (unsigned char *)into + field->offset;

    switch (field->width) {
    case 1:
        *at = (uint8_t)value;
        break;
    case 2:
        memcpy(at, &(uint16_t){(uint16_t)value}, 2);
        break;
    case 4:
        memcpy(at, &(uint32_t){(uint32_t)value}, 4);
        break;
    default:
        CHECK(field->width == 8);
        memcpy(at, &value, 8);
    }
}

static uint64_t field_max(const struct field *field)
{
    if (field->max) return field->max;
    /* The largest value of a member means "not given" or "none". */
    return field->width == 8 ? UINT64_MAX - 1 : (UINT64_C(1) << (8 * field->width)) - 2;
}

static void read_field(struct loader *loader, const struct field *field, const struct tree *value, void *into)
{
    uint64_t got = 0;
    uint32_t index = 0;
    bool truth = false, good = true;
    const char *text = NULL;

    switch (field->kind) {
    case FIELD_BYTES:
        good = read_bytes(loader, value, field->min, field_max(field), &got);
        break;
    case FIELD_BOOL:
        good = read_bool(loader, value, &truth);
        got = truth;
        break;
    case FIELD_TEXT:
        if (read_text(loader, value, &text)) memcpy((char *)into + field->offset, &text, sizeof(text));
        return;
    case FIELD_CHOICE:
        good = read_choice(loader, value, field->choices, &index);
        got = index;
        break;
    case FIELD_CALL:
        field->call(loader, value, into);
        return;
    case FIELD_IGNORE:
        return;
    default:
        good = read_unit(loader, value, (enum unit_kind)field->kind, field->min, field_max(field), &got);
    }
    if (good) store(field, into, got);
}

static void unknown_key(struct loader *loader, const struct tree *value, const char *what, const struct field_set *set,
                        uint32_t sets)
{
    char known[160] = "";
    size_t used = 0;
    bool cut = false;
    struct nearest nearest;

    nearest_init(&nearest, value->key);
    for (uint32_t s = 0; s < sets; s++) {
        for (uint32_t i = 0; i < set[s].count; i++) {
            nearest_try(&nearest, set[s].field[i].name);
            cut = cut || used + strlen(set[s].field[i].name) + 8 > sizeof(known);
            if (!cut)
                used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "",
                                         set[s].field[i].name);
        }
    }
    if (nearest.word)
        read_error(loader, value->key_at, "unknown key '%s' in %s; did you mean '%s'?", value->key, what, nearest.word);
    else
        read_error(loader, value->key_at, "unknown key '%.40s%s' in %s; known are %s%s", value->key,
                   strlen(value->key) > 40 ? "..." : "", what, known, cut ? ", ..." : "");
}

bool read_map(struct loader *loader, const struct tree *map, const char *what, const struct field_set *set,
              uint32_t sets)
{
    uint32_t before = loader->errors->count + loader->errors->more;

    note(loader, &(struct read_asked){.how = READ_MAP, .value = map, .what = what, .set = set, .sets = sets});
    if (!read_is_map(loader, map, what)) return false;
    for (const struct tree *value = map->first; value; value = value->next) {
        bool known = false;
        for (uint32_t s = 0; s < sets && !known; s++) {
            for (uint32_t i = 0; i < set[s].count && !known; i++) {
                if (strcmp(set[s].field[i].name, value->key) != 0) continue;
                read_field(loader, &set[s].field[i], value, set[s].into);
                known = true;
            }
        }
        if (!known) unknown_key(loader, value, what, set, sets);
    }
    return loader->errors->count + loader->errors->more == before && !loader->no_memory;
}

bool read_milli(const char *text, uint64_t most, uint64_t *ret, const char **ret_rest)
{
    uint64_t milli = 0, unit = 1000;

    if (*text < '0' || *text > '9') return false;
    for (; *text >= '0' && *text <= '9' && milli <= most; text++)
        milli = milli * 10 + (uint64_t)(*text - '0') * 1000;
    if (*text == '.') {
        if (text[1] < '0' || text[1] > '9') return false;
        for (text++; *text >= '0' && *text <= '9'; text++) {
            unit /= 10;
            if (unit == 0 && *text != '0') return false;
            milli += (uint64_t)(*text - '0') * unit;
        }
    }
    *ret = milli;
    *ret_rest = text;
    return milli <= most;
}
