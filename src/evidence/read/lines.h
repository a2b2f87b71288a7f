/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text read line by line: who each line is for, of which device, at which look.
 *
 * A text may be a recorded session, or several outputs behind each other: prompts and heads (session.h) say the device,
 * the interface, the time; a command that is given again, and an output that begins again with the same rows, are
 * another look.  Where nobody says when, looks are in order and no more (struct evidence_source).
 *
 * Private to reader.c.
 */
#ifndef ROCELAB_EVIDENCE_READ_LINES_H
#define ROCELAB_EVIDENCE_READ_LINES_H

#include "evidence/read/bytes.h"
#include "evidence/read/reader.h"

/* False: no reader knew anything in it. */
bool text_lines(struct evidence *evidence, const struct text_of *of, uint32_t file, struct bytes_in *bytes);
/* reader.c: who reads lines, and a tree.  NULL, false: nobody. */
/* From the reader `after` on, which is then the one behind it. */
const struct text_reader *reader_of_head(const char *from, const char *line, size_t *after);
const struct text_reader *reader_of_command(const char *from, const char *command, const char **ret_head);
bool reader_keeps(const struct text_reader *reader);
bool reader_is_aside(const struct text_reader *reader);
void readers_aside_end(struct reading *in);
/* Whether the line is a row whose table has no head here. */
bool readers_row(struct reading *in, const char *from, const char *line);
/* Its text names hosts itself, and only what a whole text is of is another; no device is called after it. */
bool reader_is_of_jobs(const struct text_reader *reader);
bool reader_is_nameless(const struct text_reader *reader);
/* Rows of it that come again are another look; `heads`: its head names whom the lines are of. */
bool reader_repeats(const struct text_reader *reader, bool *heads);
bool reader_tree(struct reading *in, const struct text_of *of, const struct json *root);

#endif
