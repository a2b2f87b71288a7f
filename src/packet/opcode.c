/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opcode table, the NAK names and the RNR timer.
 *
 * A table of 256 entries, filled from OPCODE_LIST by the compiler, so that a parser asks once and
 * never switches on an opcode.  Sizes of the extended headers: InfiniBand 1.x vol. 1, 9.2 to 9.6.
 * RD, XRC, reserved and vendor opcodes stay empty entries (name NULL).
 */
#include "packet/opcode.h"

#include "base/time.h"

#define HEADER_BYTES(flags)                                                                                            \
    (((flags)&OP_DETH ? 8 : 0) + ((flags)&OP_RETH ? 16 : 0) + ((flags)&OP_ATOMICETH ? 28 : 0) +                        \
     ((flags)&OP_AETH ? 4 : 0) + ((flags)&OP_ATOMICACKETH ? 8 : 0) + ((flags)&OP_IMMDT ? 4 : 0) +                      \
     ((flags)&OP_IETH ? 4 : 0))

const struct opcode_info opcode_table[256] = {
#define X(id, code, transport, verb, flags, name) [code] = {name, flags, transport, verb, HEADER_BYTES(flags)},
    OPCODE_LIST(X)
#undef X
};

const char *nak_name(unsigned code)
{
    static const char *const names[NAK_CODES] = {
        [NAK_PSN_SEQUENCE] = "PSN sequence error",   [NAK_INVALID_REQUEST] = "invalid request",
        [NAK_REMOTE_ACCESS] = "remote access error", [NAK_REMOTE_OPERATION] = "remote operational error",
        [NAK_INVALID_RD] = "invalid RD request",
    };
    return code < NAK_CODES ? names[code] : "reserved NAK code";
}

/* Table 45 in steps of 10 us: from code 2 on each pair of codes doubles the pair before; 0 is the
 * longest wait. */
uint64_t rnr_timer_ps(unsigned code)
{
    static const uint16_t steps[32] = {
        0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
        256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
    };
    unsigned index = code & 31;
    uint64_t tens_us = index ? steps[index] : 65536;
    return tens_us * 10 * PS_US;
}
