/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address handles, addresses taken from received datagrams, multicast.
 *
 * RoCE addresses by GID alone: an address vector without a global route is refused.  The 40 bytes before a
 * datagram hold an IPv6 or v1 header, or, in their last 20, an IPv4 header (RoCEv2 annex, A17.4.5.1).
 */
#include "packet/codec.h"
#include "verbs/ibverbs/verbs_int.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int verbs_path(struct ibv_context *context, const struct ibv_ah_attr *attr, struct device_path *ret)
{
    const struct device_info *device = device_info_of(live_of(context));

    if (!attr->is_global || attr->port_num != 1) return EINVAL;
    if (attr->grh.sgid_index >= DEVICE_GIDS_MAX || attr->sl > 15) return EINVAL;
    if (attr->grh.sgid_index >= device->gids) {
        struct device_info now = *device; /* an address may have come since */

        if (device_refresh(&now) < 0 || attr->grh.sgid_index >= now.gids) return EINVAL;
    }
    memset(ret, 0, sizeof *ret);
    ret->gid_index = attr->grh.sgid_index;
    memcpy(ret->remote.byte, attr->grh.dgid.raw, 16);
    ret->tos = attr->grh.traffic_class;
    ret->hop_limit = attr->grh.hop_limit > 0 ? attr->grh.hop_limit : 64;
    ret->sl = attr->sl;
    ret->flow_label = attr->grh.flow_label & 0xfffffu;
    return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    struct vah *ah = NULL;
    struct device_path path;
    int error = verbs_path(pd->context, attr, &path);

    if (error == 0 && (ah = calloc(1, sizeof *ah)) == NULL) error = ENOMEM;
    if (error == 0) error = -device_path_get(live_of(pd->context), &path, &ah->path);
    if (error) {
        free(ah);
        errno = error;
        return NULL;
    }
    (void)verbs_pd_number(pd);
    ah->ibv.context = pd->context;
    ah->ibv.pd = pd;
    ah->ibv.handle = ah->path;
    return &ah->ibv;
}

int ibv_destroy_ah(struct ibv_ah *ibv)
{
    device_path_put(live_of(ibv->context), vah_of(ibv)->path);
    verbs_pd_put(ibv->pd);
    free(vah_of(ibv));
    return 0;
}

/* The first GID of the kind that the datagram came by, and of this address (NULL: any); device->gids: none. */
static unsigned gid_of(const struct device_info *device, uint8_t net, const struct pkt_addr *address)
{
    unsigned at = 0;

    for (; at < device->gids; at++) {
        const struct device_gid *gid = &device->gid[at];
        if (gid->net != net || !gid->usable) continue;
        if (address == NULL || memcmp(&gid->addr, address, sizeof *address) == 0) break;
    }
    return at;
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc, struct ibv_grh *grh,
                        struct ibv_ah_attr *attr)
{
    struct device_info device = *device_info_of(live_of(context));
    struct pkt_envelope sent; /* from whom the datagram came, to which of our addresses */
    uint8_t raw[CODEC_GRH_BYTES];
    unsigned index;

    memset(attr, 0, sizeof *attr);
    attr->dlid = wc->slid;
    attr->sl = 0; /* over Ethernet the completion says there which header came, not a class */
    attr->src_path_bits = wc->dlid_path_bits;
    attr->port_num = port;
    if (!(wc->wc_flags & IBV_WC_GRH)) return 0;
    (void)device_refresh(&device);
    memcpy(raw, grh, sizeof raw);
    codec_grh_parse(raw, &sent);
    index = gid_of(&device, sent.net, &sent.dst);
    /* came by multicast: any of ours of that kind may answer */
    if (index == device.gids && pkt_addr_is_multicast(&sent.dst)) index = gid_of(&device, sent.net, NULL);
    if (index == device.gids) {
        errno = ENOENT;
        return -1;
    }
    attr->is_global = 1;
    memcpy(attr->grh.dgid.raw, sent.src.byte, sizeof attr->grh.dgid.raw);
    attr->grh.sgid_index = (uint8_t)index;
    attr->grh.flow_label = sent.flow_label;
    attr->grh.hop_limit = 64;
    attr->grh.traffic_class = (uint8_t)(sent.tos & ~PKT_ECN_MASK); /* the marks of the way here are not ours to send */
    return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
    struct ibv_ah_attr attr;

    if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) != 0) return NULL;
    return ibv_create_ah(pd, &attr);
}

/* Ethernet addresses are found by the device when it sends. */
#pragma GCC visibility push(default)
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t mac[6], uint16_t *vid);
#pragma GCC visibility pop
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t mac[6], uint16_t *vid)
{
    (void)context, (void)attr, (void)mac, (void)vid;
    return -EOPNOTSUPP;
}

static bool is_group(const union ibv_gid *gid)
{
    static const uint8_t map[12] = {[10] = 0xff, [11] = 0xff};

    return gid->raw[0] == 0xff || (memcmp(gid->raw, map, sizeof map) == 0 && (gid->raw[12] & 0xf0) == 0xe0);
}

/* A group of InfiniBand's form that carries an IPv4 address (ff0e::ffff:a.b.c.d) is that address on the wire. */
static struct pkt_addr group_address(const union ibv_gid *gid)
{
    struct pkt_addr address;

    memcpy(address.byte, gid->raw, 16);
    if (gid->raw[0] == 0xff && gid->raw[10] == 0xff && gid->raw[11] == 0xff) memset(address.byte, 0, 10);
    return address;
}

int ibv_attach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
    struct vqp *qp = vqp_of(ibv);
    const struct pkt_addr address = group_address(gid);
    struct vgroup *group;
    int error = 0;

    if (ibv->qp_type != IBV_QPT_UD || !is_group(gid)) return EINVAL;
    pthread_mutex_lock(&qp->lock);
    for (group = qp->groups; group != NULL; group = group->next) {
        if (memcmp(group->gid.raw, gid->raw, 16) == 0 && group->lid == lid) break;
    }
    if (group == NULL) {
        group = calloc(1, sizeof *group);
        error = group == NULL ? ENOMEM : -device_multicast(qp->live, &address, true);
        if (error) {
            free(group);
        } else {
            group->gid = *gid;
            group->lid = lid;
            group->next = qp->groups;
            qp->groups = group;
        }
    }
    pthread_mutex_unlock(&qp->lock);
    return error;
}

int ibv_detach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
    struct vqp *qp = vqp_of(ibv);
    const struct pkt_addr address = group_address(gid);
    struct vgroup **link, *group;
    int error = EINVAL;

    pthread_mutex_lock(&qp->lock);
    for (link = &qp->groups; (group = *link) != NULL; link = &group->next) {
        if (memcmp(group->gid.raw, gid->raw, 16) != 0 || group->lid != lid) continue;
        error = -device_multicast(qp->live, &address, false);
        *link = group->next;
        free(group);
        break;
    }
    pthread_mutex_unlock(&qp->lock);
    return error;
}
