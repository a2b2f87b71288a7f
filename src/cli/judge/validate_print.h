/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `rocelab validate` found, for people and for programs.
 */
#ifndef ROCELAB_CLI_VALIDATE_PRINT_H
#define ROCELAB_CLI_VALIDATE_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "validate/validate.h"

void validate_print_text(const struct validate *validate, bool quiet, FILE *out);
void validate_print_junit(const struct validate *validate, FILE *out);
bool validate_print_json(const void *validate, FILE *out); /* a cli_writer */

#endif
