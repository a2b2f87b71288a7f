/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What our librdmacm asks our libibverbs besides the verbs: the device behind an object that it gave out.
 */
#ifndef ROCELAB_VERBS_IBVERBS_BEHIND_H
#define ROCELAB_VERBS_IBVERBS_BEHIND_H

struct ibv_context;
struct ibv_device;
struct live;
struct live_device;

#pragma GCC visibility push(default)
struct live *live_behind(const struct ibv_context *context);
const struct live_device *live_device_behind(const struct ibv_device *device);
#pragma GCC visibility pop

#endif
