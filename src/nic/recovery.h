/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a queue pair recovers what was lost, and how people write it: fabric files and environment variables alike.
 */
#ifndef ROCELAB_NIC_RECOVERY_H
#define ROCELAB_NIC_RECOVERY_H

#define NIC_RECOVERY_LIST(X)                                                                                           \
    X(GO_BACK_N, "go-back-n")                                                                                          \
    X(GO_BACK_0, "go-back-0")                                                                                          \
    X(SELECTIVE, "selective")
enum nic_recovery {
#define X(id, name) NIC_##id,
    NIC_RECOVERY_LIST(X)
#undef X
        NIC_RECOVERIES
};

#endif
