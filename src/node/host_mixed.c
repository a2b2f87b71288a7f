/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with RoCE and TCP as a node: host_rest.h with the calls of mixed.h.
 */
#include "node/host.h"

#include "node/mixed.h"

#define ENDPOINT(call) mixed_end_##call
#define HOST(call) mixed_host_##call
#define HOST_SCOPE
#include "node/host_rest.h"
