/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capture reader over any bytes: it ends, every record lies inside the file, numbers rise, and what
 * it refuses it explains.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "packet/capfile/capfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[CAPFILE_ERROR] = "";
    struct capfile *file;
    int rc = capfile_open_memory(data, size, &file, error);
    if (rc < 0) {
        CHECK(rc == -EBADMSG && error[0]);
        return 0;
    }
    struct capfile_record record;
    uint64_t number = 0, done, total;
    while ((rc = capfile_next(file, &record, error)) == 1) {
        CHECK(record.number > number);
        CHECK(record.captured <= CAPFILE_RECORD_MAX);
        CHECK(record.data >= data && record.captured <= (size_t)(data + size - record.data));
        if (record.captured > 0) sink = record.data[record.captured - 1];
        number = record.number;
        CHECK(capfile_link_name(record.link_type)[0]);
    }
    CHECK(rc == 0 || (rc == -EBADMSG && error[0]));
    capfile_progress(file, &done, &total);
    CHECK(total == size && (rc == 0 ? done == size : done <= size));
    capfile_close(file);
    return 0;
}
