/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What our librdmacm asks our libibverbs besides the verbs: the device behind an object that it gave out.
 */
#ifndef ROCELAB_VERBS_IBVERBS_BEHIND_H
#define ROCELAB_VERBS_IBVERBS_BEHIND_H

#include "device/device.h"

struct ibv_context;
struct ibv_device;

struct device *device_behind(const struct ibv_context *context) DEVICE_EXPORT(device_behind);
const struct device_info *device_info_behind(const struct ibv_device *device) DEVICE_EXPORT(device_info_behind);

#endif
