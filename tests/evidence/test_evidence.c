/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of evidence: looks that follow each other, resets and wraps, weak sources, ports with two names, cables by
 * LLDP, folders of dumps.
 */
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../base/support.h"
#include "base/hash.h"
#include "evidence/evidence_int.h"
#include "evidence/read/reader.h"
#include "fabric/fabric.h"
#include "fixture.h"

static off_t cut_bytes; /* files have been so much longer when they are asked */

int fstat(int fd, struct stat *ret)
{
    int answer = fstatat(fd, "", ret, AT_EMPTY_PATH);

    ret->st_size += answer == 0 && S_ISREG(ret->st_mode) ? cut_bytes : 0;
    return answer;
}

static uint32_t port_of(struct evidence *evidence, const char *device, const char *port)
{
    return evidence_port(evidence, evidence_device(evidence, device, strlen(device)), port, strlen(port));
}

static void set(struct evidence *evidence, uint32_t port, double at_s, uint64_t value)
{
    struct evidence_source source = {EVIDENCE_NONE, 0, at_s};

    evidence_set(evidence, port, 3, EVIDENCE_RX_PAUSE_FRAMES, value, &source);
}

static const struct evidence_value *got(struct evidence *evidence, uint32_t port)
{
    const struct evidence_value *value = evidence_find(evidence, port, 3, EVIDENCE_RX_PAUSE_FRAMES);

    assert_non_null(value);
    return value;
}

static void say(struct evidence *evidence, uint32_t object, const char *from, const char *detail, double at_s)
{
    evidence_add_event(evidence, &(struct evidence_event){.kind = EVIDENCE_EVENT_RETRY_EXHAUSTED,
                                                          .priority = EVIDENCE_NO_PRIORITY,
                                                          .object = object,
                                                          .from = from,
                                                          .detail = detail,
                                                          .first_s = at_s,
                                                          .last_s = at_s,
                                                          .file = EVIDENCE_NONE});
}

static bool remarked(const struct evidence *evidence, const char *text)
{
    for (uint32_t i = 0; i < evidence->remarks; i++)
        if (strstr(evidence->remark[i].text, text)) return true;
    return false;
}

static void looks_follow_each_other(void **state)
{
    struct evidence *evidence = *state;
    uint32_t port = port_of(evidence, "leaf0", "Ethernet0");

    set(evidence, port, 0, 100);
    assert_int_equal(got(evidence, port)->grown, 100); /* since boot */
    set(evidence, port, 10, 130);
    assert_int_equal(got(evidence, port)->grown, 30);
    set(evidence, port, 10, 140); /* the same look again: the last counts */
    assert_int_equal(got(evidence, port)->grown, 40);
    assert_int_equal(got(evidence, port)->looks, 2);
    set(evidence, port, 20, 145);
    assert_int_equal(got(evidence, port)->grown, 45);
    assert_int_equal(evidence->looks, 3);
    assert_false(got(evidence, port)->reset);
}

/* 2^32 and 2^64 alike: what is known is what was counted since. */
static void a_reset_or_wrap_is_no_huge_rate(void **state)
{
    struct evidence *evidence = *state;
    uint32_t reset = port_of(evidence, "leaf0", "Ethernet0"), wrap = port_of(evidence, "leaf0", "Ethernet4");

    set(evidence, reset, 0, 5000);
    set(evidence, reset, 10, 7);
    set(evidence, reset, 20, 9);
    assert_int_equal(got(evidence, reset)->grown, 9);
    assert_true(got(evidence, reset)->reset);
    set(evidence, wrap, 0, UINT64_MAX - 1);
    set(evidence, wrap, 10, 4);
    assert_int_equal(got(evidence, wrap)->grown, 4);
    assert_true(got(evidence, wrap)->reset);
    evidence_finish(evidence, NULL);
    assert_true(remarked(evidence, "2 counters of leaf0 went down between two looks"));
}

/* A source that knows it less well is read first: the counter did not go down. */
static void a_weak_source_gives_way(void **state)
{
    struct evidence *evidence = *state;
    uint32_t port = port_of(evidence, "h0", "eth0");

    for (int i = 0; i < 2; i++) {
        struct evidence_source source = {EVIDENCE_NONE, 0, i};
        evidence_offer(evidence, port, 3, EVIDENCE_RX_PAUSE_FRAMES, 0, &source);
        set(evidence, port, i, 1000u + (unsigned)i);
        evidence_offer(evidence, port, 3, EVIDENCE_RX_PAUSE_FRAMES, 1, &source);
    }
    assert_int_equal(got(evidence, port)->grown, 1);
    assert_false(got(evidence, port)->reset);
}

static void a_peak_is_the_largest_of_a_look(void **state)
{
    struct evidence *evidence = *state;
    uint32_t port = port_of(evidence, "leaf0", "Ethernet0");
    struct evidence_source source = {EVIDENCE_NONE, 0, 0};

    evidence_set(evidence, port, 3, EVIDENCE_QUEUE_PEAK, 500, &source);
    evidence_set(evidence, port, 3, EVIDENCE_QUEUE_PEAK, 200, &source);
    assert_int_equal(evidence_get(evidence, port, 3, EVIDENCE_QUEUE_PEAK), 500);
    source.at_s = 1; /* cleared by the one who polled */
    evidence_set(evidence, port, 3, EVIDENCE_QUEUE_PEAK, 200, &source);
    assert_int_equal(evidence_get(evidence, port, 3, EVIDENCE_QUEUE_PEAK), 200);
}

/* ethtool of eth0, then rdma of mlx5_0, then the tie; and ports of the same host that are met afterwards. */
static void two_names_become_one_port(void **state)
{
    struct evidence *evidence = *state;
    uint32_t device = evidence_device(evidence, "h0", 2), interface = evidence_port(evidence, device, "eth0", 4);
    uint32_t rdma = evidence_port(evidence, device, "mlx5_0", 6);
    struct evidence_source source = {EVIDENCE_NONE, 0, 0};

    set(evidence, interface, 0, 10);
    evidence_set(evidence, rdma, EVIDENCE_NO_PRIORITY, EVIDENCE_CNP_SENT, 4, &source);
    evidence_set(evidence, interface, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_TX_BYTES, 1001, &source);
    evidence_offer(evidence, rdma, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_TX_BYTES, 1000, &source);
    evidence_alias(evidence, rdma, "eth0", 4);
    evidence_alias(evidence, interface, "mlx5_0", 6); /* the other way round: neither is lost */
    evidence_alias(evidence, rdma, "ens1", 4);        /* never met by itself */
    assert_int_equal(evidence_port(evidence, device, "ens1", 4), rdma);
    set(evidence, interface, 10, 15);
    evidence_finish(evidence, NULL);
    assert_int_equal(got(evidence, rdma)->grown, 5);
    assert_int_equal(evidence_get(evidence, rdma, EVIDENCE_NO_PRIORITY, EVIDENCE_CNP_SENT), 4);
    assert_int_equal(evidence_get(evidence, rdma, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_TX_BYTES), 1001);
    uint32_t ports = 0;
    EVIDENCE_EACH_PORT(evidence, device, port)
    {
        assert_int_equal(port, rdma);
        ports++;
    }
    assert_int_equal(ports, 1);
    assert_int_not_equal(evidence_port(evidence, device, "eth9", 4), EVIDENCE_NONE);
    assert_int_not_equal(evidence->object[rdma].next, EVIDENCE_NONE); /* the new one is in the list */
}

/* LLDP names devices with their domain and ports in their short form, or by another name. */
static void neighbours_tie_ports(void **state)
{
    struct evidence *evidence = *state;
    uint32_t leaf = port_of(evidence, "leaf0", "Ethernet1/2"), spine = port_of(evidence, "spine0", "Ethernet8");
    uint32_t other = port_of(evidence, "spine0", "Ethernet12"), lone = port_of(evidence, "leaf0", "Ethernet1/3");
    struct evidence_source source = {EVIDENCE_NONE, 0, 0};

    evidence_alias(evidence, spine, "etp3", 4);
    evidence_add_neighbour(evidence, leaf, "spine0.dc1.example", "etp3", &source);
    evidence_add_neighbour(evidence, spine, "leaf0", "Eth1/2", &source);
    for (int i = 0; i < 3; i++) /* at three looks, and as a description */
        evidence_add_neighbour(evidence, other, "leaf9", "Ethernet1/1", &source);
    evidence_add_description(evidence, other, "leaf9", "Ethernet1/1", &source);
    assert_int_equal(evidence->neighbours, 4);
    set(evidence, leaf, 0, 1);
    set(evidence, spine, 0, 1);
    evidence_finish(evidence, NULL);
    assert_true(evidence->tied);
    assert_int_equal(evidence->object[leaf].peer, spine);
    assert_int_equal(evidence->object[spine].peer, leaf);
    assert_int_equal(evidence->object[other].peer, EVIDENCE_NONE);
    assert_int_equal(evidence->object[lone].peer, EVIDENCE_NONE);
    assert_string_equal(evidence->object[leaf].name, "leaf0:Ethernet1/2");
    assert_true(remarked(evidence, "nothing was read of what is behind 1 port by LLDP: leaf9"));
}

/* The same of many files is one remark. */
static void remarks_are_counted(void **state)
{
    struct evidence *evidence = *state;
    char name[8];

    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "f%d", i);
        assert_false(evidence_read_text(evidence, "leaf0", name, 0, NULL, "what\n", 5));
    }
    evidence_finish(evidence, NULL);
    assert_int_equal(evidence->remark[0].file, 0);
    assert_true(remarked(evidence, "no reader knows anything in it (--list lists what is known); and 4 more alike"));
    assert_int_equal(evidence->remarks, 2); /* and that there are no cables */
}

static void without_cables_it_is_said(void **state)
{
    struct evidence *evidence = *state;

    set(evidence, port_of(evidence, "leaf0", "Ethernet0"), 0, 1);
    evidence_finish(evidence, NULL);
    assert_false(evidence->tied);
    assert_true(remarked(evidence, "each device is judged alone"));
}

static void names_of_files_hint_at_interfaces(void **state)
{
    static const struct {
        const char *file, *hint;
    } list[] = {{"d/0/h0/ethtool_-S_eth0.txt", "eth0"},
                {"ethtool -S ens1np0.log", "ens1np0"},
                {"ethtool_-S_eth0.100.txt", "eth0.100"},
                {"eth1", "eth1"},
                {"d.txt/x_", ""}};
    char buf[16];

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        assert_string_equal(reader_hint(list[i].file, buf, sizeof buf), list[i].hint);
    assert_int_equal(strlen(reader_hint("a-name-that-is-much-longer-than-its-room_aaaaaaaaaaaaaaaaaaaaaaaa", buf, 16)),
                     15);
}

/* --- hostile names, and more than fits --- */

#define STAGES 11 /* 2^11 names */

/* Two words of three letters that FNV's low 16 bits do not tell apart, behind what led to *state. */
static void fooled(uint64_t *state, char word[2][4])
{
    static uint16_t seen[65536]; /* which word led there, plus one */

    memset(seen, 0, sizeof seen);
    for (uint16_t i = 0; i < 26 * 26 * 26; i++) {
        char now[4] = {(char)('a' + i / 676), (char)('a' + i / 26 % 26), (char)('a' + i % 26), 0};
        uint64_t led = hash_bytes(*state, now, 3) & 0xffff;
        if (!seen[led]) {
            seen[led] = (uint16_t)(i + 1);
            continue;
        }
        uint16_t other = (uint16_t)(seen[led] - 1);
        memcpy(word[0], now, 4);
        memcpy(word[1],
               (char[4]){(char)('a' + other / 676), (char)('a' + other / 26 % 26), (char)('a' + other % 26), 0}, 4);
        *state = led;
        return;
    }
    fail();
}

static uint32_t longest_run(const struct evidence_table *table)
{
    uint32_t longest = 0, run = 0;

    for (uint32_t i = 0; i < 2 * table->slots; i++) {
        run = table->slot[i & (table->slots - 1)].index ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    return longest;
}

/* Names chosen to fall together under a hash that everybody knows. */
static void names_cannot_be_chosen_to_collide(void **state)
{
    struct evidence *evidence = *state;
    uint32_t of[2] = {EVIDENCE_DEVICE, EVIDENCE_NONE};
    uint64_t hash = hash_bytes(HASH_BEGIN, of, sizeof of);
    char word[STAGES][2][4], name[3 * STAGES + 1];

    for (unsigned s = 0; s < STAGES; s++)
        fooled(&hash, word[s]);
    for (unsigned i = 0; i < 1u << STAGES; i++) {
        for (unsigned s = 0; s < STAGES; s++)
            memcpy(name + 3 * s, word[s][i >> s & 1], 4);
        assert_int_equal(evidence_device(evidence, name, 3 * STAGES), i);
    }
    assert_in_range(longest_run(&evidence->tables->objects), 1, (1u << STAGES) / 4);
    assert_int_equal(evidence_device(evidence, name, 3 * STAGES), (1u << STAGES) - 1);
}

/* Objects, names, values and their tables have one bound together; at the end of it somebody says so. */
static void what_does_not_fit_is_said(void **state)
{
    struct evidence *evidence = *state;
    uint32_t port = 0, ports = 0;
    char name[32];

    evidence_bound(evidence, 1u << 20);
    for (uint32_t i = 0; i < 100000 && !evidence->full; i++) {
        snprintf(name, sizeof name, "Ethernet%u", i);
        port = port_of(evidence, "leaf0", name);
        if (port == EVIDENCE_NONE) break;
        ports++;
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
            evidence_set(evidence, port, p, EVIDENCE_TX_BYTES, i, &(struct evidence_source){EVIDENCE_NONE, 0, 0});
    }
    assert_true(evidence->full);
    assert_in_range(ports, 400, 2000);
    assert_true(evidence->tables->held + evidence->arena.used_bytes <= (2u << 20));
    assert_true(remarked(evidence, "too much to keep in memory"));
    assert_int_equal(evidence->remarks, 1);
    assert_int_equal(port_of(evidence, "leaf0", "one more"), EVIDENCE_NONE);
    evidence_finish(evidence, NULL);
}

/* A table that cannot grow is as full as an array. */
static void a_table_that_cannot_grow_is_said(void **state)
{
    struct evidence *evidence = *state;
    char name[32];

    for (uint32_t i = 0; i < 767; i++) { /* one fewer than three quarters of 1024 */
        snprintf(name, sizeof name, "%u", i);
        assert_int_equal(evidence_device(evidence, name, strlen(name)), i);
    }
    evidence_bound(evidence, evidence->tables->held + evidence->arena.used_bytes + 1000);
    assert_int_equal(evidence_device(evidence, "a", 1), 767);
    assert_int_equal(evidence_device(evidence, "b", 1), EVIDENCE_NONE);
    assert_true(evidence->full);
    assert_true(remarked(evidence, "too much to keep in memory"));
}

/* --- folders --- */

static void write_file(const char *root, const char *path, const char *text)
{
    char at[512];

    snprintf(at, sizeof at, "%s/%s", root, path);
    for (char *slash = at + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        mkdir(at, 0700);
    }
    FILE *file = fopen(at, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

#define PAUSES(n) "Port Rx  PFC3\n---------  ----\nEthernet0  " n "\n"

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

static void folder_removed(const char *root)
{
    assert_int_equal(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Times are in order of time, not of text; a device is missing at the last look. */
static void folders_are_read_by_time(void **state)
{
    struct evidence *evidence = *state;
    char root[] = "/tmp/evidence-XXXXXX", why[200];

    assert_non_null(mkdtemp(root));
    write_file(root, "9.5/leaf0/show_pfc.txt", PAUSES("5"));
    write_file(root, "10/leaf0/show_pfc.txt", PAUSES("7"));
    write_file(root, "9.5/leaf1/any-name.txt", PAUSES("1"));
    write_file(root, "10/leaf0/.hidden", "x");
    write_file(root, "10/leaf0/notes.txt", "nothing of a device\n");
    write_file(root, "readme.txt", "not a device");
    assert_true(evidence_read(evidence, root, NULL, why, sizeof why));
    evidence_finish(evidence, NULL);
    const struct evidence_value *value = got(evidence, port_of(evidence, "leaf0", "Ethernet0"));
    assert_int_equal(value->grown, 2);
    assert_true(evidence_span_s(value) == 0.5);
    assert_int_equal(value->line, 3);
    assert_true(remarked(evidence, "leaf1 was not looked at the last time"));
    assert_true(remarked(evidence, "no reader knows anything in it"));
    folder_removed(root);
}

/* Folders of other names stand among the times in the alphabet, and do not change their order. */
static void other_folders_do_not_mix_up_times(void **state)
{
    struct evidence *evidence = *state;
    char root[] = "/tmp/evidence-XXXXXX", path[64], text[128], why[200];

    assert_non_null(mkdtemp(root));
    for (int i = 0; i < 24; i++) {
        snprintf(path, sizeof path, "%d/leaf0/a.txt", 5 * i);
        snprintf(text, sizeof text, PAUSES("%d"), 1000 + i);
        write_file(root, path, text);
        snprintf(path, sizeof path, "%dz/leaf0/a.txt", 4 * i + 2);
        write_file(root, path, "not of a time\n");
    }
    assert_true(evidence_read(evidence, root, NULL, why, sizeof why));
    const struct evidence_value *value = got(evidence, port_of(evidence, "leaf0", "Ethernet0"));
    assert_int_equal(value->looks, 24);
    assert_int_equal(value->grown, 23);
    assert_false(value->reset);
    folder_removed(root);
}

static void times_of_day_and_a_single_look(void **state)
{
    struct evidence *evidence = *state;
    char root[] = "/tmp/evidence-XXXXXX", why[200];

    assert_non_null(mkdtemp(root));
    write_file(root, "2026-11-15T10:00:00Z/leaf0/a.txt", PAUSES("5"));
    write_file(root, "2026-11-15T10:00:30Z/leaf0/a.txt", PAUSES("6"));
    assert_true(evidence_read(evidence, root, NULL, why, sizeof why));
    assert_true(evidence->last_s - evidence->first_s == 30);
    folder_removed(root);
    evidence_release(evidence);
    evidence_init(evidence);
    char single[] = "/tmp/evidence-XXXXXX";
    assert_non_null(mkdtemp(single));
    assert_false(evidence_read(evidence, single, NULL, why, sizeof why));
    assert_non_null(strstr(why, "DIR/TIME/DEVICE"));
    write_file(single, "leaf0/a.txt", PAUSES("5"));
    assert_true(evidence_read(evidence, single, NULL, why, sizeof why));
    assert_int_equal(got(evidence, port_of(evidence, "leaf0", "Ethernet0"))->looks, 1);
    folder_removed(single);
    assert_false(evidence_read(evidence, "/nowhere/at/all", NULL, why, sizeof why));
}

static void a_copy_of_sysfs_is_read(void **state)
{
    struct evidence *evidence = *state;
    char root[] = "/tmp/evidence-XXXXXX", why[200];

    assert_non_null(mkdtemp(root));
    write_file(root, "h0/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", "70\n");
    write_file(root, "h0/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1000\n");
    write_file(root, "h0/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0\n");
    write_file(root, "h0/ethtool_-S_eth0.txt", "NIC statistics:\n     rx_prio3_pause: 6\n");
    assert_true(evidence_read(evidence, root, NULL, why, sizeof why));
    evidence_finish(evidence, NULL);
    uint32_t port = port_of(evidence, "h0", "eth0"); /* the interface gives the port its name */
    assert_string_equal(evidence->object[port].name, "h0:eth0");
    assert_int_equal(evidence->object[port].same_as, EVIDENCE_NONE);
    assert_int_equal(evidence_get(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_CNP_SENT), 70);
    assert_int_equal(evidence_get(evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_TX_BYTES), 4000);
    assert_int_equal(got(evidence, port)->last, 6);
    folder_removed(root);
}

/* Somebody has cut a file between the question how long it is and the reading: what is there is read. */
static void a_file_that_is_cut_meanwhile(void **state)
{
    struct evidence *evidence = *state;
    char root[] = "/tmp/evidence-XXXXXX", why[200];

    assert_non_null(mkdtemp(root));
    write_file(root, "1/leaf0/a.txt", PAUSES("5"));
    cut_bytes = 3 * 4096;
    bool read = evidence_read(evidence, root, NULL, why, sizeof why);
    cut_bytes = 0;
    assert_true(read);
    assert_int_equal(got(evidence, port_of(evidence, "leaf0", "Ethernet0"))->last, 5);
    folder_removed(root);
}

/* Rules walk from a port to its peer and back: texts that tie one port to several must not lead them in circles. */
static void a_peers_peer_is_the_port(void **state)
{
    struct evidence *evidence = *state;
    uint32_t a = port_of(evidence, "leaf", "a"), b = port_of(evidence, "spine", "b"),
             c = port_of(evidence, "spine", "c");

    evidence_tie(evidence, a, b);
    evidence_tie(evidence, a, c);
    assert_int_equal(evidence->object[a].peer, c);
    assert_int_equal(evidence->object[c].peer, a);
    assert_int_equal(evidence->object[b].peer, EVIDENCE_NONE);
    evidence_tie(evidence, b, c);
    assert_int_equal(evidence->object[a].peer, EVIDENCE_NONE);
    assert_int_equal(evidence->object[b].peer, c);
}

/* What a reader that is wrong would put: rules follow every index without a look. */
static void of_a_job_that_is_a_port(void *evidence)
{
    uint32_t a = port_of(evidence, "h0", "0"), b = port_of(evidence, "h1", "0");

    evidence_add_flow(evidence, &(struct evidence_flow){.job = a, .from = a, .to = b});
}

static void to_a_device(void *evidence)
{
    uint32_t device = evidence_device(evidence, "h0", 2), job = evidence_job(evidence, "job", 3);

    evidence_add_flow(evidence,
                      &(struct evidence_flow){.job = job, .from = port_of(evidence, "h1", "0"), .to = device});
}

static void a_pause_of_priority_8(void *evidence)
{
    uint32_t a = port_of(evidence, "h0", "0"), b = port_of(evidence, "leaf0", "0");

    evidence_add_pause(evidence, &(struct evidence_pause){.port = a, .paused = b, .cause = b, .priority = 8});
}

static void a_circle_of_devices(void *evidence)
{
    uint32_t port[2] = {port_of(evidence, "h0", "0"), evidence_device(evidence, "leaf0", 5)};
    const uint8_t priority[2] = {3, 3};

    evidence_add_circle(evidence, port, priority, 2, false);
}

static void a_port_of_a_job(void *evidence)
{
    evidence_port(evidence, evidence_job(evidence, "job", 3), "0", 1);
}

static void a_rank_of_a_port(void *evidence)
{
    evidence_rank(evidence, port_of(evidence, "h0", "0"), 0);
}

static void a_cable_to_a_device(void *evidence)
{
    evidence_tie(evidence, port_of(evidence, "h0", "0"), evidence_device(evidence, "leaf0", 5));
}

static void bytes_of_a_job(void *evidence)
{
    evidence_set(evidence, evidence_job(evidence, "job", 3), EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_TX_BYTES, 1,
                 &(struct evidence_source){0});
}

static void two_scopes_at_once(void *evidence)
{
    const struct evidence_said said[] = {{EVIDENCE_PORT_TX_BYTES, 1}, {EVIDENCE_TX_BYTES, 1}};

    evidence_say(evidence, port_of(evidence, "h0", "0"), EVIDENCE_NO_PRIORITY, said, 2, &(struct evidence_source){0},
                 &(struct evidence_source){0});
}

static void what_cannot_be_ends_at_once(void **state)
{
    ASSERT_ABORTS(of_a_job_that_is_a_port, *state, "EVIDENCE_JOB");
    ASSERT_ABORTS(to_a_device, *state, "EVIDENCE_PORT");
    ASSERT_ABORTS(a_pause_of_priority_8, *state, "EVIDENCE_PRIORITIES");
    ASSERT_ABORTS(a_circle_of_devices, *state, "EVIDENCE_PORT");
    ASSERT_ABORTS(a_port_of_a_job, *state, "EVIDENCE_DEVICE");
    ASSERT_ABORTS(a_rank_of_a_port, *state, "EVIDENCE_JOB");
    ASSERT_ABORTS(a_cable_to_a_device, *state, "EVIDENCE_PORT");
    ASSERT_ABORTS(bytes_of_a_job, *state, "first");
    ASSERT_ABORTS(two_scopes_at_once, *state, "scope");
}

/* What differs in its times alone is one event; ends, details and objects make others. */
static void events_alike_are_one(void **state)
{
    struct evidence evidence;
    char end[320];
    (void)state;

    assert_true(evidence_init(&evidence));
    uint32_t eth0 = port_of(&evidence, "h0", "eth0"), eth1 = port_of(&evidence, "h0", "eth1");
    say(&evidence, eth0, "10.0.0.1", NULL, 5);
    say(&evidence, eth0, "10.0.0.1", NULL, NAN);
    say(&evidence, eth0, "10.0.0.1", NULL, 3);
    assert_int_equal(evidence.events, 1);
    assert_int_equal(evidence.event[0].count, 3);
    assert_true(evidence.event[0].first_s == 3 && evidence.event[0].last_s == 5);
    say(&evidence, eth1, "10.0.0.1", NULL, 5);
    say(&evidence, eth0, "10.0.0.2", NULL, 5);
    say(&evidence, eth0, "10.0.0.1", "again", 5);
    say(&evidence, eth0, NULL, "10.0.0.1", 5);
    say(&evidence, EVIDENCE_NONE, NULL, NULL, 5);
    assert_int_equal(evidence.events, 6);
    memset(end, 'x', sizeof end - 1);
    end[sizeof end - 1] = 0;
    say(&evidence, eth0, end, NULL, 5); /* cut, and the same when it is said again */
    say(&evidence, eth0, end, NULL, 5);
    assert_int_equal(evidence.events, 7);
    evidence_alias(&evidence, eth0, "eth1", 4); /* they were one port all the time */
    evidence_finish(&evidence, NULL);
    assert_int_equal(evidence.event[1].object, eth0);
    assert_true(evidence.object[evidence.object[eth0].parent].looked_at);
    evidence_release(&evidence);
}

/* A log that says ever more is bounded, and what was left out is counted. */
static void events_are_bounded(void **state)
{
    struct evidence evidence;
    char end[32];
    (void)state;

    assert_true(evidence_init(&evidence));
    for (unsigned i = 0; i < 10000; i++) {
        snprintf(end, sizeof end, "10.0.0.%u", i);
        say(&evidence, EVIDENCE_NONE, end, NULL, NAN);
    }
    assert_int_equal(evidence.events + evidence.events_left_out, 10000);
    assert_true(evidence.events_left_out > 0 && evidence.events_left_out < 5000);
    evidence_finish(&evidence, NULL);
    evidence_release(&evidence);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_alike_are_one),
        cmocka_unit_test(events_are_bounded),
        cmocka_unit_test_setup_teardown(what_cannot_be_ends_at_once, begin, end),
        cmocka_unit_test_setup_teardown(looks_follow_each_other, begin, end),
        cmocka_unit_test_setup_teardown(a_reset_or_wrap_is_no_huge_rate, begin, end),
        cmocka_unit_test_setup_teardown(a_weak_source_gives_way, begin, end),
        cmocka_unit_test_setup_teardown(a_peak_is_the_largest_of_a_look, begin, end),
        cmocka_unit_test_setup_teardown(two_names_become_one_port, begin, end),
        cmocka_unit_test_setup_teardown(neighbours_tie_ports, begin, end),
        cmocka_unit_test_setup_teardown(a_peers_peer_is_the_port, begin, end),
        cmocka_unit_test_setup_teardown(remarks_are_counted, begin, end),
        cmocka_unit_test_setup_teardown(without_cables_it_is_said, begin, end),
        cmocka_unit_test(names_of_files_hint_at_interfaces),
        cmocka_unit_test_setup_teardown(names_cannot_be_chosen_to_collide, begin, end),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_said, begin, end),
        cmocka_unit_test_setup_teardown(a_table_that_cannot_grow_is_said, begin, end),
        cmocka_unit_test_setup_teardown(folders_are_read_by_time, begin, end),
        cmocka_unit_test_setup_teardown(other_folders_do_not_mix_up_times, begin, end),
        cmocka_unit_test_setup_teardown(times_of_day_and_a_single_look, begin, end),
        cmocka_unit_test_setup_teardown(a_copy_of_sysfs_is_read, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_is_cut_meanwhile, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
