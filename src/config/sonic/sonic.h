/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both directions of SONiC share.  Private to src/config/sonic*.c.
 */
#ifndef ROCELAB_CONFIG_SONIC_SONIC_H
#define ROCELAB_CONFIG_SONIC_SONIC_H

#include "config/config.h"

/* A port's `mtu` is of what the Ethernet header carries; the fabric's is a whole tagged frame without FCS. */
#define SONIC_MTU_OVER 18u
#define SONIC_MTU_MIN 68u
#define SONIC_MTU_MAX 9216u
#define SONIC_MTU_DEFAULT 9100u
#define SONIC_RATE_STEP 1000000u /* bits a second: of `speed` */
/* Ranges of the published YANG models. */
#define SONIC_TH_MIN (-8)
#define SONIC_TH_MAX 7
#define SONIC_DETECT_MIN_MS 100u
#define SONIC_DETECT_MAX_MS 5000u
#define SONIC_RESTORE_MIN_MS 100u
#define SONIC_RESTORE_MAX_MS 60000u
#define SONIC_POLL_MIN_MS 100u
#define SONIC_POLL_MAX_MS 1000u

int sonic_import(struct config_set *set, const struct config_text *text);
int sonic_emit(const struct config_emit *emit);
int sonic_fix(const struct fix *fix); /* a JSON patch (RFC 6902) */
int sonic_guess(const char *text, size_t length);
void sonic_port_name(const struct fabric *fabric, uint32_t port, char *buf, size_t size);

#endif
