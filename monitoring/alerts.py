# SPDX-License-Identifier: Apache-2.0
"""The one list of alerts, and of what they are computed from.  Whose an alert is says its runbook (src/diagnose/runbooks.def).

Expressions are shares and ratios, so that rate and scale cancel.  Which priorities are lossless, and which are meant to be used, the
exposition says itself (rocelab_class_*), so that the rules fit any fabric.  Durations are written as Prometheus has them; make.py can make all of
them shorter by one factor.  What an alert has in common with a rule of diagnosis it takes from src/diagnose/limits.def.
"""
import pathlib
import re

LIMITS = dict(re.findall(r"^LIMIT\((\w+), ([0-9.]+),", (pathlib.Path(__file__).parents[1] / "src/diagnose/limits.def").read_text(encoding="utf-8"), re.M))

TEAMS = {
    "fabric": "thresholds of ECN and PFC, buffers, the watchdog, class maps, cables and optics",
    "host": "NIC firmware, congestion control, trust, PCIe and memory of hosts",
    "platform": "placement of ranks, NCCL's variables, GPUs, what counts as degraded",
}

# Where a port is, beside its own labels.
HERE = "* on (fabric, port) group_left (node, peer, from, to, rail) rocelab_link_info"
LOSSLESS = "on (fabric, priority) rocelab_class_lossless == 1"

# name, expression
RECORDS = [
    ("rocelab:link_utilisation:ratio", f"rate(rocelab_link_busy_seconds_total[1m]) {HERE}"),
    ("rocelab:rail_utilisation:ratio", 'avg by (fabric, rail) (rocelab:link_utilisation:ratio{rail!=""})'),
    ("rocelab:pause_share:ratio", f"rate(rocelab_switch_rx_pause_seconds_total[1m]) {HERE}"),
    ("rocelab:ce_share:ratio",
     "sum by (fabric, switch, priority) (rate(rocelab_switch_ecn_marked_total[1m])) / "
     "(sum by (fabric, switch, priority) (rate(rocelab_switch_tx_packets_total[1m])) > 0)"),
    ("rocelab:headroom_used:ratio", "rocelab_switch_headroom_max_bytes / (rocelab_switch_headroom_limit_bytes > 0)"),
    ("rocelab:tier_uneven:ratio",
     f"avg by (fabric, from, to) (max by (fabric, node, from, to) (rate(rocelab_link_tx_line_bytes_total[10m]) {HERE}) / "
     f"(avg by (fabric, node, from, to) (rate(rocelab_link_tx_line_bytes_total[10m]) {HERE}) > 0))"),
    ("rocelab:gpu_busy:ratio",
     "rocelab_gpu_step_compute_seconds / on (fabric, job_name) group_left () (rocelab_training_step_seconds > 0)"),
    ("rocelab:gpu_step_wait:seconds", "avg by (fabric, job_name) (rocelab_gpu_step_wait_seconds)"),
    ("rocelab:gpu_step_skew:seconds",
     "max by (fabric, job_name) (rocelab_gpu_step_compute_seconds) - "
     "quantile by (fabric, job_name) (0.5, rocelab_gpu_step_compute_seconds)"),
]

STEP = "(rocelab_training_step_seconds > 0)"
BEST = "min_over_time(rocelab_training_step_seconds[1d])"
ADDED = f"({STEP} - {BEST})"

# name, severity, for, runbook, layer, expression, summary
ALERTS = [
    ("LosslessDrop", "critical", "0s", "RB01", "network",
     f"increase(rocelab_switch_drops_total[1m]) > 0 and {LOSSLESS} and on (fabric, port) "
     'sum by (fabric, port) (increase(rocelab_switch_port_drops_total{reason=~"headroom|buffer"}[1m])) > 0',
     "{{ $labels.port }} drops packets of the lossless priority {{ $labels.priority }}"),
    ("WatchdogActed", "critical", "0s", "RB02", "network",
     "increase(rocelab_switch_watchdog_detected_total[1m]) > 0",
     "the pause watchdog has cut off {{ $labels.port }}, priority {{ $labels.priority }}"),
    ("PauseStorm", "critical", "2m", "RB02", "network",
     f"rate(rocelab_switch_rx_pause_seconds_total[1m]) > {LIMITS['storm_share']} unless on (fabric, switch, port, priority) "
     "rate(rocelab_switch_tx_bytes_total[1m]) > 0 unless on (fabric, switch, port, priority) "
     "rate(rocelab_switch_watchdog_seconds_total[1m]) > 0",
     "{{ $labels.port }} has been paused without end and sends nothing in priority {{ $labels.priority }}"),
    ("HostPausesFabric", "warning", "2m", "RB03", "network",
     'rocelab:pause_share:ratio{to="host"} > 0.01',
     "the NIC at {{ $labels.peer }} pauses its switch for {{ $value | humanizePercentage }} of the time: a slow receiver"),
    ("PauseShareHigh", "warning", "2m", "RB04", "network",
     "rocelab:pause_share:ratio > 0.05",
     "{{ $labels.port }} is paused for {{ $value | humanizePercentage }} of the time, priority {{ $labels.priority }}"),
    ("PauseWithoutMarks", "warning", "2m", "RB05", "network",
     "sum by (fabric, switch, priority) (rate(rocelab_switch_tx_xoff_total[1m])) > 0 unless on (fabric, switch, priority) "
     "sum by (fabric, switch, priority) (rate(rocelab_switch_ecn_marked_total[1m])) > 0",
     "{{ $labels.switch }} pauses in priority {{ $labels.priority }} and marks nothing"),
    ("CnpLost", "warning", "5m", "RB06", "network",
     "1 - (sum by (fabric) (rate(rdma_rp_cnp_handled_total[5m])) or 0 * sum by (fabric) (rate(rdma_np_cnp_sent_total[5m]))) / "
     f"(sum by (fabric) (rate(rdma_np_cnp_sent_total[5m])) > 0) > {LIMITS['cnp_lost_share']}",
     "{{ $value | humanizePercentage }} of the CNPs that were sent were not handled"),
    ("Retransmissions", "warning", "1m", "RB07", "network",
     f"rate(rdma_retransmitted_packets_total[5m]) / (rate(rdma_tx_data_packets_total[5m]) > 0) > {LIMITS['resent_share']}",
     "{{ $labels.device }} sends {{ $value | humanizePercentage }} of its packets again"),
    ("AckTimeouts", "critical", "0s", "RB07", "network",
     "increase(rdma_local_ack_timeout_err_total[1m]) > 0",
     "acknowledgements to {{ $labels.device }} do not come: a path is lost"),
    ("UplinksUneven", "info", "10m", "RB08", "network",
     f"rocelab:tier_uneven:ratio / on (fabric, from, to) (rocelab_tier_uneven_expected_ratio > 0) > {LIMITS['uneven_ratio']}",
     "links from {{ $labels.from }} to {{ $labels.to }} are {{ $value | humanize }} times as uneven as the hash explains"),
    ("HeadroomNearlyUsed", "warning", "5m", "RB01", "network",
     "rocelab:headroom_used:ratio > 0.8",
     "{{ $labels.port }} has used {{ $value | humanizePercentage }} of its headroom"),
    ("WrongClass", "warning", "5m", "RB09", "network",
     "sum by (fabric, switch) (rate(rocelab_switch_tx_bytes_total[1m]) and on (fabric, priority) rocelab_class_planned == 0) / "
     f"(sum by (fabric, switch) (rate(rocelab_switch_tx_bytes_total[1m])) > 0) > {LIMITS['wrong_class_share']}",
     "{{ $value | humanizePercentage }} of what {{ $labels.switch }} sends is in classes that nothing is meant to use"),
    ("MtuDrop", "critical", "0s", "RB09", "network",
     'increase(rocelab_switch_port_drops_total{reason="mtu"}[1m]) > 0',
     "{{ $labels.port }} drops frames that are too large for a port"),
    ("LinkDown", "warning", "10s", "RB12", "network",
     f"rocelab_link_up {HERE} == 0",
     "the link from {{ $labels.port }} to {{ $labels.peer }} is down"),
    ("LinkDegraded", "warning", "1m", "RB11", "network",
     f"rocelab_link_speed_ratio {HERE} < 1",
     "the link from {{ $labels.port }} to {{ $labels.peer }} runs at {{ $value | humanizePercentage }} of its rate"),
    ("LinkErrors", "warning", "0s", "RB11", "network",
     f"increase(rocelab_link_crc_errors_total[1m]) {HERE} > 0",
     "frames with wrong bits arrive at {{ $labels.port }} from {{ $labels.peer }}"),
    ("LinkFlaps", "warning", "0s", "RB11", "network",
     f"increase(rocelab_link_down_total[1d]) {HERE} >= {LIMITS['flaps_day']}",
     "the link from {{ $labels.port }} to {{ $labels.peer }} went down {{ $value | humanize }} times in a day"),
    ("OpticsHot", "warning", "15m", "RB11", "network",
     f"rocelab_optic_temperature_celsius {HERE} > {LIMITS['optic_hot']}",
     "the optic at {{ $labels.port }} has {{ $value | humanize }} C"),
    ("PreFecErrors", "warning", "10m", "RB11", "network",
     f"rocelab_optic_pre_fec_ber {HERE} > {LIMITS['fec_ber']}",
     "more bits are wrong at {{ $labels.port }} than FEC puts right"),
    ("SlowRank", "warning", "5m", "RB10", "host",
     "rocelab_gpu_step_compute_seconds > on (fabric, job_name) group_left () "
     "1.2 * quantile by (fabric, job_name) (0.5, rocelab_gpu_step_compute_seconds)",
     "the GPU {{ $labels.gpu }} computes longer than the others of {{ $labels.job_name }}, which wait for it"),
    ("TrainingDegraded", "critical", "5m", "RB10", "job",
     f"{STEP} / {BEST} >= {LIMITS['slow_ratio']} and on (fabric, job_name) "
     f"(rocelab:gpu_step_wait:seconds - on (fabric, job_name) min_over_time(rocelab:gpu_step_wait:seconds[1d])) >= on (fabric, job_name) "
     f"{LIMITS['exposed_share']} * {ADDED} and on (fabric, job_name) rocelab:gpu_step_skew:seconds < on (fabric, job_name) {LIMITS['straggler_share']} * {ADDED} and on (fabric) "
     'count by (fabric) (ALERTS{alertstate="firing", layer="network", severity!="info"}) > 0',
     "steps of {{ $labels.job_name }} take {{ $value | humanize }} times as long as they did, for the network"),
]

# Who is silent while another fires in the same fabric: consequences are not paged for.
INHIBITS = [
    (["PauseStorm", "WatchdogActed"], ["PauseShareHigh", "HostPausesFabric", "PauseWithoutMarks", "HeadroomNearlyUsed"]),
    (["LinkDown", "LinkErrors", "LosslessDrop"], ["Retransmissions"]),
    (["LinkErrors"], ["PreFecErrors", "OpticsHot"]),
]
