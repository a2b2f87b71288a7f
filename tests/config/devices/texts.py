# SPDX-License-Identifier: Apache-2.0
"""Configurations written by hand, as people write them: other names, queues and shapes than in the tests beside."""
import json


def _nxos():
    """User-defined classes of network QoS, a channel, two lossless classes, policies at the ports."""
    lines = """hostname edge-a1
feature lacp
class-map type qos match-all STORAGE
  match dscp 24,26
class-map type qos match-any RENDER
  match dscp 34-36
class-map type qos match-any NOTIFY
  match dscp 48
class-map type network-qos nq-storage
  match qos-group 3
class-map type network-qos nq-render
  match qos-group 4
policy-map type qos IN
  class STORAGE
    set qos-group 3
  class RENDER
    set qos-group 4
  class NOTIFY
    set qos-group 6
policy-map type network-qos SYS
  class type network-qos nq-storage
    mtu 9216
    pause pfc-cos 3
  class type network-qos nq-render
    mtu 9216
    pause pfc-cos 4
policy-map type queuing EGRESS
  class type queuing c-out-8q-q7
    priority level 1
  class type queuing c-out-8q-q6
    priority level 2
  class type queuing c-out-8q-q4
    bandwidth remaining percent 30
    random-detect minimum-threshold 200 kbytes maximum-threshold 1000 kbytes drop-probability 50 weight 0 ecn
  class type queuing c-out-8q-q3
    bandwidth remaining percent 45
    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 20
policy-map type queuing INGRESS
  class type queuing c-in-q3
    pause buffer-size 2101920 pause-threshold 2046800 resume-threshold 2034320
system qos
  service-policy type network-qos SYS
priority-flow-control watch-dog-interval on
interface port-channel20
  switchport
  mtu 9216
  service-policy type qos input IN""".split("\n")
    for i in range(1, 9):
        lines += [f"interface Ethernet1/{i}", "  switchport", "  mtu 9216", "  priority-flow-control mode on",
                  "  priority-flow-control watch-dog-interval on", "  service-policy type qos input IN",
                  "  service-policy type queuing output EGRESS", "  service-policy type queuing input INGRESS"]
        lines += ["  channel-group 20 mode active"] if i > 6 else ["  spanning-tree port type edge"]
        lines += ["  no shutdown"]
    return "\n".join(lines) + "\n"


def _eos():
    """Queues of a deep-buffered platform, settings at the ports beside profiles, two profiles."""
    lines = """! device: deep3 (DCS-7280CR3-32P4, EOS-4.31.2F)
!
hostname deep3
!
qos map dscp 24 26 to traffic-class 3
qos map dscp 48 to traffic-class 7
qos map traffic-class 3 to tx-queue 3
!
qos profile HOSTS
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   !
   tx-queue 3
      no priority
      bandwidth percent 60
      random-detect ecn minimum-threshold 512 kbytes maximum-threshold 2048 kbytes max-mark-probability 20 weight 0
   !
   tx-queue 1
      no priority
      bandwidth percent 40
!
qos profile UPLINKS
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   !
   tx-queue 3
      no priority
      bandwidth percent 70
      random-detect ecn minimum-threshold 1024 kbytes maximum-threshold 4096 kbytes max-mark-probability 10 weight 0
   !
   tx-queue 1
      no priority
      bandwidth percent 30
!
priority-flow-control pause watchdog default timeout 0.50
priority-flow-control pause watchdog default recovery-time 1.00
!""".split("\n")
    for i in range(1, 9):
        lines += [f"interface Ethernet{i}/1", f"   description n{i}", "   mtu 9214", "   speed 100g-4", "   no switchport"]
        lines += [f"   service-profile {'HOSTS' if i < 7 else 'UPLINKS'}"]
        lines += ["   !", "   tx-queue 5", "      bandwidth percent 10"] if i == 4 else []
        lines += ["!"]
    for i in (9, 10):
        lines += [f"interface Ethernet{i}/1", "   mtu 9214", "   channel-group 5 mode active", "   qos trust dscp", "   priority-flow-control on",
                  "   priority-flow-control priority 3 no-drop", "   !", "   tx-queue 3", "      no priority", "      bandwidth percent 60",
                  "      random-detect ecn minimum-threshold 512 kbytes maximum-threshold 2048 kbytes max-mark-probability 20 weight 0", "!"]
    return "\n".join([*lines, "end", ""])


def _junos():
    """In braces, two lossless classes, profiles of its own names, a LAG."""
    ports = "".join(f"""    et-0/0/{i} {{
        description "gpu {i}";
        mtu 9192;
        unit 0 {{
            family inet {{
                address 10.0.{i}.0/31;
            }}
        }}
    }}
""" for i in range(4)) + "".join(f"    et-0/0/{i} {{\n        mtu 9192;\n        ether-options {{\n            802.3ad ae0;\n        }}\n    }}\n" for i in (8, 9))
    applied = "".join(f"""        et-0/0/{i} {{
            congestion-notification-profile LOSSLESS;
            scheduler-map WEIGHTS;
            unit 0 {{
                classifiers {{
                    dscp MARKS;
                }}
            }}
        }}
""" for i in (*range(4), 8, 9))
    classes = """    classifiers {
        dscp MARKS {
            forwarding-class GPU {
                loss-priority low code-points [ 011010 011000 ];
            }
            forwarding-class DISK {
                loss-priority low code-points 100010;
            }
            forwarding-class REPLY {
                loss-priority low code-points 110000;
            }
        }
    }
    drop-profiles {
        STEEP {
            interpolate {
                fill-level [ 20 60 ];
                drop-probability [ 0 100 ];
            }
        }
        GENTLE {
            interpolate {
                fill-level [ 10 80 ];
                drop-probability [ 0 50 ];
            }
        }
    }
    forwarding-classes {
        class GPU queue-num 4 no-loss pfc-priority 4;
        class DISK queue-num 3 no-loss pfc-priority 3;
        class REPLY queue-num 6;
    }
    congestion-notification-profile {
        LOSSLESS {
            input {
                cable-length 40;
                dscp {
                    code-point 011010 {
                        pfc;
                    }
                    code-point 011000 {
                        pfc;
                    }
                    code-point 100010 {
                        pfc;
                    }
                }
            }
            output {
                ieee-802.1 {
                    code-point 100 {
                        flow-control-queue 4;
                    }
                    code-point 011 {
                        flow-control-queue 3;
                    }
                }
            }
        }
    }
    schedulers {
        FOR-GPU {
            transmit-rate percent 50;
            drop-profile-map loss-priority any protocol any drop-profile STEEP;
            explicit-congestion-notification;
        }
        FOR-DISK {
            transmit-rate percent 25;
            drop-profile-map loss-priority any protocol any drop-profile GENTLE;
            explicit-congestion-notification;
        }
        FOR-REPLY {
            priority strict-high;
        }
        FOR-REST {
            transmit-rate percent 25;
        }
    }
    scheduler-maps {
        WEIGHTS {
            forwarding-class GPU scheduler FOR-GPU;
            forwarding-class DISK scheduler FOR-DISK;
            forwarding-class REPLY scheduler FOR-REPLY;
            forwarding-class best-effort scheduler FOR-REST;
        }
    }
"""
    return (f"system {{\n    host-name brace1;\n}}\ninterfaces {{\n{ports}}}\nclass-of-service {{\n{classes}    interfaces {{\n{applied}    }}\n}}\n")


def _nvue():
    """Profiles by port groups, two of a kind, default-global beside them."""
    lines = """nv set system hostname sn-9
nv set qos mapping default-global trust l3
nv set qos mapping default-global dscp 26 switch-priority 3
nv set qos mapping default-global dscp 48 switch-priority 6
nv set qos egress-scheduler default-global traffic-class 0 mode dwrr
nv set qos egress-scheduler default-global traffic-class 0 bw-percent 30
nv set qos egress-scheduler default-global traffic-class 3 mode dwrr
nv set qos egress-scheduler default-global traffic-class 3 bw-percent 70
nv set qos egress-scheduler default-global traffic-class 6 mode strict
nv set qos congestion-control hosts traffic-class 3 min-threshold 400000
nv set qos congestion-control hosts traffic-class 3 max-threshold 1600000
nv set qos congestion-control hosts traffic-class 3 probability 50
nv set qos congestion-control hosts traffic-class 3 ecn enabled
nv set qos congestion-control spines traffic-class 3 min-threshold 800000
nv set qos congestion-control spines traffic-class 3 max-threshold 3200000
nv set qos congestion-control spines traffic-class 3 probability 100
nv set qos congestion-control spines traffic-class 3 ecn enabled
nv set qos pfc near switch-priority 3
nv set qos pfc near cable-length 5
nv set qos pfc far switch-priority 3
nv set qos pfc far cable-length 50
nv set qos traffic-pool default-lossless memory-percent 60
nv set qos traffic-pool default-lossless switch-priority 3
nv set qos traffic-pool default-lossy memory-percent 40""".split("\n")
    for i in range(1, 11):
        kind, profile = ("near", "hosts") if i < 9 else ("far", "spines")
        lines += [f"nv set interface swp{i} link mtu 9216", f"nv set interface swp{i} link speed 200G",
                  f"nv set interface swp{i} qos congestion-control profile {profile}", f"nv set interface swp{i} qos pfc profile {kind}",
                  f"nv set interface swp{i} qos pfc-watchdog state enabled", f"nv set interface swp{i} description link-{i}"]
    return "\n".join(lines) + "\n"


def _host():
    """No loops, two adapters, commands one by one."""
    lines = ["#!/bin/sh", "set -e"]
    for i in range(2):
        lines += [f"ip link set dev ens{i}f0np0 mtu 9000", f"mlnx_qos -i ens{i}f0np0 --trust dscp",
                  f"mlnx_qos -i ens{i}f0np0 --pfc 0,0,0,1,0,0,0,0", f"cma_roce_tos -d mlx5_{i} -t 106",
                  f"echo 106 > /sys/class/infiniband/mlx5_{i}/tc/1/traffic_class",
                  f"echo 1 > /sys/class/net/ens{i}f0np0/ecn/roce_np/enable/3", f"echo 1 > /sys/class/net/ens{i}f0np0/ecn/roce_rp/enable/3",
                  f"echo 48 > /sys/class/net/ens{i}f0np0/ecn/roce_np/cnp_dscp"]
    return "\n".join(lines) + "\n"


def _sonic():
    """Two lossless classes, dynamic buffers' profiles by speed, a port channel, maps of a name of its own."""
    ports = [f"Ethernet{8 * i}" for i in range(6)]
    curve = {f"{colour}_{what}": value for colour in ("green", "yellow", "red") for what, value in
             (("min_threshold", "1048576"), ("max_threshold", "2097152"), ("drop_probability", "5"))}
    same = {str(i): str(i) for i in range(8)}
    lossless = {"pool": "ingress_pool", "xon": "18432", "size": "56368", "dynamic_th": "0", "xon_offset": "3072"}
    return json.dumps({
        "DEVICE_METADATA": {"localhost": {"hostname": "tor-12", "hwsku": "Accton-AS9716-32D"}},
        "PORT": {port: {"admin_status": "up", "alias": f"Eth{i}", "mtu": "9100", "speed": "400000", "lanes": ",".join(map(str, range(8 * i, 8 * i + 8)))}
                 for i, port in enumerate(ports)},
        "PORTCHANNEL": {"PortChannel7": {"admin_status": "up", "mtu": "9100"}},
        "PORTCHANNEL_MEMBER": {"PortChannel7|Ethernet32": {}, "PortChannel7|Ethernet40": {}},
        "CABLE_LENGTH": {"AZURE": {port: "5m" if i < 4 else "40m" for i, port in enumerate(ports)}},
        "DSCP_TO_TC_MAP": {"IN": {str(dscp): {26: "3", 34: "4", 48: "6"}.get(dscp, "0") for dscp in range(64)}},
        "TC_TO_QUEUE_MAP": {"STRAIGHT": same}, "MAP_PFC_PRIORITY_TO_QUEUE": {"STRAIGHT": same},
        "TC_TO_PRIORITY_GROUP_MAP": {"GROUPS": dict.fromkeys(same, "0") | {"3": "3", "4": "4"}},
        "PORT_QOS_MAP": {port: {"dscp_to_tc_map": "IN", "tc_to_queue_map": "STRAIGHT", "tc_to_pg_map": "GROUPS", "pfc_to_queue_map": "STRAIGHT",
                                "pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"} for port in ports},
        "SCHEDULER": {"heavy": {"type": "DWRR", "weight": "30"}, "light": {"type": "DWRR", "weight": "10"}, "now": {"type": "STRICT"}},
        "WRED_PROFILE": {"CURVE": {"ecn": "ecn_all", "wred_green_enable": "true", "wred_yellow_enable": "true", "wred_red_enable": "true"} | curve},
        "QUEUE": {f"{port}|{queue}": row for port in ports for queue, row in
                  (("0", {"scheduler": "light"}), ("3-4", {"scheduler": "heavy", "wred_profile": "CURVE"}), ("6", {"scheduler": "now"}))},
        "BUFFER_POOL": {"ingress_pool": {"type": "ingress", "mode": "dynamic", "size": "50000000", "xoff": "7000000"},
                        "egress_pool": {"type": "egress", "mode": "static", "size": "60000000"}},
        "BUFFER_PROFILE": {"lossy_in": {"pool": "ingress_pool", "size": "0", "dynamic_th": "3"},
                           "short": lossless | {"xoff": "200000"}, "long": lossless | {"xoff": "310000"},
                           "out": {"pool": "egress_pool", "size": "0", "static_th": "60000000"}},
        "BUFFER_PG": {f"{port}|{group}": {"profile": name} for i, port in enumerate(ports)
                      for group, name in (("0", "lossy_in"), ("3-4", "short" if i < 4 else "long"))},
        "BUFFER_QUEUE": {f"{port}|3-4": {"profile": "out"} for port in ports},
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}} | {port: {"action": "drop", "detection_time": "400", "restoration_time": "400"}
                                                          for port in ports}}, indent=4) + "\n"


TEXTS = {"nxos": {"edge-a1.cfg": _nxos()}, "eos": {"deep3.cfg": _eos()}, "junos": {"brace1.conf": _junos()},
         "nvue": {"sn-9.txt": _nvue()}, "sonic": {"tor-12.json": _sonic()}, "host": {"plain.sh": _host()}}
