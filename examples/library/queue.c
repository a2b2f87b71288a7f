/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at one port every 100 us of virtual time, pulls a cable halfway, and prints what the run came to.
 *
 *     cc queue.c -o queue $(pkg-config --cflags --libs rocelab)
 *     ./queue examples/pod64.yaml leaf1:0
 */
#include <inttypes.h>
#include <rocelab/rocelab.h>
#include <stdio.h>

#define STEP_PS 100000000ull /* 100 us */

int main(int argc, char **argv)
{
    const struct rocelab_setting settings[] = {{"seed", "7"}};
    enum rocelab_state state = ROCELAB_UNTIL;
    struct rocelab *lab;
    uint32_t port;
    char *message;

    if (argc != 3) {
        fprintf(stderr, "usage: %s FABRIC PORT\n", argv[0]);
        return 2;
    }
    if (rocelab_open(argv[1], NULL, settings, 1, 1, &lab, &message) != 0) {
        fputs(message ? message : "not enough memory\n", stderr);
        rocelab_text_free(message);
        return 2;
    }
    if (rocelab_port_find(lab, argv[2], &port) != 0) {
        fprintf(stderr, "%s: no such port\n", argv[2]);
        rocelab_close(lab);
        return 2;
    }
    for (unsigned step = 1; state == ROCELAB_UNTIL && step <= 30; step++) {
        struct rocelab_port now;

        state = rocelab_advance(lab, step * STEP_PS);
        rocelab_port_sample(lab, port, &now);
        printf("%7.1f us  queue %8" PRIu64 " B  sent %10" PRIu64 " B%s\n", (double)rocelab_now_ps(lab) / 1e6,
               now.queue_bytes, now.line_bytes, now.paused ? "  paused" : "");
        if (step == 15 && rocelab_fault(lab, "down leaf0:8 for 200us", &message) != 0) {
            fputs(message ? message : "not enough memory\n", stderr);
            rocelab_text_free(message);
        }
    }
    double seconds, p99;
    state = rocelab_advance(lab, ROCELAB_NEVER);
    if (rocelab_measure(lab, "time", &seconds) == 0 && rocelab_measure(lab, "p99", &p99) == 0)
        printf("jobs took %.3f ms, p99 slowdown %.1f, digest %016" PRIx64 "\n", seconds * 1e3, p99,
               rocelab_digest(lab));
    rocelab_close(lab);
    return state == ROCELAB_DONE ? 0 : 1;
}
