/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with InfiniBand as a node: host_rest.h with the calls of ib.h.
 */
#include "node/host_ib.h"

#define ENDPOINT(call) ib_##call
#define HOST(call) node_ib_##call
#define HOST_SCOPE
#include "node/host_rest.h"
