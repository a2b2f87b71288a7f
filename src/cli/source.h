/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric from a fabric file or from configurations, with the places of what it says: for `import`, `diff`, `config`
 * and whoever takes FABRIC | CONFIG... .
 */
#ifndef ROCELAB_CLI_SOURCE_H
#define ROCELAB_CLI_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/given.h"
#include "config/config.h"
#include "fabric/words.h"
#include "load/load.h"

struct fabric;
struct fabric_override;

struct cli_source {
    struct fabric *fabric;
    struct fabric_places *places;  /* NULL: not asked for */
    const char *path;              /* of the fabric file, or the first configuration */
    const char *text;              /* of the fabric file, written or read */
    char *read;                    /* to be freed */
    bool takes_overfull, overfull; /* asked for; some buffer does not hold its headroom */
    bool imported;                 /* from configurations: set and map hold */
    int passed_over;               /* files of no known kind, listed among the set's notes, with line 0 */
    struct config_set set;
    struct origin_map map;
};

#define CLI_LINKS_MAX 64
struct cli_links { /* files that say what is cabled to what */
    const char *path[CLI_LINKS_MAX];
    int count;
};

struct cli_inputs {
    char *const *path;
    int paths;
    const struct config_format *from; /* NULL: guessed */
    const struct cli_links *links;    /* read last; NULL: none */
    struct cli_given *given;          /* what is added to configurations; NULL: nothing */
    bool takes_overfull;              /* a buffer that does not hold its headroom is no error */
};

/* One more --links; false after a message. */
bool cli_links_add(void *links, const char *path);
/* The format that --from or --nos names, into a `const struct config_format *`; false after a message. */
bool cli_from(void *to, const char *argument);
bool cli_written(void *to, const char *argument);

/* --cc NAME[,PARAM=VALUE...]: nics.congestion of every file that is loaded from now on; false after a message. */
bool cli_congestion(void *unused, const char *argument);
/* By itself, as a file's is judged: in a file that is read with it, its mistakes would be told as the file's. */
bool cli_congestion_right(const struct fabric_nic *nic);

/* fabric_load_with(), with congestion control judged as the simulator does. */
int cli_fabric_load(const char *path, const char *text, const struct fabric_override *override, uint32_t overrides,
                    struct fabric **ret, struct fabric_errors *errors);
/* Is it there, and no directory?  False after a message.  "-" is. */
bool cli_readable(const char *path);
/* Reads all of a file ("-": standard input), at most `most` bytes; false after a message. */
bool cli_read_file(const char *path, size_t most, char **ret_text, size_t *ret_length);
/* The same of what the command may write over: an old baseline, or a file that was only looked at. */
bool cli_read_replaceable(const char *path, size_t most, char **ret_text, size_t *ret_length);
/* As cli_read_file(), of a text, where a zero byte is refused with its place. */
bool cli_read_text(const char *path, size_t most, char **ret_text);
bool cli_is_text(const char *path, const char *text, size_t length); /* false after a message */
/* Does this text say of itself that it is a fabric file? */
bool cli_is_fabric(const char *text);
/* Reads configurations into source->set and writes source->text; no fabric is loaded.  False after a message. */
bool cli_source_import(struct cli_source *source, const struct cli_inputs *inputs);
/* One fabric file, or configurations; loads the fabric and opens its places.  False after a message. */
bool cli_source_load(struct cli_source *source, const struct cli_inputs *inputs);
void cli_source_release(struct cli_source *source);
/* Where the file that was written by a person says it: column 0 for a configuration. */
struct cli_place {
    const char *path;
    uint32_t line, column;
};
struct cli_place cli_source_place(const struct cli_source *source, struct fabric_at at);

#endif
