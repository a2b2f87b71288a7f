/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the reader says of each record, a line each, for test_tshark.py to hold against tshark. */
#include <stdio.h>

#include "packet/capfile/capfile.h"

int main(int argc, char **argv)
{
    char error[CAPFILE_ERROR];
    struct capfile *file;
    if (argc != 2 || capfile_open(argv[1], &file, error) != 0) {
        fprintf(stderr, "%s\n", argc == 2 ? error : "usage: list_records FILE");
        return 2;
    }
    struct capfile_record record;
    int rc;
    while ((rc = capfile_next(file, &record, error)) == 1)
        printf("%llu %llu.%09llu %u %u %u\n", (unsigned long long)record.number,
               (unsigned long long)(record.time_ns / 1000000000), (unsigned long long)(record.time_ns % 1000000000),
               record.length, record.captured, record.interface);
    if (rc < 0) fprintf(stderr, "%s\n", error);
    capfile_close(file);
    return rc < 0;
}
