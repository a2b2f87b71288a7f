/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many names of ports as a few words.
 */
#ifndef ROCELAB_REPORT_FOLD_H
#define ROCELAB_REPORT_FOLD_H

#include <stdint.h>
#include <stdio.h>

#include "report/text.h"

/* `Ethernet1/1-36, Ethernet1/40, Ethernet0 to Ethernet124`: names that count up are told by the first and the last;
 * after six of such groups the others are counted.  A name that is there twice is told once.  The list is sorted in
 * place. */
void fold_names(FILE *out, const struct text_style *style, const char **name, uint32_t count);

#endif
