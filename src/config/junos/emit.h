/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch on its way to a Junos configuration.  Private to the emitter.
 */
#ifndef ROCELAB_CONFIG_JUNOS_EMIT_H
#define ROCELAB_CONFIG_JUNOS_EMIT_H

#include "config/junos/junos_int.h"
#include "config/junos/print.h"

struct junos_out {
    struct junos_printer print;
    const struct fabric_node *node;
    const struct fabric_switch *sw;
    struct arena arena;
    struct config_alike classifiers, maps, pauses;
    uint8_t lossless;            /* classes, on any port */
    uint8_t used;                /* traffic classes that something leads to */
    uint8_t queue[FABRIC_PRIOS]; /* of each traffic class, as on most ports */
};

void junos_emit_prepare(struct junos_out *out);
void junos_emit_cos(struct junos_out *out);

#endif
