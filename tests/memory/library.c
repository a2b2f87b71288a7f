/* SPDX-License-Identifier: Apache-2.0 */
/*
 * librocelab.so in a program of somebody else, for test_memory.py: a fabric is opened, run and asked.  Exit status 2
 * and a word where the library says that something did not work.
 */
#include <rocelab/rocelab.h>
#include <stdio.h>
#include <string.h>

static int refused(const char *what, int error, char *message)
{
    fprintf(stderr, "%s: %s%s\n", what, message ? message : "", message ? "" : strerror(-error));
    rocelab_text_free(message);
    return 2;
}

int main(int argc, char **argv)
{
    const struct rocelab_setting settings[] = {{"seed", "7"}};
    struct rocelab *lab;
    char *text = NULL;
    double seconds;

    if (argc != 2) return 3;
    int error = rocelab_open(argv[1], NULL, settings, 1, 1, &lab, &text);
    if (error != 0) return refused("open", error, text);
    enum rocelab_state state = rocelab_advance(lab, 5000000);
    error = rocelab_fault(lab, "down leaf0:2 for 2us", &text);
    if (error == 0) {
        state = rocelab_advance(lab, ROCELAB_NEVER);
        error = rocelab_measure(lab, "time", &seconds);
    }
    if (error == 0) error = rocelab_json(lab, &text);
    if (error != 0) {
        rocelab_close(lab);
        return refused("run", error, text);
    }
    printf("state %d, %.9f s, digest %016llx\n%s", (int)state, seconds, (unsigned long long)rocelab_digest(lab), text);
    rocelab_text_free(text);
    rocelab_close(lab);
    return 0;
}
