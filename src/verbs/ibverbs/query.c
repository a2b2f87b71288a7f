/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device is: ibv_query_device(_ex), ibv_query_port, GIDs, P_Keys, time.
 *
 * Addresses and port state are read anew on each query, since they come and go with the interface.  Which of the
 * limits are enforced, verbs_int.h says.  One P_Key, the default; LIDs are 0, as on any Ethernet port.
 */
#include "packet/protocol.h"
#include "verbs/ibverbs/verbs_int.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t verbs_now_ns(int clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void device_attr(const struct device_info *device, struct ibv_device_attr *ret)
{
    memset(ret, 0, sizeof *ret);
    snprintf(ret->fw_ver, sizeof ret->fw_ver, "%s", ROCELAB_VERSION);
    ret->node_guid = ret->sys_image_guid = htobe64(device->guid);
    ret->max_mr_size = LIMIT_MR_BYTES;
    ret->page_size_cap = 0xfffff000u;
    ret->vendor_id = 0x726f63; /* nobody's OUI */
    ret->vendor_part_id = 1;
    ret->max_qp = LIMIT_QP;
    ret->max_qp_wr = LIMIT_QP_WR;
    ret->device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
                            IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
                            IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_BAD_QKEY_CNTR;
    ret->max_sge = ret->max_sge_rd = LIMIT_SGE;
    ret->max_cq = LIMIT_CQ;
    ret->max_cqe = LIMIT_CQE;
    ret->max_mr = LIMIT_MR;
    ret->max_pd = LIMIT_PD;
    ret->max_qp_rd_atom = ret->max_qp_init_rd_atom = LIMIT_RD_ATOMIC;
    ret->max_res_rd_atom = LIMIT_RD_ATOMIC * LIMIT_QP;
    ret->atomic_cap = IBV_ATOMIC_HCA;
    ret->max_mw = LIMIT_MW;
    ret->max_mcast_grp = LIMIT_MCAST;
    ret->max_mcast_qp_attach = 64;
    ret->max_total_mcast_qp_attach = LIMIT_MCAST * 64;
    ret->max_ah = LIMIT_AH;
    ret->max_srq = LIMIT_SRQ;
    ret->max_srq_wr = LIMIT_SRQ_WR;
    ret->max_srq_sge = LIMIT_SGE;
    ret->max_pkeys = LIMIT_PKEYS;
    ret->local_ca_ack_delay = 15; /* 134 ms: a process may be scheduled away */
    ret->phys_port_cnt = 1;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    device_attr(&vcontext_of(context)->device->live, attr);
    return 0;
}

int verbs_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                          struct ibv_device_attr_ex *attr, size_t bytes)
{
    struct ibv_device_attr_ex full = {0};

    if (input != NULL && input->comp_mask != 0) return EINVAL;
    if (bytes < sizeof full.orig_attr) return EINVAL;
    device_attr(&vcontext_of(context)->device->live, &full.orig_attr);
    full.completion_timestamp_mask = UINT64_MAX;
    full.hca_core_clock = 1000000; /* kHz: completion time stamps count nanoseconds */
    full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
    full.pci_atomic_caps.fetch_add = full.pci_atomic_caps.compare_swap = IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP;
    full.phys_port_cnt_ex = 1;
    full.max_dm_size = LIMIT_DM_BYTES;
    memset(attr, 0, bytes);
    memcpy(attr, &full, bytes < sizeof full ? bytes : sizeof full);
    return 0;
}

int verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
    uint32_t asked = values->comp_mask;

    (void)context;
    if (asked & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK) return EINVAL;
    if (asked & IBV_VALUES_MASK_RAW_CLOCK) clock_gettime(CLOCK_MONOTONIC, &values->raw_clock);
    return 0;
}

/* Width (1, 2: 1x, 4x) and speed code of the nearest rate that is not above the line's; the code has eight bits, and
 * the next one, for lanes of 200G, needs nine. */
static void link_rate(uint64_t bps, uint8_t *ret_width, uint8_t *ret_speed)
{
    static const struct {
        uint64_t mbps;
        uint8_t width, speed;
    } rate[] = {{400000, 2, 128}, {200000, 2, 64}, {100000, 2, 32}, {50000, 1, 64}, {40000, 2, 4},
                {25000, 1, 32},   {14000, 1, 16},  {10000, 1, 4},   {5000, 1, 2}};

    *ret_width = 1;
    *ret_speed = 1;
    for (unsigned i = 0; i < sizeof rate / sizeof rate[0]; i++) {
        if (bps < rate[i].mbps * 1000000u) continue;
        *ret_width = rate[i].width;
        *ret_speed = rate[i].speed;
        return;
    }
}

void verbs_port_attr(const struct device_info *device, struct ibv_port_attr *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->state = device->up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    ret->max_mtu = IBV_MTU_4096;
    ret->active_mtu = (enum ibv_mtu)(__builtin_ctz(device_mtu(device)) - 7);
    ret->gid_tbl_len = DEVICE_GIDS_MAX;
    ret->port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
    ret->max_msg_sz = LIMIT_MSG;
    ret->pkey_tbl_len = LIMIT_PKEYS;
    ret->max_vl_num = 1;
    link_rate(device->line_bps, &ret->active_width, &ret->active_speed);
    ret->phys_state = device->up ? 5 : 3; /* LinkUp, Disabled */
    ret->link_layer = IBV_LINK_LAYER_ETHERNET;
    ret->flags = IBV_QPF_GRH_REQUIRED;
}

/* The device as it is now; addresses and state may have changed since it was opened. */
static struct device_info device_now(struct ibv_context *context)
{
    struct device_info device = vcontext_of(context)->device->live;

    (void)device_refresh(&device);
    return device;
}

int verbs_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t bytes)
{
    const struct device_info device = device_now(context);
    struct ibv_port_attr full;

    if (port != 1) return EINVAL;
    verbs_port_attr(&device, &full);
    memset(attr, 0, bytes);
    memcpy(attr, &full, bytes < sizeof full ? bytes : sizeof full);
    return 0;
}

int verbs_port_speed(struct ibv_context *context, uint32_t port, uint64_t *ret)
{
    if (port != 1) return EINVAL;
    *ret = device_info_of(live_of(context))->line_bps / 100000000u;
    return 0;
}

/* Programs of old know the structure without port_cap_flags2, and perhaps without flags. */
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    return verbs_query_port(context, port, (struct ibv_port_attr *)attr, offsetof(struct ibv_port_attr, flags));
}

static uint32_t gid_type(const struct device_gid *gid)
{
    return gid->net == PKT_NET_V1 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
    const struct device_info device = device_now(context);

    if (port != 1 || index < 0 || index >= DEVICE_GIDS_MAX) {
        errno = EINVAL;
        return -1;
    }
    memset(gid, 0, sizeof *gid);
    if ((unsigned)index < device.gids && device.gid[index].usable) memcpy(gid->raw, device.gid[index].addr.byte, 16);
    return 0;
}

static void gid_entry(const struct device_info *device, uint32_t index, struct ibv_gid_entry *ret)
{
    memset(ret, 0, sizeof *ret);
    memcpy(ret->gid.raw, device->gid[index].addr.byte, 16);
    ret->gid_index = index;
    ret->port_num = 1;
    ret->gid_type = gid_type(&device->gid[index]);
    ret->ndev_ifindex = device->ifindex;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
                      uint32_t flags, size_t bytes)
{
    const struct device_info device = device_now(context);
    struct ibv_gid_entry full;

    if (flags != 0) return EOPNOTSUPP;
    if (port != 1 || index >= DEVICE_GIDS_MAX) return EINVAL;
    if (index >= device.gids || !device.gid[index].usable) return ENODATA;
    gid_entry(&device, index, &full);
    memset(entry, 0, bytes);
    memcpy(entry, &full, bytes < sizeof full ? bytes : sizeof full);
    return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max, uint32_t flags,
                             size_t bytes)
{
    const struct device_info device = device_now(context);
    ssize_t count = 0;

    if (flags != 0) return -EOPNOTSUPP;
    for (uint32_t i = 0; i < device.gids; i++) {
        struct ibv_gid_entry full;

        if (!device.gid[i].usable) continue;
        if ((size_t)count == max) return -EINVAL;
        gid_entry(&device, i, &full);
        memcpy((uint8_t *)entries + (size_t)count * bytes, &full, bytes < sizeof full ? bytes : sizeof full);
        count++;
    }
    return count;
}

/* A symbol of rdma-core's own, yet imported by librdmacm, pyverbs and UCX.  Old numbers: 0 is v1, 1 is v2. */
#pragma GCC visibility push(default)
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index, int *type);
#pragma GCC visibility pop
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index, int *type)
{
    const struct device_info device = device_now(context);

    if (port != 1 || index >= DEVICE_GIDS_MAX) {
        errno = EINVAL;
        return -1;
    }
    *type = index < device.gids && device.gid[index].net != PKT_NET_V1;
    return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
    (void)context;
    if (port != 1 || index < 0 || index >= LIMIT_PKEYS) {
        errno = EINVAL;
        return -1;
    }
    *pkey = htobe16(PROTO_PKEY_DEFAULT);
    return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
    (void)context;
    if (port == 1 && (be16toh(pkey) & 0x7fff) == (PROTO_PKEY_DEFAULT & 0x7fff)) return 0;
    errno = EINVAL;
    return -1;
}
