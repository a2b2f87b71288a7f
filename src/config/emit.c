/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What emitters share: names of ports and classes.
 */
#include <stdio.h>

#include "config/config.h"

void config_port_label(const struct config_emit *emit, const struct config_format *format, uint32_t port, char *buf,
                       size_t size)
{
    const char *const *names = emit->fabric->operations.port_name;

    if (names && names[port])
        snprintf(buf, size, "%s", names[port]);
    else
        format->port_name(emit->fabric, port, buf, size);
}

const struct fabric_class *config_class_of(const struct fabric *fabric, unsigned tc)
{
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (fabric->classes[c].priority == tc) return &fabric->classes[c];
    return NULL;
}
