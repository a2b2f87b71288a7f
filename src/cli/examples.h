/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is installed for who writes a fabric file: its schema, and examples by name, `example:pod64` for
 * examples/pod64.yaml.
 */
#ifndef ROCELAB_CLI_EXAMPLES_H
#define ROCELAB_CLI_EXAMPLES_H

#include <stdbool.h>
#include <stdio.h>

#define EXAMPLE_PREFIX "example:"

/* What begins with EXAMPLE_PREFIX becomes the path of that file, which is never freed; all else stays.  False after a
 * message that names the nearest. */
bool cli_example(char **name);

/* There is one of this name; nothing is said. */
bool cli_is_example(const char *name);

/* A topic: each fabric of the examples, with the first sentence of its first comment; false after a message. */
bool cli_list_examples(const char *none, bool json, FILE *out);

/* A topic: fabric.schema.json, as it is installed; false after a message. */
bool cli_print_schema(const char *none, bool json, FILE *out);

#endif
