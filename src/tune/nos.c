/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a switch's system can say of what is tuned.
 *
 * Values are drawn from what every system can write: whole per cent, thousands of bytes, powers of two.  What is left
 * is whether a system has the word at all: config/unsupported.h knows.  What hosts are set to does not depend on it.
 */
#include "config/unsupported.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "tune/tune_int.h"

static bool several_lossless(const struct fabric *fabric)
{
    uint32_t classes = 0;

    for (uint32_t c = 0; c < fabric->class_count; c++)
        classes += fabric->classes[c].lossless;
    return classes > 1;
}

/* Why a system does not say it; NULL: it does. */
static const char *refuses(const struct config_format *format, const struct fabric *fabric, uint32_t kind)
{
    const struct config_can *can = format->can;

    if (format->host)
        return tune_kinds[kind].place == TUNE_AT_NICS || tune_kinds[kind].place == TUNE_AT_JOBS
                   ? NULL
                   : "a host's script says nothing of switches";
    if (can == NULL) return NULL;
    if (kind == TUNE_ALPHA_KIND && !can->alpha && !can->alpha_one)
        return "the system has no word for alpha: its thresholds are fixed, or its own";
    if (kind == TUNE_ALPHA_KIND && !can->alpha && several_lossless(fabric))
        return "the system has one alpha for all lossless classes, and this fabric has several";
    if (kind == TUNE_XOFF_KIND && !can->xoff) return "the system has no word for a fixed pause threshold";
    if (tune_kinds[kind].place == TUNE_AT_ECN && kind != TUNE_ECN_PROBABILITY_KIND && can->ecn_percent)
        return "the system marks at whole per cent of its buffer, not at bytes: the value simulated would not be "
               "the one written";
    return NULL;
}

const char *nos_refuses(const struct tune *tune, const struct tune_kind *kind)
{
    const struct fabric *fabric = tune->fabric;
    uint32_t id = (uint32_t)(kind - tune_kinds);

    if (tune->nos) return refuses(tune->nos, fabric, id);
    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct config_format *format = config_format_find(fabric_nos_names[fabric->sw[s].nos]);
        const char *why = fabric->sw[s].nos != FABRIC_NOS_UNSAID && format ? refuses(format, fabric, id) : NULL;
        if (why) return why;
    }
    return NULL;
}
