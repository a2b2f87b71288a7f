/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between create.c, which makes and ends threads, and engine.c, which is what they run.
 */
#ifndef ROCELAB_ENGINE_RUN_INT_H
#define ROCELAB_ENGINE_RUN_INT_H

struct engine;

void *engine_thread(void *worker);
void engine_stop_threads(struct engine *engine);

#endif
