/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drifts of one device mended in its own words: each guess (config/mend.h) is put into its text, the text is read
 * back and compared, and the guess that does away with most drifts and brings none is kept.
 *
 * The device's text is read alone, without those of others, so cables are not compared here.
 */
#include "cli/plan/diff_mend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "config/mend.h"
#include "fabric/places.h"

#define STEPS 64     /* statements for one device */
#define TRIES 1500   /* guesses that are read back for one device, */
#define TRIED 400000 /* and lines of them: a text of a thousand ports is not read a thousand times */

struct left { /* a drift that is there yet */
    char port[FABRIC_NAME], name[FABRIC_NAME], key[96], approved[DIFF_VALUE], running[DIFF_VALUE];
    uint32_t line;
};

struct lefts {
    struct left *left;
    uint32_t count, room;
};

struct mending {
    const struct diff_list *list;
    const char *device, *path;
    const struct fix *fix;
    struct arena arena;
    const struct cli_source *source; /* that is compared */
    struct lefts *into;
    uint32_t tries;
};

static void keep(void *to, const struct drift *drift)
{
    struct mending *mending = to;
    struct lefts *into = mending->into;

    if (strcmp(drift->device, mending->device) != 0 || fix_family(drift->key) == FIX_CABLING ||
        strcmp(drift->key, "ports") == 0)
        return;
    ARENA_ROOM(&mending->arena, into->left, into->count, into->room);
    struct left *left = &into->left[into->count++];
    struct cli_place place = cli_source_place(mending->source, drift->running_at);
    *left = (struct left){.line = place.line};
    snprintf(left->port, sizeof(left->port), "%s", drift->port ? drift->port : "");
    snprintf(left->name, sizeof(left->name), "%s", drift->name ? drift->name : left->port);
    snprintf(left->key, sizeof(left->key), "%s", drift->key);
    snprintf(left->approved, sizeof(left->approved), "%s", drift->approved);
    snprintf(left->running, sizeof(left->running), "%s", drift->running);
}

/* What differs with this text; false: it is not read. */
static bool compared(struct mending *mending, const char *text, struct lefts *ret)
{
    struct cli_source source = {.imported = true, .path = mending->path};
    struct fabric_errors errors = {.path = mending->path};
    const struct cli_source *approved = mending->list->approved;

    ret->count = 0;
    config_set_init(&source.set);
    bool good = config_read(&source.set, mending->fix->format, mending->path, text, strlen(text), mending->device,
                            &errors) == 0 &&
                cli_given_apply(mending->list->given, &source.set);
    if (good) {
        config_write(&source.set, "imported", &source.text, &source.map);
        good = cli_fabric_load(mending->path, source.text, NULL, 0, &source.fabric, &errors) == 0 &&
               fabric_places_open(source.fabric, source.text, &source.places) == 0;
    }
    if (good) {
        struct diff diff = {.approved = {approved->fabric, approved->places, approved->imported, &approved->set},
                            .running = {source.fabric, source.places, true, &source.set},
                            .each = keep,
                            .to = mending};
        mending->source = &source;
        mending->into = ret;
        diff_run(&diff);
        good = diff.devices > 0;
    }
    cli_source_release(&source);
    return good;
}

static bool has(const struct lefts *lefts, const struct left *left)
{
    for (uint32_t l = 0; l < lefts->count; l++)
        if (strcmp(lefts->left[l].port, left->port) == 0 && strcmp(lefts->left[l].key, left->key) == 0 &&
            strcmp(lefts->left[l].running, left->running) == 0)
            return true;
    return false;
}

static bool has_key(const struct lefts *lefts, const char *key)
{
    for (uint32_t l = 0; l < lefts->count; l++)
        if (strcmp(lefts->left[l].key, key) == 0) return true;
    return false;
}

/* Less, and nothing new. */
static bool is_better(const struct lefts *after, const struct lefts *before)
{
    if (after->count >= before->count) return false;
    for (uint32_t l = 0; l < after->count; l++)
        if (!has(before, &after->left[l])) return false;
    return true;
}

static char *with_edit(const struct mend_text *text, const struct mend_edit *edit)
{
    struct mend_text copy = *text;

    copy.room = copy.count + 1;
    copy.line = ARENA_NEW(text->arena, const char *, copy.room);
    copy.number = ARENA_NEW(text->arena, uint32_t, copy.room);
    memcpy(copy.line, text->line, copy.count * sizeof(*copy.line));
    memcpy(copy.number, text->number, copy.count * sizeof(*copy.number));
    mend_apply(&copy, edit);
    return mend_whole(&copy);
}

/* The best guess for a drift; NULL: none. */
static const struct mend_edit *best_edit(struct mending *mending, const struct mend_text *text,
                                         const struct lefts *before, const struct left *drift)
{
    const struct mend_wish wish = {.port = drift->port[0] ? drift->name : NULL,
                                   .key = drift->key,
                                   .approved = drift->approved,
                                   .running = drift->running,
                                   .number = drift->line,
                                   .ours = mending->fix->approved};
    const struct mend_edit *best = NULL;
    struct mend_edits edits = {0};
    struct lefts after = {0};
    uint32_t least = before->count, most = text->count > TRIED / TRIES ? TRIED / text->count : TRIES;
    bool whole_key = false;

    mend_guess(text, &wish, &edits);
    for (uint32_t e = 0; e < edits.count && !whole_key && mending->tries < most; e++, mending->tries++) {
        char *whole = with_edit(text, &edits.edit[e]);
        if (compared(mending, whole, &after) && after.count < least && is_better(&after, before)) {
            best = &edits.edit[e];
            least = after.count;
            whole_key = !has_key(&after, drift->key); /* on all ports: nothing does more */
        }
        free(whole);
    }
    return best;
}

static int mended(struct mending *mending, struct mend_text *text)
{
    struct lefts now = {0};
    char *whole = mend_whole(text);
    bool good = compared(mending, whole, &now);

    free(whole);
    if (!good) return -ENOENT;
    for (int step = 0; step < STEPS && now.count; step++) {
        const struct mend_edit *edit = NULL;
        for (uint32_t l = 0; l < now.count && !edit && l < 8; l++)
            edit = best_edit(mending, text, &now, &now.left[l]);
        if (!edit) break;
        mend_print(text, edit, mending->fix->to);
        mend_apply(text, edit);
        whole = mend_whole(text);
        struct lefts after = {0};
        compared(mending, whole, &after);
        free(whole);
        now = after;
    }
    if (!now.count) {
        mend_close(text, mending->fix->to);
        return 0;
    }
    const struct left *left = &now.left[0];
    return fix_refuse(mending->fix, left->line,
                      "%s%s%s is %s, approved is %s: no single statement of this device's own was found that sets it; "
                      "nothing is written",
                      left->name, left->name[0] ? ": " : "", left->key, left->running, left->approved);
}

int diff_mend(const struct diff_list *list, const char *device, const char *path, const struct fix *fix)
{
    struct mending mending = {.list = list, .device = device, .path = path, .fix = fix};
    struct mend_text text;

    if (fix->format->mends == MEND_NONE || mend_is_ours(fix->format->mends, fix->seen, fix->running)) return -ENOENT;
    arena_init_or_end(&mending.arena, (size_t)1 << 32);
    bool good = mend_read(&text, fix->format->mends, fix->running, &mending.arena);
    int result = good ? mended(&mending, &text) : -ENOENT;
    arena_release(&mending.arena);
    return result;
}
