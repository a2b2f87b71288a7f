/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who makes devices: the library's own provider, unless another was named or is found.
 *
 * Nothing is decided here.  A device goes back to who found it.
 */
#include <errno.h>

#include "device/device.h"

static const struct device_ops *named;
static const struct device_ops *(*find)(void);

void device_provider(const struct device_ops *ops)
{
    named = ops;
}

void device_provider_asked(const struct device_ops *(*asked)(void))
{
    find = asked;
}

static const struct device_ops *provider(void)
{
    const struct device_ops *found = named ? named : find ? find() : NULL;

    return found ? found : device_own_provider();
}

bool device_provided(void)
{
    return provider() != device_own_provider();
}

int device_source(const struct pkt_addr *to, struct pkt_addr *ret)
{
    const struct device_ops *ops = provider();

    return ops->source ? ops->source(to, ret) : -EOPNOTSUPP;
}

int device_list(struct device_info **ret, unsigned *ret_count)
{
    const struct device_ops *ops = provider();
    int error = ops->list(ret, ret_count);

    for (unsigned i = 0; error == 0 && i < *ret_count; i++)
        (*ret)[i].ops = ops;
    return error;
}

static const struct device_ops *finder(const struct device_info *info)
{
    return info->ops ? info->ops : provider();
}

int device_refresh(struct device_info *info)
{
    return finder(info)->refresh(info);
}

int device_counters(const struct device_info *info, struct device_counter_set **ret, unsigned *ret_count)
{
    const struct device_ops *ops = finder(info);

    return (ops->counters ? ops : device_own_provider())->counters(info, ret, ret_count);
}

int device_open(const struct device_info *info, struct device **ret, char *why, size_t why_bytes)
{
    return finder(info)->open(info, ret, why, why_bytes);
}
