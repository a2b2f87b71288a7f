/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of a port as files: ports/1/counters (names of the kernel, volume 1, 16.1.3.5) and ports/1/hw_counters
 * (names of mlx5).
 *
 * A value is the sum over the programs of this user that run now on the interface, or the adapter's own where that is
 * one of a fabric; it is written when a program asks for the file.  What a port of ours never has (symbols in error,
 * lanes) is 0.
 */
#include "verbs/ibverbs/sysfs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quiet.h"
#include "live/counters.h"

static const struct file {
    const char *folder, *name;
    const char *counter; /* of device_counters(); NULL: always 0 */
    unsigned unit;       /* in so many bytes */
} files[] = {
#define DATA(name, counter) {"counters", #name, counter, 4}, /* in words of 4 bytes */
#define PORT(name, counter) {"counters", #name, counter, 1},
#define NONE(name) {"counters", #name, NULL, 1},
#define HARD(name) {"hw_counters", #name, #name, 1},
    /* clang-format off */
    DATA(port_xmit_data, "tx_bytes") DATA(port_rcv_data, "rx_bytes")
    PORT(port_xmit_packets, "tx_packets") PORT(port_rcv_packets, "rx_packets")
    PORT(unicast_xmit_packets, "tx_packets") PORT(unicast_rcv_packets, "rx_packets")
    PORT(port_rcv_errors, "rx_malformed") PORT(multicast_rcv_packets, "rx_multicast")
    NONE(multicast_xmit_packets) NONE(port_xmit_discards) NONE(port_xmit_wait) NONE(port_xmit_constraint_errors)
    NONE(port_rcv_constraint_errors) NONE(port_rcv_remote_physical_errors) NONE(port_rcv_switch_relay_errors)
    NONE(symbol_error) NONE(link_error_recovery) NONE(link_downed) NONE(local_link_integrity_errors)
    NONE(excessive_buffer_overrun_errors) NONE(VL15_dropped)
    HARD(rx_write_requests) HARD(rx_read_requests) HARD(rx_atomic_requests) HARD(out_of_buffer) HARD(out_of_sequence)
    HARD(duplicate_request) HARD(rnr_nak_retry_err) HARD(packet_seq_err) HARD(implied_nak_seq_err)
    HARD(local_ack_timeout_err) HARD(resp_local_length_error) HARD(resp_remote_access_errors)
    HARD(req_remote_invalid_request) HARD(req_remote_access_errors) HARD(resp_cqe_error) HARD(req_cqe_error)
    HARD(resp_cqe_flush_error) HARD(req_cqe_flush_error) HARD(np_cnp_sent) HARD(np_ecn_marked_roce_packets)
    HARD(rp_cnp_handled) HARD(rp_cnp_ignored)
    /* clang-format on */
};

#define FILES (sizeof files / sizeof files[0])

const char *sysfs_counter_file(unsigned index, char *ret, size_t bytes)
{
    if (index >= FILES) return NULL;
    snprintf(ret, bytes, "%s/%s", files[index].folder, files[index].name);
    return ret;
}

static uint64_t value_of(const struct file *file, const struct device_counter_set *set, unsigned sets,
                         const char *ifname)
{
    uint64_t value = 0;

    for (unsigned i = 0; file->counter && i < sets; i++) {
        if (strcmp(set[i].ifname, ifname) != 0) continue;
        for (unsigned k = 0; k < set[i].counters; k++)
            if (strcmp(set[i].counter[k].name, file->counter) == 0) value += set[i].counter[k].value;
    }
    return value / file->unit;
}

/* Whole at any time: others may be reading it. */
static void write_value(const char *path, uint64_t value)
{
    char fresh[PATH_MAX];
    FILE *out;

    if (snprintf(fresh, sizeof fresh, "%s.%d", path, (int)getpid()) >= (int)sizeof fresh) return;
    out = fopen(fresh, "we");
    if (out == NULL) return;
    bool written = fprintf(out, "%llu\n", (unsigned long long)value) > 0;
    if (fclose(out) != 0 || !written || rename(fresh, path) != 0) unlink(fresh);
}

void sysfs_counters_refresh(const char *port, const char *wanted, const struct device_info *device)
{
    struct device_counter_set *set = NULL;
    unsigned sets = 0;
    char name[64], path[PATH_MAX];
    size_t length = strcspn(wanted, "/");
    bool folder = wanted[length] == 0 || wanted[length + 1] == 0; /* all that it holds */

    struct quiet quiet;

    if (device_counters(device, &set, &sets) < 0) return;
    quiet_begin(&quiet);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%s/%s", files[i].folder, files[i].name);
        if (folder ? strncmp(name, wanted, length) != 0 || name[length] != '/' : strcmp(name, wanted) != 0) continue;
        if (snprintf(path, sizeof path, "%s/%s", port, name) >= (int)sizeof path) continue;
        write_value(path, value_of(&files[i], set, sets, device->ifname));
    }
    quiet_end(&quiet);
    free(set);
}
