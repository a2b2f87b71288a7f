/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that others could harm us with if they guessed them: slots, QPNs, keys.
 */
#ifndef ROCELAB_WIRE_DRAW_H
#define ROCELAB_WIRE_DRAW_H

#include <stdint.h>

/* A number below `below` that nobody can guess; 0 where ROCELAB_SEED is set, so that a run can be repeated. */
uint32_t draw_below(uint32_t below);

#endif
