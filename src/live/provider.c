/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who makes devices: the live adapter, unless another provider was named or is found; and the live adapter's table.
 *
 * Nothing is decided here.  A device goes back to who found it.
 */
#include <stdlib.h>

#include "live/counters.h"
#include "live/live_int.h"

static const struct device_ops adapter_ops = {
    .devices = adapter_devices,
    .device_refresh = adapter_device_refresh,
    .open = adapter_open,
#define OP(type, name, object, parameters, arguments) .name = adapter_##name,
#define OP_VOID(name, object, parameters, arguments) .name = adapter_##name,
#include "live/device_ops.def"
};

/* device_ops_of() */
_Static_assert(offsetof(struct live, ops) == 0 && offsetof(struct live_mr, ops) == 0 &&
                   offsetof(struct live_mw, ops) == 0 && offsetof(struct live_channel, ops) == 0 &&
                   offsetof(struct live_cq, ops) == 0 && offsetof(struct live_srq, ops) == 0 &&
                   offsetof(struct live_qp, ops) == 0 && offsetof(struct live_watch, ops) == 0,
               "every object begins with its table");

static const struct device_ops *named;
static const struct device_ops *(*find)(void);

const struct device_ops *provider_own(void)
{
    return &adapter_ops;
}

void live_provider(const struct device_ops *ops)
{
    named = ops;
}

void live_provider_asked(const struct device_ops *(*asked)(void))
{
    find = asked;
}

static const struct device_ops *provider(void)
{
    const struct device_ops *found = named ? named : find ? find() : NULL;

    return found ? found : &adapter_ops;
}

bool live_provided(void)
{
    return provider() != &adapter_ops;
}

int live_source(const struct pkt_addr *to, struct pkt_addr *ret)
{
    const struct device_ops *ops = provider();

    return ops->source ? ops->source(to, ret) : -EOPNOTSUPP;
}

int live_devices(struct live_device **ret, unsigned *ret_count)
{
    const struct device_ops *ops = provider();
    int error = ops->devices(ret, ret_count);

    for (unsigned i = 0; error == 0 && i < *ret_count; i++)
        (*ret)[i].ops = ops;
    return error;
}

static const struct device_ops *finder(const struct live_device *device)
{
    return device->ops ? device->ops : provider();
}

int live_device_refresh(struct live_device *device)
{
    return finder(device)->device_refresh(device);
}

int live_device_counters(const struct live_device *device, struct live_counter_set **ret, unsigned *ret_count)
{
    const struct device_ops *ops = finder(device);

    if (ops->counters == NULL) return live_counters_read(ret, ret_count);
    struct live_counter_set *set = calloc(1, sizeof *set);
    int error = set ? ops->counters(device, set) : -ENOMEM;
    if (error) {
        free(set);
        return error;
    }
    *ret = set;
    *ret_count = 1;
    return 0;
}

int live_open(const struct live_device *device, struct live **ret, char *why, size_t why_bytes)
{
    return finder(device)->open(device, ret, why, why_bytes);
}
