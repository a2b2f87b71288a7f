# SPDX-License-Identifier: Apache-2.0
"""Good configurations of one switch each, as lines, for tests that write a mistake into them."""


def nxos_port(i, name, layer):
    return [f"interface Ethernet1/{i}", f"  description {name}", *layer, "  priority-flow-control mode on",
            "  priority-flow-control watch-dog-interval on", "  mtu 9216", "  service-policy type qos input CLASSIFY", "  no shutdown"]


NXOS = """version 10.4(2) Bios:version 01.10
hostname pod3-leaf2
feature bgp
feature lldp
class-map type qos match-any ROCE
  match dscp 26
class-map type qos match-any CNP
  match dscp 48
policy-map type qos CLASSIFY
  class ROCE
    set qos-group 3
  class CNP
    set qos-group 7
  class class-default
    set qos-group 0
policy-map type network-qos NQ
  class type network-qos c-8q-nq3
    mtu 9216
    pause pfc-cos 3
  class type network-qos c-8q-nq-default
    mtu 9216
policy-map type queuing OUT
  class type queuing c-out-8q-q7
    priority level 1
  class type queuing c-out-8q-q6
    bandwidth remaining percent 0
  class type queuing c-out-8q-q5
    bandwidth remaining percent 0
  class type queuing c-out-8q-q4
    bandwidth remaining percent 0
  class type queuing c-out-8q-q3
    bandwidth remaining percent 55
    random-detect minimum-threshold 300 kbytes maximum-threshold 2500 kbytes drop-probability 20 weight 0 ecn
  class type queuing c-out-8q-q2
    bandwidth remaining percent 0
  class type queuing c-out-8q-q1
    bandwidth remaining percent 0
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 45
system qos
  service-policy type queuing output OUT
  service-policy type network-qos NQ
priority-flow-control watch-dog-interval on
priority-flow-control watch-dog interval 100
priority-flow-control watch-dog shutdown-multiplier 2
priority-flow-control auto-restore multiplier 10""".split("\n")
for _i in range(1, 7):
    NXOS += nxos_port(_i, f"gpu-{_i:02d} mlx5_0", ["  switchport", "  switchport access vlan 40"])
for _i in range(31, 35):
    NXOS += nxos_port(_i, f"spine-{_i - 30} Ethernet1/2", ["  no switchport", f"  ip address 10.9.{_i}.1/31"])
NXOS += ["router bgp 65001", "  address-family ipv4 unicast", "    maximum-paths 16"]
NXOS += [line for i in range(31, 35) for line in (f"  neighbor 10.9.{i}.0", "    remote-as 65100")]

EOS = """! Command: show running-config
! device: row7-leaf1 (DCS-7060DX5-32, EOS-4.32.1F)
!
hostname row7-leaf1
!
priority-flow-control pause watchdog default timeout 0.30
priority-flow-control pause watchdog default recovery-time 0.60
priority-flow-control pause watchdog default polling-interval 0.10
priority-flow-control pause watchdog action drop
!
qos map dscp 24 25 27 28 29 30 31 to traffic-class 1
qos map dscp 26 to traffic-class 3
qos map dscp 48 to traffic-class 6
!
qos profile RDMA-PORT
   qos trust dscp
   !
   uc-tx-queue 1
      no priority
      bandwidth percent 35
   !
   uc-tx-queue 3
      no priority
      bandwidth percent 65
      bandwidth guaranteed percent 10
      random-detect ecn minimum-threshold 400 kbytes maximum-threshold 1600 kbytes max-mark-probability 25
   !
   uc-tx-queue 6
      priority strict
   !
   priority-flow-control on
   priority-flow-control priority 3 no-drop
!""".split("\n")
for _i in range(1, 7):
    EOS += [f"interface Ethernet{_i}/1", f"   description trainer-{_i:02d} eth0", "   mtu 9214", "   no switchport",
            f"   ip address 10.1.{_i}.0/31", "   service-profile RDMA-PORT", "!"]
for _i in range(29, 33):
    EOS += [f"interface Ethernet{_i}/1", f"   description spine{_i - 28} Ethernet4/1", "   mtu 9214", "   no switchport",
            f"   ip address 10.2.{_i}.0/31", "   service-profile RDMA-PORT", "!"]
EOS += ["ip routing", "!", "router bgp 65007", "   maximum-paths 8 ecmp 8"]
EOS += [f"   neighbor 10.2.{i}.1 remote-as 65000" for i in range(29, 33)] + ["!", "end"]

_PORTS = [*range(6), *range(60, 64)]
JUNOS = ["set version 23.4R2.13-EVO", "set system host-name q5240-4"]
for _i in _PORTS:
    JUNOS += [f'set interfaces et-0/0/{_i} description "{f"node{_i:02d} nic0" if _i < 60 else f"spine{_i - 59} et-0/0/4"}"',
              f"set interfaces et-0/0/{_i} mtu 9216", f"set interfaces et-0/0/{_i} unit 0 family inet address 10.6.{_i}.1/31"]
JUNOS += """set class-of-service classifiers dscp DSCP-IN forwarding-class RDMA loss-priority low code-points 011010
set class-of-service classifiers dscp DSCP-IN forwarding-class CNP loss-priority low code-points 110000
set class-of-service drop-profiles ECN-CURVE interpolate fill-level 10
set class-of-service drop-profiles ECN-CURVE interpolate fill-level 40
set class-of-service drop-profiles ECN-CURVE interpolate drop-probability 0
set class-of-service drop-profiles ECN-CURVE interpolate drop-probability 100
set class-of-service shared-buffer ingress buffer-partition lossless percent 60
set class-of-service shared-buffer ingress buffer-partition lossless-headroom percent 25
set class-of-service shared-buffer ingress buffer-partition lossy percent 15
set class-of-service shared-buffer egress buffer-partition lossless percent 65
set class-of-service shared-buffer egress buffer-partition lossy percent 35
set class-of-service forwarding-classes class RDMA queue-num 3
set class-of-service forwarding-classes class RDMA no-loss
set class-of-service forwarding-classes class RDMA pfc-priority 3
set class-of-service forwarding-classes class CNP queue-num 6
set class-of-service congestion-notification-profile PAUSE pfc-watchdog poll-interval 100
set class-of-service congestion-notification-profile PAUSE pfc-watchdog detection 2
set class-of-service congestion-notification-profile PAUSE pfc-watchdog recovery 400
set class-of-service congestion-notification-profile PAUSE input cable-length 20
set class-of-service congestion-notification-profile PAUSE input dscp code-point 011010 pfc
set class-of-service congestion-notification-profile PAUSE output ieee-802.1 code-point 011 flow-control-queue 3""".split("\n")
for _i in _PORTS:
    JUNOS += [f"set class-of-service interfaces et-0/0/{_i} congestion-notification-profile PAUSE",
              f"set class-of-service interfaces et-0/0/{_i} scheduler-map TURNS",
              f"set class-of-service interfaces et-0/0/{_i} unit 0 classifiers dscp DSCP-IN"]
JUNOS += """set class-of-service scheduler-maps TURNS forwarding-class RDMA scheduler S-RDMA
set class-of-service scheduler-maps TURNS forwarding-class CNP scheduler S-CNP
set class-of-service scheduler-maps TURNS forwarding-class best-effort scheduler S-REST
set class-of-service schedulers S-RDMA transmit-rate percent 60
set class-of-service schedulers S-RDMA drop-profile-map loss-priority any protocol any drop-profile ECN-CURVE
set class-of-service schedulers S-RDMA explicit-congestion-notification
set class-of-service schedulers S-CNP transmit-rate percent 5
set class-of-service schedulers S-CNP priority strict-high
set class-of-service schedulers S-REST transmit-rate percent 35
set protocols bgp group UP type external
set protocols bgp group UP multipath
set policy-options policy-statement BAL then load-balance per-packet
set routing-options forwarding-table export BAL""".split("\n")
JUNOS += [f"set protocols bgp group UP neighbor 10.6.{i}.0" for i in range(60, 64)]
