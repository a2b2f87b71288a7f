/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target without libFuzzer: what `make test` runs of each, on the objects of its build with sanitizers.
 *
 * usage: smoke_TARGET CORPUS RUNS INPUT
 *
 * The target gets every file of the folder CORPUS as it is, then RUNS of them with some bytes changed, cut, doubled,
 * moved in from another.  Nothing looks at coverage, so nothing has to be compiled for it; a seed (ROCELAB_SEED) gives
 * the same inputs each time.  The file INPUT holds the input that is being run: when the target dies, that is the one.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/rng.h"
#include "seed.h"

#define INPUT_MAX 16384u
#define CHANGES_MAX 6u
#define MOVED_MAX 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *count, char ***arguments);

struct input {
    uint8_t bytes[INPUT_MAX];
    size_t size;
};

static struct input *corpus;
static size_t corpus_files;
static struct rng rng;
static int kept; /* INPUT */

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A file that is longer is cut: all that are stored are short. */
static void read_corpus(const char *folder)
{
    struct dirent **entries;
    int found = scandir(folder, &entries, is_file, alphasort);
    char path[4096];

    CHECK(found > 0);
    corpus = calloc((size_t)found, sizeof(*corpus));
    CHECK(corpus != NULL);
    for (int i = 0; i < found; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        FILE *file = fopen(path, "rb");
        CHECK(file != NULL);
        corpus[i].size = fread(corpus[i].bytes, 1, INPUT_MAX, file);
        fclose(file);
        free(entries[i]);
    }
    free(entries);
    corpus_files = (size_t)found;
}

static size_t below(size_t bound)
{
    return (size_t)rng_below(&rng, bound);
}

/* Takes `count` bytes out at `at`. */
static void cut(struct input *input, size_t at, size_t count)
{
    memmove(input->bytes + at, input->bytes + at + count, input->size - at - count);
    input->size -= count;
}

/* Puts bytes in at `at`, as far as there is room. */
static void put(struct input *input, size_t at, const uint8_t *bytes, size_t count)
{
    uint8_t copy[MOVED_MAX]; /* they may be the input's own */

    if (count > INPUT_MAX - input->size) count = INPUT_MAX - input->size;
    memcpy(copy, bytes, count);
    memmove(input->bytes + at + count, input->bytes + at, input->size - at);
    memcpy(input->bytes + at, copy, count);
    input->size += count;
}

/* Some bytes of `from`, put in somewhere. */
static void move_in(struct input *input, const struct input *from)
{
    size_t count = from->size < MOVED_MAX ? from->size : MOVED_MAX;

    if (count == 0) return;
    count = 1 + below(count);
    put(input, below(input->size + 1), from->bytes + below(from->size - count + 1), count);
}

static void change(struct input *input)
{
    static const uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '0', '9', '-', '\n', ' ', '"', '{'};
    uint8_t one = (uint8_t)rng_u32(&rng);
    size_t at, most;

    if (input->size == 0) {
        put(input, 0, &one, 1);
        return;
    }
    at = below(input->size);
    most = input->size - at < MOVED_MAX ? input->size - at : MOVED_MAX;
    switch (below(7)) {
    case 0:
        input->bytes[at] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        input->bytes[at] = one;
        break;
    case 2:
        input->bytes[at] = edges[below(sizeof(edges))];
        break;
    case 3:
        cut(input, at, 1 + below(most));
        break;
    case 4:
        put(input, at, &one, 1);
        break;
    case 5:
        move_in(input, input);
        break;
    default:
        move_in(input, &corpus[below(corpus_files)]);
        break;
    }
}

/* On the heap, at its own size, so that a byte too far is seen. */
static void run(const struct input *input)
{
    uint8_t *bytes = malloc(input->size ? input->size : 1);

    CHECK(bytes != NULL);
    memcpy(bytes, input->bytes, input->size);
    CHECK(ftruncate(kept, 0) == 0 && pwrite(kept, bytes, input->size, 0) == (ssize_t)input->size);
    LLVMFuzzerTestOneInput(bytes, input->size);
    free(bytes);
}

int main(int argc, char **argv)
{
    static struct input changed;

    if (argc != 4) {
        fprintf(stderr, "usage: %s CORPUS RUNS INPUT\n", argv[0]);
        return 2;
    }
    long runs = strtol(argv[2], NULL, 10);
    read_corpus(argv[1]);
    kept = open(argv[3], O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    CHECK(kept >= 0);
    rng_init(&rng, test_seed_or(1), 0);
    if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
    for (size_t i = 0; i < corpus_files; i++)
        run(&corpus[i]);
    for (long i = 0; i < runs; i++) {
        const struct input *from = &corpus[below(corpus_files)];
        memcpy(changed.bytes, from->bytes, from->size);
        changed.size = from->size;
        for (size_t changes = 1 + below(CHANGES_MAX); changes > 0; changes--)
            change(&changed);
        run(&changed);
    }
    printf("%zu stored inputs, %ld changed ones\n", corpus_files, runs);
    free(corpus);
    close(kept);
    unlink(argv[3]);
    return 0;
}
