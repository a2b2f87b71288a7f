/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are whole: the reader against libpcap record by record (time, lengths, bytes), for what
 * our writer wrote, for every stored capture, and for files built in both byte orders; and against
 * what was put in, where libpcap does not go (several link types, odd clocks, sections).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "build.h"
#include "packet/capfile/capfile.h"

static uint8_t frame[2048]; /* 0, 1, 2, ... */

/* Reads `path` with both; answers how many records were equal. */
static unsigned same_as_libpcap(const char *path)
{
    char error[CAPFILE_ERROR], pcap_error[PCAP_ERRBUF_SIZE];
    struct capfile *file;
    if (capfile_open(path, &file, error) != 0) fail_msg("%s: %s", path, error);
    pcap_t *pcap = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, pcap_error);
    if (!pcap) fail_msg("%s: libpcap: %s", path, pcap_error);
    unsigned records = 0;
    for (;;) {
        struct capfile_record record;
        struct pcap_pkthdr *header;
        const uint8_t *data;
        int ours = capfile_next(file, &record, error), theirs = pcap_next_ex(pcap, &header, &data);
        if (ours < 0) fail_msg("%s: %s", path, error);
        if (theirs == PCAP_ERROR) fail_msg("%s: libpcap: %s", path, pcap_geterr(pcap));
        assert_int_equal(ours, theirs == 1);
        if (ours == 0) break;
        assert_int_equal(record.number, ++records);
        assert_int_equal(record.captured, header->caplen);
        assert_int_equal(record.length, header->len);
        uint64_t seconds = (uint32_t)header->ts.tv_sec; /* libpcap takes those after 2038 for negative ones */
        assert_int_equal(record.time_ns, seconds * 1000000000 + (uint64_t)header->ts.tv_usec);
        assert_memory_equal(record.data, data, header->caplen);
        assert_int_equal(record.link_type, pcap_datalink(pcap)); /* the same number for all those used here */
    }
    uint64_t done, size;
    capfile_progress(file, &done, &size);
    assert_int_equal(done, size);
    capfile_close(file);
    pcap_close(pcap);
    return records;
}

static void written_by_us(void **state)
{
    (void)state;
    const uint64_t seed = 0x5eed0001;
    print_message("seed 0x%llx\n", (unsigned long long)seed);
    struct rng rng;
    rng_init(&rng, seed, 0);
    char path[64];
    build_to_file("", 0, path);
    struct capwriter *writer;
    assert_int_equal(capwriter_open(path, 1, &writer), 0);
    for (unsigned i = 0; i < 3000; i++) { /* some 3 MB: several fills of the reader's buffer */
        uint32_t captured = (uint32_t)rng_below(&rng, sizeof(frame) + 1);
        uint64_t time_ns = rng_below(&rng, 0xffffffffull * 1000000000);
        assert_int_equal(capwriter_write(writer, time_ns, frame, captured, captured + (uint32_t)rng_below(&rng, 3)), 0);
    }
    assert_int_equal(capwriter_close(writer), 0);
    assert_int_equal(same_as_libpcap(path), 3000);
    unlink(path);
}

static void stored_captures(void **state)
{
    (void)state;
    DIR *dir = opendir(TEST_DATA "/pcaps");
    assert_non_null(dir);
    unsigned files = 0, records = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".pcap") != 0) continue;
        char path[512];
        snprintf(path, sizeof(path), TEST_DATA "/pcaps/%s", entry->d_name);
        records += same_as_libpcap(path);
        files++;
    }
    closedir(dir);
    assert_true(files >= 70);
    assert_true(records > 9000);
}

static unsigned built_same_as_libpcap(const struct build *build)
{
    char path[64];
    build_to_file(build->bytes, build->used, path);
    unsigned records = same_as_libpcap(path);
    unlink(path);
    return records;
}

static void pcap_magics_and_orders(void **state)
{
    (void)state;
    const uint32_t magics[] = {0xa1b2c3d4, 0xa1b23c4d};
    for (unsigned i = 0; i < 4; i++) {
        struct build build;
        build_init(&build, i & 1);
        build_pcap(&build, magics[i >> 1], 1 | 0x24000000); /* an FCS of 4 bytes */
        for (uint32_t j = 0; j < 20; j++)
            build_pcap_record(&build, 0xfffffff0 + j % 16, 999999 - j, frame, 60 + j, 80 + j);
        assert_int_equal(built_same_as_libpcap(&build), 20);
        build_free(&build);
    }
}

static void pcap_modified(void **state)
{
    (void)state;
    for (unsigned big = 0; big < 2; big++) {
        struct build build;
        build_init(&build, big);
        build_pcap(&build, 0xa1b2cd34, 1);
        for (uint32_t j = 0; j < 20; j++) {
            build_pcap_record(&build, 1000 + j, j, "", 0, 90);
            build.used -= 8;
            build_u32(&build, 60 + j); /* captured */
            build_u32(&build, 90 + j);
            build_u64(&build, 0x0102030405060708); /* interface index, protocol, packet type */
            build_bytes(&build, frame, 60 + j);
        }
        assert_int_equal(built_same_as_libpcap(&build), 20);
        build_free(&build);
    }
}

static void pcapng_orders(void **state)
{
    (void)state;
    for (unsigned big = 0; big < 2; big++) {
        struct build build;
        build_init(&build, big);
        build_section(&build);
        build_interface(&build, 1, 65535, 9, 0, 400000000000);
        for (uint32_t j = 0; j < 20; j++) {
            build_packet(&build, 0, 1700000000123456789 + j, frame, 60 + j, 100 + j);
            build_packet_old(&build, 0, 1700000000223456789 + j, frame, 61 + j, 101 + j);
            build_block(&build, 0x7777);
            build_bytes(&build, frame, j);
            build_block_end(&build);
        }
        assert_int_equal(built_same_as_libpcap(&build), 40);
        build_free(&build);
    }
}

/* Reads all records of a built file, fewer than `room`; the last answer must be 0. */
static unsigned read_all(const struct build *build, struct capfile_record *ret, unsigned room)
{
    char error[CAPFILE_ERROR] = "";
    struct capfile *file;
    if (capfile_open_memory(build->bytes, build->used, &file, error) != 0) fail_msg("%s", error);
    unsigned count = 0;
    int rc;
    while (count < room && (rc = capfile_next(file, &ret[count], error)) == 1)
        count++;
    if (rc < 0) fail_msg("after %u records: %s", count, error);
    assert_int_equal(rc, 0);
    assert_int_equal(capfile_next(file, &ret[count], error), 0); /* and stays at the end */
    capfile_close(file);
    return count;
}

/* Two link types and snap lengths, two sections of opposite byte order, and blocks that take a number. */
static void sections_and_interfaces(void **state)
{
    (void)state;
    struct build build;
    build_init(&build, false);
    build_section(&build);
    build_interface(&build, 1, 65535, -1, 0, 100000000000);
    build_packet(&build, 0, 1000001, frame, 60, 60);
    build_interface(&build, 276, 96, 9, 0, 0);
    build_packet(&build, 1, 2000000001, frame, 96, 4000);
    build_block(&build, 0x0bad);
    build_u32(&build, 32473);
    build_block_end(&build);
    build_packet(&build, 0, 3000001, frame, 61, 61);
    build.big = true;
    build_section(&build);
    build_interface(&build, 113, 50, 9, 0, 0);
    build_packet(&build, 0, 4000000001, frame, 50, 1500);
    build_packet_simple(&build, frame, 50, 1500);
    build_packet_simple(&build, frame, 49, 49);

    struct capfile_record record[16];
    assert_int_equal(read_all(&build, record, 15), 6);
    static const struct {
        uint32_t number, captured, length, interface, link_type;
        uint64_t time_ns, speed_bps;
    } want[6] = {
        {1, 60, 60, 0, 1, 1000001000, 100000000000}, {2, 96, 4000, 1, 276, 2000000001, 0},
        {4, 61, 61, 0, 1, 3000001000, 100000000000}, {5, 50, 1500, 0, 113, 4000000001, 0},
        {6, 50, 1500, 0, 113, 4000000001, 0},        {7, 49, 49, 0, 113, 4000000001, 0},
    };
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(record[i].number, want[i].number);
        assert_int_equal(record[i].captured, want[i].captured);
        assert_int_equal(record[i].length, want[i].length);
        assert_int_equal(record[i].interface, want[i].interface);
        assert_int_equal(record[i].link_type, want[i].link_type);
        assert_int_equal(record[i].time_ns, want[i].time_ns);
        assert_int_equal(record[i].if_speed_bps, want[i].speed_bps);
        assert_memory_equal(record[i].data, frame, record[i].captured);
    }
    build_free(&build);
}

static void resolutions(void **state)
{
    (void)state;
    static const struct {
        int resolution;
        int64_t offset_s;
        uint64_t ticks, want_ns;
    } cases[] = {
        {-1, 0, 1700000000123456, 1700000000123456000},    /* microseconds when not told */
        {0, 0, 1700000000, 1700000000000000000},           /* seconds */
        {3, 0, 1700000000123, 1700000000123000000},        /* milliseconds */
        {9, 0, 1700000000123456789, 1700000000123456789},  /* nanoseconds */
        {12, 0, 18446744073709551615u, 18446744073709551}, /* picoseconds, rounded down */
        {19, 0, 18446744073709551615u, 1844674407},        /* */
        {28, 0, 18446744073709551615u, 1},                 /* finer than 64 bits of it reach */
        {29, 0, 18446744073709551615u, 0},                 /* */
        {127, 0, 18446744073709551615u, 0},                /* */
        {0x80 | 0, 0, 1700000000, 1700000000000000000},    /* 2^0 */
        {0x80 | 30, 0, (1ull << 30) + 1, 1000000000},      /* 2^-30 s is 0.93 ns: floor(1.0000000009) */
        {0x80 | 30, 0, (1ull << 30) * 1700000000 + (1 << 29), 1700000000500000000}, /* */
        {0x80 | 32, 0, 0xffffffffffffffff, 4294967295999999999},                    /* NTP's 32.32 */
        {0x80 | 64, 0, 1ull << 63, 500000000},                                      /* half a second in 2^-64 */
        {0x80 | 127, 0, UINT64_MAX, 0},                                             /* */
        {6, 1700000000, 123456, 1700000000123456000},                               /* offset */
        {6, -10, 11000000, 1000000000},                                             /* backwards */
        {6, -12, 11000000, 0},                                                      /* before 1970: stops there */
        {6, INT64_MIN, 11000000, 0},                                                /* */
        {9, INT64_MAX, 0, UINT64_MAX},                                              /* after 2554: stops there */
        {0, 0, UINT64_MAX, UINT64_MAX},                                             /* */
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (unsigned big = 0; big < 2; big++) {
            struct build build;
            build_init(&build, big);
            build_section(&build);
            build_interface(&build, 1, 0, cases[i].resolution, cases[i].offset_s, 0);
            build_packet(&build, 0, cases[i].ticks, frame, 60, 60);
            struct capfile_record record[3];
            assert_int_equal(read_all(&build, record, 2), 1);
            if (record[0].time_ns != cases[i].want_ns)
                fail_msg("case %u: %llu, not %llu", i, (unsigned long long)record[0].time_ns,
                         (unsigned long long)cases[i].want_ns);
            build_free(&build);
        }
    }
}

static void writer_limits(void **state)
{
    (void)state;
    struct capwriter *writer;
    assert_int_equal(capwriter_open("/nonexistent/x.pcap", 1, &writer), -ENOENT);
    assert_int_equal(capwriter_open("/dev/full", 1, &writer), 0);
    assert_int_equal(capwriter_write(writer, 0, frame, CAPFILE_RECORD_MAX + 1, CAPFILE_RECORD_MAX + 1), -EMSGSIZE);
    assert_int_equal(capwriter_write(writer, UINT64_MAX, frame, 60, 60), -ERANGE);
    int rc = 0;
    for (unsigned i = 0; i < 1000 && rc == 0; i++) /* 2 MB: it cannot all wait in the buffer */
        rc = capwriter_write(writer, i, frame, sizeof(frame), sizeof(frame));
    assert_int_equal(rc, -ENOSPC);
    assert_int_equal(capwriter_write(writer, 0, frame, 60, 60), -ENOSPC);
    assert_int_equal(capwriter_close(writer), -ENOSPC);
}

static void named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path;
        uint64_t snap, size;
    } good[] = {
        {"x.pcap", "x.pcap", 0, CAPWRITER_SIZE},
        {"x.pcap,snap=128", "x.pcap", 128, CAPWRITER_SIZE},
        {"x.pcap,size=10GB,snap=96B", "x.pcap", 96, 10000000000},
        {"x.pcap,size=0", "x.pcap", 0, 0},
        {"a,b=c,size=1KiB", "a,b=c", 0, 1024}, /* the name's own commas */
    };
    static const char *const bad[] = {
        "x,snap=63",      "x,snap=262145",         "x,snap=", "x,size=7", "x,size=big", ",size=1GB", "",
        "x.pcap,snop=64", "x.pcap,siz=1GB,snap=96"};
    struct capwriter_name name;
    char why[200];
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(capwriter_name_parse(good[i].text, &name, why, sizeof(why)), 0);
        assert_string_equal(name.path, good[i].path);
        assert_int_equal(name.snap, good[i].snap);
        assert_int_equal(name.size, good[i].size);
    }
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        why[0] = 0;
        assert_int_equal(capwriter_name_parse(bad[i], &name, why, sizeof(why)), -EINVAL);
        assert_true(strlen(why) > 10);
    }
}

/* Packets are cut to the snap length, the file ends before its limit and has no gap. */
static void limited(void **state)
{
    (void)state;
    struct capwriter_name name = {.snap = 100, .size = 24 + 5 * 116 + 115};
    char error[CAPFILE_ERROR];
    struct capwriter *writer;
    struct capfile_record record;
    struct capfile *file;
    struct stat is;
    unsigned records = 0;
    build_to_file("", 0, name.path);
    assert_int_equal(capwriter_open(name.path, 1, &writer), 0);
    capwriter_limit(writer, &name);
    for (unsigned i = 0; i < 9; i++) /* the seventh would have room again */
        assert_int_equal(capwriter_write(writer, i, frame, i == 6 ? 60 : 1000, 1000), 0);
    assert_int_equal(capwriter_left_out(writer), 4);
    assert_int_equal(capwriter_close(writer), 0);
    assert_int_equal(stat(name.path, &is), 0);
    assert_int_equal(is.st_size, 24 + 5 * 116);
    assert_int_equal(capfile_open(name.path, &file, error), 0);
    for (; capfile_next(file, &record, error) == 1; records++) {
        assert_int_equal(record.time_ns, records);
        assert_int_equal(record.captured, 100);
        assert_int_equal(record.length, 1000);
    }
    assert_int_equal(records, 5);
    capfile_close(file);
    unlink(name.path);
}

static void link_names(void **state)
{
    (void)state;
    assert_string_equal(capfile_link_name(1), "Ethernet");
    assert_string_equal(capfile_link_name(105), "IEEE 802.11");
    assert_string_equal(capfile_link_name(276), "Linux cooked (SLL2)");
    assert_string_equal(capfile_link_name(0x12345), "unknown");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(frame); i++)
        frame[i] = (uint8_t)i;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_by_us), cmocka_unit_test(stored_captures), cmocka_unit_test(pcap_magics_and_orders),
        cmocka_unit_test(pcap_modified), cmocka_unit_test(pcapng_orders),   cmocka_unit_test(sections_and_interfaces),
        cmocka_unit_test(resolutions),   cmocka_unit_test(writer_limits),   cmocka_unit_test(link_names),
        cmocka_unit_test(named),         cmocka_unit_test(limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
