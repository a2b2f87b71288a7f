/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives on this machine's GPUs: nccl-tests, unchanged, over the adapter in user space.
 *
 * Nothing of CUDA is needed to build this: a GPU is there when libcuda.so.1 can be opened and finds one.  NCCL must be
 * kept from the ways within a machine (P2P and shared memory are turned off), and from taking its ranks for neighbours.
 * Programs that are linked with MPI are run as a process for each rank, each with an NCCL_HOSTID of its own and the GPU
 * of NCCL_TESTS_DEVICE, so that one GPU is enough; others as one process with all GPUs, of which two are needed.
 *
 * Judged: the exit status, the network that NCCL's log says it used, and the sums, which nccl-tests checks itself.
 * What it printed is read as `validate --measured` does.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "evidence/evidence.h"
#include "evidence/read/reader.h"
#include "study/clock.h"
#include "validate/live/figures.h"

#define PATIENCE_S 180
#define RANKS_MOST 8u
#define WORDS (32u + 22u * RANKS_MOST) /* 19, two of --fault, 22 of a rank */
#define PATH_BYTES 512u
#define WORD (PATH_BYTES + 64u) /* a path behind the name of a variable */
#define LINE 200                /* of NCCL's log, in a row */

static const struct {
    const char *program, *kind; /* kind: as jobs of a fabric file are called */
} collectives[] = {{"all_reduce_perf", "allreduce"},
                   {"all_gather_perf", "allgather"},
                   {"reduce_scatter_perf", "reducescatter"},
                   {"alltoall_perf", "alltoall"}};

static const char output[] = "nccl-tests.out", errors[] = "nccl-tests.err";
/* NCCL's log of each rank; result lines would be broken by it if it went to the same file */
static const char *const left[] = {output,   errors,   "nccl.0", "nccl.1", "nccl.2", "nccl.3",
                                   "nccl.4", "nccl.5", "nccl.6", "nccl.7", NULL};

struct launch {
    const char *kind;
    char path[PATH_BYTES]; /* of the program */
    bool mpi;              /* a process for each rank */
    uint32_t gpus, ranks;
};

struct outcome {
    double busbw_bps;
    uint64_t bytes, wrong; /* the largest message; values of all sizes */
    bool checked;          /* wrong is known */
    double others;
    char bad_line[LINE]; /* of NCCL's log: another network was used; "": none */
    bool on_ours;        /* it says that NET/IB with our device was */
    char why[LINE + 40]; /* it did not come to that; "": it did */
};

/* --- the GPU --- */

/* How many GPUs CUDA finds; 0 with the reason. */
static uint32_t count_gpus(char why[LINE])
{
    union { /* what dlsym() answers, as ISO C allows no cast */
        void *object;
        int (*init)(unsigned flags);
        int (*count)(int *count);
    } init, count;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    int gpus = 0, status;

    if (cuda == NULL) {
        snprintf(why, LINE, "there is no GPU driver in this machine (libcuda.so.1)");
        return 0;
    }
    init.object = dlsym(cuda, "cuInit");
    count.object = dlsym(cuda, "cuDeviceGetCount");
    if (!init.object || !count.object)
        snprintf(why, LINE, "libcuda.so.1 is no CUDA driver: it has no cuInit or no cuDeviceGetCount");
    else if ((status = init.init(0)) != 0)
        snprintf(why, LINE, "the GPU driver does not start: cuInit says %d", status);
    else if ((status = count.count(&gpus)) != 0 || gpus < 1)
        snprintf(why, LINE, "the GPU driver finds no GPU");
    return gpus > 0 ? (uint32_t)gpus : 0;
}

/* --- the program --- */

static bool is_program(const char *path)
{
    struct stat is;

    return stat(path, &is) == 0 && S_ISREG(is.st_mode) && access(path, X_OK) == 0;
}

/* In the folder that was named, else in PATH; with and without the ending that MPI builds may have. */
static bool find_program(const char *folder, const char *name, char path[PATH_BYTES])
{
    static const char *const endings[] = {"", "_mpi"};
    const char *list = folder ? folder : getenv("PATH");

    for (const char *at = list ? list : ""; *at;) {
        int length = (int)(folder ? strlen(at) : strcspn(at, ":"));
        for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
            snprintf(path, PATH_BYTES, "%.*s/%s%s", length, at, name, endings[i]);
            if (is_program(path)) return true;
        }
        at += length + (at[length] == ':');
    }
    return false;
}

/* Whether libmpi is among the libraries that the file names. */
static bool has_mpi(const char *path)
{
    struct stat is;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool found = false;

    if (file >= 0 && fstat(file, &is) == 0 && is.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)is.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        found = bytes != MAP_FAILED && memmem(bytes, (size_t)is.st_size, "libmpi", 6);
        if (bytes != MAP_FAILED) munmap(bytes, (size_t)is.st_size);
    }
    if (file >= 0) close(file);
    return found;
}

struct words {
    char text[WORDS][WORD];
    const char *word[WORDS + 1];
    uint32_t count;
};

__attribute__((format(printf, 2, 3))) static void add_word(struct words *words, const char *format, ...)
{
    va_list arguments;

    CHECK(words->count < WORDS);
    va_start(arguments, format);
    int length = vsnprintf(words->text[words->count], WORD, format, arguments);
    CHECK(length >= 0 && (unsigned)length < WORD);
    va_end(arguments);
    words->word[words->count] = words->text[words->count];
    words->word[++words->count] = NULL;
}

static void add_test(struct words *words, const struct launch *launch)
{
    /* 8 KiB to 32 MiB; every value is checked */
    static const char *const options[] = {"-b", "8K", "-e", "32M", "-f", "8", "-n", "10", "-w", "2", "-c", "1", "-g"};

    add_word(words, "%s", launch->path);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        add_word(words, "%s", options[i]);
    add_word(words, "%u", launch->mpi ? 1 : launch->ranks);
}

static void write_words(const struct validate_case *of, const struct launch *launch, const char *folder,
                        struct words *words)
{
    /* GIN: NCCL 2.28 dies at its start where a device is none of mlx5's.  The rest of MPI: not over our adapter too, as
     * root too, and with fewer processors than ranks. */
    static const char *const environment[] = {"env",
                                              "NCCL_DEBUG=INFO",
                                              "NCCL_NET=IB",
                                              "NCCL_SOCKET_IFNAME=lo",
                                              "NCCL_P2P_DISABLE=1",
                                              "NCCL_SHM_DISABLE=1",
                                              "NCCL_NVLS_ENABLE=0",
                                              "NCCL_GIN_TYPE=0"};
    static const char *const of_mpi[] = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                         "OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_pml=^ucx",
                                         "OMPI_MCA_btl=^openib"};

    words->count = 0;
    add_word(words, "rocelab");
    add_word(words, "run");
    add_word(words, "--device");
    add_word(words, "lo");
    if (of->plan->live_fault) {
        add_word(words, "--fault");
        words->word[words->count] = of->plan->live_fault; /* of any length */
        words->word[++words->count] = NULL;
    }
    add_word(words, "--");
    for (size_t i = 0; i < sizeof environment / sizeof environment[0]; i++)
        add_word(words, "%s", environment[i]);
    if (!launch->mpi) {
        add_word(words, "NCCL_DEBUG_FILE=%s/nccl.0", folder);
        add_test(words, launch);
        return;
    }
    for (size_t i = 0; i < sizeof of_mpi / sizeof of_mpi[0]; i++)
        add_word(words, "%s", of_mpi[i]);
    add_word(words, "mpirun");
    for (uint32_t rank = 0; rank < launch->ranks; rank++) {
        if (rank) add_word(words, ":");
        add_word(words, "-np");
        add_word(words, "1");
        add_word(words, "env");
        add_word(words, "NCCL_HOSTID=rocelab%u", rank);
        add_word(words, "NCCL_TESTS_DEVICE=%u", rank % launch->gpus);
        add_word(words, "NCCL_DEBUG_FILE=%s/nccl.%u", folder, rank);
        add_test(words, launch);
    }
}

/* --- what it said --- */

static void keep_line(const char *line, size_t length, char ret[LINE])
{
    const char *nccl = memmem(line, length, "NCCL ", 5); /* without host, process and GPU */

    if (nccl) {
        length -= (size_t)(nccl - line);
        line = nccl;
    }
    snprintf(ret, LINE, "%.*s", (int)(length < LINE ? length : LINE - 1), line);
}

static bool has(const char *line, size_t length, const char *what)
{
    return memmem(line, length, what, strlen(what)) != NULL;
}

/* "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0", "NET/IB : Using [0]rocelab0:1/RoCE ; OOB lo:127.0.0.1<0>";
 * `warning`: the first line that NCCL warns with. */
static void read_log(const char *text, struct outcome *ret, bool *ret_device, bool *ret_way, char warning[LINE])
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        if (has(line, length, " NCCL WARN ") && !warning[0]) keep_line(line, length, warning);
        if (has(line, length, " NCCL INFO ")) {
            bool way = has(line, length, "Channel ") && has(line, length, " via ");
            bool device = has(line, length, "NET/IB : Using");
            bool ours = way ? has(line, length, " via NET/IB/") : has(line, length, "]rocelab0:");
            *ret_way |= way && ours;
            *ret_device |= device && ours;
            if ((way || device) && !ours && !ret->bad_line[0]) keep_line(line, length, ret->bad_line);
        }
        line += length + (line[length] == '\n');
    }
}

/* Figures by the reader of measured outputs. */
static void read_results(const char *folder, const struct launch *launch, struct outcome *ret)
{
    struct evidence evidence;
    char path[LIVE_PATH], why[LINE];

    evidence_init(&evidence);
    snprintf(path, sizeof path, "%.200s/%s", folder, output);
    bool good = evidence_read(&evidence, path, NULL, why, sizeof why);
    EVIDENCE_EACH(&evidence, EVIDENCE_JOB, job)
    {
        const struct evidence_value *rate = evidence_find(&evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_BUSBW);
        const struct evidence_value *wrong = evidence_find(&evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_WRONG_VALUES);
        if (!good || !rate || strncmp(evidence.object[job].name, "nccl-tests", 10) != 0) continue;
        ret->busbw_bps = rate->real * 8;
        ret->bytes = evidence_get(&evidence, job, EVIDENCE_NO_PRIORITY, EVIDENCE_MESSAGE_BYTES);
        ret->checked = wrong != NULL;
        ret->wrong = wrong ? wrong->last : 0;
    }
    evidence_release(&evidence);
    if (ret->busbw_bps <= 0 && !ret->why[0])
        snprintf(ret->why, sizeof ret->why, "%s printed no bus bandwidth", strrchr(launch->path, '/') + 1);
}

/* The last line that has something in it, where NCCL itself warns of nothing. */
static void last_line(const char *text, char ret[LINE])
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n"), blanks = strspn(line, " \t-");
        if (length > blanks) keep_line(line, length, ret);
        line += length + (line[length] == '\n');
    }
}

static void read_all(const char *folder, const struct launch *launch, int status, struct outcome *ret)
{
    char warning[LINE] = "", last[LINE] = "";
    bool device = false, way = false;
    size_t length;

    for (const char *const *name = left; *name; name++) {
        char *text = machine_output(folder, *name, &length);
        CHECK(text);
        read_log(text, ret, &device, &way, warning);
        if (*name == output || *name == errors) last_line(text, last);
        free(text);
    }
    ret->on_ours = device && way;
    if (status != 0)
        snprintf(ret->why, sizeof ret->why, "%s: %s",
                 status < 0 ? "it was ended by a signal, or after 180 s" : "it ended with an error",
                 warning[0] ? warning
                 : last[0]  ? last
                            : "it said nothing");
    read_results(folder, launch, ret);
    if (status > 0 && ret->checked && ret->wrong) ret->why[0] = '\0'; /* nccl-tests ends with an error for that alone */
}

/* False: no folder can be made. */
static bool run_once(struct validate_case *of, const struct launch *launch, struct outcome *ret)
{
    struct words *words = malloc(sizeof *words);
    struct machine_watch watch;
    char folder[LIVE_PATH];

    CHECK(words);
    *ret = (struct outcome){0};
    bool good = machine_open(folder);
    if (good) {
        write_words(of, launch, folder, words);
        machine_watch(&watch);
        int status = machine_finish(machine_start(folder, output, errors, words->word),
                                    clock_now_ns() + UINT64_C(1000000000) * PATIENCE_S);
        ret->others = machine_others(&watch);
        read_all(folder, launch, status, ret);
        machine_close(folder, left);
    }
    free(words);
    return good;
}

/* --- rows --- */

/* False: a row says that it failed, and figures would say nothing. */
static bool judge_run(struct validate_case *of, const char *name, const struct outcome *outcome)
{
    if (outcome->why[0]) {
        validate_tell(of, VALIDATE_FAIL, name, "it completes, exit status 0", "%s", outcome->why);
        return false;
    }
    const char *subject = case_text(of, "%.200s: the network that NCCL used", name);
    if (outcome->bad_line[0] || !outcome->on_ours) {
        validate_tell(of, VALIDATE_FAIL, subject, "NET/IB on rocelab0 between all ranks", "%s",
                      outcome->bad_line[0] ? outcome->bad_line
                                           : "NCCL's log has no 'NET/IB : Using [0]rocelab0' or no 'via NET/IB'");
        return false;
    }
    validate_tell(of, VALIDATE_PASS, subject, "NET/IB on rocelab0 between all ranks", "%s", "");
    subject = case_text(of, "%.200s: wrong values", name);
    if (outcome->checked)
        JUDGE(of, .subject = subject, .criterion = CRITERION_LIVE_WRONG, .value = (double)outcome->wrong,
              .why = "a collective gave other values than nccl-tests expects");
    else
        validate_tell(of, VALIDATE_FAIL, subject, "every value is checked", "its output has no '#wrong' of any size");
    return outcome->checked && outcome->wrong == 0;
}

static void judge_collective(struct validate_case *of, const struct launch *launch)
{
    struct live_figures figures = {0};
    struct outcome outcome = {0};

    const char *name =
        case_text(of, "%.80s over %u ranks on %u GPU%s", strrchr(launch->path, '/') + 1, launch->ranks,
                  launch->gpus < launch->ranks ? launch->gpus : launch->ranks, launch->gpus == 1 ? "" : "s");
    for (uint32_t tried = 0; live_more(of, &figures, tried) && (!tried || live_wait_idle(&figures)); tried++) {
        if (!run_once(of, launch, &outcome)) {
            validate_tell(of, VALIDATE_FAIL, name, "it can be run", "no folder can be made in /tmp");
            return;
        }
        if (outcome.why[0] || outcome.bad_line[0] || !outcome.on_ours || outcome.wrong) break;
        live_add(&figures, outcome.busbw_bps, outcome.others);
    }
    if (!judge_run(of, name, &outcome)) return;
    const char *job = case_text(of, "%s, %u ranks", launch->kind, launch->ranks);
    const char *subject = case_text(of, "%.200s: bus bandwidth of %s%s", name,
                                    case_number(of, VALIDATE_BYTES, (double)outcome.bytes), live_runs_text(of));
    live_hold(of,
              &(struct validate_finding){.subject = subject,
                                         .criterion = CRITERION_LIVE_RATE,
                                         .unit = VALIDATE_RATE,
                                         .job = job,
                                         .bytes = outcome.bytes},
              &figures);
}

static bool has_mpirun(void)
{
    char path[PATH_BYTES];

    return find_program(NULL, "mpirun", path);
}

void test_live_collectives(struct validate_case *of)
{
    const char *folder = of->plan->nccl_tests;
    char why[LINE] = "";
    uint32_t gpus = count_gpus(why);

    if (validate_skip_if(
            of, gpus == 0, "nccl-tests",
            "%s; with one, NCCL and nccl-tests they are run here; validate --measured DIR judges outputs of "
            "another machine",
            why))
        return;
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
        struct launch launch = {.kind = collectives[i].kind, .gpus = gpus};
        if (!find_program(folder, collectives[i].program, launch.path)) {
            validate_skip(of, collectives[i].program,
                          "it is not in %.150s: nccl-tests has it, and --nccl-tests DIR "
                          "says where that is",
                          folder ? folder : "PATH");
            continue;
        }
        launch.mpi = has_mpi(launch.path) && has_mpirun();
        launch.ranks = gpus < 2 ? 2 : gpus > RANKS_MOST ? RANKS_MOST : gpus;
        if (!launch.mpi && gpus < 2)
            validate_skip(of, collectives[i].program,
                          "one GPU needs two processes: nccl-tests that is built with MPI=1, and mpirun");
        else
            judge_collective(of, &launch);
    }
}
