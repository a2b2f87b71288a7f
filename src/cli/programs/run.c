/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab run [OPTIONS] -- PROGRAM...: a verbs program on the adapter in user space.
 *
 * The program is replaced into with our libibverbs.so.1 and librdmacm.so.1 preloaded, which satisfies what it
 * was linked to by name.  LD_LIBRARY_PATH points the same way for what is opened later.  Options become the
 * ROCELAB_* variables that the library reads (docs/live.md), checked here so that mistakes show before the
 * program runs.  What a preload cannot reach is refused with its reason (run_elf.c), since it would run and find no
 * device.
 *
 * The exit status is the program's; 127: it was not found, 126: it cannot be run.
 */
#include "cli/option.h"

#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/place.h"
#include "cli/programs/run_elf.h"
#include "cli/programs/run_fabric.h"
#include "live/environment.h"

enum { RUN_CANNOT = 126, RUN_NOT_FOUND = 127 };

static bool set_pcap(void *to, const char *name)
{
    (void)to;
    char folder[PATH_MAX], whole[2 * PATH_MAX];

    /* the program may change its folder */
    if (name[0] == '/' || getcwd(folder, sizeof folder) == NULL) return setenv("ROCELAB_PCAP", name, 1) == 0;
    snprintf(whole, sizeof whole, "%s/%s", folder, name);
    return setenv("ROCELAB_PCAP", whole, 1) == 0;
}

struct settings {
    struct run_fabric fabric;
};

static const struct cli_option options[] = {
#include "cli/programs/run_options.def"
};

static const struct cli_command command = {
    .verb = "run",
    .operands = "-- PROGRAM [ARGUMENTS]",
    .literal = true,
    .about =
        "Runs a program that uses RDMA verbs (libibverbs, librdmacm) on an adapter in user space: no RDMA hardware, "
        "no kernel module, no root.",
    CLI_OWN(options),
    .more = "Examples:\n"
            "  rocelab run -- ibv_devinfo\n"
            "  rocelab run -- ib_write_bw &  rocelab run -- ib_write_bw 127.0.0.1\n"
            "  rocelab run --fabric rail --host h1 -- ib_write_bw h0\n"
            "  rocelab run --fault loss=1% --pcap client.pcap -- ibv_rc_pingpong -g 0 127.0.0.1\n"
            "\nWith --fault a line at the end says what was lost and sent again (not with --quiet).\n"
            "--json and --strict do nothing here: what is printed is the program's.\n"
            "\nExit status: the program's; 127 it was not found, 126 it cannot be run, 2 wrong use.\n",
};

static bool has_file(const char *folder, const char *name)
{
    char path[2 * PATH_MAX + 32];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, R_OK) == 0;
}

static bool has_library(const char *folder)
{
    return has_file(folder, "libibverbs.so.1");
}

/* Programs that open the name without a number (NCCL does so first) would find another library under it, which has no
 * devices.  A copy of the folder may lack it: packagers keep such names for compilers. */
static void look_for_bare_name(const char *folder)
{
    if (!has_file(folder, "libibverbs.so"))
        cli_error("run: %s has no libibverbs.so: a program that opens that name, as NCCL does, finds no device; "
                  "ln -s libibverbs.so.1 %s/libibverbs.so",
                  folder, folder);
}

/* Beside the program in a build, where it was installed, or below the prefix it was moved to. */
static bool find_folder(char ret[PATH_MAX])
{
    static const char *const beside[] = {"src/verbs", "../" ROCELAB_LIBDIR "/rocelab", "../lib/rocelab"};
    char self[PATH_MAX], path[2 * PATH_MAX];
    bool known = cli_place_program(self);

    for (unsigned i = 0; known && i < sizeof beside / sizeof beside[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", self, beside[i]);
        if (has_library(path) && realpath(path, ret) != NULL) return true;
    }
    snprintf(ret, PATH_MAX, "%s/%s/rocelab", ROCELAB_PREFIX, ROCELAB_LIBDIR);
    return has_library(ret);
}

static bool has_address(const struct ifaddrs *at)
{
    return at->ifa_addr != NULL && (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6);
}

static bool is_interface(const struct ifaddrs *list, const char *name, size_t length)
{
    for (const struct ifaddrs *at = list; at != NULL; at = at->ifa_next)
        if (has_address(at) && strlen(at->ifa_name) == length && memcmp(at->ifa_name, name, length) == 0) return true;
    return false;
}

static void no_such_device(const struct ifaddrs *list, const char *name, size_t length)
{
    char there[512] = "";
    size_t used = 0;

    for (const struct ifaddrs *at = list; at != NULL; at = at->ifa_next) {
        bool first = true;

        for (const struct ifaddrs *before = list; before != at; before = before->ifa_next)
            first = first && !(has_address(before) && strcmp(before->ifa_name, at->ifa_name) == 0);
        if (!has_address(at) || !first || used + strlen(at->ifa_name) + 3 > sizeof there) continue;
        used += (size_t)snprintf(there + used, sizeof there - used, "%s%s", used ? ", " : "", at->ifa_name);
    }
    cli_error("run: device '%.*s': no interface with an address; there are: %s", (int)length, name,
              used ? there : "none");
}

/* Whether each interface that ROCELAB_DEVICE lists is there: a program would only say that it finds no device. */
static bool devices_exist(void)
{
    const char *text = getenv("ROCELAB_DEVICE");
    struct ifaddrs *list;
    bool good = true;

    if (text == NULL || getifaddrs(&list) < 0) return true;
    while (good && *text) {
        size_t length = strcspn(text, ","), name = strcspn(text, "=");
        size_t skip = name < length ? name + 1 : 0;

        good = length == 0 || is_interface(list, text + skip, length - skip);
        if (!good) no_such_device(list, text + skip, length - skip);
        text += length + (text[length] == ',');
    }
    freeifaddrs(list);
    return good;
}

/* `a` and `b`, either of which may be nothing, with a colon between. */
static bool set_list(const char *name, const char *a, const char *b)
{
    char *whole;
    bool done;

    if (asprintf(&whole, "%s%s%s", a, a[0] && b[0] ? ":" : "", b) < 0) return false;
    done = setenv(name, whole, 1) == 0;
    free(whole);
    return done;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

/* First the runtime of a sanitizer, which may insist on it, then what the user preloads, then ours.  A program that
 * this one starts may have such a runtime too: then it is told not to insist. */
static bool set_preload(const char *folder, const char *sanitizer)
{
    char verbs[PATH_MAX + 32], cm[PATH_MAX + 32], both[2 * PATH_MAX + 64];
    static const char lenient[] = "verify_asan_link_order=0";

    snprintf(verbs, sizeof verbs, "%s/libibverbs.so.1", folder);
    snprintf(cm, sizeof cm, "%s/librdmacm.so.1", folder);
    if (access(cm, R_OK) == 0)
        snprintf(both, sizeof both, "%s:%s", verbs, cm);
    else
        snprintf(both, sizeof both, "%s", verbs);
    if (strstr(variable("ASAN_OPTIONS"), "verify_asan_link_order") == NULL &&
        !set_list("ASAN_OPTIONS", variable("ASAN_OPTIONS"), lenient))
        return false;
    return set_list("LD_PRELOAD", variable("LD_PRELOAD"), both) &&
           set_list("LD_PRELOAD", sanitizer, variable("LD_PRELOAD")) &&
           set_list("LD_LIBRARY_PATH", folder, variable("LD_LIBRARY_PATH"));
}

/* The program's path as execvp() would find it.  0, -ENOENT, or -EACCES for a file that cannot be executed. */
static int find_program(const char *name, char ret[PATH_MAX])
{
    const char *list = getenv("PATH");
    struct stat is;
    int error = -ENOENT;

    if (strchr(name, '/') != NULL) {
        snprintf(ret, PATH_MAX, "%s", name);
        if (stat(ret, &is) != 0) return -errno;
        return S_ISREG(is.st_mode) && access(ret, X_OK) == 0 ? 0 : -EACCES;
    }
    for (const char *at = list ? list : "/usr/local/bin:/usr/bin:/bin"; *at;) {
        int length = (int)strcspn(at, ":");

        snprintf(ret, PATH_MAX, "%.*s/%s", length ? length : 1, length ? at : ".", name);
        if (stat(ret, &is) == 0 && S_ISREG(is.st_mode)) {
            if (access(ret, X_OK) == 0) return 0;
            error = -EACCES;
        }
        at += length + (at[length] == ':');
    }
    return error;
}

/* A file that the library is to write: the program would only find no device. */
static bool writable(const char *name)
{
    char folder[PATH_MAX];
    struct stat is;
    const char *why = NULL;
    char *slash;

    snprintf(folder, sizeof folder, "%s", name);
    slash = strrchr(folder, '/');
    if (slash == NULL) return true;
    slash[slash == folder] = 0;
    if (stat(name, &is) == 0 && S_ISDIR(is.st_mode))
        why = strerror(EISDIR);
    else if (access(name, F_OK) == 0 ? access(name, W_OK) != 0 : access(folder, W_OK | X_OK) != 0)
        why = strerror(errno);
    if (why != NULL) cli_error("run: cannot write %s: %s", name, why);
    return why == NULL;
}

static int prepare(const char *name, const struct run_fabric *fabric, char program[PATH_MAX])
{
    struct live_environment environment;
    char folder[PATH_MAX], text[256];
    struct run_elf elf;
    int error = live_environment_read(&environment, text, sizeof text);

    if (error) return cli_wrong("run: %s", text);
    if (!fabric->on && !devices_exist()) return CLI_WRONG;
    if ((environment.pcap[0] && !writable(environment.capture.path))) return CLI_WRONG;
    if (environment.trace[0] && strcmp(environment.trace, "-") != 0 && !writable(environment.trace)) return CLI_WRONG;
    error = find_program(name, program);
    if (error) {
        cli_error("run: %s: %s", name, error == -ENOENT ? "no such program" : strerror(-error));
        return error == -ENOENT ? RUN_NOT_FOUND : RUN_CANNOT;
    }
    run_elf_read(program, &elf);
    if (elf.obstacle != NULL) {
        cli_error("run: %s: %s", program, elf.obstacle);
        return RUN_CANNOT;
    }
    if (!find_folder(folder))
        return cli_wrong(
            "run: libibverbs.so.1 is neither beside this program nor in %s; was rocelab built with -Dverbs=enabled?",
            folder);
    if (strpbrk(folder, " :") != NULL) { /* between which LD_PRELOAD lists its libraries */
        return cli_wrong(
            "run: libraries cannot be preloaded from '%s': no blank and no colon may be in the path of rocelab",
            folder);
    }
    look_for_bare_name(folder);
    if (fabric->on && !run_fabric_prepare(fabric, folder)) return CLI_WRONG;
    if (!set_preload(folder, elf.sanitizer)) return cli_wrong("run: not enough memory");
    return CLI_GO;
}

int verb_run(int argc, char **argv, FILE *out)
{
    struct cli_common common;
    struct settings settings = {0};
    char program[PATH_MAX];
    int first, answer = cli_options(&command, argc, argv, out, &common, &settings, &first);

    if (answer != CLI_GO) return answer;
    if (common.quiet && setenv("ROCELAB_VERBOSE", "off", 1) != 0) return cli_wrong("run: not enough memory");
    if (first >= argc) return cli_wrong("run: which program? As in 'rocelab run -- ibv_devinfo'");
    if (run_fabric_elsewhere(&settings.fabric, argv + first, &answer)) return answer;
    answer = prepare(argv[first], &settings.fabric, program);
    if (answer != CLI_GO) return answer;
    fflush(out);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    execv(program, argv + first);
    cli_error("run: %s: %s", program, strerror(errno));
    return RUN_CANNOT;
}
