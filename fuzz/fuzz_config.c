/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importers of configurations: any text, as any system, becomes a fabric file, or is refused with an error.  Of one
 * input in EVERY the file is also loaded and, where it has a switch, written again for one system: that takes many
 * times as long.  Which inputs it is, and which system, follows from their bytes, so that a run can be repeated.
 *
 * The first byte chooses the system, so that one corpus feeds all of them; FUZZ_KIND chooses one for all inputs
 * (kind.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "config/config.h"
#include "fabric/fabric.h"
#include "kind.h"
#include "load/load.h"

#define EVERY 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long only = -1; /* the one system, if there is one */
static FILE *nowhere;

static const char *name_of(size_t number)
{
    return config_formats[number] ? config_formats[number]->name : NULL;
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count, (void)arguments;
    only = fuzz_kind(name_of);
    nowhere = fopen("/dev/null", "w");
    CHECK(nowhere != NULL);
    return 0;
}

static void emit(const struct fabric *fabric, const struct config_format *format)
{
    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++) {
        struct config_emit out = {.fabric = fabric, .node = n, .to = nowhere, .comments = true};
        format->emit(&out);
    }
}

/* What it became may be refused (ports and shares that no switch has), never crash. */
static void load_and_emit(const char *written, const struct config_format *format)
{
    static struct fabric_errors errors;
    struct fabric *fabric = NULL;

    memset(&errors, 0, sizeof(errors));
    if (fabric_load("fuzz.yaml", written, &fabric, &errors) != 0) {
        CHECK(errors.count > 0);
        return;
    }
    emit(fabric, format);
    fabric_free(fabric);
}

/* The system of this number, or the next that switches are written for. */
static const struct config_format *switch_format(size_t number)
{
    while (!config_formats[number] || !config_formats[number]->emit || config_formats[number]->host)
        number = config_formats[number] ? number + 1 : 0;
    return config_formats[number];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fabric_errors errors;
    struct config_set set;
    struct origin_map map;
    const char *written = NULL;
    size_t formats = 0;

    if (size < 2) return 0;
    while (config_formats[formats])
        formats++;
    char *text = malloc(size);
    CHECK(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    memset(&errors, 0, sizeof(errors));
    config_set_init(&set);
    const struct config_format *format = config_formats[only >= 0 ? (size_t)only : data[0] % formats];
    int result = config_read(&set, format, "fuzz.cfg", text, strlen(text), NULL, &errors);
    CHECK(result == 0 || errors.count > 0);
    if (result == 0) {
        config_write(&set, "fuzz", &written, &map);
        config_audit(&set);
        uint64_t hash = hash_bytes(HASH_BEGIN, data, size);
        if (hash % EVERY == 0) load_and_emit(written, switch_format(hash / EVERY % formats));
    }
    config_set_release(&set);
    free(text);
    return 0;
}
