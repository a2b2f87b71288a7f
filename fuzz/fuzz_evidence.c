/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of evidence and the rules of diagnosis: any text, taken for any layout, becomes evidence that can be judged.
 *
 * The first byte chooses the reader: below 128 the text's own content does; FUZZ_KIND chooses one for all inputs
 * (kind.h).  The second says whether the text is of a device, and whether it is read twice, as two looks of which the
 * second lacks its last bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "diagnose/diagnose.h"
#include "evidence/read/reader.h"
#include "kind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long only = -1; /* the one reader, if there is one */

static const char *name_of(size_t number)
{
    return reader_kind(number, NULL);
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count, (void)arguments;
    only = fuzz_kind(name_of);
    return 0;
}

static const char *kind_of(uint8_t choice)
{
    size_t kinds = 0;

    if (only >= 0) return name_of((size_t)only);
    if (choice < 128) return NULL;
    while (name_of(kinds))
        kinds++;
    return name_of((choice - 128u) % kinds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diagnose diagnose;
    struct evidence evidence;

    if (size < 3) return 0;
    const char *from = kind_of(data[0]), *device = data[1] & 1 ? "h0" : NULL;
    size_t bytes = size - 2, cut = data[1] >> 2;
    char *text = malloc(bytes);
    CHECK(text != NULL);
    memcpy(text, data + 2, bytes);
    evidence_init(&evidence);
    evidence_read_text(&evidence, device, "0/h0/text_eth0.txt", 0, from, text, bytes);
    if (data[1] & 2)
        evidence_read_text(&evidence, device, "9/h0/text_eth0.txt", 9, from, text, bytes > cut ? bytes - cut : 0);
    evidence_finish(&evidence, NULL);
    evidence_audit(&evidence);
    diagnose_run(&diagnose, &evidence, NULL);
    diagnose_release(&diagnose);
    evidence_release(&evidence);
    free(text);
    return 0;
}
