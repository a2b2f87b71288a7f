/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions that devices say of themselves, against those that the file approves for their role.
 *
 * `nic` is the firmware of adapters too, and `cable` the part number of what is plugged: files say either.
 */
#include <string.h>

#include "validate/measured/measured.h"

#include "fabric/fabric.h"

#define NAMED_MOST 3u

static const char *const outputs[FABRIC_PARTS] = {
    [FABRIC_PART_NOS] = "show version, nv show system",
    [FABRIC_PART_FIRMWARE] = "ethtool -i DEV, mlxfwmanager --query, mstflint -d DEV q",
    [FABRIC_PART_NIC] = "ethtool -i DEV, mlxfwmanager --query, mstflint -d DEV q",
    [FABRIC_PART_CABLE] = "ethtool -m DEV, show interfaces transceiver eeprom",
    [FABRIC_PART_OPTICS] = "ethtool -m DEV, show interfaces transceiver eeprom",
    [FABRIC_PART_DRIVER] = "ethtool -i DEV",
    [FABRIC_PART_NCCL] = "NCCL's log with NCCL_DEBUG=VERSION",
};

static uint32_t said_as(uint32_t part)
{
    return part == FABRIC_PART_NIC ? FABRIC_PART_FIRMWARE : part == FABRIC_PART_CABLE ? FABRIC_PART_OPTICS : part;
}

struct tally {
    uint32_t asked, wrong, silent, silent_part;
    const char *silent_node;
    const char *why, *source;
};

/* A device's versions of a part. */
static void judge_part(const struct validate_case *of, struct tally *tally, const struct fabric_node *node,
                       uint32_t device, uint32_t part)
{
    const struct evidence *evidence = &of->plan->measured->evidence;
    const struct fabric_approved *approved = &of->fabric->operations.approved[node->role];
    uint32_t said = 0;

    for (uint32_t v = evidence->object[device].version; v; v = evidence->version[v - 1].next) {
        const struct evidence_version *version = &evidence->version[v - 1];
        if (version->part != said_as(part)) continue;
        if (tally->asked + said == 0) tally->source = measured_at(of, version->file, version->line);
        said++;
        if (version_is_approved(approved, part, version->text)) continue;
        if (tally->wrong++ == 0) tally->source = measured_at(of, version->file, version->line);
        if (tally->wrong > NAMED_MOST) continue;
        tally->why = case_text(of, "%s%s%.60s%s%.30s: %s %.40s, approved is %.40s", tally->why,
                               tally->why[0] ? "; " : "", node->name, version->where[0] ? " " : "", version->where,
                               fabric_part_names[part], version->text, approved->version[part][0]);
    }
    tally->asked += said;
    if (said || tally->silent++) return;
    tally->silent_node = node->name;
    tally->silent_part = part;
}

void measured_versions(struct validate_case *of)
{
    static const char subject[] = "parts without an approved version";
    const struct evidence *evidence = &of->plan->measured->evidence;
    struct tally tally = {.why = ""};

    EVIDENCE_EACH(evidence, EVIDENCE_DEVICE, device) /* every node of the file is one */
    {
        if (evidence->object[device].fabric >= of->fabric->nodes) continue;
        const struct fabric_node *node = &of->fabric->node[evidence->object[device].fabric];
        for (uint32_t part = 0; part < FABRIC_PARTS; part++)
            if (of->fabric->operations.approved[node->role].versions[part]) judge_part(of, &tally, node, device, part);
    }
    if (!tally.asked && !tally.silent)
        validate_skip(of, subject, "no version is approved; say roles: {leaf: {approved: {nos: ...}}}");
    if (tally.asked)
        JUDGE(of, .subject = subject, .criterion = CRITERION_UNAPPROVED, .value = tally.wrong, .why = tally.why,
              .source = tally.source);
    if (tally.silent)
        validate_skip(of, "parts whose version no output says", "%u, as %s of %.100s: %s", tally.silent,
                      fabric_part_names[tally.silent_part], tally.silent_node, outputs[tally.silent_part]);
}
