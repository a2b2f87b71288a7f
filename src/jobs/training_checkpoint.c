/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `checkpoint: {size: 2TB, to: storage, every: 10}` of a training job: after every so many steps its hosts write the
 * model's state, each an equal part, to one of the places named, in turn.  It goes beside the training, by the host's
 * last NIC that reaches the place: the storage network's where there is one, else one it shares with the GPUs.
 */
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/qos/settings.h"
#include "fabric/routing.h"
#include "jobs/training_int.h"

#define WRITES_MAX 1000000u

struct checkpoint_text {
    uint64_t bytes;
    uint32_t every, job_class;
    uint32_t *to, tos;
};

static void read_class(struct loader *loader, const struct tree *value, void *into)
{
    ((struct checkpoint_text *)into)->job_class = class_find(loader, value);
}

/* Names, or all of the storage network. */
static void read_to(struct loader *loader, const struct tree *value, void *into)
{
    const struct fabric *fabric = loader->fabric;
    struct checkpoint_text *text = into;
    bool storage = value->type == TREE_SCALAR && strcmp(value->text, "storage") == 0;
    const char *name = NULL;

    if (storage && !fabric->storage_hosts) {
        read_error(loader, value->at, "to: there is no storage network in topology; name hosts instead");
        return;
    }
    text->to = KEEP_NEW(loader, uint32_t, value->type == TREE_LIST ? value->count + 1u : fabric->endpoints);
    if (!text->to) return;
    if (storage) {
        for (uint32_t e = 0; e < fabric->endpoints; e++)
            if (fabric->endpoint[e].host >= fabric->hosts - fabric->storage_hosts) text->to[text->tos++] = e;
    } else if (value->type == TREE_LIST) {
        for (const struct tree *item = value->first; item; item = item->next) {
            if (!read_text(loader, item, &name)) return;
            text->to[text->tos] = endpoint_read(loader, name, item->at);
            if (text->to[text->tos++] == FABRIC_NONE) return;
        }
    } else if (read_text(loader, value, &name)) {
        text->to[text->tos++] = endpoint_read(loader, name, value->at);
    }
}

/* The host's last NIC that reaches the place; FABRIC_NONE: none does. */
static uint32_t way_out(const struct fabric *fabric, uint32_t host, uint32_t to)
{
    for (uint32_t e = fabric->first_endpoint[host + 1]; e-- > fabric->first_endpoint[host];)
        if (fabric_reaches(fabric, e, to)) return e;
    return FABRIC_NONE;
}

static bool make_writers(struct loader *loader, const struct tree *value, const struct fabric_job *job,
                         const struct checkpoint_text *text, struct fabric_training *training)
{
    const struct fabric *fabric = loader->fabric;
    uint8_t *seen = SCRATCH_NEW(loader, uint8_t, fabric->hosts);
    struct fabric_writer *writer = KEEP_NEW(loader, struct fabric_writer, fabric->hosts);
    uint32_t count = 0;

    if (!seen || !writer) return false;
    for (uint32_t r = 0; r < job->ranks; r++) {
        uint32_t host = fabric->gpu_host[job->rank[r]], to = text->to[count % text->tos];
        if (seen[host]) continue;
        seen[host] = 1;
        writer[count] = (struct fabric_writer){.host = host, .from = way_out(fabric, host, to), .to = to};
        if (fabric->endpoint[to].host == host || writer[count].from == FABRIC_NONE) {
            char name[FABRIC_NAME];
            fabric_port_name(fabric, fabric->endpoint[to].port, name);
            read_error(loader, value->at, "checkpoint: host '%s' cannot write to %s: %s", fabric->node[host].name, name,
                       fabric->endpoint[to].host == host ? "that is itself" : "no way leads there");
            return false;
        }
        count++;
    }
    if ((uint64_t)count * (training->steps / text->every) > WRITES_MAX) {
        read_error(loader, value->at, "checkpoint: more than %u writes in all", WRITES_MAX);
        return false;
    }
    training->checkpoint =
        (struct fabric_checkpoint){.bytes = text->bytes,
                                   .every = text->every,
                                   .job_class = text->job_class == FABRIC_NONE ? job->job_class : text->job_class,
                                   .writer = writer,
                                   .writers = count};
    return true;
}

bool checkpoint_read(struct loader *loader, const struct tree *value, const struct fabric_job *job,
                     struct fabric_training *training)
{
    static const struct field fields[] = {
        F_VALUE("size", FIELD_SIZE, struct checkpoint_text, bytes, 1, (uint64_t)1 << 50),
        F_VALUE("every", FIELD_COUNT, struct checkpoint_text, every, 1, FABRIC_STEPS_MAX),
        F_CALL("class", read_class),
        F_CALL("to", read_to),
    };
    struct checkpoint_text text = {.every = 1, .job_class = FABRIC_NONE};
    struct field_set set = {fields, COUNT_OF(fields), &text};
    uint32_t before = loader->errors->count + loader->errors->more;

    if (!read_map(loader, value, "checkpoint", &set, 1)) return false;
    if (loader->errors->count + loader->errors->more != before) return false;
    if (!text.bytes || !text.tos) {
        read_error(loader, value->at, "checkpoint needs size and to, as in {size: 100GB, to: storage, every: 10}");
        return false;
    }
    return make_writers(loader, value, job, &text, training);
}
