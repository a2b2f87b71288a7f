/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of this folder share: a plug-in that is loaded, and the call that a thread is in.
 */
#ifndef ROCELAB_PLUGIN_PLUGIN_INT_H
#define ROCELAB_PLUGIN_PLUGIN_INT_H

#include <stdint.h>
#include <sys/types.h>

#include <rocelab/cc.h>

#include "base/time.h"
#include "nic/cc/algorithm.h"
#include "plugin/plugin.h"

#define PLUGIN_PARTS 4 /* of a shared object that can be written to */
#define PLUGIN_WHY 256

struct plugin {
    struct cc_algorithm algorithm; /* first: struct cc points to it */
    struct rocelab_cc cc;          /* as the file has it; what its ABI does not have is 0 */
    char *path;
    struct cc_param param[ROCELAB_CC_PARAMS_MAX + 1];
    struct cc_preset preset[2];
    char why[PLUGIN_WHY]; /* the last that cc_invalid() answered */
    dev_t device;
    ino_t inode;
    struct timespec changed;
    struct {
        char *at;
        size_t bytes;
    } part[PLUGIN_PARTS];
    unsigned parts;
};

/* guard.c: between these two whatever goes wrong in the thread is the plug-in's doing. */
void guard_install(void); /* once, before the first */
void guard_enter(const struct plugin *plugin, const char *call, ps_t now);
void guard_leave(void);
/* From now on what it has in global variables can be read, and not written. */
void guard_globals(struct plugin *plugin, const void *inside);
/* Ends the process: which plug-in, which call, and the sentence. */
_Noreturn void guard_end(const char *what);

/* call.c: from the adapter's calls to those of the plug-in. */
void call_describe(struct plugin *plugin); /* fills `algorithm` */
bool call_twice(void);                     /* PLUGIN_CHECK is set */

#endif
