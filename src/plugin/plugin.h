/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion control from a shared object of the user's: rocelab/cc.h says what is in one.
 *
 * Loaded code can do what the user can.  So nothing is loaded because a fabric file says so: either the command line
 * names it, or it lies in a folder that ROCELAB_PLUGINS names.
 */
#ifndef ROCELAB_PLUGIN_PLUGIN_H
#define ROCELAB_PLUGIN_PLUGIN_H

#include <stddef.h>

struct cc_config;

#define PLUGIN_EXIT 3                    /* the exit status of a process that a plug-in brought down */
#define PLUGIN_FOLDERS "ROCELAB_PLUGINS" /* in the environment: folders, divided by colons */
#define PLUGIN_CHECK "ROCELAB_CC_CHECK"  /* in the environment: each call is made twice, and what it writes looked at */

/* The user has named it.  By one thread at a time, as the next two. */
void plugin_allow(const char *path);
/* Loads it, where it is not yet, with its parameters as it declares them.  0, or -EINVAL with a sentence. */
int plugin_load(const char *path, struct cc_config *ret, char *why, size_t why_bytes);
/* The parameters are read: what it shares with the adapter is passed on. */
void plugin_settle(struct cc_config *config);

#endif
