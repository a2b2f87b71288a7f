/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations of real systems, both ways.
 *
 * One `struct config_format` a system.  import() reads one text and *says* what it found with the functions below:
 * devices, ports by the system's own names, settings by the paths of the fabric file, links, notes.  It writes no
 * YAML. config_write() (write/write.c) puts what all texts said together into one fabric file and its source map; what
 * all ports of a device say alike it says once for the device.  emit() prints one node of a fabric as a configuration.
 *
 * Conventions:
 *  - A path is a key of the fabric file below `devices.NAME` (port CONFIG_NONE) or `devices.NAME.ports.N`, joined by
 *    dots: `trust`, `pfc`, `pfc.rx`, `mtu`, `watchdog.poll`, `dscp-map.26`, `classes.3.ecn.min`.  A class is named by
 *    its priority; config_write() gives it its name.  `rate` and `cable` of a port become its link's.
 *  - Values are written as in the file, with their units; lists as `[3, 4]`.
 *  - What is said later replaces what was said before on the same path of the same device and port.
 *  - Say a setting for every port that has it, or for the device: a port's layer lies over the device's.
 *  - A map is said in full (64 entries of dscp-map), so that the fabric's defaults do not shine through.  What a system
 *    does where a configuration is silent is the importer's to know and to say.
 *  - Ports are numbered in the order in which config_port() first meets them; emitters print them in order of number.
 *  - A port without a link is cabled to a host made up for it, `unknown.DEVICE`: fabric_node_unknown() of fabric.h.
 *    Rules that compare two ends leave it out.
 *  - What a fabric file cannot hold and a rule needs is a note with the rule's id.  What was not understood is a note
 *    with rule NULL; nothing is dropped without either.  What was taken where a text says too little is assumed.
 *  - A port that is down says `up: false`; it keeps what else it says, and has neither a vote nor findings.
 *  - A rule that rests on what a text does not have, or on what was not read of it, is config_unjudged().
 *  - What can be judged by what was said, whatever the system, is judged once for all of them (judge.c).
 */
#ifndef ROCELAB_CONFIG_CONFIG_H
#define ROCELAB_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "config/origin.h"
#include "fabric/names.h"

struct fabric;
struct fabric_class;
struct fabric_errors;
struct fabric_settings;
struct fabric_switch;
struct sw_ecn;

#define CONFIG_NONE UINT32_MAX
#define CONFIG_CNP_DSCP 48u    /* with which adapters send CNPs unless they are told otherwise */
#ifndef CONFIG_PORTS_MAX       /* less for a fuzzer */
#define CONFIG_PORTS_MAX 4096u /* of a device, and of a range of them: as many as a fabric file can number */
#endif
#define CONFIG_PATH 80                    /* bytes of a path */
#define CONFIG_TEXT_MAX_BYTES (16u << 20) /* of one configuration; larger is refused */

enum config_most { CONFIG_ERROR, CONFIG_WARNING, CONFIG_INFO }; /* what a note is at most; else what its rule says */

struct config_note {
    const char *rule; /* NULL: a line that was not understood, or what was assumed */
    bool assumed;     /* nothing is wrong with the line: it says too little, and this is what was taken */
    uint8_t most;     /* enum config_most */
    struct origin at;
    const char *device, *port; /* NULL: of none; the port by the system's name */
    uint32_t number;           /* of the port; CONFIG_NONE: of none */
    const char *message;
};

struct config_unjudged {   /* a rule that rests on what was not read: it finds nothing there, and that is told */
    const char *rule;      /* its id, or the letters that several begin with: "MAP" */
    uint32_t device, port; /* CONFIG_NONE for the port: all of the device */
    struct origin at;
    const char *message; /* because ... */
};

struct config_said {
    const char *path, *value;
    struct origin at;
};

struct config_names { /* an index of a list's names, so that a long list costs no more than its length */
    uint32_t *slot;   /* number in the list + 1; 0: free */
    uint32_t slots;
};

struct config_block { /* lines of a text that are a port's own, by their numbers */
    uint32_t first, end;
    uint32_t index; /* as the importer finds them */
    struct config_block *next;
};

struct config_blocks { /* in the order of the text */
    struct config_block *head, *last;
};

struct config_order;

struct config_port {
    const char *name; /* the system's: Ethernet12, swp3s0, mlx5_0 */
    uint32_t link;    /* its link's number + 1; 0: none */
    const char *lag;  /* the bundle that it is a member of; NULL: none */
    bool idle;        /* nothing in the text uses it */
    uint64_t
        toward; /* what the text says is at the other end, as a kind: ports to spine1 and spine2 have one; 0: nothing */
    struct origin at, lag_at;
    struct origin block; /* of config_block(); line 0: the system has none */
    struct config_blocks blocks;
    struct config_said *said;
    uint32_t count, room;
    struct config_order *order; /* of the paths of `said` (said.h) */
};

struct config_device {
    const char *name;
    const char *nos; /* a name of config_formats[]; NULL: not known (a node of a link) */
    bool host;
    uint32_t paths;   /* equal ones that routing uses at most; 0: not said */
    uint32_t routers; /* neighbours that routing has by the text */
    struct origin paths_at;
    uint8_t cnp_dscp; /* of a class that is called after CNPs; 0: there is none */
    bool unclear;     /* packets are classified by more than their DSCP or CoS: which get a class is not known */
    struct origin at;
    struct config_port all; /* what holds for the device */
    struct config_port *port;
    uint32_t ports, room;
    struct config_names names; /* of the ports */
};

struct config_link {
    uint32_t a, a_port, b, b_port; /* devices and their ports */
    struct origin at;
};

struct config_neighbour { /* what one device says of the other end of its port; a link where that one is known too */
    uint32_t device, port;
    const char *name, *port_name;
    struct origin at;
};

struct config_address { /* of a port, in a subnet for two */
    uint32_t device, port;
    uint8_t bytes[16]; /* IPv4: the last four */
    uint8_t prefix;    /* of 128 bits */
    struct origin at;
};

struct config_description { /* of a port, in the words of whoever wrote it */
    uint32_t device, port;
    const char *text;
    struct origin at;
};

struct config_set { /* what the texts read so far have said; everything is in the arena */
    struct arena arena;
    const char **path; /* of each text */
    uint32_t sources, sources_room;
    bool *change; /* [sources] it changes what another text says, as a patch: it may say a thing again */
    uint32_t change_room;
    uint32_t reading;     /* config_read(): the text that is read + 1; 0: none */
    struct config_twice { /* what two texts say of one port: they cannot both be this device */
        const char *what; /* NULL: nothing */
        uint32_t device, port;
        struct origin first, again;
    } twice;
    struct config_device *device;
    uint32_t devices, devices_room;
    struct config_names names; /* of the devices */
    struct config_link *link;
    uint32_t links, links_room;
    struct config_neighbour *neighbour;
    uint32_t neighbours, neighbours_room;
    struct config_address *address;
    uint32_t addresses, addresses_room;
    struct config_description *description;
    uint32_t descriptions, descriptions_room;
    struct config_note *note;
    uint32_t notes, notes_room;
    struct config_unjudged *unjudged;
    uint32_t unjudgeds, unjudged_room;
    uint8_t classes;           /* bit p: a class of priority p was spoken of */
    const char *class_name[8]; /* as the first configuration that has names calls it; NULL */
    uint8_t cnp_dscp; /* config_judge(): with which CNPs are sent by what switches say; 0: as adapters have it */
};

struct config_text { /* what import() gets */
    const char *path;
    const char *text; /* terminated */
    size_t length;
    uint32_t source;              /* for struct origin */
    const char *device;           /* the name the caller gives; NULL: the text's own, else the file's */
    struct fabric_errors *errors; /* of this text: what stops the import */
};

#define CONFIG_PEER (2 * FABRIC_NAME + 32) /* bytes of a device, its port and a length, `leaf0:swp3,30m` */

struct config_emit {
    const struct fabric *fabric;
    uint32_t node;
    FILE *to;
    bool comments; /* say which rule each block satisfies */
    bool mixed;    /* other switches are written as their own systems have it */
};

/* mend.h: commands in blocks; `set`; `nv set`; JSON; a script. */
enum mend_form { MEND_NONE, MEND_BLOCKS, MEND_SET, MEND_NV, MEND_ROWS, MEND_SCRIPT };
struct config_can; /* unsupported.h: what a system has words for */
struct fix;        /* fix.h */

struct config_format {
    const char *name;    /* of --nos and --from */
    const char *suffix;  /* of a file written: "json", "cfg", "yaml", "sh" */
    bool host;           /* for hosts, else for switches */
    const char *comment; /* what a comment begins with; NULL: not written */
    const char *shows;   /* commands that show what is set, for the end of what is written; a | between them */
    const char *chips;   /* first letters of the models that run it (words.h), for a warning; NULL: not known */
    const struct config_can *can;         /* NULL: not written */
    const struct config_format *commands; /* what it says as commands, where both are written; NULL: it is that */
    uint32_t mtu_over;                    /* bytes of a frame that the system's own number for an MTU leaves out */
    /* How sure it is that this text is of its kind, 0 (not) to 100. */
    int (*guess)(const char *text, size_t length);
    /* Is this text to be read after those that are not, for it adds to them?  NULL: none is. */
    bool (*late)(const char *text, size_t length);
    /* 0; -EINVAL with errors; -ENODATA with an error, nothing in it is of a device.  NULL: not read. */
    int (*import)(struct config_set *set, const struct config_text *text);
    /* 0 or -errno.  NULL: not written. */
    int (*emit)(const struct config_emit *emit);
    /* The system's name of a port that the fabric gives none. */
    void (*port_name)(const struct fabric *fabric, uint32_t port, char *buf, size_t size);
    /* Where marking is set otherwise than in bytes: would the approved thresholds be written for this switch as `own`,
     * what a text said of it (`own.ecn-fill.PRIORITY`)?  The running ones become what `own` is in bytes on this switch.
     * NULL: in bytes. */
    bool (*same_marking)(const struct fabric_switch *sw, bool lossless, const char *own, const struct sw_ecn *approved,
                         struct sw_ecn *io_running);
    /* Commands that bring a device back (fix.h): 0, -EINVAL (a text is not of the system, or it is refused).
     * NULL: none are written. */
    int (*fix)(const struct fix *fix);
    enum mend_form mends; /* in its own words, line by line */
    const char *fix_how;  /* how they are to be loaded, in a few words */
    bool fix_document;    /* they are one document: nothing stands before it, and nothing of another device after it */
};
extern const struct config_format config_nxos, config_eos, config_sonic, config_nvue, config_nvue_set, config_host,
    config_clab, config_lldp, config_junos, config_junos_set;
extern const struct config_format *const config_formats[];              /* ends with NULL */
enum config_formats_kind { CONFIG_READ, CONFIG_WRITTEN, CONFIG_FIXED }; /* by guess(), emit(), fix() */
#define CONFIG_NAMES 128
/* Those of a kind for messages, "nxos, eos or host"; `last` is the word before the last one.  `buf`. */
const char *config_format_names(enum config_formats_kind kind, const char *last, char buf[CONFIG_NAMES]);
const struct config_format *config_format_find(const char *name);                 /* NULL: none */
const struct config_format *config_format_guess(const char *text, size_t length); /* NULL: not plain */

/* --- for callers (cli) --- */
void config_set_init(struct config_set *set);
void config_set_release(struct config_set *set);
/* Reads one text; `format` NULL: guessed.  -EINVAL with errors, among them: not plain what it is; too large; zero bytes
 * inside; -ENODATA as import(). */
int config_read(struct config_set *set, const struct config_format *format, const char *path, const char *text,
                size_t length, const char *device, struct fabric_errors *errors);
/* One more text, for struct origin. */
uint32_t config_source(struct config_set *set, const char *path);
/* The fabric file and its map; both live as long as the set. */
void config_write(struct config_set *set, const char *name, const char **ret_text, struct origin_map *ret_map);

/* --- for importers (set.c, said.c); none of them fails --- */
#define CONFIG_AT(text, line_) ((struct origin){(text)->source, (line_)})
/* Of the text and the device of `in`, what an importer keeps, by a line: config_say() and its like. */
#define SAY(in, line_, port, ...) config_say((in)->set, CONFIG_AT((in)->text, line_), (in)->device, port, __VA_ARGS__)
#define SAY_CLASS(in, line_, port, ...)                                                                                \
    config_say_class((in)->set, CONFIG_AT((in)->text, line_), (in)->device, port, __VA_ARGS__)
#define SAY_MAP(in, line_, port, ...)                                                                                  \
    config_say_map((in)->set, CONFIG_AT((in)->text, line_), (in)->device, port, __VA_ARGS__)
#define SAY_BITS(in, line_, port, ...)                                                                                 \
    config_say_bits((in)->set, CONFIG_AT((in)->text, line_), (in)->device, port, __VA_ARGS__)
#define NOTE(in, line_, rule, port, ...)                                                                               \
    config_note((in)->set, CONFIG_AT((in)->text, line_), rule, (in)->device, port, __VA_ARGS__)
#define FINDING(in, line_, rule, most, port, ...)                                                                      \
    config_finding((in)->set, CONFIG_AT((in)->text, line_), rule, most, (in)->device, port, __VA_ARGS__)
#define HINT(in, line_, rule, ...) FINDING(in, line_, rule, CONFIG_INFO, __VA_ARGS__)
#define CAUTION(in, line_, rule, ...) FINDING(in, line_, rule, CONFIG_WARNING, __VA_ARGS__)
#define UNJUDGED(in, line_, rule, port, ...)                                                                           \
    config_unjudged((in)->set, CONFIG_AT((in)->text, line_), rule, (in)->device, port, __VA_ARGS__)
#define ASSUME(in, line_, port, ...)                                                                                   \
    config_assume((in)->set, CONFIG_AT((in)->text, line_), (in)->device, port, __VA_ARGS__)
/* Finds or adds.  A name is made fit for a fabric file: what is not a letter, digit, - _ . becomes -. */
uint32_t config_device(struct config_set *set, struct origin at, const char *name, const char *nos, bool host);
/* As it was when there were so many devices and notes: of a text that turned out to say nothing. */
void config_forget(struct config_set *set, uint32_t devices, uint32_t notes);
/* The device of this name; CONFIG_NONE: none yet. */
uint32_t config_device_find(const struct config_set *set, const char *name);
/* The name for a text that has none inside: what the caller gave, or the file's name without folder and suffix. */
const char *config_device_name(struct config_set *set, const struct config_text *text);
uint32_t config_port(struct config_set *set, struct origin at, uint32_t device, const char *name);
uint32_t config_port_find(const struct config_set *set, uint32_t device, const char *name); /* CONFIG_NONE: none */
__attribute__((format(printf, 6, 7))) void config_say(struct config_set *set, struct origin at, uint32_t device,
                                                      uint32_t port, const char *path, const char *format, ...);
/* classes.TC.key */
__attribute__((format(printf, 7, 8))) void config_say_class(struct config_set *set, struct origin at, uint32_t device,
                                                            uint32_t port, unsigned tc, const char *key,
                                                            const char *format, ...);
/* `map`.from, below 100; classes.TC.key.  `buf`. */
const char *config_map_path(char buf[CONFIG_PATH], const char *map, unsigned from);
const char *config_class_path(char buf[CONFIG_PATH], unsigned tc, const char *key);
/* `map`.from: to; a dscp-map or pcp-map makes its targets classes. */
void config_say_map(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *map,
                    unsigned from, unsigned to);
/* `pfc: [3, 4]` or `pfc: false` from bits. */
void config_say_bits(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *path,
                     unsigned bits);
/* What was said, NULL: nothing. */
const char *config_said(const struct config_set *set, uint32_t device, uint32_t port, const char *path);
bool config_is_down(const struct config_set *set, uint32_t device, uint32_t port);  /* the port says `up: false` */
struct config_said *config_said_of(const struct config_port *of, const char *path); /* NULL: it does not say it */
void config_unsay(struct config_set *set, struct config_port *of, const char *path);
void config_link(struct config_set *set, struct origin at, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port);
/* The port's other end, by name: a link once all texts are read, if that device is of a configuration too. */
void config_neighbour(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *name,
                      const char *port_name);
/* The whole description of a port (ends.c): `leaf0:swp3` is such a neighbour, `leaf0:swp3,30m` also says the cable's
 * length; of any other the other end is taken where it names a device and one of its ports. */
void config_described(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *text);
/* An address of a port with its prefix, `10.0.0.1/31` or `2001:db8::1/127` (ends.c): two ports in a subnet for two are
 * the ends of a link.  Anything else says nothing. */
void config_address(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *text);
void config_class_name(struct config_set *set, unsigned tc, const char *name);
/* A class of this name takes these DSCPs: one that is called after CNPs says with which they are sent. */
void config_class_dscps(struct config_set *set, uint32_t device, const char *name, uint64_t dscps);
/* rule NULL: not understood.  device, port: CONFIG_NONE where of none. */
__attribute__((format(printf, 6, 7))) void config_note(struct config_set *set, struct origin at, const char *rule,
                                                       uint32_t device, uint32_t port, const char *format, ...);
/* The same of this severity at most, if the rule says more: CONFIG_INFO for what does no harm, CONFIG_WARNING for what
 * the system puts up with. */
__attribute__((format(printf, 7, 8))) void config_finding(struct config_set *set, struct origin at, const char *rule,
                                                          enum config_most most, uint32_t device, uint32_t port,
                                                          const char *format, ...);
/* The same for what was taken where nothing is said. */
__attribute__((format(printf, 5, 6))) void config_assume(struct config_set *set, struct origin at, uint32_t device,
                                                         uint32_t port, const char *format, ...);
/* The rule cannot be judged for this port (CONFIG_NONE: the device), because ...: a table or block that it rests on is
 * not in the text, was not understood, or has keys that were not read.  `rules` are ids, or the letters that several
 * begin with, a blank between them.  check then drops what the rule finds there, at either end of a link, gives the
 * port no vote in it, and lists the cause. */
__attribute__((format(printf, 6, 7))) void config_unjudged(struct config_set *set, struct origin at, const char *rules,
                                                           uint32_t device, uint32_t port, const char *format, ...);
/* The text that is read changes another, of the same device. */
void config_change(struct config_set *set);
/* Nothing in the text uses the port: no address, description, neighbour, bundle or line of QoS.  It has no vote in any
 * rule and nothing is found on it.  (A port that is administratively down says `up: false`, with the same effect.) */
void config_idle(struct config_set *set, uint32_t device, uint32_t port);
/* One more block, behind those that are there: a text may open an interface again and add to it. */
void config_blocks_add(struct config_set *set, struct config_blocks *to, uint32_t first, uint32_t end, uint32_t index);
bool config_blocks_have(const struct config_blocks *blocks, uint32_t line);
/* The port's own lines; what it says by a policy or profile that stands elsewhere is told of the port at `by`, the line
 * that applies it. */
void config_block(struct config_set *set, struct origin by, const struct config_blocks *blocks, uint32_t device,
                  uint32_t port);
/* Is it one of the port's own lines? */
bool config_owns(const struct config_port *port, struct origin at);
/* The place of a thing that the port alone has wrong: where it was said, if that is of the port. */
struct origin config_own(const struct config_port *port, struct origin said);
/* The port is a member of this bundle (Port-Channel10, bond3, ae0). */
void config_lag(struct config_set *set, struct origin at, uint32_t device, uint32_t port, const char *name);
/* Routing uses at most so many equal paths, by this line or by the system's default, and has so many neighbours. */
void config_paths(struct config_set *set, struct origin at, uint32_t device, uint32_t paths, uint32_t routers);
/* Where it was said; line 0: nowhere. */
struct origin config_said_at(const struct config_set *set, uint32_t device, uint32_t port, const char *path);
/* Where a path, or what is below it, or else what is around it, was said for this port of a device, or for the device:
 * its own line also where config_write() wrote it once for all ports.  Line 0: nowhere. */
struct origin config_where(const struct config_set *set, const char *device, uint32_t port, const char *path);
/* The same of the port alone: where it says nothing of it, its own first line. */
struct origin config_where_own(const struct config_set *set, const char *device, uint32_t port, const char *path);

/* --- between set.c, judge.c and write/write.c --- */
void config_judge(struct config_set *set); /* after all texts: links of neighbours, notes that hold for any system */
/* CHECKs what must hold of a judged set.  config_write() calls it in builds that are not optimized. */
void config_audit(const struct config_set *set);

/* --- for emitters (emit.c) --- */
struct config_alike { /* ports of a node, put together by what they have alike */
    uint32_t *of;     /* [number of the port]: its kind */
    uint32_t *port;   /* [kind]: one that is of it, into the fabric's */
    uint32_t kinds;   /* the first is that of most ports */
};
typedef bool config_same(const struct fabric *fabric, uint32_t a, uint32_t b); /* ports */
void config_alike(const struct config_emit *emit, struct arena *arena, config_same *same, struct config_alike *ret);
bool config_same_trusted(const struct fabric *fabric, uint32_t a, uint32_t b); /* the field that is trusted, its map */
bool config_same_queue_map(const struct fabric *fabric, uint32_t a, uint32_t b);
bool config_same_queues(const struct fabric *fabric, uint32_t a, uint32_t b); /* schedule and marking */
bool config_same_maps(const struct fabric *fabric, uint32_t a, uint32_t b);   /* DSCP, PCP, queues */

struct config_cage {
    uint32_t cage, part; /* from 1 */
    uint32_t parts;      /* that the cage is split into; 1: it is not */
    uint32_t rate_gbps;  /* of the whole cage */
    uint32_t lanes;      /* of the whole cage; never fewer than a cage of the switch has parts */
};
/* Where a port of a switch lies (cages.c); false: its model has no cages. */
bool config_cage(const struct fabric *fabric, uint32_t port, struct config_cage *ret);
const struct fabric_settings *config_settings(const struct fabric *fabric, uint32_t port);
uint8_t config_paused(const struct fabric_settings *settings);               /* bits: priorities, either way */
uint64_t config_headroom_metres(const struct fabric *fabric, uint32_t port); /* of cable; 0: not known */
/* The name, and behind it the number of a kind, where that is not the first: `ROCELAB-2`. */
#define CONFIG_NUMBERED 64
const char *config_numbered(const char *name, uint32_t kind, char buf[CONFIG_NUMBERED]);
uint32_t config_within_ms(uint64_t time_ps, uint32_t least, uint32_t most);
/* The other end of the port and the cable's length, where it is known, as `leaf0:swp3,30m`; false: there is none that
 * a configuration could name. */
bool config_peer_label(const struct config_emit *emit, const struct config_format *format, uint32_t port, char *buf,
                       size_t size);
/* The name the fabric gives the port, or the system's. */
void config_port_label(const struct config_emit *emit, const struct config_format *format, uint32_t port, char *buf,
                       size_t size);
/* The class whose priority is this traffic class, NULL: none. */
const struct fabric_class *config_class_of(const struct fabric *fabric, unsigned tc);
/* Bits: queues that classes of the fabric use on a port with these settings. */
uint8_t config_queues(const struct fabric *fabric, const struct fabric_settings *settings);
/* Whole percents of the queues that share, none 0 and no more than 100 together; 0 for all others.  fill: 100 together,
 * as tools of hosts demand. */
void config_percents(const struct fabric_settings *settings, uint8_t queues, bool fill, unsigned ret[FABRIC_PRIOS]);
unsigned config_percent(uint32_t ppm);        /* of a probability: 1 to 100 */
void config_kbytes(FILE *to, uint64_t bytes); /* as NX-OS and EOS print sizes: `500 kbytes`, `1234 bytes` */
uint64_t config_metres(uint64_t mm);          /* up to whole ones */

/* A line of its own, where comments are wanted; what is no text is cleaned, so that it stays one line. */
__attribute__((format(printf, 3, 4))) void config_comment(const struct config_emit *emit,
                                                          const struct config_format *format, const char *text, ...);
/* The same of a fixed text, four columns further on. */
void config_comment_inside(const struct config_emit *emit, const struct config_format *format, const char *text);
/* What stands first and last: the device, what of the fabric its system cannot say; commands that show what is set. */
void config_head(const struct config_emit *emit, const struct config_format *format);
void config_tail(const struct config_emit *emit, const struct config_format *format);

#endif
