/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma-core's private symbols once more, for the drivers of its releases 57 to 65: their nodes are others.
 *
 * All of them lead to five definitions.  They are not those of stubs.c: of a name and its versions in one object
 * the linker keeps the versions alone.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "verbs/ibverbs/stubs.h"

#pragma GCC visibility push(default)

int verbs_old_int(void);
int verbs_old_int(void)
{
    return EOPNOTSUPP;
}
void *verbs_old_null(void);
void *verbs_old_null(void)
{
    errno = EOPNOTSUPP;
    return NULL;
}
void verbs_old_void(void);
void verbs_old_void(void)
{
}
unsigned verbs_old_attrs(unsigned attrs, void *link);
unsigned verbs_old_attrs(unsigned attrs, void *link)
{
    (void)link;
    return attrs;
}
const char *verbs_old_opcode(void);
const char *verbs_old_opcode(void)
{
    return "unknown";
}
extern bool verbs_old_flag;
bool verbs_old_flag = false;

#pragma GCC visibility pop

/* An assembler's symbol has one version: each gets a name of its own, which the map keeps inside. */
#define NODE(name, target, node)                                                                                       \
    __asm__(".globl verbs_old_" #node "_" #name "\n.set verbs_old_" #node "_" #name ", verbs_old_" #target             \
            "\n.symver verbs_old_" #node "_" #name ", " #name "@IBVERBS_PRIVATE_" #node);
#define NODES(name, target) NODE(name, target, 57) NODE(name, target, 59) NODE(name, target, 64) NODE(name, target, 65)

#define X(name) NODES(name, int)
PRIVATE_INT(X)
PRIVATE_INT_LATER(X)
#undef X
#define X(name) NODES(name, null)
PRIVATE_NULL(X)
#undef X
#define X(name) NODES(name, void)
PRIVATE_VOID(X)
#undef X
NODES(__ioctl_final_num_attrs, attrs)
NODES(ibv_wr_opcode_str, opcode)
NODES(verbs_allow_disassociate_destroy, flag)
NODE(verbs_register_driver_57, void, 57)
NODE(verbs_register_driver_59, void, 59)
NODE(verbs_register_driver_64, void, 64)
NODE(verbs_register_driver_65, void, 65)
