/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every metric that is exported, by name: for people, and for what is made from the list.
 */
#ifndef ROCELAB_REPORT_METRICS_LIST_H
#define ROCELAB_REPORT_METRICS_LIST_H

#include <stdio.h>

#include "report/json_out.h"

void metrics_list_text(FILE *out);
void metrics_list_json(FILE *out);

#endif
