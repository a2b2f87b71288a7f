/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CHECK: an impossible state ends the program, in every build.
 *
 * A simulator that goes on after its books stopped adding up prints numbers
 * nobody should believe, so CHECK is never compiled out.  It is for states the
 * code itself rules out; what comes from outside (a file, a packet, a user) is
 * an outcome with a name, never a CHECK.
 */
#ifndef ROCELAB_BASE_CHECK_H
#define ROCELAB_BASE_CHECK_H

__attribute__((noreturn, cold)) void check_failed(const char *file, int line, const char *what);

#define CHECK(cond)                                                                                                    \
    do {                                                                                                               \
        if (__builtin_expect(!(cond), 0)) check_failed(__FILE__, __LINE__, #cond);                                     \
    } while (0)

#endif
