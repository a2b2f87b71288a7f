/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with TCP as a node: host_rest.h with the calls of tcp.h.
 */
#include "node/host_tcp.h"

#define ENDPOINT(call) tcp_end_##call
#define HOST(call) node_tcp_##call
#define HOST_SCOPE
#include "node/host_rest.h"
