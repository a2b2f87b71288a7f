/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma_getaddrinfo(): names and services to addresses, port spaces and kinds of queue pairs.
 *
 * Names are resolved by getaddrinfo(3).  InfiniBand's own addresses (AF_IB) do not exist here.
 */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/rdmacm/rdmacm_int.h"

static int copy_address(const struct sockaddr *from, socklen_t bytes, struct sockaddr **ret, socklen_t *ret_bytes)
{
    if (from == NULL || bytes == 0) return 0;
    *ret = calloc(1, sizeof(struct sockaddr_storage));
    if (*ret == NULL) return -1;
    memcpy(*ret, from, bytes);
    *ret_bytes = bytes;
    return 0;
}

/* What was not said about port space and queue pair follows from what was. */
static int complete_kind(struct rdma_addrinfo *info)
{
    if (info->ai_port_space == 0) info->ai_port_space = info->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
    if (info->ai_qp_type == 0)
        info->ai_qp_type =
            info->ai_port_space == RDMA_PS_UDP || info->ai_port_space == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
    switch (info->ai_port_space) {
    case RDMA_PS_TCP:
    case RDMA_PS_IB:
    case RDMA_PS_UDP:
    case RDMA_PS_IPOIB:
        return 0;
    default:
        return -1;
    }
}

static int resolve(const char *node, const char *service, const struct rdma_addrinfo *info, struct addrinfo **ret)
{
    struct addrinfo hints = {.ai_family = info->ai_family,
                             .ai_socktype = info->ai_qp_type == IBV_QPT_UD ? SOCK_DGRAM : SOCK_STREAM};

    if (info->ai_flags & RAI_PASSIVE) hints.ai_flags |= AI_PASSIVE;
    if (info->ai_flags & RAI_NUMERICHOST) hints.ai_flags |= AI_NUMERICHOST;
    return getaddrinfo(node, service, &hints, ret);
}

static int fill(struct rdma_addrinfo *info, const char *node, const char *service, const struct rdma_addrinfo *hints)
{
    struct addrinfo *found = NULL;
    bool passive = info->ai_flags & RAI_PASSIVE;
    int error = 0;

    if (node != NULL || service != NULL) {
        error = resolve(node, service, info, &found);
        if (error) return error;
        info->ai_family = found->ai_family;
        error = passive ? copy_address(found->ai_addr, found->ai_addrlen, &info->ai_src_addr, &info->ai_src_len)
                        : copy_address(found->ai_addr, found->ai_addrlen, &info->ai_dst_addr, &info->ai_dst_len);
        if (error == 0 && found->ai_canonname != NULL)
            *(passive ? &info->ai_src_canonname : &info->ai_dst_canonname) = strdup(found->ai_canonname);
        freeaddrinfo(found);
    }
    if (error == 0 && hints != NULL && info->ai_dst_addr == NULL && !passive)
        error = copy_address(hints->ai_dst_addr, hints->ai_dst_len, &info->ai_dst_addr, &info->ai_dst_len);
    if (error == 0 && hints != NULL && info->ai_src_addr == NULL)
        error = copy_address(hints->ai_src_addr, hints->ai_src_len, &info->ai_src_addr, &info->ai_src_len);
    if (error) errno = ENOMEM;
    return error;
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
                     struct rdma_addrinfo **ret)
{
    struct rdma_addrinfo *info;
    int error;

    if (node == NULL && service == NULL && hints == NULL) return rdmacm_fail(EINVAL);
    info = calloc(1, sizeof *info);
    if (info == NULL) return rdmacm_fail(ENOMEM);
    if (hints != NULL) {
        info->ai_flags = hints->ai_flags;
        info->ai_family = hints->ai_family;
        info->ai_qp_type = hints->ai_qp_type;
        info->ai_port_space = hints->ai_port_space;
    }
    if (complete_kind(info) < 0) {
        free(info);
        return rdmacm_fail(EINVAL);
    }
    error = fill(info, node, service, hints);
    if (error) {
        int kept = errno;
        rdma_freeaddrinfo(info);
        errno = kept;
        return error;
    }
    *ret = info;
    return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *info)
{
    while (info != NULL) {
        struct rdma_addrinfo *next = info->ai_next;
        free(info->ai_src_addr);
        free(info->ai_dst_addr);
        free(info->ai_src_canonname);
        free(info->ai_dst_canonname);
        free(info->ai_route);
        free(info->ai_connect);
        free(info);
        info = next;
    }
}
