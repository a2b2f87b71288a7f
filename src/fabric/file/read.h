/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading values out of a tree: tables of fields, so that every key of the file is checked, read
 * and refused in one way.
 */
#ifndef ROCELAB_FABRIC_FILE_READ_H
#define ROCELAB_FABRIC_FILE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/nearest.h"
#include "base/units.h"
#include "fabric/errors.h"
#include "fabric/file/tree.h"

struct fabric;
struct fabric_param;
struct fabric_route;

enum loader_part {
#define PART(id, key, reader) PART_##id,
#include "fabric/file/parts.def"
#undef PART
    LOADER_PARTS
};

struct field_set;

/* What a reader asks of a value, before it looks at it: tests/fabric/schema.py makes fabric.schema.json of this. */
enum read_how {
    READ_MAP,
    READ_ANY_MAP,
    READ_LIST,
    READ_UNIT,
    READ_BYTES,
    READ_BOOL,
    READ_TEXT,
    READ_CHOICE,
    READ_FRACTION,
    READ_BITS
};
struct read_asked {
    enum read_how how;
    const struct tree *value;
    const char *what;            /* READ_MAP: as messages call it */
    const struct field_set *set; /* READ_MAP */
    uint32_t sets;
    enum unit_kind unit;        /* READ_UNIT */
    uint64_t min, max;          /* READ_UNIT, READ_BYTES, READ_BITS; max 0: none */
    const char *const *choices; /* READ_CHOICE */
};
typedef void read_watch(void *watcher, const struct read_asked *asked);

struct loader {
    struct fabric *fabric;
    read_watch *watch; /* NULL: nobody */
    void *watcher;
    /* The fabric's own arrays, while they may be written: fabric->node and so on point to the same. */
    struct fabric_node *node;
    struct fabric_port *port;
    struct fabric_endpoint *endpoint;
    struct fabric_route *route;
    struct arena *keep;   /* lives with the fabric */
    struct arena scratch; /* lives for the load */
    struct fabric_errors *errors;
    const struct tree *root, *part[LOADER_PARTS];
    uint64_t files_hash; /* of the values, and of what files were read besides */
    fabric_nic_judge *judge;
    uint32_t *job_slot; /* job + 1 by the hash of its name; 0: free */
    uint32_t job_slots; /* a power of two */
    bool classes_good;  /* the file's classes are read */
    bool blind;         /* the topology is not known: nothing is said about names, ranks and routes */
    bool jobs_wrong;    /* a job was refused, so that those after it may wait for one that is not there */
    bool no_memory;
};

/* A value not given, in members that fields are read into. */
#define NOT_GIVEN UINT64_MAX

enum field_kind { /* the first six are enum unit_kind */
                  FIELD_TIME = UNIT_TIME,
                  FIELD_RATE = UNIT_RATE,
                  FIELD_SIZE = UNIT_SIZE,
                  FIELD_LENGTH = UNIT_LENGTH,
                  FIELD_SHARE = UNIT_SHARE,
                  FIELD_COUNT = UNIT_COUNT,
                  FIELD_BYTES,  /* a size, where a bare number means bytes (mtu) */
                  FIELD_BOOL,   /* true false yes no */
                  FIELD_TEXT,   /* kept in loader->keep */
                  FIELD_CHOICE, /* one of `choices`; its index */
                  FIELD_CALL,
                  FIELD_IGNORE, /* read elsewhere */
};

struct field {
    const char *name;
    uint8_t kind;  /* enum field_kind */
    uint8_t width; /* of the member */
    uint16_t offset;
    uint64_t min, max; /* max 0: what the member holds */
    const char *const *choices;
    void (*call)(struct loader *loader, const struct tree *value, void *into);
};

#define MEMBER(type, member) .width = (uint8_t)sizeof(((type *)0)->member), .offset = (uint16_t)offsetof(type, member)
#define F_VALUE(name_, kind_, type, member, min_, max_)                                                                \
    {                                                                                                                  \
        .name = name_, .kind = kind_, MEMBER(type, member), .min = min_, .max = max_                                   \
    }
#define F_CHOICE(name_, type, member, choices_)                                                                        \
    {                                                                                                                  \
        .name = name_, .kind = FIELD_CHOICE, MEMBER(type, member), .choices = choices_                                 \
    }
#define F_CALL(name_, call_)                                                                                           \
    {                                                                                                                  \
        .name = name_, .kind = FIELD_CALL, .call = call_                                                               \
    }
#define F_IGNORE(name_)                                                                                                \
    {                                                                                                                  \
        .name = name_, .kind = FIELD_IGNORE                                                                            \
    }
#define F_READ_BY(name_, reader)                                                                                       \
    {                                                                                                                  \
        .name = name_, .kind = FIELD_IGNORE + 0 * sizeof(&(reader))                                                    \
    }
#define COUNT_OF(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

struct field_set { /* fields of one struct */
    const struct field *field;
    uint32_t count;
    void *into;
};

/* Reads every key of `map`; `what` names the map in messages ("topology.rail").  False when something was wrong. */
bool read_map(struct loader *loader, const struct tree *map, const char *what, const struct field_set *set,
              uint32_t sets);
bool read_is_map(struct loader *loader, const struct tree *value, const char *what);
bool read_is_list(struct loader *loader, const struct tree *value, const char *what);
/* Each says what is wrong and answers false; *ret is untouched then. */
bool read_unit(struct loader *loader, const struct tree *value, enum unit_kind kind, uint64_t min, uint64_t max,
               uint64_t *ret);
bool read_bytes(struct loader *loader, const struct tree *value, uint64_t min, uint64_t max, uint64_t *ret);
bool read_bool(struct loader *loader, const struct tree *value, bool *ret);
bool read_text(struct loader *loader, const struct tree *value, const char **ret);
bool read_choice(struct loader *loader, const struct tree *value, const char *const *choices, uint32_t *ret);
/* `1/8`, `8`, `0.5`: a positive fraction. */
bool read_fraction(struct loader *loader, const struct tree *value, uint32_t *ret_num, uint32_t *ret_den);
/* A number within 0 .. below, or a list of them, as bits. */
bool read_bits(struct loader *loader, const struct tree *value, uint32_t below, uint64_t *ret);
/* operations.c: a map of names and texts, those of `below` (*ret_count of them) first and written over by name. */
bool read_params(struct loader *loader, const struct tree *map, const struct fabric_param *below, uint32_t *ret_count,
                 const struct fabric_param **ret);
/* A key or text that is a whole decimal number. */
bool read_decimal(const char *text, uint64_t *ret);
/* A decimal number with up to three digits behind the point, in thousandths, and what follows it; false: none is
 * there, or it is too large or too fine. */
bool read_milli(const char *text, uint64_t most, uint64_t *ret, const char **ret_rest);

__attribute__((format(printf, 3, 4))) void read_error(struct loader *loader, struct fabric_at at, const char *format,
                                                      ...);
void *read_alloc(struct loader *loader, struct arena *arena, size_t count, size_t size);
#define KEEP_NEW(loader, type, count) ((type *)read_alloc((loader), (loader)->keep, (count), sizeof(type)))
#define SCRATCH_NEW(loader, type, count) ((type *)read_alloc((loader), &(loader)->scratch, (count), sizeof(type)))

/* text.c: all of a file's text, terminated, in scratch; NULL with the sentence at `at`. */
#define FILE_STDIN "<stdin>"
char *file_read(struct loader *loader, const char *path, struct fabric_at at, size_t *ret_length);
/* The same of a file that is read line by line: a zero byte is refused. */
char *file_read_lines(struct loader *loader, const char *path, struct fabric_at at, size_t *ret_length);

#endif
