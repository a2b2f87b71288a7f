/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The udp wire on the loopback with a registry and a UDP port of its own: what else runs on this machine takes no
 * part in the test.
 */
#ifndef ROCELAB_TESTS_LIVE_TORTURE_ALONE_H
#define ROCELAB_TESTS_LIVE_TORTURE_ALONE_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"

#define ALONE_FOLDER 32

static inline uint16_t alone_begin(char folder[ALONE_FOLDER])
{
    char port[16];
    uint16_t number = (uint16_t)(20000u + (unsigned)getpid() % 10000u);

    snprintf(folder, ALONE_FOLDER, "/tmp/rocelab-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(port, sizeof port, "%u", number);
    setenv("ROCELAB_REGISTRY", folder, 1);
    setenv("ROCELAB_PORT", port, 1);
    setenv("ROCELAB_DEVICE", "lo", 1);
    setenv("ROCELAB_WIRE", "udp", 1);
    return number;
}

static inline void alone_end(const char *folder)
{
    char path[320];
    DIR *dir = opendir(folder);

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.') unlink(path);
    }
    if (dir) closedir(dir);
    rmdir(folder);
}

/* The same around a group of tests. */
static char alone_folder[ALONE_FOLDER] __attribute__((unused));

static inline int alone_setup(void **state)
{
    (void)state;
    alone_begin(alone_folder);
    return 0;
}

static inline int alone_teardown(void **state)
{
    (void)state;
    alone_end(alone_folder);
    return 0;
}

#endif
