/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ROCELAB_TESTS_EVIDENCE_PRINT_H
#define ROCELAB_TESTS_EVIDENCE_PRINT_H

#include <stdio.h>

#include "evidence/evidence.h"

void evidence_print(const struct evidence *evidence, FILE *to);

#endif
