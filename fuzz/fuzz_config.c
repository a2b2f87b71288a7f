/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importers of configurations: any text, as any system, becomes a fabric file that loads, or is refused with an error.
 *
 * The first byte chooses the system, so that one corpus feeds all of them.  What is imported is loaded and, where it
 * has a switch, written again for every system.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "config/config.h"
#include "fabric/fabric.h"
#include "load/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void emit(const struct fabric *fabric, const struct config_format *format)
{
    FILE *to = fopen("/dev/null", "w");

    for (uint32_t n = fabric->hosts; to && n < fabric->nodes; n++) {
        struct config_emit out = {.fabric = fabric, .node = n, .to = to, .comments = true};
        format->emit(&out);
    }
    if (to) fclose(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fabric_errors errors = {0};
    struct config_set set;
    struct origin_map map;
    struct fabric *fabric = NULL;
    const char *written = NULL;
    uint32_t formats = 0;

    if (size < 2) return 0;
    while (config_formats[formats])
        formats++;
    char *text = malloc(size);
    CHECK(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    config_set_init(&set);
    int result = config_read(&set, config_formats[data[0] % formats], "fuzz.cfg", text, strlen(text), NULL, &errors);
    CHECK(result == 0 || errors.count > 0);
    if (result == 0 && config_write(&set, "fuzz", &written, &map) == 0) {
        /* What it became may be refused (ports and shares that no switch has), never crash. */
        memset(&errors, 0, sizeof(errors));
        if (fabric_load("fuzz.yaml", written, &fabric, &errors) == 0) {
            emit(fabric, &config_nxos);
            emit(fabric, &config_eos);
            emit(fabric, &config_sonic);
            emit(fabric, &config_nvue);
            emit(fabric, &config_nvue_set);
            emit(fabric, &config_junos);
            emit(fabric, &config_junos_set);
            fabric_free(fabric);
        } else {
            CHECK(errors.count > 0);
        }
    }
    config_set_release(&set);
    free(text);
    return 0;
}
