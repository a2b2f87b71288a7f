/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an adapter has after commands of mlnx_qos or dcb, as mlx5's driver and the two tools are written.
 *
 * From the behaviour of Linux' drivers/net/ethernet/mellanox/mlx5/core/en_dcbnl.c and of mlnx_qos (Mellanox/mlnx-tools,
 * 088fadb and 8fbfd9c).  Not from this project's importer: that both agree is what the test is for.
 */
#ifndef ROCELAB_TESTS_CONFIG_MLX5_MODEL_H
#define ROCELAB_TESTS_CONFIG_MLX5_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum mlx5_tool {
    MLX5_QOS,       /* mlnx_qos of today, the map by netlink */
    MLX5_QOS_OLD,   /* one that writes PFC and the cable's length together, nothing said being zero */
    MLX5_QOS_SYSFS, /* MLNX_OFED with qos/trust in sysfs: the map and the trust are two things, flush does nothing */
    MLX5_DCB,       /* iproute2 */
    MLX5_TOOLS
};

enum mlx5_tsa { MLX5_STRICT, MLX5_ETS, MLX5_VENDOR };

struct mlx5_model {
    enum mlx5_tool tool;
    bool trust_dscp;
    bool host_dcbx;   /* the host decides, not the firmware with what the switch says */
    bool entry[64];   /* the kernel's table has this DSCP */
    uint8_t prio[64]; /* what the firmware maps a DSCP to while it trusts DSCPs */
    unsigned pfc;     /* bits */
    unsigned cable_m; /* thresholds are for */
    uint8_t tc[8];    /* of each priority */
    uint8_t tsa[8], bw[8];
};

/* An adapter after a boot, or (used) one on which somebody else's settings lie. */
void mlx5_start(struct mlx5_model *model, enum mlx5_tool tool, bool used);
/* One command line without `-i NAME`/`dev NAME` looked at; NULL, or what the tool or the driver refuses. */
const char *mlx5_command(struct mlx5_model *model, const char *line);

#endif
