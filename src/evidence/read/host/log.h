/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of logs: syslog, the kernel's, those of switches. */
#ifndef ROCELAB_EVIDENCE_READ_HOST_LOG_H
#define ROCELAB_EVIDENCE_READ_HOST_LOG_H

#include "evidence/read/reader.h"

struct log_line {
    double clock_s;         /* NaN: it has no time */
    struct text_field host; /* who writes; length 0: not said */
    const char *rest;       /* what is behind: tag and message */
    bool is_kernel;
};

/* Whether a line begins as a log's does. */
bool log_begins(const char *text, struct log_line *line);

#endif
