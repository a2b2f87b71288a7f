/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the name of a shared object to a congestion control: may it be loaded, is it one, is it of this ABI, does what
 * it says of itself hold together.
 *
 * A plug-in stays until the process ends: queue pairs point to it, and so may whoever keeps a configuration.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/nearest.h"
#include "plugin/plugin_int.h"

#define PLUGINS_MAX 16
#define NAME_MAX_BYTES 32
#define NEEDS_ALL (ROCELAB_CC_CNP | ROCELAB_CC_ECHO | ROCELAB_CC_RTT | ROCELAB_CC_TELEMETRY | ROCELAB_CC_WINDOW)

static struct plugin *loaded[PLUGINS_MAX];
static unsigned count;
static char *allowed[PLUGINS_MAX];
static unsigned allowed_count;

/* Parameters that are the adapter's, or common: one of a plug-in's that is called so is passed on. */
static const struct {
    const char *name;
    size_t offset;
} shared[] = {
#define SHARED(field)                                                                                                  \
    {                                                                                                                  \
#field, offsetof(struct cc_config, field)                                                                      \
    }
    SHARED(min_time_between_cnps), SHARED(cnp_per_nic), SHARED(cnp_remember), SHARED(window), SHARED(window_scales),
#undef SHARED
};

void plugin_allow(const char *path)
{
    char *real = realpath(path, NULL);
    bool known = false;

    for (unsigned i = 0; real && i < allowed_count; i++)
        known |= strcmp(allowed[i], real) == 0;
    if (real && !known && allowed_count < PLUGINS_MAX)
        allowed[allowed_count++] = real;
    else
        free(real);
}

/* Is it in this folder, or below? */
static bool is_below(const char *path, const char *folder, size_t length)
{
    char name[PATH_MAX], real[PATH_MAX];

    if (length == 0 || length >= sizeof name) return false;
    snprintf(name, sizeof name, "%.*s", (int)length, folder);
    if (realpath(name, real) == NULL) return false;
    length = strlen(real);
    return strncmp(path, real, length) == 0 && (path[length] == '/' || real[length - 1] == '/');
}

static bool may_load(const char *real)
{
    const char *folders = getenv(PLUGIN_FOLDERS);

    for (unsigned i = 0; i < allowed_count; i++)
        if (strcmp(allowed[i], real) == 0) return true;
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        if (is_below(real, folders, length)) return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

__attribute__((format(printf, 3, 4))) static int fail(char *why, size_t bytes, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(why, bytes, format, list);
    va_end(list);
    return -EINVAL;
}

static bool is_name(const char *name, const char *others)
{
    size_t length = name ? strnlen(name, NAME_MAX_BYTES) : 0;

    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr(others, name[i])) return false;
    return length > 0 && length < NAME_MAX_BYTES;
}

static int judge_param(const struct plugin *plugin, uint32_t index, char *why, size_t bytes)
{
    const struct rocelab_cc_param *param = &plugin->cc.param[index];

    if (!is_name(param->name, "_"))
        return fail(why, bytes, "parameter %u has no name of letters, digits and _, of at most %d", index,
                    NAME_MAX_BYTES - 1);
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(plugin->cc.param[i].name, param->name) == 0)
            return fail(why, bytes, "two parameters are called '%s'", param->name);
    if (param->unit > ROCELAB_CC_FLAG) return fail(why, bytes, "%s: its unit is none of rocelab/cc.h", param->name);
    if (param->help == NULL || strnlen(param->help, PLUGIN_WHY) == PLUGIN_WHY)
        return fail(why, bytes, "%s: its help is a sentence of less than %d letters", param->name, PLUGIN_WHY);
    if ((param->least || param->most) && (param->value < param->least || param->value > param->most))
        return fail(why, bytes, "%s: its own value is not within its limits", param->name);
    return 0;
}

static int judge(const struct plugin *plugin, char *why, size_t bytes)
{
    const struct rocelab_cc *cc = &plugin->cc;

    if (!is_name(cc->name, "-_"))
        return fail(why, bytes, "its name is letters, digits, - and _, at most %d", NAME_MAX_BYTES - 1);
    if (cc->params > ROCELAB_CC_PARAMS_MAX || (cc->params && cc->param == NULL))
        return fail(why, bytes, "it has %u parameters; %d are the most", cc->params, ROCELAB_CC_PARAMS_MAX);
    if (cc->state_bytes > ROCELAB_CC_STATE_MAX)
        return fail(why, bytes, "it wants to keep %u bytes of each queue pair; %d are the most", cc->state_bytes,
                    ROCELAB_CC_STATE_MAX);
    if (cc->needs & ~(uint32_t)NEEDS_ALL)
        return fail(why, bytes, "its needs have bits that this rocelab does not know (0x%x)",
                    cc->needs & ~(uint32_t)NEEDS_ALL);
    if (!cc->ack && !cc->cnp && !cc->loss && !cc->sent && !cc->timer)
        return fail(why, bytes, "it has none of ack(), cnp(), loss(), sent() and timer(), and hears of nothing");
    for (uint32_t i = 0; i < cc->params; i++) {
        int error = judge_param(plugin, i, why, bytes);
        if (error) return error;
    }
    return 0;
}

static void take_params(struct plugin *plugin)
{
    struct cc_config *config = &plugin->preset[0].config;

    plugin->preset[0].name = plugin->cc.name;
    *config = (struct cc_config){.kind = CC_NONE, .outside = &plugin->algorithm};
    for (uint32_t i = 0; i < plugin->cc.params; i++) {
        const struct rocelab_cc_param *from = &plugin->cc.param[i];
        plugin->param[i] = (struct cc_param){.name = from->name,
                                             .help = from->help,
                                             .unit = (enum cc_unit)from->unit,
                                             .offset = offsetof(struct cc_config, own) + i * sizeof(uint64_t),
                                             .least = from->least,
                                             .most = from->most};
        config->own[i] = from->value;
    }
}
_Static_assert((int)ROCELAB_CC_TIME == CC_UNIT_TIME && (int)ROCELAB_CC_RATE == CC_UNIT_RATE &&
                   (int)ROCELAB_CC_BYTES == CC_UNIT_BYTES && (int)ROCELAB_CC_COUNT == CC_UNIT_COUNT &&
                   (int)ROCELAB_CC_SHARE == CC_UNIT_SHARE && (int)ROCELAB_CC_FLAG == CC_UNIT_FLAG,
               "units are the same");
_Static_assert(ROCELAB_CC_PARAMS_MAX <= CC_OWN_PARAMS, "parameters fit");

void plugin_settle(struct cc_config *config)
{
    const struct plugin *plugin = (const struct plugin *)config->outside;

    for (uint32_t i = 0; plugin && i < plugin->cc.params; i++)
        for (size_t s = 0; s < sizeof shared / sizeof shared[0]; s++)
            if (strcmp(plugin->param[i].name, shared[s].name) == 0)
                memcpy((char *)config + shared[s].offset, &config->own[i], sizeof(uint64_t));
}

static int open_object(struct plugin *plugin, char *why, size_t bytes)
{
    guard_enter(plugin, "loading", 0);
    void *object = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL);
    const struct rocelab_cc *from = object ? dlsym(object, "rocelab_cc") : NULL;
    int error = 0;

    if (object == NULL) {
        error = fail(why, bytes, "cannot be loaded: %s", dlerror());
    } else if (from == NULL) {
        error =
            fail(why, bytes,
                 "has no 'rocelab_cc', so it is no congestion control; one is built of a file that defines it, with "
                 "cc -O2 -shared -fPIC mine.c -o mine.so");
    } else if (from->abi != ROCELAB_CC_ABI) {
        error = fail(why, bytes,
                     "was built for version %u of rocelab/cc.h, and this rocelab (%s) has version %d; build it anew "
                     "against this one's header: cc -O2 -shared -fPIC mine.c -o mine.so",
                     from->abi, ROCELAB_VERSION, ROCELAB_CC_ABI);
    } else {
        size_t most = from->bytes < sizeof plugin->cc ? from->bytes : sizeof plugin->cc;
        memcpy(&plugin->cc, from, most);
        error = judge(plugin, why, bytes);
    }
    guard_leave();
    if (error) return error; /* it stays in memory: its destructors are code of its own, too */
    take_params(plugin);
    call_describe(plugin);
    guard_globals(plugin, from);
    return 0;
}

static struct plugin *find_loaded(const char *real)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(loaded[i]->path, real) == 0) return loaded[i];
    return NULL;
}

static int load_new(char *real, const struct stat *file, struct plugin **ret, char *why, size_t bytes)
{
    struct plugin *plugin = count < PLUGINS_MAX ? calloc(1, sizeof *plugin) : NULL;

    if (plugin == NULL)
        return fail(why, bytes, "cannot be loaded: %s",
                    count < PLUGINS_MAX ? "not enough memory" : "there are 16, and that is the most");
    *plugin = (struct plugin){.path = real, .device = file->st_dev, .inode = file->st_ino, .changed = file->st_mtim};
    guard_install();
    int error = open_object(plugin, why, bytes);
    if (error) {
        free(plugin);
        return error;
    }
    loaded[count++] = plugin;
    *ret = plugin;
    return 0;
}

int plugin_load(const char *path, struct cc_config *ret, char *why, size_t why_bytes)
{
    char text[512], *real = realpath(path, NULL);
    struct plugin *plugin = NULL;
    struct stat file;
    int error = 0;

    if (real == NULL || stat(real, &file) != 0) {
        error = fail(text, sizeof text, "cannot be opened: %s", strerror(errno));
    } else if (!S_ISREG(file.st_mode)) { /* a pipe would be waited for */
        error = fail(text, sizeof text, "is no file with code: name the shared object that was built, as in ./mine.so");
    } else if (!may_load(real)) {
        error = fail(text, sizeof text,
                     "is code, which is not run because a file names it: name it yourself with --cc, or its folder "
                     "in " PLUGIN_FOLDERS);
    } else if ((plugin = find_loaded(real)) == NULL) {
        error = load_new(real, &file, &plugin, text, sizeof text);
    } else if (plugin->device != file.st_dev || plugin->inode != file.st_ino ||
               plugin->changed.tv_sec != file.st_mtim.tv_sec || plugin->changed.tv_nsec != file.st_mtim.tv_nsec) {
        error = fail(text, sizeof text, "has changed since this process loaded it; begin a new one");
    }
    if (plugin == NULL || plugin->path != real) free(real);
    if (error) return fail(why, why_bytes, "%s: %s", path, text);
    *ret = plugin->preset[0].config;
    return 0;
}
