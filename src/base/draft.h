/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is written whole or not at all: a draft in the folder of what it replaces, renamed when it is whole.
 *
 * Links are followed, and stay.  Mode, owner, group and access list of a file that is replaced are kept; a new one has
 * what the umask leaves.  A file that can be written but not replaced (its folder is another's, it is mounted, its
 * owner could not be kept) is written over in place when its successor is whole and there is room for it.  What is no
 * regular file, a pipe or a device, takes the bytes as they come, and /dev/stdout and /dev/fd/N are the descriptor
 * itself.  Other names of the old file (hard links) keep the old content.
 *
 * Nothing is synced: a file system that loses power has the old file or the new one, as with any rename on ext4, XFS
 * and Btrfs, and every one of these files can be made again.
 *
 * No lock: the drafts of a process are opened and ended by one thread at a time.
 */
#ifndef ROCELAB_BASE_DRAFT_H
#define ROCELAB_BASE_DRAFT_H

#include <stdbool.h>
#include <stdio.h>

struct draft;

/* 0 or -errno; -ENOTUNIQ: the file was read (base/reads.h).  What is at `path` is as it was. */
int draft_open(const char *path, struct draft **ret);
int draft_fd(const struct draft *draft);
/* To write through; ends with the draft.  NULL: not enough memory. */
FILE *draft_stream(struct draft *draft);
/* Everything is written and stands under the draft's name: the first error of it, 0 or -errno. */
int draft_finish(struct draft *draft);
/* The draft takes its place now and is written on there: for what people look at while it grows. */
int draft_show(struct draft *draft);
/* Finishes, and takes its place; or it is dropped: 0 or -errno.  The draft is gone either way. */
int draft_commit(struct draft *draft);
void draft_drop(struct draft *draft); /* NULL: nothing is done */

/* A tree of files that is a draft as a whole: each file and folder of it is told before it is made, and goes with the
 * others.  False: not enough memory. */
bool draft_tree_add(const char *path, bool is_folder);
/* `root` and what was told below it: it stays; or it is removed. */
void draft_tree_keep(const char *root);
void draft_tree_drop(const char *root);

/* From now on drafts that are left go when the process ends, by a signal too.  For a program of ours: a library leaves
 * the signals of its program alone.  draft_ended_by() is the handler. */
void draft_watch_end(void);
void draft_ended_by(int number);
void draft_drop_all(void); /* for an end by _exit() */

#endif
