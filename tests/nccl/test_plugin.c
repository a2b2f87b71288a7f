/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NCCL profiler plugin, loaded and called as NCCL does it, without NCCL and without a GPU.
 *
 * Time is the test's: its own clock_gettime() stands before libc's for the plugin too, so every wait is known to the
 * nanosecond.  The order of the calls is that of NCCL 2.28's proxy: a step's states are told as they begin, some of
 * them again and again, and a step that cannot be posted is started anew.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "nccl/api.h"
#include "nccl/recorder.h"

#define US 1000ull
#define MS 1000000ull
#define ID 0x1122334455667788ull

/* --- where NCCL's own headers have the fields (of 2.28.9 and 2.30.7, x86-64) --- */

#define AT(field, place) _Static_assert(offsetof(struct nccl_event, field) == (place), #field)
AT(type, 0);
AT(type_v4, 0);
AT(parent, 8);
AT(rank, 16);
AT(coll.seq, 24);
AT(coll.func, 32);
AT(coll.count, 56);
AT(coll.root, 64);
AT(coll.datatype, 72);
AT(coll.channels, 80);
AT(coll.algo, 88);
AT(coll.proto, 96);
AT(p2p.func, 24);
AT(p2p.datatype, 40);
AT(p2p.count, 48);
AT(p2p.peer, 56);
AT(op.pid, 24);
AT(op.channel, 28);
AT(op.peer, 32);
AT(op.steps, 36);
AT(op.chunk_bytes, 40);
AT(op.is_send, 44);
AT(step.step, 24);
AT(kernel.channel, 24);
AT(kernel.gpu_ns, 32);
_Static_assert(sizeof(struct nccl_event) == 112 && sizeof(struct nccl_profiler) == 48, "as version 5 has it");
_Static_assert(sizeof(union nccl_state_args) == 8, "as all versions have it");

/* --- the clock --- */

static uint64_t passed_ns; /* since the machine was started, and since 1970 */

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret)
{
    uint64_t now = 1000 * MS + __atomic_load_n(&passed_ns, __ATOMIC_SEQ_CST);

    (void)clock;
    ret->tv_sec = (time_t)(now / (1000 * MS));
    ret->tv_nsec = (long)(now % (1000 * MS));
    return 0;
}

static void pass(uint64_t ns)
{
    __atomic_fetch_add(&passed_ns, ns, __ATOMIC_SEQ_CST);
}

/* --- a caller --- */

static const char *plugin_path;
static char file_path[64];

struct caller {
    void *library, *context;
    const struct nccl_profiler *table;
    int version;
};

static unsigned warned;
__attribute__((format(printf, 5, 6))) static void log_line(int level, unsigned long subsystems, const char *file,
                                                           int line, const char *format, ...)
{
    (void)subsystems, (void)file, (void)line, (void)format;
    if (level == NCCL_LOG_WARN) warned++;
}

static int begin(struct caller *caller, const char *name, int rank)
{
    int mask = 0;

    if (caller->version == 4)
        caller->table->init.v4(&caller->context, &mask, name, ID, 2, 2, rank, log_line);
    else
        caller->table->init.v5(&caller->context, ID, &mask, name, 2, 2, rank, log_line);
    return mask;
}

static void load(struct caller *caller, int version)
{
    char name[32];

    caller->version = version;
    caller->library = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    if (caller->library == NULL) fail_msg("%s", dlerror());
    snprintf(name, sizeof name, "ncclProfiler_v%d", version);
    caller->table = dlsym(caller->library, name);
    assert_non_null(caller->table);
    assert_string_equal(caller->table->name, "rocelab");
}

static void unload(struct caller *caller)
{
    caller->table->finalize(caller->context);
    dlclose(caller->library);
}

static void *start(const struct caller *caller, struct nccl_event event)
{
    void *handle = (void *)(uintptr_t)1; /* NOLINT: what stands there before counts for nothing */

    if (caller->version == 4) event.type |= 0xabcdef00; /* the bytes behind a type of 8 bits are anything */
    assert_int_equal(caller->table->start(caller->context, &handle, &event), NCCL_DONE);
    return handle;
}

static void stop(const struct caller *caller, void *handle)
{
    assert_int_equal(caller->table->stop(handle), NCCL_DONE);
}

static void state(const struct caller *caller, void *handle, int is, size_t value)
{
    union nccl_state_args args = {.step_bytes = value};

    assert_int_equal(caller->table->state(handle, is, &args), NCCL_DONE);
}

static void *collective(const struct caller *caller, const char *func, uint64_t seq, uint8_t channels)
{
    return start(caller, (struct nccl_event){.type = NCCL_COLLECTIVE,
                                             .coll = {.seq = seq,
                                                      .func = func,
                                                      .count = 1 << 20,
                                                      .datatype = "ncclFloat32",
                                                      .channels = channels,
                                                      .algo = "RING",
                                                      .proto = "SIMPLE"}});
}

static void *operation(const struct caller *caller, void *parent, bool send)
{
    void *op = start(caller, (struct nccl_event){.type = NCCL_PROXY_OP,
                                                 .parent = parent,
                                                 .op = {.pid = getpid(), .peer = 1, .steps = 2, .is_send = send}});
    return op;
}

static void *step(const struct caller *caller, void *op, int number)
{
    return start(caller, (struct nccl_event){.type = NCCL_PROXY_STEP, .parent = op, .step = {.step = number}});
}

static void kernel(const struct caller *caller, void *parent, uint64_t from, uint64_t to)
{
    void *handle =
        start(caller, (struct nccl_event){.type = NCCL_KERNEL_CHANNEL, .parent = parent, .kernel = {.gpu_ns = from}});
    assert_non_null(handle);
    state(caller, handle, NCCL_KERNEL_STOP, to);
    stop(caller, handle);
}

/* --- what was written --- */

static char lines[1 << 22];

static void read_lines(void)
{
    FILE *file = fopen(file_path, "r");
    size_t bytes = file ? fread(lines, 1, sizeof lines - 1, file) : 0;

    if (file) fclose(file);
    lines[bytes] = 0;
}

static unsigned count_of(const char *text)
{
    unsigned count = 0;

    read_lines();
    for (const char *at = lines; (at = strstr(at, text)); at += strlen(text))
        count++;
    return count;
}

static void expect(const char *text)
{
    read_lines();
    if (strstr(lines, text) == NULL) fail_msg("'%s' is not in:\n%s", text, lines);
}

static int fresh(void **unused)
{
    (void)unused;
    unlink(file_path);
    warned = 0;
    setenv("ROCELAB_NCCL_FILE", file_path, 1);
    return 0;
}

/* --- the tests --- */

/* Two steps of a send, the second posted while the first is under way.  The first waits 10 us for the GPU, 20 for the
 * peer, 40 for the network; the second is ready all the while, and then waits 5 us for the network alone. */
static void send_two(const struct caller *caller, void *parent)
{
    void *op = operation(caller, parent, true);

    pass(1000 * US); /* in the queue of the proxy: nobody's wait */
    state(caller, op, NCCL_OP_IN_PROGRESS, 0);
    void *first = step(caller, op, 0);
    state(caller, first, NCCL_SEND_GPU_WAIT, 0);
    void *second = step(caller, op, 1);
    state(caller, second, NCCL_SEND_GPU_WAIT, 0);
    pass(10 * US);
    state(caller, first, NCCL_SEND_PEER_WAIT, 0);
    for (unsigned i = 0; i < 4; i++) {
        pass(5 * US);
        state(caller, first, NCCL_SEND_PEER_WAIT, 0);
    }
    state(caller, first, NCCL_SEND_WAIT, 512);
    state(caller, second, NCCL_SEND_PEER_WAIT, 0);
    pass(10 * US);
    state(caller, second, NCCL_SEND_WAIT, 256);
    pass(30 * US);
    stop(caller, first);
    pass(5 * US);
    stop(caller, second);
    pass(700 * US); /* another operation of the same kind is not over: nobody's wait */
    stop(caller, op);
}

/* A receive that cannot be posted for 2 us, waits 30 us for data, 3 for the flush and 15 for the GPU. */
static void receive_one(const struct caller *caller, void *parent)
{
    void *op = operation(caller, parent, false);

    state(caller, op, NCCL_OP_IN_PROGRESS, 0);
    void *handle = step(caller, op, 0);
    pass(1 * US);
    assert_ptr_equal(step(caller, op, 0), handle);
    pass(1 * US);
    state(caller, handle, NCCL_RECV_WAIT, 0);
    pass(30 * US);
    state(caller, handle, NCCL_RECV_FLUSH_WAIT, 512);
    pass(3 * US);
    state(caller, handle, NCCL_RECV_GPU_WAIT, 512);
    pass(15 * US);
    stop(caller, handle);
    stop(caller, op);
}

static void one_collective(const struct caller *caller, uint64_t seq)
{
    void *coll = collective(caller, "AllReduce", seq, 2);

    stop(caller, coll); /* it is handed over before anything of it begins */
    kernel(caller, coll, 5000000, 5000000 + 90 * US);
    send_two(caller, coll);
    receive_one(caller, coll);
    kernel(caller, coll, 5000000 + 1 * US, 5000000 + 123456);
}

static void test_of_version(int version)
{
    struct caller caller;

    load(&caller, version);
    assert_int_equal(begin(&caller, "a \"name\" \x1b[0m", 1), NCCL_EVENTS);
    one_collective(&caller, 7);
    unload(&caller);
    expect("{\"version\":1,\"kind\":\"nccl\",\"host\":\"");
    expect(version == 4 ? "\"api\":4" : version == 5 ? "\"api\":5" : "\"api\":6");
    expect("{\"kind\":\"communicator\",\"comm\":\"1122334455667788\",\"rank\":1,\"ranks\":2,\"nodes\":2,"
           "\"name\":\"a \\\"name\\\" ?[0m\"");
    expect("{\"kind\":\"collective\",\"comm\":\"1122334455667788\",\"rank\":1,\"seq\":7,\"func\":\"AllReduce\","
           "\"bytes\":4194304,\"count\":1048576,\"datatype\":\"ncclFloat32\",\"algo\":\"RING\",\"proto\":\"SIMPLE\","
           "\"channels\":2,\"begin_us\":");
    expect("\"done\":true,\"exec_from\":\"gpu\",\"exec_us\":123.456,\"ops\":2,\"proxy_us\":125.000,"
           "\"wait_gpu_us\":28.000,\"wait_peer_us\":20.000,\"wait_network_us\":45.000,\"wait_data_us\":30.000,"
           "\"wait_other_us\":2.000,"
           "\"send\":{\"ops\":1,\"steps\":2,\"bytes\":768,\"time_us\":75.000,\"gpu_us\":10.000,\"peer_us\":20.000,"
           "\"network_us\":45.000,\"other_us\":0.000},"
           "\"recv\":{\"ops\":1,\"steps\":1,\"bytes\":512,\"time_us\":50.000,\"gpu_us\":15.000,\"data_us\":30.000,"
           "\"flush_us\":3.000,\"other_us\":2.000}}");
    expect("{\"kind\":\"total\",\"comm\":\"1122334455667788\",\"rank\":1,");
    expect("\"collectives\":1,\"bytes\":4194304,\"ops\":2,\"proxy_us\":125.000");
    expect("\"lost_collectives\":0,\"lost_ops\":0,\"foreign_ops\":0}");
    assert_int_equal(count_of("\n"), 4);
}

static void test_v4(void **unused)
{
    (void)unused;
    test_of_version(4);
}

static void test_v5(void **unused)
{
    (void)unused;
    test_of_version(5);
}

static void test_v6(void **unused)
{
    (void)unused;
    test_of_version(6);
}

/* Sizes as nccl-tests has them; sends and receives are numbered each by itself. */
static void test_sizes(void **unused)
{
    struct caller caller;
    struct nccl_event p2p = {.type = NCCL_P2P,
                             .p2p = {.func = "Send", .datatype = "ncclBfloat16", .count = 3, .peer = 4}};

    (void)unused;
    load(&caller, 5);
    begin(&caller, NULL, 0);
    stop(&caller, collective(&caller, "AllGather", 0, 1));
    stop(&caller, collective(&caller, "ReduceScatter", 0, 1));
    stop(&caller, start(&caller, p2p));
    p2p.p2p.func = "Recv";
    stop(&caller, start(&caller, p2p));
    p2p.p2p.func = "Send";
    p2p.p2p.count = SIZE_MAX;
    stop(&caller, start(&caller, p2p));
    unload(&caller);
    expect("\"func\":\"AllGather\",\"bytes\":8388608,");
    expect("\"func\":\"ReduceScatter\",\"bytes\":8388608,");
    expect("\"seq\":0,\"func\":\"Send\",\"bytes\":6,\"count\":3,\"datatype\":\"ncclBfloat16\",\"peer\":4,");
    expect("\"seq\":0,\"func\":\"Recv\",\"bytes\":6,");
    expect("\"seq\":1,\"func\":\"Send\",\"bytes\":18446744073709551615,");
    assert_int_equal(count_of("\"done\":false,\"exec_from\":\"none\""), 5);
}

/* Handles that mean nothing: of nobody, out of date, of another process, of the wrong kind. */
static void test_nonsense(void **unused)
{
    struct caller caller, other = {0};
    struct nccl_event event = {.type = NCCL_PROXY_OP, .op = {.pid = getpid() + 1, .is_send = 1}};

    (void)unused;
    load(&caller, 5);
    begin(&caller, "", 0);
    event.parent = (void *)(uintptr_t)0x7fff12345678; /* NOLINT */
    assert_null(start(&caller, event));
    event.op.pid = getpid();
    void *op = start(&caller, event);
    assert_non_null(op); /* of no collective that is known: counted in the totals */
    void *coll = collective(&caller, "Broadcast", 0, 1);
    assert_null(step(&caller, coll, 0));
    assert_null(step(&caller, NULL, 0));
    state(&caller, coll, NCCL_SEND_WAIT, 1);
    state(&caller, op, 77, 1);
    stop(&caller, op);
    stop(&caller, op);
    assert_null(step(&caller, op, 0));
    for (unsigned type = 0; type < 16; type++) {
        struct nccl_event unknown = {.type = 1ull << type};
        if (!(unknown.type & NCCL_EVENTS)) assert_null(start(&caller, unknown));
    }
    stop(&caller, NULL);
    state(&caller, NULL, NCCL_SEND_WAIT, 1);
    for (uintptr_t bits = 1; bits; bits <<= 1) {
        stop(&caller, (void *)(bits | (uintptr_t)4 << 29));                     /* NOLINT */
        state(&caller, (void *)(bits | (uintptr_t)5 << 29), NCCL_RECV_WAIT, 1); /* NOLINT */
        caller.table->finalize((void *)bits);                                   /* NOLINT */
    }
    other.table = caller.table;
    other.version = 5;
    assert_null(collective(&other, "AllReduce", 0, 1));
    unload(&caller);
    expect("\"foreign_ops\":1}");
    assert_int_equal(count_of("\"kind\":\"total\""), 1);
}

/* More than there is room for: what fits is written, the rest counted. */
static void test_full(void **unused)
{
    struct caller caller;
    void *coll = NULL;
    unsigned colls = 0, ops = 0;

    (void)unused;
    load(&caller, 5);
    begin(&caller, "", 0);
    for (unsigned i = 0; i < RECORDER_COLLS + 5; i++) {
        void *one = collective(&caller, "AllReduce", i, 1);
        coll = one ? one : coll;
        colls += one != NULL;
    }
    for (unsigned i = 0; i < RECORDER_OPS + 7; i++)
        ops += operation(&caller, coll, i & 1) != NULL;
    assert_int_equal(colls, RECORDER_COLLS);
    assert_int_equal(ops, RECORDER_OPS);
    unload(&caller);
    assert_int_equal(count_of("\"kind\":\"collective\""), RECORDER_COLLS);
    expect("\"lost_collectives\":5,\"lost_ops\":7,");
}

/* The thread writes what is over while the program goes on, and what goes on for long. */
static void test_while_it_runs(void **unused)
{
    struct caller caller;

    (void)unused;
    load(&caller, 5);
    begin(&caller, "", 0);
    one_collective(&caller, 3);
    void *coll = collective(&caller, "AllReduce", 4, 1);
    stop(&caller, coll);
    void *op = operation(&caller, coll, true);
    state(&caller, op, NCCL_OP_IN_PROGRESS, 0);
    void *handle = step(&caller, op, 0);
    state(&caller, handle, NCCL_SEND_PEER_WAIT, 0);
    pass(300 * MS);
    for (unsigned i = 0; i < 600 && count_of("\"seq\":3,") == 0; i++)
        usleep(100000);
    expect("\"seq\":3,\"func\":\"AllReduce\"");
    assert_int_equal(count_of("\"seq\":4,"), 0);
    pass(9800 * MS);
    for (unsigned i = 0; i < 600 && count_of("\"seq\":4,") == 0; i++)
        usleep(100000);
    expect("\"seq\":4,\"func\":\"AllReduce\"");
    assert_int_equal(count_of("\"done\":false"), 1);
    state(&caller, handle, NCCL_SEND_WAIT, 1);
    stop(&caller, handle);
    stop(&caller, op);
    kernel(&caller, coll, 1, 2);
    unload(&caller);
    assert_int_equal(count_of("\"seq\":4,"), 2);
    assert_int_equal(count_of("\"done\":true"), 2);
}

/* Without a file, with one that cannot be opened, with a name of parts. */
static void test_files(void **unused)
{
    struct caller caller;
    char expected[128];

    (void)unused;
    unsetenv("ROCELAB_NCCL_FILE");
    load(&caller, 5);
    begin(&caller, "", 0);
    one_collective(&caller, 0);
    unload(&caller);
    assert_int_equal(warned, 0);
    setenv("ROCELAB_NCCL_FILE", "/proc/none/file", 1);
    load(&caller, 5);
    begin(&caller, "", 0);
    one_collective(&caller, 0);
    unload(&caller);
    assert_int_equal(warned, 1);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    setenv("ROCELAB_NCCL_FILE", "pipe", 1); /* nobody reads it */
    load(&caller, 5);
    begin(&caller, "", 0);
    unload(&caller);
    unlink("pipe");
    assert_int_equal(warned, 2);
    setenv("ROCELAB_NCCL_FILE", "nccl-%r-%p-%%-%x.jsonl", 1);
    load(&caller, 5);
    begin(&caller, "", 3);
    unload(&caller);
    snprintf(expected, sizeof expected, "nccl-3-%d-%%-%%x.jsonl", (int)getpid());
    assert_int_equal(unlink(expected), 0);
}

/* Whoever read the pipe has left: the program gets no signal for it. */
static void test_reader_left(void **unused)
{
    struct caller caller;
    int status;

    (void)unused;
    fflush(NULL);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    setenv("ROCELAB_NCCL_FILE", "pipe", 1);
    pid_t child = fork();
    if (child == 0) {
        int reader = open("pipe", O_RDONLY | O_NONBLOCK);
        load(&caller, 5);
        begin(&caller, "", 0);
        one_collective(&caller, 0);
        close(reader);
        unload(&caller);
        _exit(reader >= 0 && warned == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink("pipe");
    assert_int_equal(status, 0);
}

/* The file is the user's alone, and a link is not followed: the folder may be everybody's. */
static void test_file_of_ones_own(void **unused)
{
    struct caller caller;
    struct stat about;

    (void)unused;
    load(&caller, 5);
    begin(&caller, "", 0);
    unload(&caller);
    assert_int_equal(stat(file_path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(symlink(file_path, "link"), 0);
    setenv("ROCELAB_NCCL_FILE", "link", 1);
    load(&caller, 5);
    begin(&caller, "", 0);
    unload(&caller);
    unlink("link");
    assert_int_equal(warned, 1);
    assert_int_equal(count_of("\"kind\":\"nccl\""), 1);
}

/* A file that is full makes room, and the next one can be read by itself. */
static void test_full_file(void **unused)
{
    struct caller caller;
    char old[80];

    (void)unused;
    snprintf(old, sizeof old, "%s.1", file_path);
    FILE *file = fopen(file_path, "w");
    assert_int_equal(ftruncate(fileno(file), 256 << 20), 0);
    fclose(file);
    load(&caller, 5);
    begin(&caller, "", 0);
    one_collective(&caller, 0);
    unload(&caller);
    assert_int_equal(unlink(old), 0);
    assert_int_equal(count_of("\n"), 4);
    assert_int_equal(count_of("{\"version\":1,\"kind\":\"nccl\""), 1);
    assert_int_equal(count_of("\"kind\":\"communicator\""), 1);
}

/* A program that ends without closing its communicators leaves what it had. */
static void test_exit(void **unused)
{
    struct caller caller;
    int status;

    (void)unused;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        load(&caller, 5);
        begin(&caller, "", 0);
        one_collective(&caller, 9);
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect("\"seq\":9,");
    assert_int_equal(count_of("\"kind\":\"total\""), 1);
}

/* Threads of the program begin collectives while others move their data: every one is written once, nothing is lost. */
#define ROUNDS 200u
static void *many(void *of)
{
    const struct caller *caller = of;

    for (unsigned i = 0; i < ROUNDS; i++)
        one_collective(caller, i);
    return NULL;
}

static void test_threads(void **unused)
{
    struct caller caller;
    pthread_t thread[4];

    (void)unused;
    load(&caller, 6);
    begin(&caller, "", 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, many, &caller), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    unload(&caller);
    assert_int_equal(count_of("\"done\":true"), 4 * ROUNDS);
    expect("\"collectives\":800,\"bytes\":3355443200,\"ops\":1600,");
    expect("\"lost_collectives\":0,\"lost_ops\":0,");
}

/* A process of several GPUs begins its communicators at once. */
static void *one_of_many(void *of)
{
    struct caller *caller = of;

    assert_int_equal(begin(caller, "", 0), NCCL_EVENTS);
    one_collective(caller, 0);
    return NULL;
}

static void test_many_begin(void **unused)
{
    struct caller caller[8];
    pthread_t thread[8];

    (void)unused;
    for (unsigned i = 0; i < 8; i++) {
        load(&caller[i], 5);
        assert_int_equal(pthread_create(&thread[i], NULL, one_of_many, &caller[i]), 0);
    }
    for (unsigned i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < 8; i++)
        unload(&caller[i]);
    assert_int_equal(count_of("\"kind\":\"nccl\""), 1);
    assert_int_equal(count_of("\"kind\":\"communicator\""), 8);
    assert_int_equal(count_of("\"done\":true"), 8);
    assert_int_equal(count_of("\"collectives\":1,\"bytes\":4194304,\"ops\":2,"), 8);
}

/* One communicator ends while the next one of another thread begins: nobody takes the other's file or thread away. */
#define LIVES 40u
static void *come_and_go(void *of)
{
    struct caller *caller = of;

    for (unsigned i = 0; i < LIVES; i++) {
        begin(caller, "", 0);
        one_collective(caller, 0);
        caller->table->finalize(caller->context);
    }
    return NULL;
}

static unsigned entries(const char *path)
{
    unsigned count = 0;
    DIR *folder = opendir(path);

    while (folder && readdir(folder))
        count++;
    if (folder) closedir(folder);
    return count;
}

static void test_come_and_go(void **unused)
{
    struct caller caller[4];
    pthread_t thread[4];
    unsigned files = entries("/proc/self/fd");

    (void)unused;
    for (unsigned i = 0; i < 4; i++) {
        load(&caller[i], 5);
        assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, &caller[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(count_of("\"kind\":\"total\""), 4 * LIVES);
    assert_int_equal(count_of("\"done\":true"), 4 * LIVES);
    for (unsigned i = 0; i < 4; i++)
        dlclose(caller[i].library);
    assert_int_equal(entries("/proc/self/fd"), files);
}

/* A communicator ended while something of it went on; the next one's collectives end all the same. */
static void test_left_open(void **unused)
{
    struct caller caller;

    (void)unused;
    load(&caller, 5);
    begin(&caller, "", 0);
    void *coll = collective(&caller, "AllReduce", 7, 1);
    void *channel = start(&caller, (struct nccl_event){.type = NCCL_KERNEL_CHANNEL, .parent = coll});
    assert_non_null(channel);
    caller.table->finalize(caller.context);
    begin(&caller, "", 0);
    one_collective(&caller, 8);
    stop(&caller, channel);
    unload(&caller);
    assert_int_equal(count_of("\"done\":true"), 1);
    assert_int_equal(count_of("\"done\":false"), 1);
}

/* More communicators than there is room for: the rest goes on without. */
static void test_many_communicators(void **unused)
{
    struct caller caller[RECORDER_COMMS + 1];

    (void)unused;
    warned = 0;
    for (unsigned i = 0; i <= RECORDER_COMMS; i++) {
        load(&caller[i], 5);
        assert_int_equal(begin(&caller[i], "", 0), i < RECORDER_COMMS ? NCCL_EVENTS : 0);
    }
    assert_int_equal(warned, 1);
    assert_null(caller[RECORDER_COMMS].context);
    assert_null(collective(&caller[RECORDER_COMMS], "AllReduce", 0, 1));
    for (unsigned i = 0; i <= RECORDER_COMMS; i++)
        unload(&caller[i]);
    assert_int_equal(count_of("\"kind\":\"total\""), RECORDER_COMMS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_v4, fresh),
        cmocka_unit_test_setup(test_v5, fresh),
        cmocka_unit_test_setup(test_v6, fresh),
        cmocka_unit_test_setup(test_sizes, fresh),
        cmocka_unit_test_setup(test_nonsense, fresh),
        cmocka_unit_test_setup(test_full, fresh),
        cmocka_unit_test_setup(test_while_it_runs, fresh),
        cmocka_unit_test_setup(test_files, fresh),
        cmocka_unit_test_setup(test_reader_left, fresh),
        cmocka_unit_test_setup(test_file_of_ones_own, fresh),
        cmocka_unit_test_setup(test_full_file, fresh),
        cmocka_unit_test_setup(test_exit, fresh),
        cmocka_unit_test_setup(test_threads, fresh),
        cmocka_unit_test_setup(test_many_begin, fresh),
        cmocka_unit_test_setup(test_come_and_go, fresh),
        cmocka_unit_test_setup(test_left_open, fresh),
        cmocka_unit_test_setup(test_many_communicators, fresh),
    };
    char folder[] = "/tmp/rocelab-nccl-XXXXXX";

    if (argc != 2 || (plugin_path = realpath(argv[1], NULL)) == NULL || mkdtemp(folder) == NULL || chdir(folder) < 0)
        return 2;
    setenv("XDG_RUNTIME_DIR", folder, 1);
    snprintf(file_path, sizeof file_path, "%s/file.jsonl", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(file_path);
    rmdir("rocelab"); /* where counters are shown */
    rmdir(folder);
    return failed;
}
