/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL waits for in programs that have our plugin loaded, in the outputs of `counters` and `serve`.
 */
#ifndef ROCELAB_CLI_COUNTERS_NCCL_H
#define ROCELAB_CLI_COUNTERS_NCCL_H

#include <stdbool.h>
#include <stdio.h>

#include "nccl/page.h"
#include "report/json_out.h"

void counters_nccl_text(const struct nccl_page *page, bool quiet, FILE *out);
void counters_nccl_json(struct jout *jout, const struct nccl_page *page);
void counters_nccl_prometheus(const struct nccl_page *page, unsigned count, FILE *out);

#endif
