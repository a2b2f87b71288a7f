/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults out of the file.
 */
#ifndef ROCELAB_FABRIC_FAULTS_H
#define ROCELAB_FABRIC_FAULTS_H

#include <stdbool.h>

#include "fabric/file/read.h"

bool faults_load(struct loader *loader);

#endif
