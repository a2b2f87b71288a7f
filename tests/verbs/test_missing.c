/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not there is refused with EOPNOTSUPP, and named once a process on standard error, with what to do instead.
 */
#include <infiniband/verbs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static uint8_t memory[4096];

static void refuse_qp(enum ibv_qp_type type)
{
    struct ibv_qp_init_attr qp = {.qp_type = type, .send_cq = cq, .recv_cq = cq};

    errno = 0;
    assert_null(ibv_create_qp(pd, &qp));
    assert_int_equal(errno, EOPNOTSUPP);
}

static void refuse_srq(enum ibv_srq_type type)
{
    struct ibv_srq_init_attr_ex srq = {.attr = {.max_wr = 1, .max_sge = 1},
                                       .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
                                       .srq_type = type,
                                       .pd = pd};

    errno = 0;
    assert_null(ibv_create_srq_ex(context, &srq));
    assert_int_equal(errno, EOPNOTSUPP);
}

static void refuse_region(struct ibv_mr *mr)
{
    assert_null(mr);
    assert_int_equal(errno, EOPNOTSUPP);
    errno = 0;
}

static void ask_for_all(void)
{
    struct ibv_xrcd_init_attr xrcd = {0};

    assert_null(ibv_open_xrcd(context, &xrcd));
    assert_int_equal(errno, EOPNOTSUPP);
    refuse_qp(IBV_QPT_XRC_SEND);
    refuse_qp(IBV_QPT_RAW_PACKET);
    refuse_qp(IBV_QPT_DRIVER);
    refuse_srq(IBV_SRQT_XRC);
    refuse_srq(IBV_SRQT_TM);
    errno = 0;
    refuse_region(ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND));
    refuse_region(ibv_alloc_null_mr(pd));
    refuse_region(ibv_reg_dmabuf_mr(pd, 0, sizeof memory, 0, STDIN_FILENO, IBV_ACCESS_LOCAL_WRITE));
}

static void ask_whether(void)
{
    errno = 0;
    refuse_region(ibv_reg_dmabuf_mr(pd, 0, sizeof memory, 0, -1, IBV_ACCESS_LOCAL_WRITE));
}

/* What a process that does nothing else says. */
static void said_by(void (*what)(void), const char *verbose, char *ret, size_t room)
{
    int file = memfd_create("said", 0), status = -1;
    pid_t child = fork();

    if (child == 0) {
        if (verbose) setenv("ROCELAB_VERBOSE", verbose, 1);
        dup2(file, STDERR_FILENO);
        what();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ssize_t got = pread(file, ret, room - 1, 0);
    close(file);
    assert_true(got >= 0);
    ret[got] = '\0';
}

static void ask_twice(void)
{
    ask_for_all();
    ask_for_all();
}

static unsigned count(const char *text, const char *word)
{
    unsigned found = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        found++;
    return found;
}

static void test_each_is_named_once(void **state)
{
    static const char *const words[] = {
        "rocelab: XRC",        "rocelab: raw packet",          "(DC, SRD)",
        "rocelab: tag",        "rocelab: regions of dma-bufs", "rocelab: on-demand paging",
        "rocelab: null region"};
    char said[4096];

    (void)state;
    said_by(ask_twice, NULL, said, sizeof said);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_int_equal(count(said, words[i]), 1);
    assert_int_equal(count(said, "\n"), sizeof words / sizeof *words);
    said_by(ask_twice, "off", said, sizeof said);
    assert_string_equal(said, "");
}

static void test_a_question_is_answered_quietly(void **state)
{
    char said[4096];

    (void)state;
    said_by(ask_whether, NULL, said, sizeof said);
    assert_string_equal(said, "");
}

static int open_device(void **state)
{
    struct ibv_device **list = ibv_get_device_list(NULL);

    (void)state;
    unsetenv("ROCELAB_VERBOSE");
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 4, NULL, NULL, 0);
    return cq == NULL;
}

static int close_device(void **state)
{
    (void)state;
    return ibv_destroy_cq(cq) || ibv_dealloc_pd(pd) || ibv_close_device(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_named_once),
        cmocka_unit_test(test_a_question_is_answered_quietly),
    };

    return cmocka_run_group_tests(tests, open_device, close_device);
}
