/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric that tests break: two tiers, every side of it described, nothing to complain about.
 */
#include "base.h"
#include "fabric/handle.h"
#include "fabric/places.h"
#include "load/load.h"

#include <stdio.h>
#include <string.h>

const char base_fabric[] = "rocelab: 1\n"
                           "fabric: base\n"
                           "topology:\n"
                           "  leaf-spine: {leaves: 2, spines: 2, hosts: 2}\n"
                           "links:\n"
                           "  host: {rate: 100G, cable: 3m}\n"
                           "  fabric: {rate: 100G, cable: 30m}\n"
                           "switches:\n"
                           "  model: tomahawk5\n"
                           "  nos: sonic\n"
                           "  watchdog: {poll: 100ms, detect: 200ms, restore: 200ms, action: drop}\n"
                           "classes:\n"
                           "  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 500KB, max: 1500KB, "
                           "probability: 10%}, share: 90%}\n"
                           "  - {name: cnp, dscp: 48, priority: 6, strict: true}\n"
                           "  - {name: default, priority: 0, share: 10%}\n"
                           "nics:\n"
                           "  mtu: 4096\n"
                           "  cnp-dscp: 48\n"
                           "  dcqcn: {rp: true, np: true}\n"
                           "  dcbx: {willing: false}\n"
                           "  nccl: {NCCL_IB_TC: 106, NCCL_IB_QPS_PER_CONNECTION: 4}\n"
                           "roles:\n"
                           "  leaf: {approved: {nos: \"4.1\"}}\n";

bool base_edit(char text[BASE_TEXT], const char *from, const char *to)
{
    char rest[BASE_TEXT];
    char *at = from ? strstr(text, from) : text + strlen(text);

    if (!at) return false;
    snprintf(rest, sizeof(rest), "%s", at + (from ? strlen(from) : 0));
    snprintf(at, (size_t)(text + BASE_TEXT - at), "%s%s", to, rest);
    return true;
}

bool base_check(struct checked *checked, uint32_t failures, char *why, size_t size)
{
    struct fabric_errors errors = {0};
    struct check_options options = {.failures = failures};

    checked->fabric = NULL;
    checked->places = NULL;
    if (fabric_load("test.yaml", checked->text, &checked->fabric, &errors) < 0) {
        snprintf(why, size, "%u: %s", errors.error[0].at.line, errors.count ? errors.error[0].text : "no memory");
        return false;
    }
    if (fabric_places_open(checked->fabric, checked->text, &checked->places) < 0) return false;
    check_init(&checked->check, checked->fabric, checked->places, &options);
    check_run(&checked->check);
    return true;
}

void base_release(struct checked *checked)
{
    if (!checked->fabric) return;
    check_release(&checked->check);
    fabric_places_free(checked->places);
    fabric_free(checked->fabric);
    checked->fabric = NULL;
}
