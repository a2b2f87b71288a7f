/* SPDX-License-Identifier: Apache-2.0 */
/* What topics.def names: lists of the program that users ask for, as text.  Each is false after a message. */
#ifndef ROCELAB_CLI_TOPICS_H
#define ROCELAB_CLI_TOPICS_H

#include <stdbool.h>
#include <stdio.h>

/* Switch models, with the products that have them. */
bool cli_list_models(const char *none, bool json, FILE *out);
/* The ROCELAB_* variables. */
bool cli_list_variables(const char *none, bool json, FILE *out);
/* What is understood of the lines of a system's configuration; NULL: of which systems there is such a list. */
bool cli_list_statements(const char *system, bool json, FILE *out);

#endif
