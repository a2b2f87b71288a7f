/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture files: reads pcap and pcapng (either byte order, micro- and nanoseconds, any pcapng
 * resolution), writes nanosecond pcap.
 *
 * Why not libpcap: it gives up on a pcapng file at the first interface whose link type or snap
 * length differs from the first one's (1.10.3: "an interface has a type 113 different from the type
 * of the first interface"), it cannot say where a damaged file went wrong, and it reads a packet at
 * a time: over 4 KB packets its loop takes three times as long as this one (docs/internals/capfile.md).
 * The tests hold this reader against libpcap on every file that libpcap reads, and against tshark
 * on those it does not.
 *
 * Files and pipes are read alike, into one buffer of bounded size.  A record's bytes stay valid
 * until the next call.  What the file cannot make us do: use more than CAPFILE_BLOCK_MAX for that
 * buffer or hold more than CAPFILE_INTERFACES_MAX interfaces.
 */
#ifndef ROCELAB_PACKET_CAPFILE_CAPFILE_H
#define ROCELAB_PACKET_CAPFILE_CAPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPFILE_RECORD_MAX (256u << 10)   /* bytes of a packet; more is damage, as libpcap and Wireshark hold */
#define CAPFILE_BLOCK_MAX (16u << 20)     /* bytes of a pcapng block of any type; more is damage */
#define CAPFILE_INTERFACES_MAX (1u << 16) /* of one pcapng section */

struct capfile;

struct capfile_record {
    const uint8_t *data;
    uint32_t captured, length; /* bytes kept, bytes on the wire */
    uint64_t number;           /* from 1, as Wireshark counts (every packet of every interface) */
    uint64_t time_ns;          /* since 1970, signed pcapng offsets applied; a Simple Packet Block, which
                                * has no time, gets that of the record before it */
    uint32_t interface;        /* pcapng: from 0, in order of appearance in its section; 0 for pcap */
    uint32_t link_type;        /* LINKTYPE_* */
    uint64_t if_speed_bps;     /* pcapng if_speed, 0 when not told */
};

#define CAPFILE_ERROR 256

/* path "-" is standard input.  0, -errno with a sentence in error (never the file name: the
 * caller puts it in front).  On a pipe this waits for the file's first bytes; -EINTR when a signal
 * handler ran meanwhile. */
int capfile_open(const char *path, struct capfile **ret, char error[CAPFILE_ERROR]);
/* For tests and fuzzing: a file in memory, not copied. */
int capfile_open_memory(const uint8_t *data, size_t length, struct capfile **ret, char error[CAPFILE_ERROR]);
/* 1: *ret is a record; 0: the end; -EBADMSG: damaged from here on (the sentence is in error, with the
 * byte offset); -EIO and others: reading failed.  After a negative answer only close is allowed;
 * what was read before counts.  One exception: -EINTR, a signal handler (installed without
 * SA_RESTART) ran while waiting for a pipe.  Then the caller may stop and report, or call again:
 * nothing is lost. */
int capfile_next(struct capfile *file, struct capfile_record *ret, char error[CAPFILE_ERROR]);
/* Bytes consumed and the size (0 for a pipe): for progress. */
void capfile_progress(const struct capfile *file, uint64_t *ret_done, uint64_t *ret_size);
/* True when capfile_next would answer without waiting.  A file: always.  A pipe: when a whole record
 * (or damage, or the end) is in the buffer; what still sits in the pipe itself does not count. */
bool capfile_ready(const struct capfile *file);
void capfile_close(struct capfile *file);
const char *capfile_link_name(uint32_t link_type); /* "Ethernet", "IEEE 802.11", ...; "unknown" */

/* A file to write, as options name it: FILE[,snap=BYTES][,size=SIZE].  What is read as a size is told in `why`. */
#define CAPWRITER_PATH 1024
#define CAPWRITER_SYNTAX "FILE[,snap=BYTES][,size=SIZE]"
#define CAPWRITER_SNAP_LEAST 64u   /* the headers that are looked at */
#define CAPWRITER_SIZE 1000000000u /* of a file, where nothing else is said */
struct capwriter_name {
    char path[CAPWRITER_PATH];
    uint32_t snap; /* bytes of a packet that are written at most; 0: all */
    uint64_t size; /* bytes that the file may have; 0: any */
};
int capwriter_name_parse(const char *text, struct capwriter_name *ret, char *why, size_t why_bytes); /* 0, -EINVAL */

struct capwriter;
int capwriter_open(const char *path, uint32_t link_type, struct capwriter **ret); /* 0 or -errno; "-" is stdout */
/* Before the first record: packets are cut, and none is written from the first on that has no room. */
void capwriter_limit(struct capwriter *writer, const struct capwriter_name *name);
/* The file has its name now, and grows under it; without this it has when it is closed, and all could be written. */
int capwriter_show(struct capwriter *writer);                /* 0 or -errno */
uint64_t capwriter_left_out(const struct capwriter *writer); /* packets that the limit has kept out */
/* 0; -EMSGSIZE: more than CAPFILE_RECORD_MAX bytes; -ERANGE: later than pcap can say (2106); otherwise
 * -errno of the first write that failed. */
int capwriter_write(struct capwriter *writer, uint64_t time_ns, const uint8_t *data, uint32_t captured,
                    uint32_t length);
/* What was gathered goes to the file now. */
int capwriter_flush(struct capwriter *writer);   /* 0, or -errno of the first write that failed */
void capwriter_cancel(struct capwriter *writer); /* it will be closed, and what was there stays */
int capwriter_close(struct capwriter *writer);   /* 0, or -errno of the first write that failed */

#endif
