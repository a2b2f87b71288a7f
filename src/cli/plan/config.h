/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of `rocelab config` share.
 */
#ifndef ROCELAB_CLI_CONFIG_H
#define ROCELAB_CLI_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"
#include "config/config.h"
#include "report/json_out.h"

enum config_plan { CONFIG_PLAN_NONE, CONFIG_PLAN_CSV, CONFIG_PLAN_TABLE, CONFIG_PLAN_BOM, CONFIG_PLAN_SVG };

struct config_settings {
    struct cli_common common;
    const struct config_format *nos; /* NULL: what the fabric says of each device */
    const char *device, *out;
    bool plain, comments; /* none at all; those of SONiC too */
    enum config_plan plan;
};

struct config_file { /* a device's configuration */
    const char *device;
    uint32_t node;
    const struct config_format *format;
    char *text;
    size_t length;
};

/* config.c: names of ports go as they are into configurations, and into scripts that root runs.  Can those of this
 * node do harm?  Then false after a message. */
bool config_good_names(const struct fabric *fabric, uint32_t node);
/* The configurations that the settings ask for, in memory; `file` has room for every node.  Texts are the caller's to
 * free.  False after a message. */
bool config_make(const struct config_settings *settings, const struct fabric *fabric, struct config_file *file,
                 uint32_t *ret_count);
/* config_plan.c: the cabling plan or the bill of materials; an enum cli_exit. */
int config_print_plan(const struct config_settings *settings, const struct fabric *fabric, FILE *out);
/* config_save.c: all of the files, or after a message none of them. */
bool config_save(const char *folder, const struct config_file *file, uint32_t count);
/* config_warn.c: what the systems cannot say, and chips that they do not run on; the number of warnings. */
unsigned config_warn(const struct fabric *fabric, const struct config_file *file, uint32_t count, bool quiet);
void config_json_losses(struct jout *jout, const struct fabric *fabric, const struct config_file *file);

#endif
