/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pids: programs see the fabric's numbers, the kernel has its own.
 */
#ifndef ROCELAB_ATTACH_WAITS_CHILDREN_H
#define ROCELAB_ATTACH_WAITS_CHILDREN_H

#include <sys/types.h>

#define CHILDREN_PID(number) ((pid_t)(1000u + (number)))

void children_add(pid_t kernel, pid_t seen);
void children_forget_all(void); /* in a child: they are the parent's */
/* As the program sees it; one that is not known stays what it is. */
pid_t children_seen(pid_t kernel);
/* As the kernel has it. */
pid_t children_kernel(pid_t seen);

#endif
