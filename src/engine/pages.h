/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory by the page, for arrays as large as a run: of packets, of machines.
 */
#ifndef ROCELAB_ENGINE_PAGES_H
#define ROCELAB_ENGINE_PAGES_H

#include <stddef.h>

/* Zeroed, page aligned, backed by huge pages where the kernel has them; only touched pages cost. */
void *pages_map(size_t bytes);
void pages_unmap(void *at, size_t bytes);

#endif
