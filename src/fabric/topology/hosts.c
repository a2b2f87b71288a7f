/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is inside a host: the links between its GPUs, and the bus between NIC and memory.
 *
 * NVLink by the name of what one buys, each way: NVLink 3 has 12 links of 25 GB/s a GPU, NVLink 4 has 18 of them,
 * NVLink 5 has 18 of 50.  The delay is the same for all, a hop through a switch of the domain.
 *
 * PCI Express by generation and lanes.  The rate is what is left for data of 8, 16 or 32 GT/s a lane after the
 * 128b/130b code and, with 256 bytes a packet (the maximum payload most servers set), 24 bytes of framing, header and
 * LCRC: PCI Express Base Specification 5.0, 2.2 and 4.2.  A bus slower than the port makes a slow receiver: the NIC's
 * buffer fills, and where the class is lossless the NIC pauses.
 */
#include <stdio.h>
#include <string.h>

#include "base/wide.h"
#include "fabric/fabric.h"
#include "fabric/qos/settings.h"
#include "fabric/topology/topology.h"

#define GPU_LATENCY_PS (1 * PS_US)
#define RECEIVE_BUFFER_BYTES (1u << 20)

struct rate_name {
    const char *name;
    uint64_t bps;
};

static const struct rate_name gpu_names[] = {
    {"a100", 2400000000000ull}, {"h100", 3600000000000ull},  {"h200", 3600000000000ull},  {"nvl8", 3600000000000ull},
    {"b200", 7200000000000ull}, {"gb200", 7200000000000ull}, {"nvl72", 7200000000000ull},
};
#define GPU_DEFAULT "h100"

/* lanes x GT/s x 128/130 x 256/280 */
#define PCIE_BPS(gtps, lanes) ((uint64_t)(lanes) * (gtps)*1000000000ull * 128 / 130 * 256 / 280)
static const struct rate_name pcie_names[] = {
    {"gen3-x16", PCIE_BPS(8, 16)}, {"gen4-x8", PCIE_BPS(16, 8)},   {"gen4-x16", PCIE_BPS(16, 16)},
    {"gen5-x8", PCIE_BPS(32, 8)},  {"gen5-x16", PCIE_BPS(32, 16)},
};

static bool rate_of_name(struct loader *loader, const struct tree *value, const char *what,
                         const struct rate_name *names, uint32_t count, uint64_t *ret)
{
    const char *text = NULL;
    char known[128] = "";
    size_t used = 0;
    struct nearest nearest;

    if (!read_text(loader, value, &text)) return false;
    nearest_init(&nearest, text);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(text, names[i].name) == 0) {
            *ret = names[i].bps;
            return true;
        }
        nearest_try(&nearest, names[i].name);
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", names[i].name);
    }
    if (nearest.word)
        read_error(loader, value->at, "%s: unknown '%s'; did you mean '%s'?", what, text, nearest.word);
    else
        read_error(loader, value->at, "%s: unknown '%s'; known are %s", what, text, known);
    return false;
}

void gpu_links_default(struct fabric *fabric)
{
    for (uint32_t i = 0; i < COUNT_OF(gpu_names); i++)
        if (strcmp(gpu_names[i].name, GPU_DEFAULT) == 0) fabric->gpu_line_bps = gpu_names[i].bps;
    fabric->gpu_rate_bps = fabric->gpu_line_bps;
    fabric->gpu_latency_ps = GPU_LATENCY_PS;
    fabric->gpu_launch_ps = 0;
    fabric->gpu_nvls_ppm = 1000000;
}

struct gpu_links { /* keys that are not the fabric's as they are */
    uint32_t efficiency_ppm;
};

void gpu_links_read(struct loader *loader, const struct tree *value)
{
    static const struct field fields[] = {
        F_VALUE("rate", FIELD_RATE, struct fabric, gpu_line_bps, 1000000, 100000000000000ull),
        F_VALUE("delay", FIELD_TIME, struct fabric, gpu_latency_ps, 1, PS_S),
        F_VALUE("launch", FIELD_TIME, struct fabric, gpu_launch_ps, 0, PS_S),
        F_VALUE("nvls", FIELD_SHARE, struct fabric, gpu_nvls_ppm, 1, 1000000),
        F_IGNORE("use"),
    };
    static const struct field shares[] = {
        F_VALUE("efficiency", FIELD_SHARE, struct gpu_links, efficiency_ppm, 10000, 1000000)};
    struct fabric *fabric = loader->fabric;
    struct gpu_links links = {.efficiency_ppm = 1000000};
    struct field_set sets[] = {{fields, COUNT_OF(fields), fabric}, {shares, COUNT_OF(shares), &links}};
    const struct tree *use = value->type == TREE_MAP ? tree_get(value, "use") : value;

    if (use && use->type == TREE_SCALAR)
        rate_of_name(loader, use, "links.gpu", gpu_names, COUNT_OF(gpu_names), &fabric->gpu_line_bps);
    if (use != value) read_map(loader, value, "links.gpu", sets, COUNT_OF(sets));
    fabric->gpu_rate_bps = (uint64_t)((u128)fabric->gpu_line_bps * links.efficiency_ppm / 1000000);
}

static void pcie_rate(struct loader *loader, const struct tree *value, struct fabric_pcie *pcie)
{
    if (value->type == TREE_SCALAR && value->text[0] >= '0' && value->text[0] <= '9')
        read_unit(loader, value, UNIT_RATE, 1000, 0, &pcie->rate_bps);
    else
        rate_of_name(loader, value, "pcie", pcie_names, COUNT_OF(pcie_names), &pcie->rate_bps);
}

void pcie_read(struct loader *loader, const struct tree *value, void *into)
{
#define PCIE(name, kind, member, min, max) F_VALUE(name, kind, struct fabric_pcie, member, min, max)
    static const struct field fields[] = {
        PCIE("reads", FIELD_COUNT, reads, 1, 65535),
        PCIE("read-size", FIELD_SIZE, read_bytes, 64, 4096),
        PCIE("read-time", FIELD_TIME, read_ps, PS_NS, PS_MS),
        PCIE("writes", FIELD_COUNT, writes, 1, 65535),
        PCIE("write-size", FIELD_SIZE, write_bytes, 64, 4096),
        PCIE("write-time", FIELD_TIME, write_ps, PS_NS, PS_MS),
        PCIE("ordered", FIELD_COUNT, ordered, 1, 65535),
        PCIE("relaxed-ordering", FIELD_BOOL, relaxed, 0, 1),
        F_IGNORE("use"),
    };
#undef PCIE
    struct fabric_pcie *pcie = &((struct fabric_nic *)into)->pcie;
    struct field_set set = {fields, COUNT_OF(fields), pcie};
    const struct tree *use = value->type == TREE_MAP ? tree_get(value, "use") : value;

    if (use) pcie_rate(loader, use, pcie);
    if (use == value) return;
    pcie->windows = true;
    read_map(loader, value, "pcie", &set, 1);
}

/* What so many of this size a round trip carry. */
static uint64_t window_bps(uint32_t count, uint32_t bytes, ps_t round)
{
    return (uint64_t)((u128)count * bytes * 8 * PS_S / round);
}

/* A way of the bus: its rate, and what its credits carry. */
static uint64_t way_bps(const struct fabric_pcie *pcie, uint64_t window)
{
    uint64_t rate = pcie->rate_bps ? pcie->rate_bps : UINT64_MAX;

    return pcie->windows && window < rate ? window : rate;
}

/* The slowest of bus, its credits and `receive` counts, where it is slower than the port; then there is a buffer that
 * can fill. */
void nic_bus(struct fabric_nic *nic, uint64_t port_bps)
{
    const struct fabric_pcie *pcie = &nic->pcie;
    uint32_t writes = pcie->relaxed || pcie->ordered > pcie->writes ? pcie->writes : pcie->ordered;
    uint64_t takes = way_bps(pcie, window_bps(writes, pcie->write_bytes, pcie->write_ps));
    uint64_t gives = way_bps(pcie, window_bps(pcie->reads, pcie->read_bytes, pcie->read_ps));

    if (takes < port_bps && (!nic->rx_rate_bps || takes < nic->rx_rate_bps)) nic->rx_rate_bps = takes;
    if (!pcie->relaxed && nic->rx_rate_bps) nic->tx_behind_bytes = writes * pcie->write_bytes;
    if (gives < port_bps || nic->tx_behind_bytes) nic->tx_rate_bps = gives;
    if (nic->rx_rate_bps && !nic->rx_buffer_bytes) nic->rx_buffer_bytes = RECEIVE_BUFFER_BYTES;
}
