/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with RoCE as a node: host_rest.h with the calls of roce.h.
 */
#include "node/host.h"

#include "node/host_inline.h"

#define ENDPOINT(call) roce_##call
#define HOST(call) node_host_##call
#define HOST_SCOPE
#include "node/host_rest.h"
