/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of others: the first byte says the format, the rest is the file.  Whatever it is, there is a program or a
 * sentence, and of the program every number is one that can be run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "jobs/training_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7 forgets some memory when a text breaks off in a certain way. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml";
}

static void check_ops(const struct fabric_ops *ops)
{
    for (uint32_t i = 0; i < ops->count; i++) {
        CHECK(ops->op[i].what <= FABRIC_OP_WAIT && ops->op[i].group < FABRIC_GROUPS);
        CHECK(ops->op[i].time_ps <= 1000 * PS_S && ops->op[i].bytes <= (uint64_t)1 << 50);
        if (ops->op[i].what == FABRIC_OP_COLLECTIVE)
            CHECK(fabric_job_collective((enum fabric_job_kind)ops->op[i].collective) && ops->op[i].bytes > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 65536) return 0;
    struct fabric *fabric = calloc(1, sizeof(*fabric));
    struct fabric_errors *errors = calloc(1, sizeof(*errors));
    CHECK(fabric && errors);
    arena_init(&fabric->arena, (size_t)1 << 28);
    struct loader loader = {.fabric = fabric, .keep = &fabric->arena, .errors = errors};
    arena_init(&loader.scratch, (size_t)1 << 28);
    struct fabric_training training = {0};
    struct trace trace = {.path = "t", .at = {1, 1}, .ranks = 64, .set_up = data[0] & 0x80};
    char *text = malloc(size);
    CHECK(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    groups_default(&training);
    if (data[0] % 3 == 2)
        trace_chakra(&loader, &trace, text, size - 1, &training);
    else if (data[0] % 3 == 1)
        trace_aicb(&loader, &trace, text, &training);
    else
        trace_simai(&loader, &trace, text, &training);
    if (errors->count == 0 && !loader.no_memory) {
        CHECK(training.whole || training.before.op);
        check_ops(&training.before);
        for (uint32_t s = 0; training.whole && s < training.size[FABRIC_GROUP_PP]; s++)
            check_ops(&training.whole[s]);
    }
    free(text);
    arena_release(&loader.scratch);
    arena_release(&fabric->arena);
    free(fabric);
    free(errors);
    return 0;
}
