/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a Junos configuration nobody dealt with: listed, unless it is known to have no say in a fabric.
 *
 * Of class-of-service everything is listed that was not read.  Elsewhere whole sections have no say (users, routing
 * policies, tenants), nor have most statements of an interface.
 */
#include <stdio.h>
#include <string.h>

#include "config/junos/junos_int.h"
#include "config/words.h"

#define LISTED_MAX 500u

/* Statements that no fabric file has a word for, and that change nothing of what it says. */
static const char sections[] =
    "version system security snmp policy-options routing-instances vlans routing-options apply-groups"
    " event-options access services multi-chassis applications virtual-chassis protocols chassis poe"
    " switch-options bridge-domains logical-systems groups ethernet-switching-options"
    " forwarding-options accounting-options firewall";
static const char of_interface[] =
    "hold-time encapsulation vlan-tagging flexible-vlan-tagging native-vlan-id esi traps no-traps"
    " unit gratuitous-arp-reply aggregated-ether-options optics-options native-inner-vlan-id damping"
    " 802.3ad auto-negotiation no-auto-negotiation link-mode loopback ether-options gigether-options"
    " unused apply-groups media-type forwarding-class-accounting vlan-id link-down"
    " stacked-vlan-tagging otn-options";
static const char of_cos[] =
    "buffer-size shaping-rate excess-rate excess-priority buffer-dynamic-threshold dedicated-buffer"
    " dedicated-buffer-profile host-outbound-traffic code-point-aliases forwarding-class-sets"
    " traffic-control-profiles monitoring-profile percent multi-destination system-defaults"
    " drop-congestion-notification multicast lossless-headroom statistics guaranteed-rate no-loss"
    " rewrite-rules tri-color drop-profile-map dynamic-threshold delay-buffer-rate description"
    " priority";

static const char *path_of(const struct junos_node *node, char buf[200])
{
    const struct junos_node *chain[JUNOS_DEEP];
    unsigned count = 0;
    size_t length = 0;

    for (; node && node->depth; node = node->parent)
        chain[count++] = node;
    buf[0] = 0;
    while (count > 0 && length < 150) {
        int more = snprintf(buf + length, 200 - length, "%s%.40s", length ? " " : "", chain[--count]->word);
        length += more > 0 ? (size_t)more : 0;
    }
    return buf;
}

static bool passed_over(const struct junos_node *node)
{
    const struct junos_node *top = node;

    while (top->depth > 1)
        top = top->parent;
    if (strcmp(top->word, "class-of-service") == 0) return words_have(of_cos, node->word);
    if (strcmp(top->word, "interfaces") != 0) return words_have(sections, top->word);
    if (node->depth == 2) return true; /* lo0, irb, em0: no port carries RoCE there */
    if (node->depth > 3) return true;  /* below a unit, below options */
    return words_have(of_interface, node->word);
}

/* A filter that classifies stands before the classifier. */
static void judge_filters(struct junos *in)
{
    struct junos_node *firewall = junos_child(&in->tree, &in->tree.root, "firewall");

    for (struct junos_node *at = firewall ? junos_next_below(firewall, NULL) : NULL; at;
         at = junos_next_below(firewall, at)) {
        if (!at->parent || strcmp(at->parent->word, "then") != 0) continue;
        bool classifies = strcmp(at->word, "forwarding-class") == 0, marks = strcmp(at->word, "dscp") == 0;
        if (!classifies && !marks) continue;
        if (in->device < in->set->devices) in->set->device[in->device].unclear = true;
        NOTE(in, at->line, NULL, CONFIG_NONE, "a filter that %s: %.60s", classifies ? "classifies" : "marks",
             at->last ? at->last->word : "");
    }
}

#define WORDS_MAX 64u

struct listed { /* statements of ports that were listed: each once, for all ports */
    const char *word[WORDS_MAX];
    uint32_t words, count;
};

static bool is_told(struct listed *listed, const struct junos_node *node)
{
    bool port = node->depth > 3 && node->parent->depth > 1;
    const struct junos_node *top = node;

    while (top->depth > 2)
        top = top->parent;
    if (!port || strcmp(top->word, "interfaces") != 0) return false;
    const char *word = node->first && !strcmp(node->parent->word, "unit") ? "unit" : node->word;
    for (uint32_t i = 0; i < listed->words; i++)
        if (strcmp(listed->word[i], word) == 0) return true;
    if (listed->words < WORDS_MAX) listed->word[listed->words++] = word;
    return false;
}

void junos_unread(struct junos *in)
{
    struct junos_node *root = &in->tree.root, *next;
    struct listed listed = {.words = 0};
    char path[200];

    judge_filters(in);
    for (struct junos_node *at = junos_next_below(root, NULL); at; at = next) {
        struct junos_node alone = *at;
        alone.first = NULL;
        next = junos_next_below(root, at);
        if (at->known) continue;
        next = junos_next_below(root, &alone); /* told once, with all that is below it */
        if (passed_over(at) || is_told(&listed, at) || ++listed.count > LISTED_MAX) continue;
        NOTE(in, at->line, NULL, CONFIG_NONE, "%s", path_of(at, path));
    }
}
