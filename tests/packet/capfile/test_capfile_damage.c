/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are not whole, or not captures: what comes before the damage is read, the sentence says
 * where and what, and nothing outside the file's bytes is touched (each damaged file is an
 * allocation of exactly its size, for the address sanitizer).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "build.h"
#include "packet/capfile/capfile.h"

static uint8_t frame[256];

struct outcome {
    int rc; /* of open if that failed, else of the last next */
    unsigned records;
    uint64_t touched; /* sum of all bytes of all records: reads them */
    char error[CAPFILE_ERROR];
};

static struct outcome drain(const uint8_t *bytes, size_t count)
{
    struct outcome outcome = {0};
    uint8_t *exact = malloc(count > 0 ? count : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, count);
    struct capfile *file;
    outcome.rc = capfile_open_memory(exact, count, &file, outcome.error);
    if (outcome.rc == 0) {
        struct capfile_record record;
        uint64_t number = 0;
        while ((outcome.rc = capfile_next(file, &record, outcome.error)) == 1) {
            outcome.records++;
            assert_true(record.number > number);
            number = record.number;
            for (uint32_t i = 0; i < record.captured; i++)
                outcome.touched += record.data[i];
        }
        capfile_close(file);
    }
    free(exact);
    return outcome;
}

static void assert_says(const struct outcome *outcome, int rc, const char *part)
{
    if (outcome->rc != rc || !strstr(outcome->error, part))
        fail_msg("answered %d \"%s\", not %d with \"%s\"", outcome->rc, outcome->error, rc, part);
}

static void small_pcap(struct build *build, size_t ends[4])
{
    build_init(build, false);
    build_pcap(build, 0xa1b23c4d, 1);
    ends[0] = build->used;
    for (unsigned i = 1; i < 4; i++) {
        build_pcap_record(build, i, i, frame, 40 + 7 * i, 1500);
        ends[i] = build->used;
    }
}

static void small_pcapng(struct build *build, size_t ends[4])
{
    build_init(build, true);
    build_section(build);
    build_interface(build, 1, 0, 9, 0, 0);
    ends[0] = build->used;
    for (unsigned i = 1; i < 4; i++) {
        build_packet(build, 0, i, frame, 40 + 7 * i, 1500);
        ends[i] = build->used;
    }
}

static void pcap_cut_anywhere(void **state)
{
    (void)state;
    struct build build;
    size_t ends[4];
    small_pcap(&build, ends);
    for (size_t length = 0; length <= build.used; length++) {
        struct outcome outcome = drain(build.bytes, length);
        unsigned whole = 0;
        while (whole < 3 && ends[whole + 1] <= length)
            whole++;
        assert_int_equal(outcome.records, whole);
        char want[128];
        if (length == 0) {
            assert_says(&outcome, -EBADMSG, "empty: 0 bytes");
        } else if (length < 4) {
            snprintf(want, sizeof(want), "only %zu byte%s long", length, length == 1 ? "" : "s");
            assert_says(&outcome, -EBADMSG, want);
        } else if (length < ends[0]) {
            snprintf(want, sizeof(want), "ends inside the pcap file header at byte 0: %zu of 24 bytes", length);
            assert_says(&outcome, -EBADMSG, want);
        } else if (length == ends[whole]) {
            assert_int_equal(outcome.rc, 0);
        } else {
            size_t have = length - ends[whole], need = have < 16 ? 16 : ends[whole + 1] - ends[whole];
            snprintf(want, sizeof(want), "ends inside record %u at byte %zu: %zu of %zu bytes", whole + 1, ends[whole],
                     have, need);
            assert_says(&outcome, -EBADMSG, want);
        }
    }
    build_free(&build);
}

static void pcapng_cut_anywhere(void **state)
{
    (void)state;
    struct build build;
    size_t ends[4];
    small_pcapng(&build, ends);
    for (size_t length = 4; length <= build.used; length++) {
        struct outcome outcome = drain(build.bytes, length);
        unsigned whole = 0;
        while (whole < 3 && ends[whole + 1] <= length)
            whole++;
        assert_int_equal(outcome.records, whole);
        char want[128];
        if (length == 28 || length == ends[whole]) { /* after the section header, the interface, a packet */
            assert_int_equal(outcome.rc, 0);
        } else if (length < ends[0]) {
            assert_says(&outcome, -EBADMSG, "ends inside the ");
        } else {
            size_t have = length - ends[whole];
            if (have < 12)
                snprintf(want, sizeof(want), "ends inside the block after record %u at byte %zu: %zu of 12 bytes",
                         whole, ends[whole], have);
            else
                snprintf(want, sizeof(want), "ends inside record %u at byte %zu: %zu of %zu bytes", whole + 1,
                         ends[whole], have, ends[whole + 1] - ends[whole]);
            assert_says(&outcome, -EBADMSG, want);
        }
    }
    build_free(&build);
}

/* Any bits may be wrong: it ends, it reads no byte it should not, and an error has a sentence. */
static void flipped_bytes(void **state)
{
    (void)state;
    const uint64_t seed = 0x5eed0002;
    struct build build[2];
    size_t ends[4];
    small_pcap(&build[0], ends);
    small_pcapng(&build[1], ends);
    for (unsigned round = 0; round < 20000; round++) {
        struct rng rng;
        rng_init(&rng, seed, round);
        uint8_t bytes[1024];
        size_t used = build[round & 1].used;
        assert_true(used <= sizeof(bytes));
        memcpy(bytes, build[round & 1].bytes, used);
        unsigned flips = 1 + (unsigned)rng_below(&rng, 4);
        for (unsigned i = 0; i < flips; i++)
            bytes[rng_below(&rng, used)] ^= (uint8_t)(1 + rng_below(&rng, 255));
        struct outcome outcome = drain(bytes, used);
        if (outcome.rc > 0 || (outcome.rc < 0 && (outcome.error[0] == '\0' || outcome.rc != -EBADMSG)))
            fail_msg("seed 0x%llx round %u: %d \"%s\"", (unsigned long long)seed, round, outcome.rc, outcome.error);
    }
    build_free(&build[0]);
    build_free(&build[1]);
}

static void impossible_lengths(void **state)
{
    (void)state;
    struct build build;
    size_t ends[4];
    small_pcap(&build, ends);
    build.bytes[ends[1] + 10] = 4; /* captured + 262144 */
    struct outcome outcome = drain(build.bytes, build.used);
    assert_int_equal(outcome.records, 1);
    assert_says(&outcome, -EBADMSG, "damaged: record 2 at byte 87 claims 262198 captured bytes");
    build_free(&build);

    static const struct {
        unsigned at; /* byte of the second packet's block */
        uint8_t value;
        const char *says;
    } cases[] = {
        {4, 0x80, "beyond the 16 MiB"}, /* block length */
        {7, 0x5a, "no multiple of 4"},
        {11, 1, "its interface is 1, the section has described 1"},
        {22, 1, "310 captured bytes do not fit"},
        {20, 1, "captured bytes do not fit"},
        {91, 3, "at the beginning and"}, /* trailing length */
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        small_pcapng(&build, ends);
        assert_int_equal(ends[2] - ends[1], 88);
        build.bytes[ends[1] + (cases[i].at == 91 ? 87 : cases[i].at)] = cases[i].value;
        outcome = drain(build.bytes, build.used);
        assert_int_equal(outcome.records, 1);
        assert_says(&outcome, -EBADMSG, cases[i].says);
        char where[64];
        snprintf(where, sizeof(where), "at byte %zu, after record 1", ends[1]);
        assert_says(&outcome, -EBADMSG, where);
        build_free(&build);
    }
}

static void too_many_interfaces(void **state)
{
    (void)state;
    struct build build;
    build_init(&build, false);
    build_section(&build);
    size_t begin = build.used;
    build_block(&build, 1);
    build_u32(&build, 1);
    build_u32(&build, 0);
    build_block_end(&build);
    size_t step = build.used - begin, count = CAPFILE_INTERFACES_MAX + 1;
    uint8_t *all = malloc(begin + step * count);
    assert_non_null(all);
    memcpy(all, build.bytes, begin);
    for (size_t i = 0; i < count; i++)
        memcpy(all + begin + step * i, build.bytes + begin, step);
    struct outcome outcome = drain(all, begin + step * (count - 1));
    assert_int_equal(outcome.rc, 0);
    outcome = drain(all, begin + step * count);
    assert_says(&outcome, -EBADMSG, "more than 65536 interfaces in one section");
    free(all);
    build_free(&build);
}

static void not_captures(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *says;
    } cases[] = {
        {"\x1f\x8b\x08\0\0\0\0\0", 8, "begins with 1f 8b: gzip-compressed; run `zcat FILE | rocelab capture -`"},
        {"\x28\xb5\x2f\xfd....", 8, "zstd-compressed"},
        {"\xfd"
         "7zXZ\0..",
         8, "xz-compressed"},
        {"snoop\0\0\0\0\0\0\2", 12, "a Solaris snoop capture"},
        {"Frame 1: 60 bytes on wire\n", 26, "begins with \"Frame 1: 60 bytes on wir\": text"},
        {"\x01\x02\x03\x04\x05\x06\x07\x08\x09", 9, "begins with 01 02 03 04 05 06 07 08: neither pcap nor pcapng"},
        {"\xd4\xc3\xb2\xa1\x02\x00\x02\x00\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, "pcap version 2.2"},
        {"\x0a\x0d\x0d\x0a\0\0\0\x1c\1\2\3\4\0\0\0\0", 16, "its byte-order magic is 0x"},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome outcome = drain((const uint8_t *)cases[i].bytes, cases[i].count);
        assert_says(&outcome, -EBADMSG, cases[i].says);
    }
}

static void not_openable(void **state)
{
    (void)state;
    char error[CAPFILE_ERROR];
    struct capfile *file = NULL;
    assert_int_equal(capfile_open("/nonexistent/x.pcap", &file, error), -ENOENT);
    assert_string_equal(error, "No such file or directory");
    assert_int_equal(capfile_open("/tmp", &file, error), -EISDIR);
    assert_string_equal(error, "is a directory, not a capture file");
    assert_int_equal(capfile_open("/dev/null", &file, error), -EBADMSG);
    assert_non_null(strstr(error, "empty: 0 bytes"));
    assert_null(file);
    if (geteuid() != 0) { /* root reads everything */
        char path[64];
        build_to_file("x", 1, path);
        chmod(path, 0);
        assert_int_equal(capfile_open(path, &file, error), -EACCES);
        assert_string_equal(error, "Permission denied");
        unlink(path);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof(frame); i++)
        frame[i] = (uint8_t)i;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pcap_cut_anywhere),  cmocka_unit_test(pcapng_cut_anywhere), cmocka_unit_test(flipped_bytes),
        cmocka_unit_test(impossible_lengths), cmocka_unit_test(too_many_interfaces), cmocka_unit_test(not_captures),
        cmocka_unit_test(not_openable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
