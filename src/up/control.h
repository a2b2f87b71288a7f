/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a fabric that is up: `rocelab fault`, `rocelab counters --fabric`.
 *
 * Who asks connects to the fabric's socket as an observer and sends one message of text, its words as they were typed.
 * The fabric answers between windows, when nothing moves, with messages of text and closes the connection; the first
 * byte of a message says whether more follow, that of the last whether it was done.  Who does not read for a second
 * gets no more, and not the last.  What words mean is not decided here.
 */
#ifndef ROCELAB_UP_CONTROL_H
#define ROCELAB_UP_CONTROL_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Writes the answer; true: it was done. */
typedef bool control_answer(void *context, const char *words, FILE *out);

struct control;
int control_create(control_answer *answer, void *context, struct control **ret); /* -errno */
void control_free(struct control *control);
/* An observer, welcomed: the descriptor is ours from now on. */
void control_take(struct control *control, int fd);
/* Answers who has asked; nobody is waited for. */
void control_run(struct control *control);
/* Readable when somebody has asked. */
int control_fd(const struct control *control);

/* The other end.  path: the fabric's socket.  0: done; 1: the fabric says why not, in `out`; -errno: it is not there,
 * or is gone; -ECONNABORTED: what is in `out` is not all; -ETIMEDOUT: it has said nothing for so long, and what was
 * asked for will not be done. */
#define CONTROL_PATIENCE_MS 5000
int control_ask(const char *path, const char *words, int patience_ms, FILE *out);
/* The process that listens there; 0: it takes nobody. */
pid_t control_pid(const char *path);
/* What control_ask() answered, below 0, in words. */
#define CONTROL_TEXT 160
const char *control_error(const char *path, int error, char ret[CONTROL_TEXT]);

#endif
