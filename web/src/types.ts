// SPDX-License-Identifier: Apache-2.0
// The documents of rocelab, as `rocelab help fields` says them: what the page reads of each.  Keys that came later, or that only a
// run with samples has, may be absent.

export interface Job {
  name: string; repetition: number; ranks: number; bytes: number;
  start_ps: number | null; time_ps: number | null; failed_ps: number | null;
  algbw_GBps: number; busbw_GBps: number;
  ideal_ps?: number | null; from?: string[]; to?: string[];
}
export interface Collective {
  job: string; collective: string; ranks: number; size: number; runs: number;
  time_us: number | null; algbw_GBps: number; busbw_GBps: number;
  algorithm: string; protocol: string; ideal_us?: number | null;
}
export interface Group { group: string; ranks: number; calls: number; bytes: number; busy_ps: number; exposed_ps: number; exposed_most_ps: number }
export interface Training {
  job: string; as: string; ranks: number; steps: number; slice: string | null;
  step_ps: number; compute_ps: number; exposed_ps: number; idle: number; tokens_per_s: number | null;
  each_step_ps: number[]; groups: Group[];
  rank_waits_ps?: number[][]; ranks_listed?: number[] | number;
}
export interface Deadlock { closed_ps: number | null; seen_ps: number | null; ended_ps: number | null; stuck: number; cycle: { port: string; priority: number }[] }
export interface Watchdog { port: string; queue: number; acted: number; acted_at_ps: number | null; restored: number; restored_at_ps: number | null; cut_off_ps: number; port_drops: number }
export interface Pause { port: string; paused: string; priority: number; cause: string | null; count: number; time_ps: number; passed_on_ps: number }
export interface Tier {
  from: string; to: string; balance: string; switches: number; links: number;
  max_mean: number; max_mean_worst: number; max_mean_expected: number; used: number; used_expected: number;
  hashes_as: string | null; empty: string[];
}
export interface Flow {
  id: number; src: string; dst: string; bytes: number; start_ps: number | null; fct_ps: number | null; ideal_ps: number | null;
  job: string; failed: boolean; acked_bytes: number; goodput_bps: number; path?: string[] | null;
}
export interface PortPriority {
  priority: number; tx_bytes?: number; ecn_marked?: number; drops?: number; queue_max_bytes?: number; headroom_max_bytes?: number;
  xoff_tx?: number; xoff_rx?: number; paused_ps?: number; pausing_ps?: number;
}
export interface Port {
  port: string; rate_bps: number; utilisation: number; frames: number; line_bytes: number; pfc_tx: number; pfc_rx: number;
  paused_ps: number; ecn_marked: number; queue_max_bytes: number; drops: number; drops_by: Record<string, number>; lost: number;
  thresholds?: number | null; priorities?: PortPriority[];
}
export interface Nic {
  nic: string; tx_packets: number; rx_packets: number; tx_payload_bytes: number; rx_payload_bytes: number;
  ecn_marked: number; cnps_sent: number; cnps_handled: number; retransmitted: number; timeouts: number; naks: number; rnr_naks: number; errors: number;
}
export interface Node_ { node: string; role: string; tier: number; rail: number | null; pod: number | null; model: string | null; buffer_bytes: number | null; ports: number }
export interface Link { a: string; b: string; rate_bps: number; length_m: number; tier: string; rail: number | null }
export interface Class { name: string; priority: number; dscp: number[]; lossless: boolean; strict: boolean; share: number }
export interface Threshold {
  priority: number; ecn_min_bytes: number | null; ecn_max_bytes: number | null; ecn_probability: number | null;
  pause_bytes?: number | null; pause_alpha?: number | null; headroom_bytes?: number | null; reserved_bytes?: number | null;
}
export interface Fault { at_ps: number; until_ps: number | null; kind: string; what: string | null; text: string }
export interface Route { at_ps: number; switch: string; change: number }
export interface Finding { id: string; severity: string; job?: string | null; title: string; what: string; why?: string | null; objects?: string[]; advice?: string; where?: string }
export interface Event_ { at_ps: number; kind: string; object: string | null; priority: number | null; [key: string]: unknown }
export interface PauseInterval { port: string; paused: string; priority: number; from_ps: number; to_ps: number | null; cause: string | null }
export interface Column { metric: string; object: string; priority: number | null; unit: string; data: number[] }
export interface Series { step_ps: number; first_ps: number; steps: number; left_out?: unknown; columns: Column[] }
export interface Histogram { what: string; object: string; unit: string; count: number; p50: number; p90: number; p99: number; p999: number; max: number; buckets: [number, number][] }
export interface Program { host: string; argv: string[] | string; exit: number | null; signal: number | null; start_ps: number | null; end_ps: number | null; attached: boolean; late: boolean }
export interface QueuePair {
  host: string; qpn: number; peer: string | null; peer_qpn: number | null; program: string; messages: number; bytes: number; failed: number;
  first_post_ps: number | null; last_completion_ps: number | null; goodput_bps: number | null;
}

/** What of the model a run had. */
export interface Modelled { pcie: boolean; slow_receivers: boolean; software: boolean; link_retry: boolean; routes_converge: boolean }

export interface Run {
  version: 1; kind: "sim" | "up"; fabric: string; state: string; seed: number; threads: number; virtual_ps: number;
  setup_s: number; wall_s: number; packet_hops: number; digest: string;
  jobs: Job[]; collectives: Collective[]; training: Training[]; deadlocks: Deadlock[];
  failure: Record<string, unknown> | null; waits: Record<string, unknown> | null; watchdog: Watchdog[]; pauses: Pause[]; tiers: Tier[];
  flows: Flow[]; ports: Port[]; nics: Nic[];
  system?: string; modelled?: Modelled; nodes?: Node_[]; links?: Link[]; classes?: Class[]; thresholds?: Threshold[][]; faults?: Fault[]; routes?: Route[];
  latency?: Histogram[]; verdict?: Finding[]; events?: Event_[]; events_lost?: number; pause_intervals?: PauseInterval[]; pause_intervals_left_out?: number; series?: Series;
  programs?: Program[]; queue_pairs?: QueuePair[]; stood_still_ns?: number; real_ns?: number;
}

export type SweepPoint = { set: string[]; error: string | null; state: string | null; slice?: string | null; jobs: Record<string, unknown>[] } & Record<string, unknown>;
export interface Sweep {
  version: 1; kind: "sweep"; file: string; vary: string[]; named: { vary: string; name: string; value: string }[]; columns: { key: string; name: string; unit: string; help: string }[];
  show: { key: string; job: string | null }[]; partial: boolean; points: SweepPoint[];
}

export interface Price { price: string; each: number; unit: string; source: string; year?: number; line?: number }
export type ComparedSystem = { system: string; set: string[]; why: string; error: string | null; state: string | null; slice?: string | null; jobs: Record<string, unknown>[]; left_out: { line: number; column: number; message: string }[] } & Record<string, unknown>;
export interface Move { weight: number | null; system: string | null }
export interface Answer { set: string[]; system: string | null; weights: { of: string; weight: number; counts: boolean; below: Move; above: Move }[] }
export interface Comparison { version: 1; kind: "compare"; file: string; fabric: string; vary: string[]; systems: ComparedSystem[]; answers: Answer[]; prices: Price[] }

export interface TunedRatio { ratio: number | null; ratio_least: number | null; ratio_most: number | null; seeds: number }
export interface TunedSetting {
  name: string; source: string | null; front: boolean; knee: boolean; worthless: string | null; goal: TunedRatio; time_ps: number | null; busbw_GBps: number | null; paused_share: number | null;
  p99_slowdown_milli?: number | null; p99_ps?: number | null; values: { key: string; value: string; changed: boolean }[];
}
export interface TunedParameter { key: string; now: string; tuned: string; share: number | null; set_back_ratio: number | null }
export interface Tuning {
  version: 1; kind: "tune"; file: string; fabric: string; slice?: string | null; goal: "time" | "busbw" | "p99" | "paused"; class: string | null; robust: boolean; runs: number; drawn: number; refused: number; fresh_seeds: number;
  out_of_time: boolean; helps: boolean; change: { key: string; value: string }[]; parameters: TunedParameter[]; settings: TunedSetting[]; under: { traffic: string; searched: boolean; ratio: number | null }[];
  robustness_ratio: number | null; robustness_worst_ratio: number | null; why: string[]; not_tuned: string[];
}

export interface Bins { width_ns: number; first: number; bytes: number[] }
export interface CaptureConnection {
  src: string; dst: string; src_qp: number | null; dst_qp: number | null; transport: string; net: string; packets: number; bytes: number;
  goodput_bytes: number; goodput_bps: number; first_ns: string | number; last_ns: string | number; retransmitted: number; naks: number; rnr_naks: number; cnps: number;
  ecn_marked: number; icrc_errors: number; forward: { bins?: Bins } | null; reverse: { bins?: Bins } | null;
}
export interface CapturePause { smac: string; global: boolean; priority: number | null; xoff: number; xon: number; paused_ns: number; longest_ns: number }
export interface CaptureSetup { initiator: string; acceptor: string; initiator_qp: number | null; acceptor_qp: number | null; port: number; req_ns: string | number | null; rtu_ns: string | number | null; rej_ns: string | number | null; reject_reason: number }
export type CaptureFile = {
  file: string; error: string | null; packets: number; roce_packets: number; bytes: number; goodput_bytes: number;
  retransmitted: number; naks: number; rnr_naks: number; cnps: number; ecn_marked: number; ecn_capable: number; pfc_frames: number; pause_frames: number; icrc_errors: number; icrc_checked: number; malformed: number;
  requests: number; first_ns: string | number; last_ns: string | number; connections_seen: number; bins: Bins;
  verdict: (Finding & { packets: number[]; filter: string | null; connection: number | null })[];
  connections: CaptureConnection[]; pauses: CapturePause[]; cm: CaptureSetup[];
};
export interface PlanRow { phase: number; test: string; subject: string; verdict: "pass" | "warn" | "fail" | "skipped"; criterion: string | null; formula: string; value: number | null; limit: number | null; unit: string | null; why: string; source: string | null; seconds: number }
export interface Plan {
  version: 1; kind: "validate"; file: string; fabric: string; measured: string | null; level: string; seed: number; digest: string; accepted: boolean; phases: number[]; verdicts: { pass: number; warn: number; fail: number; skipped: number };
  overrides: { criterion: string; value: string; instead_of: string; line: number }[]; rows: PlanRow[];
}

export interface Capture { version: 1; kind: "capture"; files: CaptureFile[] }

export interface Adapter { pid: number; program: string; device: string; interface: string; slot: number; counters: Record<string, number> }
/** Of programs that run: only a server has them. */
export interface Counters { version: 1; kind: "counters"; adapters: Adapter[] }

export interface DiagnoseEvidence { object: string; priority: number | null; counter: string; value: number | null; unit: string; threshold: number | null; file: string | null; line: number | null }
export interface DiagnoseFinding {
  rule: string; severity: string; cause: string; what: string; why?: string | null; fix?: string | null; culprit: string | null; priority: number | null;
  victims: string[]; also?: string[]; evidence: DiagnoseEvidence[]; confidence: string; owner: string;
  runbook: string; runbook_title?: string | null; runbook_page?: string | null; consequence_of: number | null;
}
export interface DiagnoseStanding {
  object: string | null; priority: number | null; counter: string; count: number; unit: string; grew: boolean; looks: number; cleared_s: number | null; share: number | null;
  means: string; file: string | null; line: number | null;
}
type Holds = "yes" | "no" | "unknown";
export interface DiagnoseTraining {
  job: string; slow: Holds; exposed: Holds; not_straggler: Holds; network: Holds; finding: number | null; step_ns: number; base_ns: number | null; base_is_ideal: boolean;
  added_exposed_share: number | null; skew_share: number | null; gpus: number; gpu_hours_per_hour: number; verdict: string;
}
export interface Diagnose {
  version: 1; kind: "diagnose"; inputs: string[]; fabric: string | null; acquitted: boolean;
  answer: "cause" | "clear" | "not-enough"; because: string;
  standing: DiagnoseStanding[]; asks: { device: string | null; command: string | null; why: string }[];
  looked_at: { devices: number; hosts: number; switches: number; ports: number; jobs: number; files: number; looks: number; seconds: number; exact: boolean; tied: boolean };
  findings: DiagnoseFinding[]; training?: DiagnoseTraining[]; missing: string[];
  devices?: { device: string; role: string | null; system: string | null; looked_at: boolean; ports: number }[];
  remarks?: { file: string | null; line: number | null; text: string }[]; remarks_left_out?: number;
  run?: string; // where the one input is the document of a run: that document, as text
}

export type Document_ = Run | Sweep | Comparison | Tuning | Plan | Capture | Counters | Diagnose;

/** What the page knows beside the document. */
export interface About { rocelab: string; command: string[]; left_out: string | null }
