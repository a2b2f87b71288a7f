/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are written whole or not at all: what is there is the old content or the new one, whatever ends the
 * writing; no draft is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/draft.h"
#include "base/reads.h"
#include "support.h"

#define NOBODY 65534
#define LARGE (256 * 1024)
#define ACL "system.posix_acl_access"
#define ACL_OF_FOLDER "system.posix_acl_default"

static char folder[] = "/tmp/rocelab-draft-XXXXXX";

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/rocelab-draft-XXXXXX");
    umask(022);
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

/* Entries of a folder; 0: none but . and .. */
static int entries(const char *path)
{
    DIR *list = opendir(path);
    int count = -2;

    assert_non_null(list);
    while (readdir(list))
        count++;
    closedir(list);
    return count;
}

static int teardown(void **state)
{
    (void)state;
    DIR *list = opendir(".");
    for (struct dirent *one; list && (one = readdir(list));)
        if (one->d_name[0] != '.' && unlink(one->d_name) != 0) rmdir(one->d_name);
    closedir(list);
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_text(const char *path, const char *text)
{
    char got[256] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    got[fread(got, 1, sizeof got - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(got, text);
}

static mode_t mode_of(const char *path)
{
    struct stat about;

    assert_int_equal(stat(path, &about), 0);
    return about.st_mode & 07777;
}

static int replace_by(const char *path, const char *text)
{
    struct draft *draft;
    int error = draft_open(path, &draft);

    if (error) return error;
    fputs(text, draft_stream(draft));
    return draft_commit(draft);
}

/* Runs body as another user or in a namespace of its own: 0, or 77: not possible here. */
static void in_child(int (*body)(void))
{
    int status;

    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) _exit(body());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip();
    assert_int_equal(status, 0);
}

static void test_whole(void **state)
{
    struct draft *draft;

    (void)state;
    put("old", "old");
    assert_int_equal(chmod("old", 0640), 0);
    for (int i = 0; i < 2; i++) {
        const char *path = i ? "new" : "old";
        assert_int_equal(draft_open(path, &draft), 0);
        fputs("n", draft_stream(draft));
        assert_int_equal(draft_finish(draft), 0);
        if (i)
            assert_int_equal(access(path, F_OK), -1);
        else
            assert_text(path, "old");
        assert_int_equal(draft_commit(draft), 0);
        assert_text(path, "n");
    }
    assert_int_equal(mode_of("old"), 0640);
    assert_int_equal(mode_of("new"), 0644);
    assert_int_equal(draft_open("old", &draft), 0);
    fputs("dropped", draft_stream(draft));
    draft_drop(draft);
    assert_text("old", "n");
    assert_int_equal(entries("."), 2);
}

static void test_links_stay(void **state)
{
    char to[8] = "";

    (void)state;
    assert_int_equal(mkdir("in", 0755), 0);
    put("in/aim", "old");
    assert_int_equal(symlink("in/aim", "a"), 0);
    assert_int_equal(symlink("a", "b"), 0);
    assert_int_equal(symlink("in/fresh", "dangling"), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_int_equal(replace_by("b", "new"), 0);
    assert_int_equal(replace_by("dangling", "fresh"), 0);
    assert_text("in/aim", "new");
    assert_text("in/fresh", "fresh");
    assert_int_equal(readlink("b", to, sizeof to - 1), 1);
    assert_string_equal(to, "a");
    assert_int_equal(replace_by("loop", ""), -ELOOP);
    assert_int_equal(entries("in"), 2);
    assert_int_equal(unlink("in/aim") | unlink("in/fresh"), 0);
}

static void test_refused(void **state)
{
    struct draft *draft;

    (void)state;
    assert_int_equal(mkdir("in", 0755), 0);
    assert_int_equal(draft_open("in", &draft), -EISDIR);
    assert_int_equal(draft_open("none/file", &draft), -ENOENT);
    assert_int_equal(draft_open("none/", &draft), -EISDIR);
    assert_int_equal(draft_open("", &draft), -ENOENT);
    assert_int_equal(entries("."), 1);
}

/* What is no file takes the bytes as they come; a descriptor goes on where it is. */
/* A file by a descriptor of another process, which is no place of its own: whole, too. */
static int through_another(void)
{
    char path[64];
    int fd = open("log", O_RDWR);

    snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%d", (int)getpid(), (int)getpid(), fd);
    return fd >= 0 && replace_by(path, "new") == 0 ? 0 : 2;
}

static void test_direct(void **state)
{
    struct draft *draft;
    char path[32], got[8] = "";
    struct stat about;
    int ends[2];

    (void)state;
    assert_int_equal(replace_by("/dev/full", "x"), -ENOSPC);
    assert_int_equal(replace_by("/dev/null", "x"), 0);
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    assert_int_equal(replace_by(path, "pipe"), 0);
    assert_int_equal(read(ends[0], got, sizeof got), 4);
    assert_string_equal(got, "pipe");
    close(ends[0]);
    close(ends[1]);
    put("log", "first ");
    int fd = open("log", O_WRONLY | O_APPEND);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(draft_open(path, &draft), 0);
    fputs("second", draft_stream(draft));
    assert_int_equal(draft_commit(draft), 0);
    close(fd);
    assert_text("log", "first second");
    in_child(through_another);
    assert_text("log", "new");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    fd = open("fifo", O_RDWR);
    assert_int_equal(replace_by("fifo", "x"), 0);
    close(fd);
    assert_int_equal(stat("fifo", &about), 0);
    assert_true(S_ISFIFO(about.st_mode));
}

static void test_shown(void **state)
{
    struct draft *draft;

    (void)state;
    put("file", "old");
    int reader = open("file", O_RDONLY);
    assert_int_equal(draft_open("file", &draft), 0);
    fputs("head ", draft_stream(draft));
    assert_int_equal(draft_show(draft), 0);
    assert_text("file", "head ");
    fputs("more", draft_stream(draft));
    assert_int_equal(draft_commit(draft), 0);
    assert_text("file", "head more");
    char got[8] = "";
    assert_int_equal(read(reader, got, sizeof got), 3); /* who had the old one open goes on with it */
    close(reader);
}

static void test_what_was_read(void **state)
{
    struct draft *draft;

    (void)state;
    put("input", "kept");
    put("later", "kept");
    assert_int_equal(link("input", "hard") | symlink("hard", "soft"), 0);
    reads_note_path("input"); /* nothing is kept yet */
    assert_int_equal(draft_open("input", &draft), 0);
    draft_drop(draft);
    reads_keep();
    for (int i = 0; i < 200; i++) { /* the table grows */
        char path[16];
        snprintf(path, sizeof path, "r%d", i);
        put(path, "");
        reads_note_path(path);
    }
    reads_note_path("input");
    for (int i = 0; i < 3; i++)
        assert_int_equal(draft_open(((const char *[]){"input", "hard", "soft"})[i], &draft), -ENOTUNIQ);
    assert_int_equal(draft_open("later", &draft), 0);
    reads_note_path("later");
    assert_int_equal(draft_commit(draft), -ENOTUNIQ);
    assert_text("later", "kept");
    assert_text("input", "kept");
    assert_int_equal(entries("."), 204);
}

static void put_large(struct draft *draft)
{
    for (int i = 0; i < LARGE; i++)
        fputc('x', draft_stream(draft));
}

/* A file that may not grow so large: the signal of it is the program's to ignore. */
static int outgrow(void)
{
    const struct rlimit limit = {4096, 4096};
    struct draft *draft;

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 77;
    if (draft_open("file", &draft) != 0) return 2;
    put_large(draft);
    return draft_commit(draft) == -EFBIG ? 0 : 3;
}

static void test_too_large(void **state)
{
    (void)state;
    put("file", "old");
    in_child(outgrow);
    assert_text("file", "old");
    assert_int_equal(entries("."), 1);
}

static bool own_mounts(void)
{
    return unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool holds(const char *path, const char *text)
{
    char got[64] = "";
    int fd = open(path, O_RDONLY);
    bool read_all = fd >= 0 && read(fd, got, sizeof got - 1) >= 0;

    if (fd >= 0) close(fd);
    return read_all && strcmp(got, text) == 0;
}

static int fill_disk(void)
{
    struct draft *draft;

    if (!own_mounts() || mount("none", "disk", "tmpfs", 0, "size=64k") != 0) return 77;
    put("disk/file", "old");
    if (draft_open("disk/file", &draft) != 0) return 2;
    put_large(draft);
    if (draft_commit(draft) != -ENOSPC) return 3;
    return holds("disk/file", "old") && entries("disk") == 1 ? 0 : 4;
}

static void test_full_disk(void **state)
{
    (void)state;
    assert_int_equal(mkdir("disk", 0755), 0);
    in_child(fill_disk);
}

/* A file that is a mount of its own, as containers have them, cannot be renamed over. */
static int over_a_mount(void)
{
    if (!own_mounts() || mount("source", "file", NULL, MS_BIND, NULL) != 0) return 77;
    int error = replace_by("file", "new");
    return error == 0 && holds("source", "new") && entries(".") == 2 ? 0 : 3;
}

static void test_mounted_file(void **state)
{
    (void)state;
    put("source", "old and longer");
    put("file", "below");
    in_child(over_a_mount);
    assert_text("file", "below");
}

static int as_nobody(void)
{
    struct draft *draft;

    if (geteuid() == 0 && (setegid(NOBODY) != 0 || seteuid(NOBODY) != 0)) return 77;
    if (draft_open("locked/fresh", &draft) != -EACCES || draft_open("locked/others", &draft) != -EACCES) return 2;
    if (draft_open("locked/file", &draft) != 0) return 3;
    fputs("new", draft_stream(draft));
    if (draft_finish(draft) != 0 || !holds("locked/file", "old and longer")) return 4;
    return draft_commit(draft) == 0 && holds("locked/file", "new") ? 0 : 5;
}

/* An access list: its owner and user 65534 read and write, the file's group and others nothing. */
static const unsigned char list[] = {2,    0, 0, 0,                          /* version */
                                     1,    0, 6, 0, 0xff, 0xff, 0xff, 0xff,  /* the owner */
                                     2,    0, 6, 0, 0xfe, 0xff, 0,    0,     /* 65534 */
                                     4,    0, 0, 0, 0xff, 0xff, 0xff, 0xff,  /* the group */
                                     0x10, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,  /* the most */
                                     0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}; /* others */

/* Mode 0660 of a file with a list lets in whom the list says; without it, the group. */
static void test_lists(void **state)
{
    unsigned char got[128];

    (void)state;
    put("file", "old");
    if (setxattr("file", ACL, list, sizeof list, 0) != 0) skip();
    assert_int_equal(mode_of("file"), 0660);
    assert_int_equal(replace_by("file", "new"), 0);
    assert_text("file", "new");
    assert_int_equal(mode_of("file"), 0660);
    assert_int_equal(getxattr("file", ACL, got, sizeof got), sizeof list);
    assert_memory_equal(got, list, sizeof list);

    /* What the folder gives to new files is nothing for one that was there before. */
    put("plain", "old");
    assert_int_equal(chmod("plain", 0640), 0);
    assert_int_equal(setxattr(".", ACL_OF_FOLDER, list, sizeof list, 0), 0);
    assert_int_equal(replace_by("plain", "new"), 0);
    assert_int_equal(mode_of("plain"), 0640);
    assert_int_equal(getxattr("plain", ACL, got, sizeof got), -1);
    assert_int_equal(replace_by("fresh", "new"), 0);
    assert_int_equal(getxattr("fresh", ACL, got, sizeof got), sizeof list);
}

/* A file that one may write in a folder that one may not. */
static void test_unwritable_folder(void **state)
{
    (void)state;
    if (geteuid() != 0) skip();
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(mkdir("locked", 0755), 0);
    put("locked/file", "old and longer");
    put("locked/others", "");
    assert_int_equal(chown("locked/file", NOBODY, NOBODY), 0);
    in_child(as_nobody);
    assert_int_equal(entries("locked"), 2);
    assert_int_equal(unlink("locked/file") | unlink("locked/others"), 0);
}

/* In a folder of everybody's, a link that another user laid out is not followed, also where the kernel would. */
static void test_laid_out_link(void **state)
{
    struct draft *draft;

    (void)state;
    if (geteuid() != 0) skip();
    assert_int_equal(mkdir("shared", 0755), 0);
    assert_int_equal(chmod("shared", 01777), 0);
    put("victim", "kept");
    assert_int_equal(symlink("../victim", "shared/page"), 0);
    assert_int_equal(lchown("shared/page", NOBODY, NOBODY), 0);
    assert_int_equal(draft_open("shared/page", &draft), -EACCES);
    assert_text("victim", "kept");
    assert_int_equal(unlink("shared/page"), 0);
}

static int while_another_lays_out(void)
{
    struct draft *draft;

    if (setegid(NOBODY) != 0 || seteuid(NOBODY) != 0) return 77;
    if (draft_open("shared/page", &draft) != 0) return 2;
    fputs("ours", draft_stream(draft));
    if (seteuid(0) != 0) return 3;
    put("shared/page", "theirs");
    if (chmod("shared/page", 0666) != 0 || seteuid(NOBODY) != 0) return 4;
    return draft_commit(draft) == -EPERM && holds("shared/page", "theirs") && entries("shared") == 1 ? 0 : 5;
}

/* And a file that another user puts where there was none is not filled with ours, for it would be his. */
static void test_laid_out_file(void **state)
{
    (void)state;
    if (geteuid() != 0) skip();
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(mkdir("shared", 0755), 0);
    assert_int_equal(chmod("shared", 01777), 0);
    in_child(while_another_lays_out);
    assert_int_equal(unlink("shared/page"), 0);
}

/* --- the end of the process in the middle --- */

static void test_signals(void **state)
{
    static const int number[] = {SIGTERM, SIGINT, SIGHUP, SIGABRT};
    int status;

    (void)state;
    put("file", "old");
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            struct draft *draft, *other;
            prctl(PR_SET_DUMPABLE, 0); /* no core in the folder */
            signal(SIGTERM, SIG_DFL);  /* whoever began the tests may have had signals ignored */
            signal(number[i], SIG_DFL);
            draft_watch_end();
            if (draft_open("file", &draft) || draft_open("fresh", &other) || mkdir("tree", 0755) ||
                !draft_tree_add("tree", true) || mkdir("tree/in", 0755) || !draft_tree_add("tree/in", true) ||
                !draft_tree_add("tree/in/file", false))
                _exit(2);
            put("tree/in/file", "x");
            put_large(draft);
            pid_t child = fork(); /* the drafts are its parent's */
            if (child == 0) raise(SIGTERM);
            waitpid(child, &status, 0);
            if (entries(".") != 4 || !WIFSIGNALED(status)) _exit(3);
            raise(number[i]);
            _exit(4);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), number[i]);
        assert_text("file", "old");
        assert_int_equal(entries("."), 1);
    }
}

static void test_tree(void **state)
{
    (void)state;
    for (int keep = 0; keep < 2; keep++) {
        assert_int_equal(mkdir("tree", 0755), 0);
        assert_true(draft_tree_add("tree", true));
        assert_true(draft_tree_add("tree/a", false));
        put("tree/a", "x");
        if (keep) draft_tree_keep("tree");
        draft_tree_drop("tree");
        assert_int_equal(access("tree/a", F_OK), keep ? 0 : -1);
    }
    assert_int_equal(unlink("tree/a"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_whole),         TEST(test_links_stay),
        TEST(test_refused),       TEST(test_direct),
        TEST(test_shown),         TEST(test_too_large),
        TEST(test_full_disk),     TEST(test_lists),
        TEST(test_mounted_file),  TEST(test_unwritable_folder),
        TEST(test_laid_out_link), TEST(test_laid_out_file),
        TEST(test_signals),       TEST(test_tree),
        TEST(test_what_was_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
