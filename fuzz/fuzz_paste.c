/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of reading: sessions, several devices and looks in one text, JSON among lines, archives.
 *
 * The first byte says what is known of the text and whether it is an archive, the second in how small pieces it comes:
 * in pieces it says what it says in one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "diagnose/diagnose.h"
#include "evidence/read/archive.h"
#include "evidence/read/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct pieces {
    const char *text;
    size_t left, most;
};

static ssize_t more(void *of, char *to, size_t room)
{
    struct pieces *pieces = of;
    size_t got = pieces->left < pieces->most ? pieces->left : pieces->most;

    if (got > room) got = room;
    if (got) memcpy(to, pieces->text, got);
    pieces->text += got;
    pieces->left -= got;
    return (ssize_t)got;
}

static void again(void *at, struct bytes_in *bytes)
{
    bytes_from(bytes, more, at);
    *(struct pieces *)at = ((struct pieces *)at)[1];
}

static void judge(struct evidence *evidence)
{
    struct diagnose diagnose;

    evidence_finish(evidence, NULL);
    evidence_audit(evidence);
    diagnose_run(&diagnose, evidence, NULL);
    diagnose_release(&diagnose);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct evidence evidence, whole;

    if (size < 3) return 0;
    struct text_of of = {.device = data[0] & 1 ? "leaf1" : NULL,
                         .called = data[0] & 2 ? "paste" : NULL,
                         .file = "paste.txt",
                         .command = data[0] & 4 ? "ethtool -S eth0" : NULL,
                         .timed = data[0] & 8,
                         .several = data[0] & 16};
    struct pieces pieces[2] = {{(const char *)data + 2, size - 2, data[1] + 1u},
                               {(const char *)data + 2, size - 2, data[1] + 1u}};
    struct bytes_in bytes;

    evidence_init(&evidence);
    bytes_from(&bytes, more, &pieces[0]);
    if (archive_kind(&bytes) != ARCHIVE_NONE) {
        struct pack_from from = {&of, size - 2, again, pieces};
        pack_read(&evidence, &from);
    } else {
        evidence_read_bytes(&evidence, &of, &bytes);
        evidence_init(&whole);
        struct bytes_in one;
        bytes_of(&one, (const char *)data + 2, size - 2);
        evidence_read_bytes(&whole, &of, &one);
        bytes_release(&one);
        CHECK(whole.values == evidence.values && whole.unknowns == evidence.unknowns);
        CHECK(whole.lines_taken == evidence.lines_taken && whole.lines_unknown == evidence.lines_unknown);
        evidence_release(&whole);
    }
    bytes_release(&bytes);
    judge(&evidence);
    evidence_release(&evidence);
    return 0;
}
