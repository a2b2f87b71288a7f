# SPDX-License-Identifier: Apache-2.0
"""The long text of the runbooks.  Which there are, their titles and their teams: src/diagnose/runbooks.def.

A runbook has `symptom`, three looks (a question, a command for each system, what to read in the answer), decisions (if, then), how to `undo` what was
done, and when it is over.  Commands speak of one port by the name each system has for it, and of priority 3 as the lossless one.
"""
import pathlib
import re

DIAGNOSE = pathlib.Path(__file__).resolve().parent.parent / "src" / "diagnose"

SYSTEMS = {"rocelab": "rocelab", "sonic": "SONiC", "nxos": "NX-OS", "eos": "EOS", "cumulus": "Cumulus", "host": "host"}

ASK = "rocelab diagnose --fabric fabric.yaml dumps/"
WALK = "rocelab diagnose --walk --fabric fabric.yaml dumps/"


def drift(rules):
    return f"rocelab diff approved.yaml configs/* ; rocelab check configs/* | grep -E '{rules}'"


SHUT = {"sonic": "sudo config interface shutdown Ethernet12", "nxos": "interface ethernet 1/4 ; shutdown", "eos": "interface Ethernet4/1 ; shutdown",
        "cumulus": "nv set interface swp4 link state down ; nv config apply"}

TEXTS = {
    "RB00": {
        "symptom": "A job is slow, but no rule fires and no alert of the network is up. Either the network is not it, or what would show it was not collected.",
        "look": [
            ("What was looked at, and what is missing?", {"rocelab": ASK},
             "The list of what is missing: a second sample, durations of pauses, the NIC's side, devices of the fabric file that have no dump."),
            ("Collect everything twice, ten seconds apart, while the job is slow, at both ends of its paths.", {
                "sonic": "show pfc counters; show queue counters; show queue wredcounters; show pfcwd stats; show interfaces counters errors; show lldp table",
                "nxos": "show interface priority-flow-control ; show queuing interface ; show queuing pfc-queue detail ; show interface counters errors ; show lldp neighbors",
                "eos": "show priority-flow-control counters ; show interfaces counters queue detail ; show qos interfaces ecn counters queue ; show lldp neighbors",
                "cumulus": "nv show interface swp4 qos roce counters -o json ; nv show interface swp4 counters -o json ; lldpctl",
                "host": "ethtool -S eth0; rdma link; rdma statistic show; grep -r . /sys/class/infiniband/mlx5_0/ports/1/hw_counters/"},
             "Nothing yet: keep each answer as `dumps/TIME/DEVICE/ANYNAME.txt` and ask `rocelab diagnose` again."),
            ("Is it the network's time at all?", {
                "host": "all_reduce_perf -b 8M -e 1G -f 2 -g 1 # nccl-tests, on the same hosts; and: echo verbose status | nc localhost 28028"},
             "Bus bandwidth against the stored baseline. In NCCL's RAS: ranks with a lower count of operations are late, the others wait for them."),
        ],
        "decide": [
            ("something is missing", "collect it and ask again; a single dump proves little, because its counters are since boot"),
            ("nothing is missing, nccl-tests reaches its baseline", "the network is not it: hand over to the platform team, with the output of `rocelab diagnose`"),
            ("nothing is missing, nccl-tests is below its baseline", "look at the hosts as in [RB03](RB03.md): PCIe, NUMA, NVLink, NCCL's settings"),
        ],
        "undo": "Nothing was changed: all of these only read. Do not clear counters while you collect; another poller may rely on them.",
        "over": "Another runbook is named, or the network is acquitted with nothing missing.",
    },
    "RB01": {
        "symptom": "A switch drops packets of a priority that must not lose any. NICs send again (`out_of_sequence` at the receiver, `packet_seq_err` at the sender), and goodput falls "
                   "far more than the share that is lost. HeadroomNearlyUsed is the same before it happens.",
        "look": [
            ("Which ingress port drops, and how full did its headroom get?", {
                "rocelab": ASK,
                "sonic": "show priority-group drop counters; show priority-group watermark headroom",
                "nxos": "show queuing interface ethernet 1/4 # Ingress MMU Drop Pkts",
                "eos": "show interfaces Ethernet4/1 counters queue detail",
                "cumulus": "nv show interface swp4 qos roce counters # no-buffer-discard, pg-max-usage"},
             "A watermark close to the configured headroom: the headroom is too small. Far below it, with drops: pauses were not obeyed, or the pool ran out."),
            ("Does the other end of that cable obey pauses of this priority?", {
                "sonic": "show pfc priority Ethernet12; show pfc counters",
                "nxos": "show interface ethernet 1/4 priority-flow-control",
                "eos": "show priority-flow-control status ; show priority-flow-control counters",
                "cumulus": "nv show interface swp4 qos roce counters # rx-pfc-stats, tx-pfc-stats",
                "host": "mlnx_qos -i eth0; ethtool -S eth0 | grep prio3_pause"},
             "PFC on for the same priority at both ends (NX-OS: Oper On). TX pauses here and RX pauses there must grow alike; if the far end counts none, it does not listen."),
            ("Is the headroom right for the cable and the frames?", {
                "rocelab": "rocelab check --explain HR001 fabric.yaml",
                "sonic": "show buffer configuration; show interfaces status Ethernet12",
                "nxos": "show policy-map system type network-qos ; show interface ethernet 1/4 | include MTU",
                "eos": "show qos interfaces Ethernet4/1 ; show interfaces Ethernet4/1 | include MTU",
                "cumulus": "nv show interface swp4 qos roce status ; nv show interface swp4 link"},
             "Headroom for the real length of the cable (ask who cabled it) and the largest frame that is allowed, not for the template's."),
        ],
        "decide": [
            ("one end has PFC off, or on for another priority", "put it right there: rules PFC001 and PFC007 of `rocelab check` name the port"),
            ("PFC is right, the watermark is near the headroom", "raise the headroom to what HR001 asks for; until then take the link out of use"),
            ("PFC is right, the watermark is far below", "the pool ran out (HR003, BUF001), or the packets came in another class ([RB09](RB09.md))"),
            ("the watchdog dropped them", "it is a consequence: [RB02](RB02.md)"),
        ],
        "undo": "Write the old buffer profile back, then compare with `rocelab diff approved.yaml configs/*`. A link that was taken out of use comes back last, after a minute without drops under load.",
        "over": "No drop of that priority for five minutes under load, and the watermark stays below 80 % after it was cleared.",
    },
    "RB02": {
        "symptom": "A queue is paused nearly all the time and sends nothing; ports behind it stop one after another, far from where it began. Jobs stand still, NCCL times out "
                   "(`status=12`, `IBV_WC_RETRY_EXC_ERR`), or the watchdog has cut a queue off.",
        "look": [
            ("Where do the pauses begin?", {
                "rocelab": ASK,
                "sonic": "show pfc counters # twice; on newer versions: show pfc counters --history",
                "nxos": "show interface priority-flow-control # twice",
                "eos": "show priority-flow-control counters # twice",
                "cumulus": "nv show interface swp4 qos roce counters # twice"},
             "Follow RX pauses that grow: from the port that receives them to the device at its other end, until that device receives none itself. It is the root. "
             "If you come back to where you started, it is a deadlock, and no device is the root."),
            ("What has the watchdog done?", {
                "sonic": "show pfcwd stats; show pfcwd config",
                "nxos": "show queuing pfc-queue detail",
                "eos": "show priority-flow-control counters watchdog",
                "cumulus": "nv show interface swp4 qos pfc-watchdog"},
             "Stormed or shut queues, how often, whether they were restored. No watchdog at all: the storm goes on until somebody ends it."),
            ("Is the root a NIC that is stuck?", {
                "host": "ethtool -S eth0 | grep -E 'tx_prio3_pause|pause_storm'; dmesg | tail -50",
                "sonic": "show logging | grep -i pfc", "nxos": "show logging last 100", "eos": "show logging last 1 hours", "cumulus": "journalctl -S -1h | grep -iE 'pfc|route'"},
             "Host: transmitted pauses that grow while nothing is received. Switches: what changed just before, a route or a link above all."),
        ],
        "decide": [
            ("the root is a NIC", "isolate it: shut its switch port down. If the host must stay reachable on that port, turn PFC off there instead (its own traffic then loses). Cordon the host, reset the NIC"),
            ("it is a circle of switches", "undo the route change that made it. If there was none, shut down one link of the circle that other links can replace; once pauses have ended bring it back"),
            ("the root is a switch port that is merely full", "it is no storm: [RB04](RB04.md)"),
            ("there was no watchdog on the ports on the way", "turn it on afterwards (rules WD001 to WD007), not in the middle of this"),
        ],
        "commands": ("Shutting the port to that NIC", SHUT),
        "undo": "Bring the port back with the opposite command (`startup`, `no shutdown`, `link state up`), PFC first, when the NIC was reset and `tx_prio3_pause` stands still. If pauses return within a minute shut it again.",
        "over": "No port is paused for more than 5 % of the time, the watchdog has restored its queues, and the jobs move.",
    },
    "RB03": {
        "symptom": "A NIC pauses its switch: it cannot take what arrives. The switch's port to the host receives pauses, other ports of the same leaf are fine. What looks like "
                   "congestion of the network is a host.",
        "look": [
            ("Is it this NIC alone?", {
                "rocelab": ASK,
                "host": "ethtool -S eth0 | grep -E 'tx_prio3_pause|rx_discards_phy|out_of_buffer|outbound_pci_stalled'",
                "sonic": "show pfc counters", "nxos": "show interface priority-flow-control", "eos": "show priority-flow-control counters",
                "cumulus": "nv show interface swp4 qos roce counters"},
             "`tx_prio3_pause` grows here and not on the host's peers. `outbound_pci_stalled_wr` above 30 says that PCIe does not take the data."),
            ("Is its PCIe as wide and fast as that of its peers?", {
                "host": "lspci -s $(basename $(readlink /sys/class/net/eth0/device)) -vv | grep -E 'LnkCap:|LnkSta:|MaxReadReq'"},
             "LnkSta must have the speed and width of LnkCap. `downgraded` there is the cause more often than anything else."),
            ("Does the data take a detour in the host?", {
                "host": "nvidia-smi topo -m; cat /sys/class/net/eth0/device/numa_node; lspci -vv | grep ACSCtl; grep -o 'iommu[^ ]*' /proc/cmdline; grep Huge /proc/meminfo"},
             "GPU and NIC below one PCIe switch (PIX or PXB). ACS off (`SrcValid-`) on the bridges between them, IOMMU off or in pass-through, large pages for the buffers."),
        ],
        "decide": [
            ("PCIe is slower or narrower than its capability", "cordon the host, reseat or replace; no change of the fabric helps"),
            ("ACS or IOMMU differs from the peers", "put the host's settings right, reboot, measure with `ib_write_bw --use_cuda=0` against a peer"),
            ("`out_of_buffer` or RNR NAKs grow", "the program posts too few receive buffers: platform team"),
            ("the whole leaf's hosts pause", "it is not one host: firmware or a setting that was rolled out; compare with `rocelab diff`"),
        ],
        "undo": "Uncordon the host when its NIC sends no pauses under `ib_write_bw` at line rate. Settings of the fabric were not touched.",
        "over": "The NIC pauses its switch for less than 1 % of the time under load.",
    },
    "RB04": {
        "symptom": "A switch's port to a host is full all the time, many senders want it at once, and the switch pauses its own ports. Pauses spread upward, and flows that go elsewhere "
                   "over the paused ports stand still too: these are victims, not causes.",
        "look": [
            ("Which egress port is full, and who pauses for it?", {
                "rocelab": ASK,
                "sonic": "show queue watermark unicast; show interfaces counters # TX_UTIL",
                "nxos": "show queuing interface ethernet 1/4 ; show interface ethernet 1/4 counters detailed",
                "eos": "show interfaces counters rates ; show interfaces counters queue detail",
                "cumulus": "nv show interface swp4 counters ; nv show interface swp4 qos roce counters"},
             "A port to a host above 90 % that receives no pauses itself, on a switch that sends pauses on several others."),
            ("Does congestion control work for these senders?", {
                "rocelab": "rocelab check --explain ECN003 fabric.yaml",
                "sonic": "show queue wredcounters", "nxos": "show queuing interface ethernet 1/4 # ECN marked", "eos": "show qos interfaces ecn counters queue",
                "cumulus": "nv show interface swp4 qos roce counters # tx-ecn-stats",
                "host": "rdma statistic show link mlx5_0/1 | grep -oE '(np_cnp_sent|rp_cnp_handled|np_ecn_marked_roce_packets) [0-9]+'"},
             "Marks at the full port, CNPs sent by the receiver, CNPs handled by the senders. The first of these that stands still says where to go on."),
            ("How many senders, with how many queue pairs?", {
                "host": "rdma resource show qp | grep -c RTS; env | grep NCCL_IB_QPS # on the receiver, in the job's environment"},
             "Fan-in of the job against what the buffers were made for (`check: fan-in` in the fabric file; rules ECN003, BUF001)."),
        ],
        "decide": [
            ("there are no marks", "[RB05](RB05.md)"),
            ("marks, but no CNPs sent or handled", "[RB06](RB06.md)"),
            ("the loop works, the fan-in is larger than planned", "platform team: place the job otherwise, fewer queue pairs, or an algorithm with less fan-in (ring or tree instead of pairwise)"),
            ("the loop works, the fan-in is as planned", "thresholds are too high or reaction too slow: change them in a copy of the fabric file, compare with `rocelab sweep`, then roll out the approved file"),
        ],
        "undo": "Thresholds: roll out the approved file again, `rocelab diff` must be empty. Placement: nothing to undo.",
        "over": "No port between switches is paused for more than 5 % of the time while the same job runs.",
    },
    "RB05": {
        "symptom": "A switch sends pauses and marks nothing in that priority. Senders are never told to slow down, so PFC does the work that congestion control should do.",
        "look": [
            ("Which queues pause without marking?", {
                "rocelab": ASK,
                "sonic": "show pfc counters; show queue wredcounters",
                "nxos": "show queuing interface ethernet 1/4 # TxPPP, and WRED/ECN rows",
                "eos": "show priority-flow-control counters ; show qos interfaces ecn counters queue",
                "cumulus": "nv show interface swp4 qos roce counters # tx-pfc-stats, tx-ecn-stats"},
             "TX pauses that grow beside marks that do not. EOS shows `-` where marks are not counted (`random-detect ecn count`): that is no zero."),
            ("Is ECN on there, and does it begin below the pause threshold?", {
                "rocelab": "rocelab check --explain ECN003 fabric.yaml",
                "sonic": "show ecn; show buffer configuration",
                "nxos": "show policy-map interface ethernet 1/4 type queuing",
                "eos": "show qos interfaces Ethernet4/1 ecn",
                "cumulus": "nv show interface swp4 qos congestion-control"},
             "Kmin and Kmax against the pause threshold. With a shared buffer the threshold falls when several ports are full: compare at the planned fan-in."),
            ("Do hosts send packets that can be marked?", {
                "host": "cat /sys/class/net/eth0/ecn/roce_rp/enable/3 /sys/class/net/eth0/ecn/roce_np/enable/3; tcpdump -ni mlx5_0 -vc 5 udp dst port 4791 | grep -o 'tos 0x[0-9a-f]*'"},
             "Both 1. (tcpdump sees RDMA on the RDMA device, `mlx5_0`, not on `eth0`.) The last two bits of the TOS byte are 01 or 10 (ECT); 00 cannot be marked and is not."),
        ],
        "decide": [
            ("ECN is off on one switch or port", "turn it on there: rule ECN001"),
            ("Kmin is above the pause threshold, or the curve does not rise", "rules ECN003 and ECN002; a wrong unit (ECN007: KB, cells, segments) is a common reason"),
            ("hosts send without ECT", "host team: congestion control of that priority, and the traffic class of the job (HOST002, HOST004)"),
            ("marks are simply not counted", "turn counting on (ECN009), then look again"),
        ],
        "undo": "Roll out the approved thresholds again. Marking lower than before costs bandwidth: compare the job's time before and after.",
        "over": "The switch marks wherever it pauses, and pauses less than before.",
    },
    "RB06": {
        "symptom": "Switches mark, but senders do not slow down: receivers send no CNPs, or fewer arrive than were sent, or senders ignore them. Queues stay long and pauses follow.",
        "look": [
            ("Where in the loop does it stop?", {
                "rocelab": ASK,
                "host": "rdma statistic show | grep -oE 'link [^ ]+|(np_ecn_marked_roce_packets|np_cnp_sent|rp_cnp_handled|rp_cnp_ignored) [0-9]+'"},
             "At receivers: marked packets, CNPs sent. At senders: CNPs handled, ignored. Sums over all hosts of the job must agree within 2 %."),
            ("Are both halves on, for this priority, on every host?", {
                "rocelab": drift("HOST004|MAP005|MAP006"),
                "host": "cat /sys/class/net/eth0/ecn/roce_np/enable/3 /sys/class/net/eth0/ecn/roce_rp/enable/3 /sys/class/net/eth0/ecn/roce_np/cnp_dscp"},
             "1 and 1 on all hosts, and the same DSCP for CNPs (48 by default)."),
            ("Which queue do CNPs take in switches, and is it dropping?", {
                "sonic": "sonic-db-cli CONFIG_DB hgetall 'DSCP_TO_TC_MAP|AZURE'; show queue counters Ethernet12",
                "nxos": "show policy-map interface ethernet 1/4 ; show queuing interface ethernet 1/4",
                "eos": "show qos maps ; show interfaces Ethernet4/1 counters queue detail",
                "cumulus": "nv show interface swp4 qos roce counters # tx-cnp-stats"},
             "DSCP 48 leads to a strict queue of its own without drops, on every hop. In the queue of the data CNPs arrive too late; in a small lossy one they are lost."),
        ],
        "decide": [
            ("marked packets arrive, no CNPs are sent", "the notification point is off, or off for this priority: host team"),
            ("fewer CNPs handled than sent, drops in their queue", "give CNPs a strict queue (MAP005) and the same DSCP everywhere (MAP006): fabric team"),
            ("no drops, but CNPs share the data's queue", "the same: MAP005"),
            ("`rp_cnp_ignored` grows", "the reaction point is off on that sender (HOST004): host team"),
        ],
        "undo": "Class maps: roll out the approved file again. Hosts: write the old value of `enable`; it does not survive a reboot by itself, so fix the start script as well.",
        "over": "CNPs handled are within 2 % of CNPs sent over five minutes.",
    },
    "RB07": {
        "symptom": "NICs send packets again (NAKs: something was lost or out of order), or wait for acknowledgements that never come (timeouts: the path itself is gone). NCCL says "
                   "`status=12`, or `IBV_WC_RETRY_EXC_ERR`, when retries are used up.",
        "look": [
            ("NAKs or timeouts, and for whom?", {
                "rocelab": ASK,
                "host": "rdma statistic show | grep -oE 'link [^ ]+|(packet_seq_err|out_of_sequence|local_ack_timeout_err|rnr_nak_retry_err|roce_adp_retrans) [0-9]+'; grep -hE 'status=[A-Z_]*[(]?12' nccl*.log"},
             "One host only: its cable or NIC. All hosts of a leaf, or all that cross one spine: that link. Timeouts without NAKs: nothing gets through at all."),
            ("Which hop loses?", {
                "rocelab": WALK,
                "sonic": "show interfaces counters errors; show queue counters; show priority-group drop counters",
                "nxos": "show interface counters errors ; show queuing interface",
                "eos": "show interfaces counters errors ; show interfaces counters discards",
                "cumulus": "nv show interface swp4 counters # of each port on the path"},
             "Drops or errors that grow on a port of the path. What one end sends and the other does not receive is lost on the cable."),
            ("Did a link or a route change?", {
                "sonic": "show interfaces status; show ip bgp summary; show logging | grep -iE 'link|bgp'",
                "nxos": "show interface status ; show ip bgp summary ; show logging last 100",
                "eos": "show interfaces status ; show ip bgp summary ; show logging last 1 hours",
                "cumulus": "nv show interface ; nv show vrf default router bgp neighbor ; journalctl -S -1h",
                "host": "ip -s link show eth0; dmesg | grep -iE 'link (up|down)'"},
             "A link that is down while routes still point at it is a black hole. Compare how long routes took with timeout x retries (4.096 us x 2^timeout, by 7)."),
        ],
        "decide": [
            ("drops in a lossless class", "[RB01](RB01.md)"),
            ("CRC or FEC errors on the cable", "[RB11](RB11.md)"),
            ("only large messages, or drops for size", "[RB09](RB09.md)"),
            ("out of order without any loss", "[RB13](RB13.md)"),
            ("a link is down and routes have not followed", "take it out of the routes by hand (shut both ends, or the BGP session), then [RB12](RB12.md)"),
            ("routes followed, but later than the retries lasted", "shorten convergence (BFD), or let the host team raise `NCCL_IB_TIMEOUT` and retries"),
            ("RNR NAKs", "the receiving program posts too few buffers: platform team"),
            ("a queue pair or a connection never came up (D34)", "addresses and GIDs of both ends (`show_gids`, the index of RoCEv2), `ping` between them, `ip route get`; of rails that are not connected "
             "`NCCL_CROSS_NIC=0`"),
        ],
        "undo": "A BGP session or port that was shut comes back when its errors stand still under load. Raised timeouts hide later losses: write down that they were raised.",
        "over": "No timeout in five minutes, and fewer than one packet in 100,000 sent again.",
    },
    "RB08": {
        "symptom": "Links that should share traffic evenly do not: some are full, others nearly empty. A hash of few flows always gives some of that (1.2 to 2.5 times the mean); only what "
                   "is beyond the expectation is worth an action.",
        "look": [
            ("Is it more than hashing explains?", {
                "rocelab": ASK,
                "sonic": "show interfaces counters # TX_UTIL of the uplinks", "nxos": "show interface counters brief", "eos": "show interfaces counters rates",
                "cumulus": "nv show interface swp4 counters # of each uplink"},
             "Largest over mean of one switch's uplinks, against the expected ratio. Info and `expected` means: leave it alone."),
            ("What does each tier hash over, and with which seed?", {
                "rocelab": drift("TOP004|HOST006"),
                "sonic": "show switch-hash global", "nxos": "show ip load-sharing", "eos": "show load-balance profile", "cumulus": "nv show system forwarding ecmp-hash"},
             "The UDP source port must be among the fields. Two tiers with the same seed polarise: the second one uses only some of its links."),
            ("How many flows are there to spread?", {
                "host": "rdma resource show qp | grep -c RTS; env | grep -E 'NCCL_IB_(QPS_PER_CONNECTION|SPLIT_DATA_ON_QPS)'"},
             "At least two flows for each uplink (HOST006)."),
        ],
        "decide": [
            ("it is within the expectation", "no action; more queue pairs if the job needs the bandwidth"),
            ("a tier leaves links empty", "a seed of its own for each tier (TOP004)"),
            ("few large flows", "platform team: `NCCL_IB_QPS_PER_CONNECTION=4`; or fabric team: hash over the queue pair, flowlets, adaptive routing"),
            ("one link has less than its siblings, always", "it may be slow or broken: [RB11](RB11.md), or gone: [RB12](RB12.md)"),
        ],
        "undo": "Seeds and hash fields move every flow at once: change them in a maintenance window, one tier at a time; the old value brings the old paths back. Queue pairs: set the variable back.",
        "over": "The tier is less than 1.2 times as uneven as expected, over ten minutes.",
    },
    "RB09": {
        "symptom": "RDMA travels in a class that is not meant for it from some hop on (no PFC there, so it is lost under load), or frames larger than a port takes are dropped: small messages "
                   "work, large ones time out.",
        "look": [
            ("From which hop on is the class wrong, or which port drops for size?", {
                "rocelab": ASK,
                "sonic": "show queue counters; show interfaces counters errors", "nxos": "show queuing interface ethernet 1/4 ; show interface ethernet 1/4 | include giants",
                "eos": "show interfaces counters queue detail ; show interfaces counters errors", "cumulus": "nv show interface swp4 counters ; nv show interface swp4 qos roce counters",
                "host": "ethtool -S eth0 | grep -E '(rx|tx)_prio[0-7]_bytes'"},
             "Along one path: the first switch whose bytes leave in queue 0 instead of queue 3 has the wrong map, or the one before it rewrites. Giants or oversize frames: the port's MTU."),
            ("What is configured on that hop and on its neighbours?", {
                "rocelab": drift("MAP00|MTU001|HOST00"),
                "sonic": "sonic-db-cli CONFIG_DB hgetall 'PORT_QOS_MAP|Ethernet12'; sonic-db-cli CONFIG_DB hgetall 'DSCP_TO_TC_MAP|AZURE'; show interfaces status Ethernet12",
                "nxos": "show policy-map interface ethernet 1/4 type qos ; show interface ethernet 1/4 | include MTU",
                "eos": "show qos maps ; show qos interfaces Ethernet4/1 ; show interfaces Ethernet4/1 | include MTU",
                "cumulus": "nv show interface swp4 qos roce status ; nv show interface swp4 link"},
             "Trust DSCP on every port, one map everywhere, nobody rewrites. MTU of both ends of each cable at least 4096 plus headers (9000 is usual)."),
            ("What do hosts send?", {
                "host": "mlnx_qos -i eth0 | grep -i trust; cat /sys/class/infiniband/mlx5_0/tc/1/traffic_class; env | grep NCCL_IB_TC; ip link show eth0; ibv_devinfo -d mlx5_0 | grep mtu"},
             "Trust state dscp; the traffic class is DSCP x 4 (104 for DSCP 26); the active MTU fits the path."),
        ],
        "decide": [
            ("one switch maps or rewrites otherwise", "roll out the approved map there: rules MAP001 to MAP004"),
            ("hosts send with DSCP 0", "host team: trust and traffic class (HOST001, HOST002)"),
            ("one port has a smaller MTU", "set it as its peers have it (MTU001); until then take the link out of use"),
        ],
        "undo": "A map moves traffic between queues at once: drain the switch first if jobs run. The old map is in the approved file's history. A larger MTU needs no undo.",
        "over": "Less than 1 % of the bytes in classes that are not planned, and no drop for size in five minutes.",
    },
    "RB10": {
        "symptom": "Steps of a training job take longer than their baseline. Four conditions say whether the network is to blame: the step takes at least 5 % longer; at least 70 % of "
                   "the added time is waiting for communication; late ranks explain less than 30 % of it; and the network has a finding on a path of the job.",
        "look": [
            ("Which of the four conditions hold?", {
                "rocelab": "rocelab diagnose --baseline baseline.json --fabric fabric.yaml dumps/"},
             "The verdict with its four numbers and the cost in GPU-hours. The first condition that fails says whose it is."),
            ("Does one rank compute longer, and the others wait for it?", {
                "host": "dcgmi dmon -e 1004,155,112 -c 10 # tensor active, power, clocks' throttle reasons; nvidia-smi -q -d PERFORMANCE"},
             "One GPU with lower clocks, throttling or XID errors. GPU utilisation says nothing: waiting in NCCL counts as 100 %; look at tensor activity."),
            ("Who arrives last in the collectives?", {
                "host": "echo verbose status | nc localhost 28028; NCCL_PROFILER_PLUGIN=librocelab-nccl-profiler.so # for the next start of the job"},
             "Time that senders wait for the GPU: compute. For the peer: that peer is late. For the network: the network."),
        ],
        "decide": [
            ("step time is within 5 % of the baseline", "nothing is wrong; the baseline may belong to another size or placement"),
            ("added time is compute, or one rank is late", "platform team: cordon that GPU; the network is acquitted"),
            ("a log says status 1, 4, 9, 10, 13, or that memory was not registered (D35)", "the program, `ulimit -l`, GPU memory: the network carried it"),
            ("ranks wait in different collectives, or one is missing (D36)", "that rank's log, process and host; the flight recorder of all ranks"),
            ("all wait, and there is a finding of the network", "that finding's runbook"),
            ("all wait, and there is no finding", "host, NVLink or missing telemetry: [RB00](RB00.md)"),
        ],
        "undo": "Uncordon the GPU when a test on it alone reaches the baseline. A new baseline is stored only with a signed validation.",
        "over": "Steps are within 5 % of the baseline over ten steps or five minutes.",
    },
    "RB11": {
        "symptom": "A cable or an optic is bad: errors of CRC or FEC, lost lanes and a lower rate, flaps, heat. Flows over it send again, or its siblings carry its share.",
        "look": [
            ("Which cable, and which end sees it?", {
                "rocelab": WALK,
                "sonic": "show interfaces counters errors; show interfaces counters fec-stats; show interfaces status Ethernet12",
                "nxos": "show interface ethernet 1/4 counters errors ; show interface ethernet 1/4",
                "eos": "show interfaces Ethernet4/1 counters errors ; show interfaces Ethernet4/1 phy detail",
                "cumulus": "nv show interface swp4 counters ; nv show interface swp4 link",
                "host": "ethtool -S eth0 | grep -E 'crc|symbol|corrected|link_down'; ethtool eth0 | grep -E 'Speed|Lanes'"},
             "Errors are counted where bits arrive: the transmitter at the other end, the cable or this receiver is bad. Uncorrectable FEC blocks must not grow at all; "
             "corrected ones are normal, up to a pre-FEC BER of 2.4e-4."),
            ("What do the optics say, at both ends?", {
                "sonic": "show interfaces transceiver eeprom --dom Ethernet12", "nxos": "show interface ethernet 1/4 transceiver details",
                "eos": "show interfaces Ethernet4/1 transceiver detail", "cumulus": "nv show interface swp4 transceiver", "host": "ethtool -m eth0; mlxlink -d mlx5_0 -m -c"},
             "Temperature (above 70 C is too hot), power of each lane (one lane far below the others: dirt or a broken fibre)."),
            ("Since when, and how often?", {
                "sonic": "show logging | grep Ethernet12", "nxos": "show interface ethernet 1/4 | include flapped ; show logging last 100", "eos": "show interfaces Ethernet4/1 | include link status changes",
                "cumulus": "journalctl -S -1d | grep swp4", "host": "ethtool -S eth0 | grep link_down_events_phy; dmesg | grep eth0"},
             "Five flaps in a day make a link bad. Many ports at once: cooling, power or a maintenance, not cables."),
        ],
        "decide": [
            ("errors grow", "drain the link (raise its cost or shut it), clean and reseat, then swap the optic, then the cable, one at a time, each with a test"),
            ("the rate is lower than it should be", "lanes are lost: the same; a link at half its rate in a group of equals slows every flow that is hashed to it, so shutting it is better than leaving it"),
            ("hot, without errors", "airflow, fans, the port beside it; plan a swap"),
            ("flaps", "shut it before it flaps again: each flap costs every job a route change"),
        ],
        "commands": ("Shutting the port, at both ends", SHUT),
        "undo": "Bring the link back (`startup`, `no shutdown`, `link state up`) after ten minutes of test traffic without an error. Write down which part was swapped.",
        "over": "No CRC or uncorrectable error for an hour, the full rate, temperature below 70 C.",
    },
    "RB12": {
        "symptom": "Links are down, or in maintenance, and what is left is full. All parallel links are equally loaded; nothing is broken on those that work.",
        "look": [
            ("Which links are missing from the plan?", {
                "rocelab": WALK,
                "sonic": "show interfaces status | grep -v 'up *up'; show lldp table", "nxos": "show interface status | exclude connected ; show lldp neighbors",
                "eos": "show interfaces status notconnect ; show lldp neighbors", "cumulus": "nv show interface ; lldpctl", "host": "rdma link; ip -br link"},
             "Links of the fabric file that are down, neighbours that are not those of the plan, hosts with fewer links up than their peers."),
            ("Why is it down?", {
                "sonic": "show logging | grep Ethernet12; show interfaces transceiver presence Ethernet12", "nxos": "show interface ethernet 1/4 ; show logging last 100",
                "eos": "show interfaces Ethernet4/1 ; show logging last 1 hours", "cumulus": "nv show interface swp4 link ; journalctl -S -1h | grep swp4", "host": "dmesg | grep -i link; mlxlink -d mlx5_0"},
             "Administratively down: somebody's maintenance, ask. Errors before it went: [RB11](RB11.md). The far end gone: the device."),
            ("Is what is left enough for the jobs?", {
                "rocelab": "rocelab sim --each link fabric.yaml",
                "sonic": "show interfaces counters # TX_UTIL", "nxos": "show interface counters brief", "eos": "show interfaces counters rates", "cumulus": "nv show interface swp4 counters # of each uplink"},
             "What each lost link costs each job, against what you see. All siblings above 90 %: capacity is missing."),
        ],
        "decide": [
            ("a maintenance that is over", "bring the links back"),
            ("a broken link", "[RB11](RB11.md); the jobs wait or move"),
            ("no link is missing", "the fabric is oversubscribed for this placement: platform team places ranks nearer to each other; TOP005 states the ratio"),
            ("routes still point at a link that is down", "[RB07](RB07.md)"),
        ],
        "undo": "Jobs that were moved may stay. Bring links back one at a time and watch pauses for a minute after each.",
        "over": "Every link of the plan is up.",
    },
    "RB13": {
        "symptom": "Receivers count `out_of_sequence` and senders go back, but no switch drops and no cable has errors: packets arrive in another order than they were sent, and the NIC "
                   "takes that for loss.",
        "look": [
            ("Is it really order, and not loss?", {
                "rocelab": ASK,
                "host": "rdma statistic show | grep -oE 'link [^ ]+|(out_of_sequence|packet_seq_err|duplicate_request) [0-9]+'",
                "sonic": "show interfaces counters errors; show queue counters", "nxos": "show interface counters errors ; show queuing interface",
                "eos": "show interfaces counters errors ; show interfaces counters queue detail", "cumulus": "nv show interface swp4 counters"},
             "`out_of_sequence` grows at many receivers; drops, CRC and FEC stand still everywhere. Otherwise: [RB07](RB07.md)."),
            ("Does the fabric spread a flow over several paths?", {
                "sonic": "show switch-hash global; show runningconfiguration all | grep -iE 'spray|dlb|adaptive'",
                "nxos": "show running-config | include 'dlb|spray|load-sharing'", "eos": "show running-config section load-balance",
                "cumulus": "nv show router adaptive-routing"},
             "Per-packet spraying, flowlets with too short a gap, or adaptive routing, and since when."),
            ("Can the NICs take packets out of order?", {
                "host": "mlxreg -d mlx5_0 --reg_name ROCE_ACCL --get"},
             "Adaptive routing or selective repeat on at both ends, in firmware and for this traffic class. Go-back-N cannot."),
        ],
        "decide": [
            ("the fabric sprays, NICs cannot", "turn spraying off for the RDMA class (quick), or turn it on in all NICs of the job (better, needs their firmware)"),
            ("only some hosts suffer", "host team: their NICs' mode differs from the peers'"),
            ("flowlets", "a longer gap than the difference between paths"),
            ("nothing spreads flows", "a route flaps between paths: [RB07](RB07.md), links: [RB11](RB11.md)"),
        ],
        "undo": "Turning spraying off brings back what hashing gives: expect uneven links ([RB08](RB08.md)). Turn it on again when every NIC can take it.",
        "over": "`out_of_sequence` stands still for five minutes under load; Retransmissions, if it led to [RB07](RB07.md) first, clears with it.",
    },
    "RB14": {
        "symptom": "A program under `rocelab run` was told to lose, corrupt, reorder, repeat, delay or mark what it sends (`--fault`, or `ROCELAB_FAULT` in its "
                   "environment). Its timeouts and retransmissions, and what its peers receive wrong, say nothing of the network.",
        "look": [
            ("Which programs, and what do they do?", {"rocelab": "rocelab counters | grep -E 'process|wire_fault'"},
             "`wire_fault_lost` and its sisters are packets of that process. A process without them has no faults of its own."),
            ("Who asked for it?", {"host": "tr '\\0' '\\n' </proc/PID/environ | grep ROCELAB_FAULT"},
             "The text says which faults; a job's script or a shell that exported it once is the usual origin."),
            ("What is left without it?", {"rocelab": "rocelab diagnose live --interval 10s"},
             "Ask again when the program runs without: what is found then is the network's."),
        ],
        "decide": [
            ("the test is meant to have faults", "nothing: read the findings that this one does not explain"),
            ("what is left without faults is found too", "follow that finding's runbook: its own page, [RB07](RB07.md) for retransmissions"),
            ("nobody meant it", "run the program without `--fault`, and take `ROCELAB_FAULT` out of its environment"),
        ],
        "undo": "Start the program with the same `--fault` again; `seed=N` in it gives the same faults.",
        "over": "The `wire_fault` counters stand still.",
    },
    "RB15": {
        "symptom": "A job is slow, nothing is lost and hardly anybody is paused, and yet no link is full: senders have data and wait until congestion control lets them send. "
                   "It looks like an incast whose port is only half used.",
        "look": [
            ("Who is held back, and how busy is the busiest link on the way?", {
                "rocelab": "rocelab sim --json fabric.yaml > run.json; rocelab diagnose run.json",
                "sonic": "show interfaces counters # TX_UTIL; show queue wredcounters",
                "nxos": "show queuing interface ethernet 1/4 # WRED & ECN marked",
                "eos": "show qos interfaces Ethernet4/1 ecn counters queue ; show interfaces Ethernet4/1 counters rates",
                "cumulus": "nv show interface swp4 qos roce counters # ecn-marked-packets",
                "host": "rdma statistic show link mlx5_0/1 # np_ecn_marked_roce_packets, rp_cnp_handled"},
             "Marks and CNPs, and a port that is far from full. No device says how long a NIC waited for its rate; a simulation of the fabric does."),
            ("Where do marks begin?", {
                "rocelab": "rocelab check --explain ECN005 fabric.yaml",
                "sonic": "show ecn", "nxos": "show policy-map type queuing", "eos": "show qos profile",
                "cumulus": "nv show qos congestion-control"},
             "Kmin below what senders have under way in a round trip marks a queue that is not one."),
            ("How fast do senders recover?", {
                "rocelab": "rocelab tune --vary ecn,dcqcn fabric.yaml",
                "host": "grep -r . /sys/class/net/eth0/ecn/roce_rp/ # rpg_time_reset, rpg_ai_rate, rpg_hai_rate, rpg_byte_reset"},
             "What the best of the tried settings changes, and by how much the job gains."),
        ],
        "decide": [
            ("marks begin too early", "raise Kmin and Kmax, or lower the probability, on all switches alike; keep Kmin below the pause threshold (ECN002)"),
            ("thresholds are right, rates recover slowly", "change DCQCN's parameters of all NICs as `rocelab tune` found them, on two hosts first"),
            ("CNPs are late or lost", "that comes first: [RB06](RB06.md)"),
            ("flows met on one link", "they would be slow without congestion control too: [RB08](RB08.md)"),
        ],
        "undo": "Put the thresholds and parameters back from the approved configuration; both take effect at once and need no reset.",
        "over": "The job's time is within 15 % of its ideal, or the busiest link on the way is full.",
    },
}


def listed():
    """(id, team, title) of each runbook."""
    return re.findall(r'^RUNBOOK\((RB\d\d), (\w+), "([^"]*)"\)$', (DIAGNOSE / "runbooks.def").read_text(encoding="utf-8"), re.MULTILINE)


def rules_of():
    """The rules of a diagnosis and the runbook each names: {D02: RB02}."""
    text = (DIAGNOSE / "rules.def").read_text(encoding="utf-8")
    entries = re.split(r"^(?=[A-Z]+\(D\d\d,)", text, flags=re.MULTILINE)[1:]
    return {re.match(r"[A-Z]+\((D\d\d)", entry)[1]: re.findall(r"\bRB\d\d\b", re.sub(r'"(?:\\.|[^"\\])*"', '""', entry)) for entry in entries}
