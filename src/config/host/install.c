/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a host's settings outlive a reboot: `sh h0.sh install` puts the script where systemd finds it, with a unit that
 * runs it when the adapters are there, and again when one of them comes back (a driver that is loaded anew has
 * forgotten everything but what the firmware keeps).
 *
 * It is enabled and started anew: `enable --now` would leave one that runs as it was.  RDMA devices are there by the
 * target rdma-hw of rdma-core.  The unit is bound to the adapters' device units, systemd.device(5):
 * sys-subsystem-net-devices-NAME.device, with what is no letter, digit, ':', '_' or '.' escaped as systemd-escape(1)
 * does it.
 */
#include <stdio.h>
#include <string.h>

#include "config/host/host_int.h"

#include "fabric/fabric.h"

#define PLACE "/usr/local/sbin/rocelab-host"
#define UNIT "/etc/systemd/system/rocelab-host.service"

static void device_unit(FILE *to, const char *netdev)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.";

    fputs(" sys-subsystem-net-devices-", to);
    for (const char *c = netdev; *c; c++)
        fprintf(to, strchr(plain, *c) ? "%c" : "\\x%02x", (unsigned char)*c);
    fputs(".device", to);
}

static void device_units(const struct config_emit *emit, const char *key)
{
    const struct fabric_node *node = &emit->fabric->node[emit->node];
    char name[FABRIC_NAME];

    fprintf(emit->to, "%s", key);
    for (uint32_t p = 0; p < node->ports; p++) {
        config_port_label(emit, &config_host, node->first_port + p, name, sizeof(name));
        device_unit(emit->to, name);
    }
    fputc('\n', emit->to);
}

void host_emit_install(const struct config_emit *emit)
{
    FILE *to = emit->to;

    /* it may be run from where it was put */
    fputs("install)\n    set -e\n    cmp -s \"$0\" " PLACE " || install -m 0755 \"$0\" " PLACE "\n    cat >" UNIT
          " <<'EOT'\n[Unit]\n",
          to);
    fprintf(to, "Description=RoCE settings of %s\n", emit->fabric->node[emit->node].name);
    device_units(emit, "BindsTo=");
    device_units(emit, "After=rdma-hw.target");
    fputs("\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=" PLACE " set\n\n[Install]\n", to);
    device_units(emit, "WantedBy=multi-user.target");
    fputs("EOT\n    systemctl daemon-reload\n    systemctl enable rocelab-host.service\n"
          "    systemctl restart rocelab-host.service\n    ;;\n",
          to);
}
