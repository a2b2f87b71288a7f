/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The systems whose configurations are known, and which of them a text is of.
 */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "config/config.h"

#define PLAIN 50 /* less sure than this is not plain */

const struct config_format *const config_formats[] = {
    &config_nxos, &config_eos,  &config_sonic, &config_nvue, &config_nvue_set, &config_junos, &config_junos_set,
    &config_host, &config_clab, &config_lldp,  NULL};

static bool is_of(const struct config_format *format, enum config_formats_kind kind)
{
    return kind == CONFIG_READ      ? format->guess != NULL
           : kind == CONFIG_WRITTEN ? format->emit != NULL
                                    : format->fix != NULL;
}

const char *config_format_names(enum config_formats_kind kind, const char *last, char buf[CONFIG_NAMES])
{
    unsigned left = 0;
    size_t used = 0;

    for (int i = 0; config_formats[i]; i++)
        left += is_of(config_formats[i], kind);
    for (int i = 0; config_formats[i]; i++) {
        if (!is_of(config_formats[i], kind)) continue;
        used += (size_t)snprintf(buf + used, CONFIG_NAMES - used, "%s%s%s%s", config_formats[i]->name,
                                 left == 2  ? " "
                                 : left > 2 ? ", "
                                            : "",
                                 left == 2 ? last : "", left == 2 ? " " : "");
        CHECK(used < CONFIG_NAMES);
        left--;
    }
    return buf;
}

const struct config_format *config_format_find(const char *name)
{
    for (int i = 0; config_formats[i]; i++)
        if (strcmp(config_formats[i]->name, name) == 0) return config_formats[i];
    return NULL;
}

const struct config_format *config_format_guess(const char *text, size_t length)
{
    const struct config_format *best = NULL;
    int most = PLAIN - 1;
    bool tie = false;

    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        length -= 3;
    }
    for (int i = 0; config_formats[i]; i++) {
        int sure = config_formats[i]->guess ? config_formats[i]->guess(text, length) : 0;
        if (sure == most && best) tie = true;
        if (sure <= most) continue;
        best = config_formats[i];
        most = sure;
        tie = false;
    }
    return tie ? NULL : best;
}
