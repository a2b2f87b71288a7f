/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with Ultra Ethernet as a node: host_rest.h with the calls of uet.h.
 */
#include "node/host.h"

#include "node/uet.h"

#define ENDPOINT(call) uet_end_##call
#define HOST(call) uet_host_##call
#define HOST_SCOPE
#include "node/host_rest.h"
