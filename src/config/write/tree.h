/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the fabric file that is written, each with its origin.  Private to write.c and tree.c.
 */
#ifndef ROCELAB_CONFIG_WRITE_TREE_H
#define ROCELAB_CONFIG_WRITE_TREE_H

#include "config/config.h"

struct writer {
    struct config_set *set;
    FILE *to;
    struct origin *origin;
    uint32_t lines, room;
    const char *class_name[FABRIC_PRIOS];
    uint32_t *typical;        /* [devices] the port that most others equal; CONFIG_NONE: it has none */
    int8_t class_of_dscp[64]; /* by most devices; -1: none says */
    const char **rate;        /* [devices] that most of its ports have: taken where nothing says one; NULL: none */
};

__attribute__((format(printf, 4, 5))) void write_line(struct writer *w, struct origin at, int indent,
                                                      const char *format, ...);
/* A scalar as YAML reads it back: bytes that it would not are written by number. */
const char *write_scalar(struct writer *w, const char *text);
/* Settings as a tree of keys; they are sorted by it. */
void write_said(struct writer *w, struct config_said *said, uint32_t count, int indent);

#endif
