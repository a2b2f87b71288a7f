/* SPDX-License-Identifier: Apache-2.0 */
/* What a device says is installed on it, where the fabric file says what that is: nothing is invented. */
#include <string.h>

#include "dump/dump_int.h"

#include "fabric/fabric.h"

static const char *installed(const struct moment *m, uint32_t node, enum fabric_part part)
{
    const struct fabric_device **device = m->fabric->operations.device;

    return device && device[node] ? device[node]->installed[part] : NULL;
}

const char *dump_nccl_version(const struct moment *m, uint32_t node)
{
    return installed(m, node, FABRIC_PART_NCCL);
}

void dump_driver(struct out *out, const struct moment *m, uint32_t node, unsigned adapter)
{
    const char *firmware = installed(m, node, FABRIC_PART_FIRMWARE), *driver = installed(m, node, FABRIC_PART_DRIVER);

    if (!firmware) firmware = installed(m, node, FABRIC_PART_NIC);
    if ((!firmware && !driver) || !out_begin(out, "txt", "ethtool -i eth%u", adapter)) return;
    fprintf(out->file, "driver: mlx5_core\n");
    if (driver) fprintf(out->file, "version: %s\n", driver);
    if (firmware) fprintf(out->file, "firmware-version: %s (MT_0000000838)\n", firmware);
    fprintf(out->file, "bus-info: 0000:%02x:00.0\nsupports-statistics: yes\n", 15 + adapter);
    out_end(out);
}

void dump_version(struct out *out, const struct moment *m, uint32_t node, const char *command, const char *line)
{
    const char *version = installed(m, node, FABRIC_PART_NOS);

    if (!version || !out_begin(out, "txt", "%s", command)) return;
    fprintf(out->file, "%s%s\n", line, version);
    out_end(out);
}
