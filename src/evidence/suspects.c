/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that no reader knows (read/suspect.c): a few names, over all ports of a device and looks. */
#include <string.h>

#include "evidence/evidence_int.h"

#define SUSPECTS_MOST 256
#define PLACES (2 * SUSPECTS_MOST)

void evidence_suspect(struct evidence *evidence, uint32_t device, const char *name, size_t length, uint64_t number,
                      const struct evidence_source *source)
{
    struct evidence_tables *tables = evidence->tables;
    uint64_t key = hash_secret(&tables->secret, device, name, length);
    uint32_t at = (uint32_t)key % PLACES;

    if (!tables->suspect && !(tables->suspect = ARENA_NEW(&evidence->arena, uint32_t, PLACES))) return;
    while (tables->suspect[at] && evidence->suspect[tables->suspect[at] - 1].key != key)
        at = (at + 1) % PLACES;
    if (!tables->suspect[at]) {
        if (evidence->suspects == SUSPECTS_MOST || !ROOM(evidence, evidence->suspect, evidence->suspects)) return;
        const char *copy = arena_strndup(&evidence->arena, name, length);
        if (!copy) return;
        evidence->suspect[evidence->suspects++] = (struct evidence_suspect){
            .key = key, .device = device, .name = copy, .looks = 1, .at_s = source->at_s, .file = source->file};
        tables->suspect[at] = evidence->suspects;
    }
    struct evidence_suspect *of = &evidence->suspect[tables->suspect[at] - 1];
    if (source->at_s > of->at_s) {
        of->looks++;
        of->before = of->now;
        of->now = 0;
        of->at_s = source->at_s;
    }
    if (__builtin_add_overflow(of->now, number, &of->now)) of->now = UINT64_MAX;
    of->file = source->file;
    of->line = source->line;
}
