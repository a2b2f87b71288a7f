/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands between outputs in a text: prompts with their commands, heads that name a device or a file, times.
 */
#ifndef ROCELAB_EVIDENCE_READ_SESSION_H
#define ROCELAB_EVIDENCE_READ_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "evidence/read/reader.h"

enum session_kind {
    SESSION_TEXT,    /* none of these: it is for a reader */
    SESSION_NOTHING, /* a fence, or what stands around heads */
    SESSION_COMMAND, /* a prompt, with its device or none, and the command or none */
    SESSION_PROMPT,  /* the same, and it is one only where the device is known: "leaf1#" */
    SESSION_DEVICE,  /* a head: what follows is of this device, perhaps printed by this command */
    SESSION_FILE,    /* a head: what follows is of this file */
    SESSION_PORT,    /* a head: of this interface */
    SESSION_TIME,    /* a date: what follows was seen then */
    SESSION_LOOK,    /* a head: "=== after ===" */
};
struct session_said {
    struct text_field device; /* or file, or port; length 0: none */
    const char *command;      /* "": none */
    double at_s;
};
enum session_kind session_line(const char *line, struct session_said *said);
/* Whether it begins as a command that operators type: "ethtool", "show". */
bool session_is_command(const char *text);
/* The interface that a command is about: eth1 of "ethtool -S eth1"; false: it names none. */
bool session_interface(const char *command, char *buf, size_t size);
/* Whether what it prints holds no counters: "date", "terminal length 0". */
bool session_says_nothing(const char *command);
/* Whether a name is an interface's by how it begins: "eth0", "swp1", "mlx5_0". */
bool session_is_interface(const struct text_field *name);
/* Whether it looks like a device's name: "leaf1", "gpu-node.rack-3". */
bool session_is_device(const struct text_field *name);
/* Seconds of a date: "Thu Nov 19 10:00:00 UTC 2026", "2026-11-19T10:00:00Z".  Without a year it is in 1970. */
bool session_date(const char *line, double *at_s);

#endif
