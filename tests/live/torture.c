/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture [OPERATIONS [SEED [FAULT [RETRIES]]]]: random work of every kind over 64 queue pairs between two adapters,
 * over a wire that loses, duplicates, reorders, corrupts and delays; every completed byte is compared with a model.
 *
 * Both adapters are in this process, so a completion can be held against the memory of both sides at once.  Each
 * operation has a slot of its own in either memory; its bytes follow from a number that no other operation has, and
 * guard bytes around them must stay.  What is acknowledged must be there, and nothing may come later: a slot is used
 * again at once, so a stale packet that writes is seen.  Work requests complete exactly once and in order; some
 * are not signaled and are told by the next.  Receives are posted before or after the message, exactly large enough
 * or larger.  Atomics return what a model of the words says.  Windows are bound, written through and invalidated.
 *
 * Queue pairs of one pair of completion queues belong to one thread; two threads drive both adapters, whose own
 * threads run too.  At the end everything is torn down: descriptors, keys, file descriptors and registry slots must
 * be back where they were.
 *
 * UC and UD may lose messages; then nothing may be wrong with those that come.
 *
 * Retries are without end unless RETRIES says how many: sanitizers and a loaded machine make each look like a peer
 * that is gone.  A queue pair that is stuck is told by STALL_S seconds without a completion.
 */
#include "torture.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live/counters.h"
#include "torture_alone.h"

static uint8_t retries = NIC_RETRY_FOREVER;

static struct device_info loopback(void)
{
    struct device_info *list, found = {.gids = 0};
    unsigned count;

    REQUIRE(device_list(&list, &count) == 0);
    for (unsigned i = 0; i < count; i++)
        if (list[i].loopback) found = list[i];
    free(list);
    REQUIRE(found.gids > 0);
    return found;
}

static void open_end(int e, const char *fault)
{
    struct device_info device = loopback();
    char why[200], text[300];

    snprintf(text, sizeof text, "%s,seed=%llu", fault, (unsigned long long)(2 * seed + (uint64_t)e + 1));
    if (fault[0]) setenv("ROCELAB_FAULT", text, 1);
    if (live_open_alone(&device, &end[e].live, why, sizeof why) < 0) wrong("open: %s", why);
    unsetenv("ROCELAB_FAULT");
    end[e].memory =
        mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(end[e].memory != MAP_FAILED);
    REQUIRE(device_mr_create(end[e].live, 7, end[e].memory, MEMORY_BYTES, (uintptr_t)end[e].memory,
                             NIC_REMOTE_ALL | DEVICE_LOCAL_WRITE | DEVICE_MW_BIND, &end[e].mr) == 0);
    for (unsigned g = 0; g < GROUPS; g++)
        REQUIRE(device_cq_create(end[e].live, 4096, NULL, NULL, &end[e].cq[g]) == 0);
    REQUIRE(device_srq_create(end[e].live, 7, SRQ_ENTRIES, 1, NULL, &end[e].srq) == 0);
    end[e].srq_memory = take_memory(&end[e], SRQ_ENTRIES * (SRQ_BYTES + 2 * GUARD));
    end[e].shared = (uint64_t *)(void *)take_memory(&end[e], 8);
    for (uint64_t i = 0; i < SRQ_ENTRIES; i++)
        post_srq(e, i);
}

static enum model model_of(unsigned q)
{
    if (q % 16 == 5) return MODEL_UC;
    if (q % 16 == 10) return MODEL_UD;
    return q % GROUPS == 0 && q / GROUPS % 2 == 0 ? MODEL_SRQ : MODEL_RC;
}

static void make_side(unsigned q, int s)
{
    static const uint8_t transport[] = {NIC_RC, NIC_RC, NIC_UC, NIC_UD};
    struct side *side = &pair[q].side[s];
    struct device_qp_init init = {.transport = transport[pair[q].model],
                                  .pd = 7,
                                  .send_entries = 2 * DEPTH,
                                  .recv_entries = RECVS,
                                  .send_sges = 4,
                                  .recv_sges = 4,
                                  .inline_bytes = 256,
                                  .send_cq = end[s].cq[q % GROUPS],
                                  .recv_cq = end[s].cq[q % GROUPS],
                                  .srq = pair[q].model == MODEL_SRQ ? end[s].srq : NULL};

    REQUIRE(device_qp_create(end[s].live, &init, &side->qp) == 0);
    side->source = take_memory(&end[s], DEPTH * SLOT_BYTES);
    side->target = take_memory(&end[!s], DEPTH * SLOT_BYTES);
    side->word = (uint64_t *)(void *)take_memory(&end[!s], WORDS * 8);
    side->result = (uint64_t *)(void *)take_memory(&end[s], DEPTH * 8);
    if (pair[q].model <= MODEL_SRQ) REQUIRE(device_mw_create(end[!s].live, 7, 2, &side->mw) == 0);
    if (pair[q].model >= MODEL_UC) side->recv = take_memory(&end[!s], RECVS * (UC_BYTES + 4 * GUARD));
}

static void connect_side(unsigned q, int s)
{
    struct side *side = &pair[q].side[s];
    bool ud = pair[q].model == MODEL_UD;
    struct device_path path = {.remote = device_info_of(end[!s].live)->gid[0].addr, .hop_limit = 64};
    struct device_qp_attr init = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_ACCESS | DEVICE_ATTR_QKEY,
                                  .state = NIC_INIT,
                                  .access = NIC_REMOTE_ALL,
                                  .qkey = 0x11111111};
    struct device_qp_attr rtr = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_MTU | DEVICE_ATTR_PATH |
                                         DEVICE_ATTR_REMOTE_QP | DEVICE_ATTR_EXPECT_PSN | DEVICE_ATTR_MIN_RNR |
                                         DEVICE_ATTR_MAX_READ_ACCEPT,
                                 .state = NIC_RTR,
                                 .mtu = pair[q].mtu,
                                 .path = path,
                                 .remote_qp = device_qp_number(pair[q].side[!s].qp),
                                 .expect_psn = 0xffff00u + q,
                                 .min_rnr_timer = 1,
                                 .max_read_accept = (uint8_t)(1 + q % 16)};
    struct device_qp_attr rts = {.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_SEND_PSN | DEVICE_ATTR_TIMEOUT |
                                         DEVICE_ATTR_RETRY | DEVICE_ATTR_RNR_RETRY | DEVICE_ATTR_MAX_READ,
                                 .state = NIC_RTS,
                                 .send_psn = 0xffff00u + q,
                                 .timeout = 14,
                                 .retry = retries,
                                 .rnr_retry = 7,
                                 .max_read = (uint8_t)(1 + q % 16)};

    if (ud) rtr.mask = DEVICE_ATTR_STATE;
    if (ud) rts.mask = DEVICE_ATTR_STATE | DEVICE_ATTR_SEND_PSN;
    REQUIRE(device_qp_modify(side->qp, &init) == 0);
    REQUIRE(device_qp_modify(side->qp, &rtr) == 0);
    REQUIRE(device_qp_modify(side->qp, &rts) == 0);
}

static void make_all(const char *fault)
{
    static const uint16_t mtu[] = {256, 1024, 4096, 2048, 1024, 512, 4096};

    for (int e = 0; e < 2; e++)
        open_end(e, fault);
    for (int e = 0; e < 2; e++) {
        struct device_path path = {.remote = device_info_of(end[!e].live)->gid[0].addr, .hop_limit = 64};
        REQUIRE(device_path_get(end[e].live, &path, &end[e].path) == 0);
    }
    for (unsigned q = 0; q < QPS; q++) {
        pair[q].model = model_of(q);
        pair[q].mtu = pair[q].model == MODEL_UD ? DATAGRAM_BYTES : mtu[q % 7];
        for (int s = 0; s < 2; s++)
            make_side(q, s);
        for (int s = 0; s < 2; s++)
            connect_side(q, s);
        for (int s = 0; s < 2 && pair[q].model >= MODEL_UC; s++)
            for (uint64_t i = 0; i < RECVS; i++)
                post_datagram_recv(&pair[q], s, i);
    }
}

/* Receives that are left are flushed, each once; sends there are none. */
static void flush_all(void)
{
    uint32_t flushed[QPS][2] = {{0}};
    struct device_qp_attr error = {.mask = DEVICE_ATTR_STATE, .state = NIC_ERROR};

    for (unsigned q = 0; q < QPS; q++)
        for (int s = 0; s < 2; s++)
            REQUIRE(device_qp_modify(pair[q].side[s].qp, &error) == 0);
    for (unsigned round = 0; round < 64; round++)
        for (unsigned g = 0; g < GROUPS; g++)
            for (int e = 0; e < 2; e++) {
                struct nic_cqe cqe[16];
                int count = device_poll(end[e].cq[g], cqe, 16);
                for (int i = 0; i < count; i++) {
                    struct pair *p = pair_of(e, cqe[i].qpn, g);
                    REQUIRE(cqe[i].receive);
                    if (cqe[i].status != NIC_WR_FLUSH_ERR) REQUIRE(p->model >= MODEL_UC);
                    flushed[p - pair][e]++;
                }
            }
    for (unsigned q = 0; q < QPS; q++)
        for (int e = 0; e < 2; e++)
            REQUIRE(flushed[q][e] == (pair[q].model >= MODEL_UC ? RECVS : 0));
}

static void check_sums(void)
{
    for (int s = 0; s < 2; s++)
        REQUIRE(*end[!s].shared == added[s]);
    for (unsigned q = 0; q < QPS; q++)
        for (int s = 0; s < 2; s++)
            for (unsigned w = 0; w < WORDS; w++)
                REQUIRE(pair[q].side[s].word[w] == pair[q].side[s].model[w]);
}

static void require_empty(const struct device *shard)
{
    REQUIRE(shard->qps == NULL && nic_qp_count(shard->nic) == 0);
    REQUIRE(shard->pool.free_count == LIVE_POOL);
    for (uint32_t i = 1 + LIVE_REPLIES; i < shard->paths; i++)
        REQUIRE(shard->path[i].users == 0);
    nic_audit(shard->nic, &shard->pool);
}

static void close_all(void)
{
    for (unsigned q = 0; q < QPS; q++)
        for (int s = 0; s < 2; s++) {
            REQUIRE(device_qp_destroy(pair[q].side[s].qp) == 0);
            if (pair[q].side[s].mw) REQUIRE(device_mw_destroy(pair[q].side[s].mw) == 0);
        }
    for (int e = 0; e < 2; e++) {
        struct device *live = end[e].live;
        device_path_put(live, end[e].path);
        REQUIRE(device_srq_destroy(end[e].srq) == 0);
        for (unsigned g = 0; g < GROUPS; g++)
            REQUIRE(device_cq_destroy(end[e].cq[g]) == 0);
        device_mr_destroy(end[e].mr);
        REQUIRE(shard_enter_all(live) == 0);
        for (unsigned i = 0; i < live->shards; i++)
            if (live->shard[i]) require_empty(live->shard[i]);
        for (uint32_t i = 0; i < live->regions.keys.slots; i++)
            REQUIRE(live->regions.slot[i].mr == NULL && live->regions.slot[i].mw == NULL);
        shard_leave_all(live);
        device_close(live);
        end[e].live = NULL;
        munmap(end[e].memory, MEMORY_BYTES);
    }
}

static unsigned entries(const char *path)
{
    unsigned count = 0;
    DIR *dir = opendir(path);

    REQUIRE(dir != NULL);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static unsigned own_pages(void)
{
    struct device_counter_set *set;
    unsigned count, own = 0;

    REQUIRE(live_counters_read(&set, &count) == 0);
    for (unsigned i = 0; i < count; i++)
        own += set[i].pid == (uint32_t)getpid();
    free(set);
    return own;
}

static void tell(double took)
{
    uint64_t again = 0, lost = 0, twice = 0, bad = 0, late = 0, delayed = 0;

    for (int e = 0; e < 2; e++) {
        const struct wire_counters *wire = live_wire_counters(end[e].live);
        again += live_counters(end[e].live)->retransmitted_packets;
        lost += wire->fault_lost;
        twice += wire->fault_duplicated;
        bad += wire->fault_corrupted;
        late += wire->fault_reordered;
        delayed += wire->fault_delayed;
    }
    printf("torture: seed %llu: %llu operations in %.1f s, all right; packets lost %llu, twice %llu, late %llu, "
           "corrupted %llu, delayed %llu, sent again %llu; datagrams %llu of %llu\n",
           (unsigned long long)seed, (unsigned long long)finished, took, (unsigned long long)lost,
           (unsigned long long)twice, (unsigned long long)late, (unsigned long long)bad, (unsigned long long)delayed,
           (unsigned long long)again, (unsigned long long)datagrams_came, (unsigned long long)datagrams);
    for (unsigned v = 0; v <= KIND_BIND; v++)
        printf("%s%llu", v ? " " : "by verb: ", (unsigned long long)verbs[v]);
    printf("\n");
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    char folder[ALONE_FOLDER];
    const char *text = getenv("ROCELAB_SEED");

    operations = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : text ? strtoull(text, NULL, 10) : 1;
    if (argc > 4) retries = (uint8_t)strtoul(argv[4], NULL, 10);
    alone_begin(folder);
    unsigned fds = entries("/proc/self/fd");
    double begin = seconds();
    make_all(argc > 3 ? argv[3] : "loss=1%,duplicate=1%,reorder=1%,corrupt=1%,delay=300us@1%");
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&thread[i], NULL, run, (void *)i) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    check_sums();
    tell(seconds() - begin);
    flush_all();
    close_all();
    REQUIRE(entries("/proc/self/fd") == fds);
    REQUIRE(own_pages() == 0);
    alone_end(folder);
    return 0;
}
