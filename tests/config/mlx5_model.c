/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's side first (set and delete an entry, PFC, ETS, DCBX), then the two tools that call it.  mlnx_qos does
 * what it is asked in an order of its own, whatever the order of its options.
 */
#include "config/mlx5_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 200
#define CABLE_MOST 1000u /* the driver passes over this length and what is longer */

struct words {
    char text[4096];
    char *word[WORDS];
    unsigned count;
};

void mlx5_start(struct mlx5_model *model, enum mlx5_tool tool, bool used)
{
    *model = (struct mlx5_model){.tool = tool, .cable_m = 7};
    for (unsigned d = 0; d < 64; d++)
        model->prio[d] = (uint8_t)(d / 8);
    for (uint8_t i = 0; i < 8; i++) {
        model->tc[i] = i < 2 ? !i : i;
        model->tsa[i] = MLX5_VENDOR;
    }
    if (!used) return;
    model->trust_dscp = true;
    model->pfc = 0x30;
    model->cable_m = 300;
    for (unsigned d = 0; d < 64; d++) {
        model->entry[d] = true;
        model->prio[d] = (uint8_t)(d * 5 % 8);
    }
    for (uint8_t i = 0; i < 8; i++) {
        model->tc[i] = 7 - i;
        model->tsa[i] = MLX5_ETS;
        model->bw[i] = i < 4 ? 20 : 5;
    }
}

/* --- the driver --- */

static unsigned entries(const struct mlx5_model *model)
{
    unsigned count = 0;

    for (unsigned d = 0; d < 64; d++)
        count += model->entry[d];
    return count;
}

static void set_app(struct mlx5_model *model, unsigned dscp, unsigned prio)
{
    if (model->tool != MLX5_QOS_SYSFS) { /* the first entry is what makes it trust DSCPs */
        model->trust_dscp = true;
        model->entry[dscp] = true;
    }
    model->prio[dscp] = (uint8_t)prio;
}

static const char *del_app(struct mlx5_model *model, unsigned dscp, unsigned prio)
{
    if (!model->entry[dscp] || model->prio[dscp] != prio) return "no such entry";
    model->entry[dscp] = false;
    model->prio[dscp] = 0; /* not DSCP / 8 */
    if (!entries(model)) model->trust_dscp = false;
    return NULL;
}

static void flush(struct mlx5_model *model)
{
    for (unsigned d = 0; d < 64; d++)
        if (model->entry[d]) del_app(model, d, model->prio[d]);
}

static void set_pfc(struct mlx5_model *model, unsigned bits, unsigned metres)
{
    model->pfc = bits;
    if (metres && metres < CABLE_MOST) model->cable_m = metres;
}

static const char *set_ets(struct mlx5_model *model, const uint8_t tc[8], const uint8_t tsa[8], const uint8_t bw[8])
{
    unsigned sum = 0;
    bool ets = false;

    for (unsigned i = 0; i < 8; i++) {
        if (tsa[i] != MLX5_ETS) continue;
        ets = true;
        sum += bw[i];
    }
    if (ets && sum != 100) return "the sum of ETS is not 100";
    memcpy(model->tc, tc, 8);
    memcpy(model->tsa, tsa, 8);
    memcpy(model->bw, bw, 8);
    return NULL;
}

/* --- words --- */

static void split(struct words *ret, const char *line)
{
    snprintf(ret->text, sizeof(ret->text), "%s", line);
    ret->count = 0;
    for (char *rest = ret->text, *at; (at = strsep(&rest, " ")) && ret->count < WORDS;)
        if (*at) ret->word[ret->count++] = at;
}

static const char *option(const struct words *words, const char *name)
{
    for (unsigned i = 0; i + 1 < words->count; i++)
        if (strcmp(words->word[i], name) == 0) return words->word[i + 1];
    return NULL;
}

/* Eight numbers, or names of algorithms. */
static bool eight(const char *text, uint8_t ret[8])
{
    static const char *const names[] = {"strict", "ets", "vendor"};

    for (unsigned i = 0; i < 8; i++) {
        size_t length = strcspn(text, ",");
        ret[i] = (uint8_t)strtoul(text, NULL, 10);
        for (uint8_t n = 0; n < 3; n++)
            if (strncmp(text, names[n], length) == 0 && strlen(names[n]) == length) ret[i] = n;
        if (!length || (text[length] == ',') != (i < 7)) return false;
        text += length + (i < 7);
    }
    return true;
}

/* --- mlnx_qos --- */

static const char *qos_pfc(struct mlx5_model *model, const struct words *words)
{
    const char *pfc = option(words, "--pfc"), *cable = option(words, "--cable_len");
    unsigned metres = cable ? (unsigned)strtoul(cable, NULL, 10) : 0, bits = 0;
    uint8_t each[8] = {0};

    if (pfc && !eight(pfc, each)) return "pfc list must have 8 items";
    for (unsigned p = 0; p < 8; p++)
        bits |= (unsigned)each[p] << p;
    if (model->tool == MLX5_QOS_OLD) {
        if (pfc || cable) set_pfc(model, bits, metres);
        return NULL;
    }
    if (cable) set_pfc(model, model->pfc, metres);
    if (pfc) set_pfc(model, bits, 0);
    return NULL;
}

static const char *qos_dscp(struct mlx5_model *model, const struct words *words)
{
    const char *bad = NULL;
    unsigned last = 0;

    for (unsigned i = 0; i + 1 < words->count; i++)
        if (strcmp(words->word[i], "--dscp2prio") == 0) last = i;
    for (unsigned i = 0; i + 1 < words->count && !bad; i++) {
        unsigned dscp, prio;
        if (strcmp(words->word[i], "--dscp2prio") != 0) continue;
        if (model->tool == MLX5_QOS_OLD && i != last) continue; /* of several it keeps the last, and has no flush */
        if (model->tool == MLX5_QOS_OLD && strcmp(words->word[i + 1], "flush") == 0) return "Invalid dscp2prio command";
        const char *value = words->word[i + 1];
        if (strcmp(value, "flush") == 0) {
            if (model->tool != MLX5_QOS_SYSFS) flush(model);
        } else if (sscanf(value, "set,%u,%u", &dscp, &prio) == 2 && dscp < 64 && prio < 8) {
            set_app(model, dscp, prio);
        } else if (sscanf(value, "del,%u,%u", &dscp, &prio) == 2 && dscp < 64 && prio < 8) {
            if (model->tool != MLX5_QOS_SYSFS) bad = del_app(model, dscp, prio);
        } else {
            bad = "Invalid dscp2prio command";
        }
    }
    return bad;
}

static const char *qos_trust(struct mlx5_model *model, const char *trust)
{
    bool dscp = strcmp(trust, "dscp") == 0;

    if (!dscp && strcmp(trust, "pcp") != 0) return "Invalid trust state command";
    if (dscp == model->trust_dscp) return NULL; /* the map stays whatever it is */
    if (model->tool == MLX5_QOS_SYSFS) {
        model->trust_dscp = dscp;
        return NULL;
    }
    flush(model);
    for (unsigned d = 0; d < 64 && dscp; d++)
        set_app(model, d, d / 8);
    return NULL;
}

static const char *qos_ets(struct mlx5_model *model, const struct words *words)
{
    const char *prio_tc = option(words, "--prio_tc"), *tsa = option(words, "--tsa"), *bw = option(words, "--tcbw");
    uint8_t to[8], how[8], share[8];

    memcpy(to, model->tc, 8);
    memcpy(how, model->tsa, 8);
    memcpy(share, model->bw, 8);
    if ((tsa && !eight(tsa, how)) || (bw && !eight(bw, share)) || (prio_tc && !eight(prio_tc, to)))
        return "list must have 8 items";
    for (unsigned i = 0; i < 8; i++)
        if (bw && how[i] != MLX5_ETS && share[i]) return "ETS BW for a strict/vendor TC must be 0";
    return prio_tc || tsa || bw ? set_ets(model, to, how, share) : NULL;
}

static const char *qos(struct mlx5_model *model, const struct words *words)
{
    const char *dcbx = option(words, "-d"), *trust = option(words, "--trust");

    if (words->count % 2 == 0) return "Bad arguments";
    if (trust && option(words, "--dscp2prio")) return "trust and dscp2prio commands cannot be used at the same time.";
    if (dcbx && strcmp(dcbx, "os") != 0 && strcmp(dcbx, "fw") != 0) return "Invalid dcbx mode command";
    if (dcbx) model->host_dcbx = strcmp(dcbx, "os") == 0;
    const char *bad = qos_pfc(model, words);
    if (!bad) bad = qos_dscp(model, words);
    if (!bad && trust) bad = qos_trust(model, trust);
    return bad ? bad : qos_ets(model, words);
}

/* --- dcb --- */

static const char *dcb_app(struct mlx5_model *model, const struct words *words)
{
    bool replace = strcmp(words->word[2], "replace") == 0;
    unsigned dscp, prio;

    if (strcmp(words->word[2], "flush") == 0) {
        flush(model);
        return NULL;
    }
    for (unsigned i = 5; i < words->count; i++) {
        if (strcmp(words->word[i], "dscp-prio") == 0) continue;
        if (sscanf(words->word[i], "%u:%u", &dscp, &prio) != 2 || dscp > 63 || prio > 7) return "not an entry";
        /* dcb then deletes what it replaced, which the driver has deleted already and refuses */
        if (replace && model->entry[dscp] && model->prio[dscp] != prio) return "no such entry to delete";
        set_app(model, dscp, prio);
    }
    return NULL;
}

static const char *dcb_pfc(struct mlx5_model *model, const struct words *words)
{
    const char *delay = option(words, "delay");
    unsigned bits = model->pfc, prio;

    for (unsigned i = 5; i < words->count; i++) {
        if (strcmp(words->word[i], "all:off") == 0) bits = 0;
        if (strstr(words->word[i], ":on") && sscanf(words->word[i], "%u", &prio) == 1 && prio < 8) bits |= 1u << prio;
    }
    set_pfc(model, bits, delay ? (unsigned)strtoul(delay, NULL, 10) : 0);
    return NULL;
}

static const char *dcb_ets(struct mlx5_model *model, const struct words *words)
{
    uint8_t to[8], how[8], share[8];
    const char *kind = "";

    memcpy(to, model->tc, 8);
    memcpy(how, model->tsa, 8);
    memcpy(share, model->bw, 8);
    for (unsigned i = 5; i < words->count; i++) {
        unsigned key = (unsigned)strtoul(words->word[i], NULL, 10);
        const char *value = strchr(words->word[i], ':');
        if (!value)
            kind = words->word[i];
        else if (key > 7)
            return "not a class";
        else if (strcmp(kind, "prio-tc") == 0)
            to[key] = (uint8_t)strtoul(value + 1, NULL, 10);
        else if (strcmp(kind, "tc-bw") == 0)
            share[key] = (uint8_t)strtoul(value + 1, NULL, 10);
        else if (strcmp(kind, "tc-tsa") == 0)
            how[key] = strcmp(value, ":ets") == 0      ? MLX5_ETS
                       : strcmp(value, ":strict") == 0 ? MLX5_STRICT
                                                       : MLX5_VENDOR;
    }
    return set_ets(model, to, how, share);
}

static const char *dcb(struct mlx5_model *model, const struct words *words)
{
    if (words->count < 5 || strcmp(words->word[3], "dev") != 0) return "not a command of dcb";
    if (strcmp(words->word[1], "app") == 0) return dcb_app(model, words);
    if (strcmp(words->word[1], "pfc") == 0) return dcb_pfc(model, words);
    if (strcmp(words->word[1], "ets") == 0) return dcb_ets(model, words);
    if (strcmp(words->word[1], "dcbx") != 0) return "not an object of dcb";
    model->host_dcbx = strcmp(words->word[5], "host") == 0;
    return model->host_dcbx ? NULL : "the driver wants host";
}

const char *mlx5_command(struct mlx5_model *model, const char *line)
{
    struct words words;

    split(&words, line);
    if (!words.count) return NULL;
    if (strcmp(words.word[0], "mlnx_qos") == 0) return model->tool == MLX5_DCB ? NULL : qos(model, &words);
    if (strcmp(words.word[0], "dcb") == 0) return model->tool == MLX5_DCB ? dcb(model, &words) : NULL;
    return NULL;
}
