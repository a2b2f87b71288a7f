/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that the program has read, by device and inode: none of them is written over (base/draft.c).
 *
 * Whoever opens a file that the user names, or that such a file names, notes it.  A library that is part of another
 * program keeps nothing until reads_keep().  One thread at a time.
 */
#ifndef ROCELAB_BASE_READS_H
#define ROCELAB_BASE_READS_H

struct stat;

void reads_keep(void);
/* `path`: what it is called in messages. */
void reads_note(int fd, const char *path);
void reads_note_path(const char *path); /* "-": what standard input is */
/* What the file is called that was read and is this one; NULL: it was not read. */
const char *reads_find(const struct stat *about);

#endif
