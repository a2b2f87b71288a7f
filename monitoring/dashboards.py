# SPDX-License-Identifier: Apache-2.0
"""The one list of dashboards: what each panel shows, and of which metric.

A panel is (title, metric, kind, expression, legend, runbooks).  The metric gives the panel its description and its unit: kind `rate` is of a counter, a second;
`share` is a part of 1; `value` is as the metric has it.  Lists may have several pairs of expression and legend.  Runbooks, where to go on from what the panel shows, may be
left out.
"""

FABRIC = 'fabric="$fabric"'
JOB = FABRIC + ', job_name=~"$job"'
DEVICE = FABRIC + ', switch=~"$device"'
PRIORITY = DEVICE + ', priority=~"$priority"'
PORTS = FABRIC + ', port=~"($device)(:.*)?"'
NICS = FABRIC + ', device=~"($device)(:.*)?"'

# name, expression of its values, all values at once
VARIABLES = [
    ("fabric", "label_values(rocelab_link_info, fabric)", False),
    ("job", 'label_values(rocelab_job_bytes_total{fabric="$fabric"}, job_name)', True),
    ("device", 'label_values(rocelab_link_info{fabric="$fabric"}, node)', True),
    ("priority", 'label_values(rocelab_class_lossless{fabric="$fabric"}, priority)', True),
]

DASHBOARDS = [
    ("rocelab-job", "rocelab: job", [
        ("Step time", "rocelab_training_step_seconds", "value", f"rocelab_training_step_seconds{{{JOB}}}", "{{job_name}}", "RB10"),
        ("Waiting for communication, of a step", "rocelab_gpu_step_wait_seconds", "share",
         f"rocelab:gpu_step_wait:seconds{{{JOB}}} / on (fabric, job_name) (rocelab_training_step_seconds{{{JOB}}} > 0)", "{{job_name}}", "RB10 RB00"),
        ("GPUs busy", "rocelab_gpu_step_compute_seconds", "share", f"rocelab:gpu_busy:ratio{{{JOB}}}", "{{gpu}}", "RB10"),
        ("Skew: longest compute less the median", "rocelab_gpu_step_compute_seconds", "value", f"rocelab:gpu_step_skew:seconds{{{JOB}}}", "{{job_name}}", "RB10"),
        ("Bus bandwidth of the last run", "rocelab_job_bus_bytes_per_second", "value", f"rocelab_job_bus_bytes_per_second{{{JOB}}} > 0", "{{job_name}}"),
        ("Bytes done", "rocelab_job_bytes_total", "rate", f"rate(rocelab_job_bytes_total{{{JOB}}}[1m])", "{{job_name}}"),
        ("Steps and runs", "rocelab_training_steps_total", "value",
         [(f"rocelab_training_steps_total{{{JOB}}} > 0", "steps of {{job_name}}"), (f"rocelab_job_runs_total{{{JOB}}} > 0", "runs of {{job_name}}")], ""),
        ("Alerts that fire", None, "value", f'count by (alertname, severity) (ALERTS{{alertstate="firing", {FABRIC}}})', "{{alertname}} ({{severity}})"),
    ]),
    ("rocelab-fabric", "rocelab: fabric", [
        ("Lossless drops", "rocelab_switch_drops_total", "rate",
         f"sum by (switch) (rate(rocelab_switch_drops_total{{{FABRIC}}}[1m]) and on (fabric, priority) rocelab_class_lossless == 1)", "{{switch}}", "RB01"),
        ("Drops by reason", "rocelab_switch_port_drops_total", "rate", f"sum by (reason) (rate(rocelab_switch_port_drops_total{{{FABRIC}}}[1m])) > 0", "{{reason}}", "RB01 RB09"),
        ("Paused share, the worst 20 ports", "rocelab_switch_rx_pause_seconds_total", "share",
         f"topk(20, max by (port, peer) (rocelab:pause_share:ratio{{{FABRIC}}})) > 0", "{{port}}, by {{peer}}", "RB02 RB03 RB04"),
        ("Packets marked", "rocelab_switch_ecn_marked_total", "share", f"rocelab:ce_share:ratio{{{FABRIC}}}", "{{switch}}, priority {{priority}}", "RB05 RB06"),
        ("Uneven links, against what the hash explains", "rocelab_tier_uneven_expected_ratio", "value",
         [(f"rocelab:tier_uneven:ratio{{{FABRIC}}}", "{{from}} to {{to}}"),
          (f"rocelab_tier_uneven_expected_ratio{{{FABRIC}}}", "{{from}} to {{to}}, expected")], "", "RB08"),
        ("Headroom used", "rocelab_switch_headroom_limit_bytes", "share", f"topk(20, rocelab:headroom_used:ratio{{{FABRIC}}}) > 0", "{{port}}", "RB01"),
        ("Rails", "rocelab_link_busy_seconds_total", "share", f"rocelab:rail_utilisation:ratio{{{FABRIC}}}", "rail {{rail}}"),
        ("Links used, the busiest 20", "rocelab_link_busy_seconds_total", "share", f"topk(20, rocelab:link_utilisation:ratio{{{FABRIC}}})", "{{port}} to {{peer}}", "RB08 RB12"),
        ("Watchdog", "rocelab_switch_watchdog_detected_total", "value", f"sum by (switch) (rocelab_switch_watchdog_detected_total{{{FABRIC}}}) > 0", "{{switch}}", "RB02"),
        ("Links down, or slower than they should be", "rocelab_link_speed_ratio", "value",
         [(f"rocelab_link_up{{{FABRIC}}} == 0", "{{port}} is down"), (f"rocelab_link_speed_ratio{{{FABRIC}}} < 1", "{{port}}, of its rate")], "", "RB11 RB12"),
        ("Buffer held", "rocelab_switch_buffer_bytes", "value", f"rocelab_switch_buffer_bytes{{{FABRIC}}}", "{{switch}}"),
        ("Bytes by class", "rocelab_switch_tx_bytes_total", "rate",
         f"sum by (class) (rate(rocelab_switch_tx_bytes_total{{{FABRIC}}}[1m]) * on (fabric, priority) group_left (class) (rocelab_class_planned >= 0) ^ 0)", "{{class}}", "RB09"),
    ]),
    ("rocelab-port", "rocelab: ports and NICs", [
        ("Queue, and where marks and pauses begin", "rocelab_switch_queue_bytes", "value",
         [(f"rocelab_switch_queue_bytes{{{PRIORITY}}} > 0", "{{port}}, priority {{priority}}"),
          (f"max by (switch, priority) (rocelab_switch_ecn_min_bytes{{{PRIORITY}}}) > 0", "{{switch}}: marks begin"),
          (f"max by (switch, priority) (rocelab_switch_ecn_max_bytes{{{PRIORITY}}}) > 0", "{{switch}}: everything is marked"),
          (f"max by (switch, priority) (rocelab_switch_pause_limit_bytes{{{PRIORITY}}}) > 0", "{{switch}}: pauses")], "", "RB05"),
        ("Delay in the queue", "rocelab_switch_queue_delay_seconds", "value", f"rocelab_switch_queue_delay_seconds{{{PRIORITY}}} > 0", "{{port}}, priority {{priority}}"),
        ("Paused by the peer, and pausing it", "rocelab_switch_rx_pause_seconds_total", "share",
         [(f"rate(rocelab_switch_rx_pause_seconds_total{{{PRIORITY}}}[1m]) > 0", "{{port}} is paused"),
          (f"rate(rocelab_switch_tx_pause_seconds_total{{{PRIORITY}}}[1m]) > 0", "{{port}} pauses"),
          (f'rate(rdma_roce_pfc_pause_duration_total{{{NICS}, direction="rx"}}[1m]) / 1e6 > 0', "{{device}} is paused")], "", "RB02 RB03 RB04"),
        ("Pause frames", "rocelab_switch_tx_xoff_total", "rate",
         [(f"rate(rocelab_switch_tx_xoff_total{{{PRIORITY}}}[1m]) > 0", "{{port}} sends"),
          (f'rate(rdma_roce_pfc_pause_frames_total{{{NICS}}}[1m]) > 0', "{{device}}, {{direction}}")], "", "RB02 RB03 RB04"),
        ("Marks and CNPs", "rocelab_switch_ecn_marked_total", "rate",
         [(f"rate(rocelab_switch_ecn_marked_total{{{PRIORITY}}}[1m]) > 0", "{{port}} marks"),
          (f"rate(rdma_np_cnp_sent_total{{{NICS}}}[1m]) > 0", "{{device}} sends CNPs"),
          (f"rate(rdma_rp_cnp_handled_total{{{NICS}}}[1m]) > 0", "{{device}} handles CNPs")], "", "RB05 RB06"),
        ("Sent again, and timeouts", "rdma_retransmitted_packets_total", "rate",
         [(f"rate(rdma_retransmitted_packets_total{{{NICS}}}[1m]) > 0", "{{device}} sends again"),
          (f"rate(rdma_out_of_sequence_total{{{NICS}}}[1m]) > 0", "{{device}} sees gaps"),
          (f"rate(rdma_local_ack_timeout_err_total{{{NICS}}}[1m]) > 0", "{{device}}: timeouts")], "", "RB07 RB13"),
        ("Payload of NICs", "rdma_rx_payload_bytes_total", "rate",
         [(f"rate(rdma_rx_payload_bytes_total{{{NICS}}}[1m])", "{{device}} receives"), (f"rate(rdma_tx_payload_bytes_total{{{NICS}}}[1m])", "{{device}} sends")], ""),
        ("Utilisation", "rocelab_link_busy_seconds_total", "share", f"rocelab:link_utilisation:ratio{{{PORTS}}}", "{{port}} to {{peer}}"),
        ("Lost on the line", "rocelab_link_crc_errors_total", "value",
         [(f"rocelab_link_crc_errors_total{{{PORTS}}} > 0", "{{port}}: wrong bits"), (f"rocelab_link_lost_packets_total{{{PORTS}}} > 0", "{{port}}: lost"),
          (f"rocelab_link_down_total{{{PORTS}}} > 0", "{{port}}: went down")], "", "RB11"),
        ("Temperature of optics", "rocelab_optic_temperature_celsius", "value", f"rocelab_optic_temperature_celsius{{{PORTS}}}", "{{port}}", "RB11"),
        ("Wrong bits before FEC", "rocelab_optic_pre_fec_ber", "value", f"rocelab_optic_pre_fec_ber{{{PORTS}}}", "{{port}}", "RB11"),
    ]),
]
