/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the few functions may say that run for every packet.
 */
#ifndef ROCELAB_BASE_HOT_H
#define ROCELAB_BASE_HOT_H

/* No canary on the stack.  For functions that have no array there and get no bytes from outside, only what a parser has
 * made of them: a canary guards arrays, but the compiler counts a struct whose address is passed as one. */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define NO_CANARY __attribute__((no_stack_protector))
#endif
#endif
#ifndef NO_CANARY
#define NO_CANARY
#endif

#endif
