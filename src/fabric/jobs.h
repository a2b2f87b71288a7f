/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs and faults out of the file.  Private to src/fabric.
 */
#ifndef ROCELAB_FABRIC_JOBS_H
#define ROCELAB_FABRIC_JOBS_H

#include <stdbool.h>

#include "fabric/fabric.h"
#include "fabric/read.h"

bool jobs_load(struct loader *loader);
bool faults_load(struct loader *loader);
/* The value of `flows`: a list of maps, or lines of text. */
void flows_read(struct loader *loader, const struct tree *value, struct fabric_job *job);
/* The value of `sizes`: a name, {file: PATH}, or points. */
void sizes_read(struct loader *loader, const struct tree *value, struct fabric_job *job);
/* An endpoint by name; FABRIC_NONE with the sentence. */
uint32_t endpoint_read(struct loader *loader, const char *name, struct fabric_at at);
/* All of a file's text, terminated, in scratch; NULL with the sentence at `at`. */
#define FILE_STDIN "<stdin>"
char *file_read(struct loader *loader, const char *path, struct fabric_at at, size_t *ret_length);

#endif
