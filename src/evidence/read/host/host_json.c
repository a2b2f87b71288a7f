/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of a host: rdma -j. */
#include <stdio.h>
#include <string.h>

#include "evidence/read/host/host_names.h"

/* [{"ifname": "mlx5_0", "port": 1, ...}, ...]: of `rdma statistic`, `rdma link`. */
static bool rdma_is(const struct json *root)
{
    return root->type == JSON_ARRAY && root->child && json_string(json_get(root->child, "ifname")) &&
           json_get(root->child, "port");
}

static void rdma_read(struct reading *in, const struct json *root)
{
    char name[64];
    uint64_t port_number, up;

    reading_system(in, "host", FABRIC_ROLE_HOST);
    for (const struct json *one = root->child; one; one = one->next) {
        const char *device = json_string(json_get(one, "ifname"));
        if (!device || !json_u64(json_get(one, "port"), &port_number)) continue;
        if (port_number == 1)
            snprintf(name, sizeof name, "%s", device);
        else
            snprintf(name, sizeof name, "%s/%u", device, (unsigned)port_number);
        struct text_field named = field_of(name);
        in->source.line = one->line;
        uint32_t port = field_is_port(&named) ? reading_port(in, &named) : EVIDENCE_NONE;
        if (port == EVIDENCE_NONE) continue;
        for (const struct json *member = one->child; member; member = member->next) {
            struct text_field key = field_of(member->name), value = field_of(member->text);
            in->source.line = member->line;
            if (field_is(&key, "netdev"))
                host_tie(in, port, &value);
            else if (field_is(&key, "state") && field_state(&value, &up))
                evidence_offer(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, up, &in->source);
            else
                reading_named(in, host_rdma_names, port, EVIDENCE_NO_PRIORITY, &key, &value);
        }
    }
}
const struct json_reader reader_rdma_json = {"rdma-json", "hosts: rdma -j statistic show, rdma -j link show", rdma_is,
                                             rdma_read};
