/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of collectives: algorithm, protocol, sizes, root, and what cannot be.
 *
 * Sizes are written as nccl-tests takes them (-b -e -f, or -i): `8B..1GB x2` doubles from 8 bytes as long as it is
 * no more than 1 GB, `1MB..8MB +1MB` adds.  Each size is a run of its own.
 *
 * An algorithm that NCCL (or this program) does not have for a collective is refused here, and so is one that does not
 * fit the ranks: it is the file that is wrong, and its line is known here.
 */
#include <stdio.h>
#include <string.h>

#include "jobs/jobs.h"

#include "fabric/fabric.h"

#define SIZES_MAX 256
#define SIZE_MOST ((uint64_t)1 << 50)

static const char *const algorithm_names[FABRIC_ALGORITHMS + 1] = {"auto",      "ring",         "tree", "nvls",
                                                                   "nvls-tree", "hierarchical", NULL};
static const char *const protocol_names[FABRIC_PROTOCOLS + 1] = {"auto", "simple", "ll", "ll128", NULL};

const char *fabric_algorithm_name(enum fabric_algorithm algorithm)
{
    return algorithm < FABRIC_ALGORITHMS ? algorithm_names[algorithm] : "?";
}

const char *fabric_protocol_name(enum fabric_protocol protocol)
{
    return protocol < FABRIC_PROTOCOLS ? protocol_names[protocol] : "?";
}

#define BIT(name) (1u << FABRIC_ALGORITHM_##name)

/* Bits of enum fabric_algorithm. */
static uint32_t algorithms_of(enum fabric_job_kind kind)
{
    switch (kind) {
    case FABRIC_JOB_ALLREDUCE:
        return BIT(AUTO) | BIT(RING) | BIT(TREE) | BIT(NVLS) | BIT(NVLS_TREE) | BIT(HIERARCHICAL);
    case FABRIC_JOB_REDUCESCATTER:
    case FABRIC_JOB_ALLGATHER:
        return BIT(AUTO) | BIT(RING) | BIT(HIERARCHICAL);
    case FABRIC_JOB_BROADCAST:
    case FABRIC_JOB_REDUCE:
        return BIT(AUTO) | BIT(RING) | BIT(TREE);
    default: /* between pairs: there is one way */
        return BIT(AUTO);
    }
}

void algorithm_read(struct loader *loader, const struct tree *value, struct fabric_job *job)
{
    uint32_t known = algorithms_of((enum fabric_job_kind)job->kind), used = 0;
    struct nearest nearest;
    char list[96] = "";
    const char *text = NULL;

    if (!read_text(loader, value, &text)) return;
    nearest_init(&nearest, text);
    for (uint32_t a = 0; a < FABRIC_ALGORITHMS; a++) {
        if (!(known >> a & 1)) continue;
        if (strcmp(text, algorithm_names[a]) == 0) {
            job->algorithm = (uint8_t)a;
            return;
        }
        nearest_try(&nearest, algorithm_names[a]);
        used += (uint32_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", algorithm_names[a]);
    }
    for (uint32_t a = 0; a < FABRIC_ALGORITHMS; a++) {
        if (strcmp(text, algorithm_names[a]) != 0) continue;
        read_error(loader, value->at, "%s is not done by '%s'; write one of %s", value->key, text, list);
        return;
    }
    if (nearest.word)
        read_error(loader, value->at, "%s: unknown algorithm '%s'; did you mean '%s'? There are %s", value->key, text,
                   nearest.word, list);
    else
        read_error(loader, value->at, "%s: unknown algorithm '%s'; write one of %s", value->key, text, list);
}

struct sizes {
    uint64_t size[SIZES_MAX];
    uint32_t count;
};

static bool add_size(struct loader *loader, const struct tree *value, struct sizes *sizes, uint64_t size)
{
    if (sizes->count == SIZES_MAX) {
        read_error(loader, value->at, "sizes: more than %d of them", SIZES_MAX);
        return false;
    }
    sizes->size[sizes->count++] = size;
    return true;
}

static bool part_read(struct loader *loader, const struct tree *value, const char *from, size_t length,
                      enum unit_kind kind, uint64_t least, uint64_t *ret)
{
    struct tree part = *value;
    char *text = arena_strndup(&loader->scratch, from, length);

    if (!text) loader->no_memory = true;
    part.text = text;
    part.key = "sizes";
    return text && read_unit(loader, &part, kind, least, kind == UNIT_SIZE ? SIZE_MOST : 1000000, ret);
}

/* `1MB`, or FROM..TO xFACTOR, or FROM..TO +STEP. */
static bool add_range(struct loader *loader, const struct tree *value, struct sizes *sizes)
{
    uint64_t from = 0, to = 0, step = 0;
    const char *dots = value->type == TREE_SCALAR ? strstr(value->text, "..") : NULL, *how;

    if (!dots) {
        struct tree named = *value;
        named.key = "sizes";
        return read_unit(loader, &named, UNIT_SIZE, 1, SIZE_MOST, &from) && add_size(loader, value, sizes, from);
    }
    how = dots + strcspn(dots, " ");
    how += strspn(how, " ");
    if (*how != 'x' && *how != '+') {
        read_error(loader, value->at, "sizes: '%s' is not FROM..TO xFACTOR or FROM..TO +STEP, as in 8B..1GB x2",
                   value->text);
        return false;
    }
    bool times = *how == 'x';
    if (!part_read(loader, value, value->text, (size_t)(dots - value->text), UNIT_SIZE, 1, &from) ||
        !part_read(loader, value, dots + 2, strcspn(dots + 2, " "), UNIT_SIZE, 1, &to) ||
        !part_read(loader, value, how + 1, strlen(how + 1), times ? UNIT_COUNT : UNIT_SIZE, times ? 2 : 1, &step))
        return false;
    if (from > to) {
        read_error(loader, value->at, "sizes: '%s' goes down; write the smaller size first", value->text);
        return false;
    }
    for (uint64_t size = from; size <= to; size = times ? size * step : size + step)
        if (!add_size(loader, value, sizes, size)) return false;
    return true;
}

static void read_sizes(struct loader *loader, const struct tree *value, void *into)
{
    struct fabric_job *job = into;
    struct sizes *sizes = SCRATCH_NEW(loader, struct sizes, 1);

    if (!sizes) return;
    if (value->type == TREE_LIST) {
        for (const struct tree *item = value->first; item; item = item->next)
            if (!add_range(loader, item, sizes)) return;
    } else if (!add_range(loader, value, sizes)) {
        return;
    }
    if (sizes->count == 0) {
        read_error(loader, value->at, "sizes: an empty list");
        return;
    }
    uint64_t *size = KEEP_NEW(loader, uint64_t, sizes->count);
    if (!size) return;
    memcpy(size, sizes->size, sizes->count * sizeof(*size));
    job->sizes = size;
    job->size_count = sizes->count;
}

static void read_protocol(struct loader *loader, const struct tree *value, void *into)
{
    uint32_t choice;
    if (read_choice(loader, value, protocol_names, &choice)) ((struct fabric_job *)into)->protocol = (uint8_t)choice;
}

#define JOB(name, kind, member, min, max) F_VALUE(name, kind, struct fabric_job, member, min, max)
const struct field collective_fields[] = {
    JOB("channels", FIELD_COUNT, channels, 1, 64),
    JOB("chunk", FIELD_SIZE, chunk_bytes, 1, (uint64_t)1 << 40),
    F_CALL("sizes", read_sizes),
    F_CALL("protocol", read_protocol),
    JOB("clear-to-send", FIELD_BOOL, clear_to_send, 0, 0),
    JOB("iterations", FIELD_COUNT, repeat, 1, 1000000000),
};
const uint32_t collective_field_count = COUNT_OF(collective_fields);
const struct field rooted_fields[] = {JOB("root", FIELD_COUNT, root, 0, 0)};
const uint32_t rooted_field_count = COUNT_OF(rooted_fields);
const struct field pair_fields[] = {JOB("pxn", FIELD_BOOL, pxn, 0, 0)};
const uint32_t pair_field_count = COUNT_OF(pair_fields);

/* The largest is what memory is estimated for. */
void collective_sizes_finish(struct loader *loader, const struct tree *item, struct fabric_job *job)
{
    const struct tree *size = tree_get(item, "size"), *sizes = tree_get(item, "sizes");

    if (size && sizes) read_error(loader, sizes->key_at, "give size or sizes, not both");
    if (tree_get(item, "repeat") && tree_get(item, "iterations"))
        read_error(loader, tree_get(item, "iterations")->key_at, "iterations is another word for repeat: give one");
    for (uint32_t i = 0; i < job->size_count; i++)
        if (job->sizes[i] > job->size_bytes) job->size_bytes = job->sizes[i];
}

/* How ranks lie on hosts. */
struct layout {
    uint32_t hosts, most, fewest;
    uint32_t most_host, fewest_host;
};

static bool layout_find(struct loader *loader, const struct fabric_job *job, struct layout *ret)
{
    const struct fabric *fabric = loader->fabric;
    uint32_t *count = SCRATCH_NEW(loader, uint32_t, fabric->hosts);
    struct layout layout = {.fewest = UINT32_MAX};

    if (!count) return false;
    for (uint32_t r = 0; r < job->ranks; r++)
        layout.hosts += count[fabric->gpu_host[job->rank[r]]]++ == 0;
    for (uint32_t h = 0; h < fabric->hosts; h++) {
        if (!count[h]) continue;
        if (count[h] > layout.most) {
            layout.most = count[h];
            layout.most_host = h;
        }
        if (count[h] < layout.fewest) {
            layout.fewest = count[h];
            layout.fewest_host = h;
        }
    }
    *ret = layout;
    return true;
}

static void check_protocol(struct loader *loader, const struct tree *item, const struct tree *kind,
                           const struct fabric_job *job)
{
    bool nvls = job->algorithm == FABRIC_ALGORITHM_NVLS || job->algorithm == FABRIC_ALGORITHM_NVLS_TREE;
    const struct tree *protocol = tree_get(item, "protocol");

    if (nvls && protocol && job->protocol > FABRIC_PROTOCOL_SIMPLE)
        read_error(loader, protocol->at, "%s: %s has the protocol simple only", kind->key,
                   fabric_algorithm_name((enum fabric_algorithm)job->algorithm));
}

void collective_check(struct loader *loader, const struct tree *item, const struct tree *kind,
                      const struct fabric_job *job)
{
    const struct fabric *fabric = loader->fabric;
    const char *algorithm = fabric_algorithm_name((enum fabric_algorithm)job->algorithm);
    const struct tree *root = tree_get(item, "root");
    struct layout layout;

    if (!layout_find(loader, job, &layout)) return;
    if (root && job->root >= job->ranks)
        read_error(loader, root->at, "root: %u is no rank; they are 0 to %u", job->root, job->ranks - 1);
    check_protocol(loader, item, kind, job);
    for (uint32_t r = 0; r < job->ranks && layout.hosts > 1; r++) {
        uint32_t gpu = job->rank[r], host = fabric->gpu_host[gpu];
        if (fabric->gpu_nic[gpu] != FABRIC_NONE) continue;
        read_error(loader, kind->at, "%s: rank %u is GPU %s:%u, whose host has no NIC", kind->key, r,
                   fabric->node[host].name, gpu - fabric->first_gpu[host]);
        return;
    }
    if (job->algorithm == FABRIC_ALGORITHM_NVLS && layout.hosts > 1)
        read_error(loader, kind->at, "%s: nvls reduces within one host and the ranks are in %u; nvls-tree goes between",
                   kind->key, layout.hosts);
    if (job->algorithm == FABRIC_ALGORITHM_NVLS_TREE && layout.hosts == 1)
        read_error(loader, kind->at, "%s: nvls-tree goes between hosts and all ranks are in one; there it is nvls",
                   kind->key);
    bool alike = job->algorithm == FABRIC_ALGORITHM_NVLS_TREE || job->algorithm == FABRIC_ALGORITHM_HIERARCHICAL;
    if (alike && layout.most != layout.fewest)
        read_error(loader, kind->at, "%s: %s needs as many ranks in each host; %s has %u, %s has %u", kind->key,
                   algorithm, fabric->node[layout.most_host].name, layout.most, fabric->node[layout.fewest_host].name,
                   layout.fewest);
}
