/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BTH opcodes: one list gives the number, the name people know and the extended headers that
 * follow (InfiniBand Architecture Specification 1.x, volume 1, chapter 9.2 and table 38;
 * CNP: annex A17).
 */
#ifndef ROCELAB_PACKET_OPCODE_H
#define ROCELAB_PACKET_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

/* extended headers, in wire order */
#define OP_DETH 0x0001u
#define OP_RETH 0x0002u
#define OP_ATOMICETH 0x0004u
#define OP_AETH 0x0008u
#define OP_ATOMICACKETH 0x0010u
#define OP_IMMDT 0x0020u
#define OP_IETH 0x0040u
/* what the packet is */
#define OP_PAYLOAD 0x0080u  /* may carry payload */
#define OP_FIRST 0x0100u    /* begins a message (First or Only) */
#define OP_LAST 0x0200u     /* ends a message (Last or Only) */
#define OP_REQUEST 0x0400u  /* sent by the requester */
#define OP_RESPONSE 0x0800u /* sent by the responder */

#define OP_HEADERS (OP_DETH | OP_RETH | OP_ATOMICETH | OP_AETH | OP_ATOMICACKETH | OP_IMMDT | OP_IETH)
/* the combinations that OPCODE_LIST is written with */
#define OP_ONLY (OP_FIRST | OP_LAST)
#define OP_DATA_MIDDLE (OP_PAYLOAD | OP_REQUEST)
#define OP_DATA_FIRST (OP_DATA_MIDDLE | OP_FIRST)
#define OP_DATA_LAST (OP_DATA_MIDDLE | OP_LAST)
#define OP_DATA_ONLY (OP_DATA_MIDDLE | OP_ONLY)
#define OP_REPLY_MIDDLE (OP_PAYLOAD | OP_RESPONSE)
#define OP_REPLY_FIRST (OP_REPLY_MIDDLE | OP_FIRST)
#define OP_REPLY_LAST (OP_REPLY_MIDDLE | OP_LAST)
#define OP_REPLY_ONLY (OP_REPLY_MIDDLE | OP_ONLY)

enum op_transport { OP_RC, OP_UC, OP_UD, OP_CNP_KIND };
enum op_verb { OP_SEND, OP_WRITE, OP_READ, OP_ATOMIC, OP_ACK, OP_NOTIFY };

/* clang-format off */
/* identifier, code, transport, verb, flags, name */
#define OPCODE_LIST(X)                                                                                                 \
    X(RC_SEND_FIRST,           0x00, OP_RC, OP_SEND,   OP_DATA_FIRST,                      "RC SEND First")            \
    X(RC_SEND_MIDDLE,          0x01, OP_RC, OP_SEND,   OP_DATA_MIDDLE,                     "RC SEND Middle")           \
    X(RC_SEND_LAST,            0x02, OP_RC, OP_SEND,   OP_DATA_LAST,                       "RC SEND Last")             \
    X(RC_SEND_LAST_IMM,        0x03, OP_RC, OP_SEND,   OP_IMMDT | OP_DATA_LAST,            "RC SEND Last Imm")         \
    X(RC_SEND_ONLY,            0x04, OP_RC, OP_SEND,   OP_DATA_ONLY,                       "RC SEND Only")             \
    X(RC_SEND_ONLY_IMM,        0x05, OP_RC, OP_SEND,   OP_IMMDT | OP_DATA_ONLY,            "RC SEND Only Imm")         \
    X(RC_WRITE_FIRST,          0x06, OP_RC, OP_WRITE,  OP_RETH | OP_DATA_FIRST,            "RC WRITE First")           \
    X(RC_WRITE_MIDDLE,         0x07, OP_RC, OP_WRITE,  OP_DATA_MIDDLE,                     "RC WRITE Middle")          \
    X(RC_WRITE_LAST,           0x08, OP_RC, OP_WRITE,  OP_DATA_LAST,                       "RC WRITE Last")            \
    X(RC_WRITE_LAST_IMM,       0x09, OP_RC, OP_WRITE,  OP_IMMDT | OP_DATA_LAST,            "RC WRITE Last Imm")        \
    X(RC_WRITE_ONLY,           0x0a, OP_RC, OP_WRITE,  OP_RETH | OP_DATA_ONLY,             "RC WRITE Only")            \
    X(RC_WRITE_ONLY_IMM,       0x0b, OP_RC, OP_WRITE,  OP_RETH | OP_IMMDT | OP_DATA_ONLY,  "RC WRITE Only Imm")        \
    X(RC_READ_REQUEST,         0x0c, OP_RC, OP_READ,   OP_RETH | OP_ONLY | OP_REQUEST,     "RC READ Request")          \
    X(RC_READ_RESPONSE_FIRST,  0x0d, OP_RC, OP_READ,   OP_AETH | OP_REPLY_FIRST,           "RC READ Response First")   \
    X(RC_READ_RESPONSE_MIDDLE, 0x0e, OP_RC, OP_READ,   OP_REPLY_MIDDLE,                    "RC READ Response Middle")  \
    X(RC_READ_RESPONSE_LAST,   0x0f, OP_RC, OP_READ,   OP_AETH | OP_REPLY_LAST,            "RC READ Response Last")    \
    X(RC_READ_RESPONSE_ONLY,   0x10, OP_RC, OP_READ,   OP_AETH | OP_REPLY_ONLY,            "RC READ Response Only")    \
    X(RC_ACK,                  0x11, OP_RC, OP_ACK,    OP_AETH | OP_RESPONSE,              "RC ACK")                   \
    X(RC_ATOMIC_ACK,           0x12, OP_RC, OP_ATOMIC, OP_AETH | OP_ATOMICACKETH | OP_RESPONSE, "RC ATOMIC ACK")       \
    X(RC_COMPARE_SWAP,         0x13, OP_RC, OP_ATOMIC, OP_ATOMICETH | OP_ONLY | OP_REQUEST, "RC COMPARE SWAP")         \
    X(RC_FETCH_ADD,            0x14, OP_RC, OP_ATOMIC, OP_ATOMICETH | OP_ONLY | OP_REQUEST, "RC FETCH ADD")            \
    X(RC_SEND_LAST_INV,        0x16, OP_RC, OP_SEND,   OP_IETH | OP_DATA_LAST,             "RC SEND Last Invalidate")  \
    X(RC_SEND_ONLY_INV,        0x17, OP_RC, OP_SEND,   OP_IETH | OP_DATA_ONLY,             "RC SEND Only Invalidate")  \
    X(UC_SEND_FIRST,           0x20, OP_UC, OP_SEND,   OP_DATA_FIRST,                      "UC SEND First")            \
    X(UC_SEND_MIDDLE,          0x21, OP_UC, OP_SEND,   OP_DATA_MIDDLE,                     "UC SEND Middle")           \
    X(UC_SEND_LAST,            0x22, OP_UC, OP_SEND,   OP_DATA_LAST,                       "UC SEND Last")             \
    X(UC_SEND_LAST_IMM,        0x23, OP_UC, OP_SEND,   OP_IMMDT | OP_DATA_LAST,            "UC SEND Last Imm")         \
    X(UC_SEND_ONLY,            0x24, OP_UC, OP_SEND,   OP_DATA_ONLY,                       "UC SEND Only")             \
    X(UC_SEND_ONLY_IMM,        0x25, OP_UC, OP_SEND,   OP_IMMDT | OP_DATA_ONLY,            "UC SEND Only Imm")         \
    X(UC_WRITE_FIRST,          0x26, OP_UC, OP_WRITE,  OP_RETH | OP_DATA_FIRST,            "UC WRITE First")           \
    X(UC_WRITE_MIDDLE,         0x27, OP_UC, OP_WRITE,  OP_DATA_MIDDLE,                     "UC WRITE Middle")          \
    X(UC_WRITE_LAST,           0x28, OP_UC, OP_WRITE,  OP_DATA_LAST,                       "UC WRITE Last")            \
    X(UC_WRITE_LAST_IMM,       0x29, OP_UC, OP_WRITE,  OP_IMMDT | OP_DATA_LAST,            "UC WRITE Last Imm")        \
    X(UC_WRITE_ONLY,           0x2a, OP_UC, OP_WRITE,  OP_RETH | OP_DATA_ONLY,             "UC WRITE Only")            \
    X(UC_WRITE_ONLY_IMM,       0x2b, OP_UC, OP_WRITE,  OP_RETH | OP_IMMDT | OP_DATA_ONLY,  "UC WRITE Only Imm")        \
    X(UD_SEND_ONLY,            0x64, OP_UD, OP_SEND,   OP_DETH | OP_DATA_ONLY,             "UD SEND Only")             \
    X(UD_SEND_ONLY_IMM,        0x65, OP_UD, OP_SEND,   OP_DETH | OP_IMMDT | OP_DATA_ONLY,  "UD SEND Only Imm")         \
    X(CNP,                     0x81, OP_CNP_KIND, OP_NOTIFY, OP_PAYLOAD,                         "CNP")
/* clang-format on */

enum opcode {
#define X(id, code, transport, verb, flags, name) OPCODE_##id = code,
    OPCODE_LIST(X)
#undef X
};

struct opcode_info {
    const char *name; /* NULL: not an opcode we dissect (RD, XRC, vendor, reserved) */
    uint16_t flags;
    uint8_t transport;    /* enum op_transport */
    uint8_t verb;         /* enum op_verb */
    uint8_t header_bytes; /* all extended headers together */
};

extern const struct opcode_info opcode_table[256];

static inline const struct opcode_info *opcode_info(uint8_t opcode)
{
    return &opcode_table[opcode];
}

/* AETH syndrome, bits 6:5 */
enum aeth_kind { AETH_ACK = 0, AETH_RNR_NAK = 1, AETH_RESERVED = 2, AETH_NAK = 3 };

static inline enum aeth_kind aeth_kind(uint8_t syndrome)
{
    return (enum aeth_kind)(syndrome >> 5 & 3);
}

/* whole syndromes: RNR and NAK with their code (timer, enum nak_code) in bits 4:0 */
#define AETH_SYNDROME_ACK 0x1fu /* no credits are told (volume 1, 9.7.7.2.5) */
#define AETH_SYNDROME_RNR 0x20u
#define AETH_SYNDROME_NAK 0x60u

/* AETH NAK codes, bits 4:0 when the kind is AETH_NAK */
enum nak_code {
    NAK_PSN_SEQUENCE,
    NAK_INVALID_REQUEST,
    NAK_REMOTE_ACCESS,
    NAK_REMOTE_OPERATION,
    NAK_INVALID_RD,
    NAK_CODES
};

const char *nak_name(unsigned code);  /* "PSN sequence error" ...; "reserved NAK code" past the list */
uint64_t rnr_timer_ps(unsigned code); /* bits 4:0 of an RNR NAK, table 45: 0 means 655.36 ms */

#endif
