/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NX-OS and EOS importers do alike with lines: the text and its device, interfaces, definitions and who applies
 * them, other systems' commands, and what is left over.
 */
#ifndef ROCELAB_CONFIG_LINES_IMPORTING_H
#define ROCELAB_CONFIG_LINES_IMPORTING_H

#include "config/config.h"
#include "config/lines/lines.h"

struct lines_import { /* begins what an importer keeps */
    struct config_set *set;
    const struct config_text *text;
    uint32_t device;
    struct lines lines;
    bool whole; /* a switch's configuration, not a part of one */
};

/* Reads the lines and makes the device that `hostname`, or else the caller or the file, names.  As lines_read(). */
int lines_begin(struct lines_import *in, const struct lines_grammar *grammar, const char *nos);
/* After the importer has dealt with all it knows: routes, interfaces of VLANs, and every line that nobody dealt with.
 * A block whose first line is not about RoCE is noted once; commands whose first word is in `aside` (words.h) are known
 * to have no say in a fabric.  0; -EINVAL and an error: most lines with a word of RoCE's were understood by nobody, so
 * that the text is not of `system` whatever it was called.  Without the error a file of another system would be found
 * to have no faults. */
int lines_end(struct lines_import *in, const char *aside, const struct config_format *own, const char *system);

struct lines_foreign { /* a command that is not of this system, and what it should have been */
    const char *pattern, *instead;
};
/* Notes SYN001 for lines that match the list (ended by a NULL pattern) and marks them known. */
void lines_foreign(struct lines_import *in, const struct lines_foreign *list);
/* Of a part of a configuration only what it speaks of can be judged: the word, the rules that rest on lines with it,
 * and what these are about. */
struct lines_part {
    const char *word, *rules, *what;
};
void lines_judge_part(struct lines_import *in, const struct lines_part *parts, size_t count);
bool lines_speak_of(const struct lines_import *in, const char *word);

/* Says how many equal paths BGP uses and how many neighbours it has (routes.c). */
void lines_routes(struct lines_import *in);
/* Notes MTU001 for interfaces of VLANs that route smaller frames than their ports take (svi.c). */
void lines_svis(struct lines_import *in);

/* Words of this configuration that are plainly of RoCE. */
bool lines_about_roce(const char *text);
/* How many of the beginnings, which have a | between them, some line of the text has, wherever it is indented. */
unsigned lines_begin_with(const char *text, size_t length, const char *beginnings);
/* A guess's answer for such a text: how many of its `own` beginnings the text has, against those of `others`. */
int lines_guess(const char *text, size_t length, const char *own, const char *others);

/* --- interfaces and definitions (ports.c) --- */
struct lines_port { /* begins a port of either system */
    const char *name;
    uint32_t line;                  /* of its first `interface` */
    struct config_blocks blocks;    /* its `interface`s, by the numbers of their lines and into the lines */
    uint32_t channel, channel_line; /* that it is a member of; 0: of none */
    uint32_t mtu, mtu_line;         /* 0: not said */
    const char *fec, *described;    /* NULL: not said */
    const char *address[2];         /* IPv4 and IPv6, NULL: none */
    uint32_t fec_line, described_line, address_line[2], down_line, pause_line, rate_line;
    bool down, routed, layer_said, used; /* layer_said: switched or routed; used: it does not stand as it comes */
};

struct lines_ports {
    struct lines_import *in;
    void *port; /* [count], of `size` bytes each */
    size_t size;
    uint32_t count, room;
    uint32_t *member, members; /* indices of the ports of the range that is read */
    uint32_t block;            /* the interface's line, while names of a range are added */
    uint64_t work;             /* of LINES_WORK */
};
void lines_ports_init(struct lines_ports *ports, struct lines_import *in, size_t size);
/* `interface Ethernet1/1-64`: calls `each` for the lines of the block and the ports of the range.  `channel`: what the
 * system calls a port-channel.  Blocks of other interfaces are known where they have no word of RoCE's. */
void lines_ports_read(struct lines_ports *ports, uint32_t index, const char *channel,
                      void (*each)(struct lines_import *in, uint32_t index, struct line *line, void *port));
/* `ip address ADDRESS ...`; false: a second address, which names no other end. */
bool lines_port_address(struct lines_port *port, const struct line *line, const struct line_match *match);
/* The port in the set, its blocks (`by`: config_block()), what it is a member of, description and addresses.
 * CONFIG_NONE: there is no room for it. */
uint32_t lines_port_say(struct lines_import *in, const struct lines_port *as, uint32_t by, const char *channel);

struct lines_named { /* begins a class-map, a policy-map, a profile */
    const char *name;
    int kind;
    uint32_t line;
    bool used;
    void *next;
};
void *lines_find(void *list, int kind, const char *name); /* NULL: it is not defined */
/* Finds; else one of `size` bytes, zeroed, which the list goes behind. */
void *lines_define(struct lines_import *in, void *list, int kind, const char *name, uint32_t line, size_t size);
/* MAP007: what nothing uses, of these kinds (bits); `where` that leaves it, "applied nowhere". */
void lines_unused(struct lines_import *in, const void *list, unsigned kinds, const char *what, const char *where);

#endif
