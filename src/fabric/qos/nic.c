/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A NIC of which nobody has said anything: where a fabric file begins, and what a host has that no file describes.
 * It knows no file and no loader, so that a program's own adapter can begin with it too.
 */
#include "fabric/nics.h"

struct fabric_nic fabric_nic_default(void)
{
    return (struct fabric_nic){
        .mtu_bytes = 4096,
        .congestion = "dcqcn/connectx",
        .ack_every = 8,
        .ack_request_every = 64,
        .timeout = 14,
        .retry = 7,
        .rnr_retry = 7,
        .min_rnr_timer = 12,
        .recovery = NIC_GO_BACK_N,
        .adaptive_each = 2,
        .max_read = 16,
        .latency_ps = 600 * PS_NS,
        .pcie = {.reads = 256, /* tags of eight bits */
                 .read_bytes = 512,
                 .read_ps = PS_US,
                 .writes = 256,
                 .write_bytes = 256,
                 .write_ps = 250 * PS_NS,
                 .ordered = 16,
                 .relaxed = true},
        .cnp_class = FABRIC_NONE,
        .ack_class = FABRIC_NONE,
        .cnp_dscp = FABRIC_UNSAID,
        .dcqcn_rp = FABRIC_UNSAID,
        .dcqcn_np = FABRIC_UNSAID,
        .dcbx_willing = FABRIC_UNSAID,
        .dcbx_mode = FABRIC_UNSAID,
    };
}
