/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric file with values replaced, as a text again.
 */
#ifndef ROCELAB_FABRIC_FILE_WRITE_H
#define ROCELAB_FABRIC_FILE_WRITE_H

#include <stdint.h>
#include <stdio.h>

struct fabric_errors;
struct fabric_override;

/* `text` is a fabric file that loads.  folder: where files that it names are, if the result will be elsewhere; NULL: it
 * will be beside them.  0; as tree_override(). */
int fabric_write_with(const char *text, const struct fabric_override *override, uint32_t overrides, const char *folder,
                      FILE *to, struct fabric_errors *errors);

#endif
