/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes: a record is given as soon as its last byte is there, and not before; a signal interrupts the
 * wait and loses nothing.  The test is the writer too, one byte at a time, so nothing depends on how
 * fast anybody is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "build.h"
#include "packet/capfile/capfile.h"

static uint8_t frame[256];
static int pipe_end; /* to write to */

static struct capfile *open_pipe(const uint8_t *bytes, size_t count)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pipe_end = ends[1];
    assert_int_equal(write(pipe_end, bytes, count), count);
    char path[32], error[CAPFILE_ERROR];
    snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
    struct capfile *file;
    if (capfile_open(path, &file, error) != 0) fail_msg("%s", error);
    close(ends[0]);
    return file;
}

static void on_alarm(int number)
{
    (void)number;
}

/* Signals come again and again until the reader has seen one: none can be lost between two calls. */
static void alarms(bool on)
{
    struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART */
    sigaction(SIGALRM, &action, NULL);
    suseconds_t us = on ? 2000 : 0;
    struct itimerval timer = {.it_interval.tv_usec = us, .it_value.tv_usec = us};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void dribbled(const struct build *build, const size_t *ends, unsigned records)
{
    char error[CAPFILE_ERROR];
    struct capfile_record record;
    struct capfile *file = open_pipe(build->bytes, ends[0]);
    for (unsigned i = 1; i <= records; i++) {
        for (size_t at = ends[i - 1]; at + 1 < ends[i]; at++) {
            assert_int_equal(write(pipe_end, build->bytes + at, 1), 1);
            if (at % 16 != 0) continue;
            alarms(true); /* what is there is taken in, and no record is answered */
            assert_int_equal(capfile_next(file, &record, error), -EINTR);
            alarms(false);
            assert_false(capfile_ready(file));
        }
        assert_int_equal(write(pipe_end, build->bytes + ends[i] - 1, 1), 1);
        assert_int_equal(capfile_next(file, &record, error), 1);
        assert_int_equal(record.number, i);
        assert_int_equal(record.captured, 40 + i);
        assert_memory_equal(record.data, frame, record.captured);
    }
    close(pipe_end);
    assert_int_equal(capfile_next(file, &record, error), 0);
    assert_true(capfile_ready(file));
    uint64_t done, size;
    capfile_progress(file, &done, &size);
    assert_int_equal(done, ends[records]);
    assert_int_equal(size, 0);
    capfile_close(file);
}

static void pcap_dribbled(void **state)
{
    (void)state;
    struct build build;
    size_t ends[6];
    build_init(&build, true);
    build_pcap(&build, 0xa1b2c3d4, 1);
    ends[0] = build.used;
    for (unsigned i = 1; i < 6; i++) {
        build_pcap_record(&build, i, i, frame, 40 + i, 100);
        ends[i] = build.used;
    }
    dribbled(&build, ends, 5);
    build_free(&build);
}

static void pcapng_dribbled(void **state)
{
    (void)state;
    struct build build;
    size_t ends[6];
    build_init(&build, false);
    build_section(&build);
    ends[0] = build.used;
    build_interface(&build, 1, 0, 9, 0, 0);
    for (unsigned i = 1; i < 6; i++) {
        build_block(&build, 5); /* statistics: no record, not to be waited for twice */
        build_block_end(&build);
        build_packet(&build, 0, i, frame, 40 + i, 100);
        ends[i] = build.used;
    }
    dribbled(&build, ends, 5);
    build_free(&build);
}

/* Several records in one write: all but the first are ready without touching the pipe. */
static void ready(void **state)
{
    (void)state;
    for (unsigned ng = 0; ng < 2; ng++) {
        struct build build;
        build_init(&build, false);
        if (ng) {
            build_section(&build);
            build_interface(&build, 1, 0, 9, 0, 0);
        } else {
            build_pcap(&build, 0xa1b23c4d, 1);
        }
        for (unsigned i = 0; i < 3; i++) {
            if (ng)
                build_packet(&build, 0, i, frame, 60, 60);
            else
                build_pcap_record(&build, 0, i, frame, 60, 60);
        }
        struct capfile *file = open_pipe(build.bytes, build.used - 1);
        struct capfile_record record;
        char error[CAPFILE_ERROR];
        assert_true(capfile_ready(file));
        assert_int_equal(capfile_next(file, &record, error), 1);
        assert_true(capfile_ready(file));
        assert_int_equal(capfile_next(file, &record, error), 1);
        assert_false(capfile_ready(file));
        close(pipe_end);
        assert_int_equal(capfile_next(file, &record, error), -EBADMSG);
        assert_non_null(strstr(error, "ends inside record 3 at byte "));
        capfile_close(file);
        build_free(&build);
    }
}

/* A descriptor that somebody made non-blocking: waits all the same. */
static void non_blocking(void **state)
{
    (void)state;
    struct build build;
    build_init(&build, false);
    build_pcap(&build, 0xa1b23c4d, 1);
    build_pcap_record(&build, 0, 0, frame, 60, 60);
    int ends[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    assert_int_equal(write(ends[1], build.bytes, 30), 30);
    char error[CAPFILE_ERROR];
    struct capfile *file;
    assert_int_equal(capfile_open("-", &file, error), 0);
    struct capfile_record record;
    alarms(true);
    assert_int_equal(capfile_next(file, &record, error), -EINTR);
    alarms(false);
    assert_int_equal(write(ends[1], build.bytes + 30, build.used - 30), build.used - 30);
    assert_int_equal(capfile_next(file, &record, error), 1);
    close(ends[1]);
    assert_int_equal(capfile_next(file, &record, error), 0);
    capfile_close(file);
    dup2(saved, STDIN_FILENO);
    close(saved);
    build_free(&build);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(frame); i++)
        frame[i] = (uint8_t)i;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pcap_dribbled),
        cmocka_unit_test(pcapng_dribbled),
        cmocka_unit_test(ready),
        cmocka_unit_test(non_blocking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
