/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab help congestion [ALGORITHM | FILE.so]: presets and parameters of congestion control, those of a plug-in too.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/topics.h"
#include "fabric/nics.h"
#include "nic/cc/algorithm.h"
#include "plugin/plugin.h"

#define PRESETS_MAX 8

static const char *value_text(const struct cc_param *param, const struct cc_config *config, char ret[UNIT_TEXT])
{
    static const enum unit_kind kinds[] = {[CC_UNIT_TIME] = UNIT_TIME,
                                           [CC_UNIT_RATE] = UNIT_RATE,
                                           [CC_UNIT_BYTES] = UNIT_SIZE,
                                           [CC_UNIT_COUNT] = UNIT_COUNT,
                                           [CC_UNIT_SHARE] = UNIT_SHARE};
    uint64_t value;

    memcpy(&value, (const char *)config + param->offset, sizeof value);
    if (param->unit == CC_UNIT_FLAG)
        snprintf(ret, UNIT_TEXT, "%s", value ? "on" : "off");
    else if (param->unit == CC_UNIT_COUNT)
        snprintf(ret, UNIT_TEXT, "%" PRIu64, value);
    else
        unit_format(kinds[param->unit], value, ret);
    return ret;
}

static void print_param(const struct cc_param *param, const struct cc_config *const *config, unsigned presets,
                        FILE *out)
{
    const struct text_style style = cli_style();
    char text[UNIT_TEXT];

    fprintf(out, "  %s:", param->name);
    for (unsigned i = 0; i < presets; i++)
        fprintf(out, "%s %s", i ? "," : "", value_text(param, config[i], text));
    if (param->least || param->most) {
        struct cc_config limit = {0};
        memcpy((char *)&limit + param->offset, &param->least, sizeof param->least);
        fprintf(out, " (%s to ", value_text(param, &limit, text));
        memcpy((char *)&limit + param->offset, &param->most, sizeof param->most);
        fprintf(out, "%s)", value_text(param, &limit, text));
    }
    fputs("\n      ", out);
    text_wrap(out, &style, 6, 6, param->help);
}

static bool list_plugin(const char *path, FILE *out)
{
    struct cc_config config;
    const struct cc_config *only = &config;
    char why[1024];

    plugin_allow(path);
    if (plugin_load(path, &config, why, sizeof why) != 0) return cli_fail("help: %s", why);
    fprintf(out, "%s, of %s: parameters, their values and limits\n\n", config.outside->preset[0].name, path);
    for (const struct cc_param *param = config.outside->param; param->name; param++)
        print_param(param, &only, 1, out);
    return true;
}

/* Is it called after this algorithm, or does one of its presets say something of it? */
static bool is_said(const struct cc_param *param, const char *algorithm, size_t length,
                    const struct cc_config *const *config, unsigned presets)
{
    static const uint64_t nothing;
    bool said = strncmp(param->name, algorithm, length) == 0 && param->name[length] == '_';

    for (unsigned i = 0; i < presets; i++)
        said |= memcmp((const char *)config[i] + param->offset, &nothing, sizeof nothing) != 0;
    return said && (param->offset < offsetof(struct cc_config, own) || cc_owns(config[0], param));
}

static bool list_algorithm(const char *name, FILE *out)
{
    static struct cc_config preset[PRESETS_MAX];
    const struct cc_config *config[PRESETS_MAX];
    const struct cc_param *param;
    size_t length = strcspn(name, "/");
    unsigned presets = 0;
    const char *known;

    for (size_t i = 0; (known = cc_preset_name(i)) != NULL && presets < PRESETS_MAX; i++) {
        if (strcspn(known, "/") != length || strncmp(known, name, length) != 0) continue;
        fprintf(out, "%s%s", presets ? ", " : "", known);
        config[presets] = &preset[presets];
        cc_preset(known, &preset[presets++]);
    }
    if (presets == 0)
        return cli_fail("help: no congestion control is called '%s'; 'rocelab help congestion' lists them", name);
    fputs(": parameters and their values there\n\n", out);
    for (size_t i = 0; (param = cc_param(i)) != NULL; i++)
        if (is_said(param, name, length, config, presets)) print_param(param, config, presets, out);
    return true;
}

bool cli_list_congestion(const char *name, bool json, FILE *out)
{
    if (!cli_topic_is_text(json)) return false;
    if (name) return fabric_congestion_is_file(name) ? list_plugin(name, out) : list_algorithm(name, out);
    fputs("Congestion control, for `nics: {congestion: ...}` and --cc: docs/congestion.md. 'rocelab help congestion "
          "dcqcn'\n"
          "lists an algorithm's parameters, 'rocelab help congestion ./mine.so' those of a file of your own.\n\n",
          out);
    for (size_t i = 0; cc_preset_name(i) != NULL; i++)
        fprintf(out, "  %s\n", cc_preset_name(i));
    return true;
}
