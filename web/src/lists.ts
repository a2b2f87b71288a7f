// SPDX-License-Identifier: Apache-2.0
// Tables of a run: jobs, parallel links, ports, adapters, programs, queue pairs.

import { h, section } from "./dom";
import { bytes, count, NOTHING, plural, rate, share, time, times } from "./format";
import { shell } from "./assumptions";
import { table, type Column } from "./table";
import type { Collective, Job, Nic, Port, Program, QueuePair, Run, Tier } from "./types";
import type { View } from "./view";

const GBps = (value: number) => (value ? value.toFixed(1) : NOTHING);

const JOBS: Column<Job>[] = [
  { title: "job", value: (job) => job.name },
  { title: "run", value: (job) => job.repetition },
  { title: "ranks", value: (job) => job.ranks },
  { title: "bytes", value: (job) => job.bytes, text: (job) => bytes(job.bytes) },
  { title: "start", value: (job) => job.start_ps, text: (job) => time(job.start_ps) },
  { title: "time", value: (job) => job.time_ps, text: (job) => (job.failed_ps === null ? time(job.time_ps) : "failed") },
  { title: "ideal", value: (job) => job.ideal_ps, text: (job) => time(job.ideal_ps) },
  { title: "time / ideal", value: (job) => (job.time_ps && job.ideal_ps ? job.time_ps / job.ideal_ps : null), text: (job) => times(job.time_ps && job.ideal_ps ? job.time_ps / job.ideal_ps : null) },
  { title: "algbw GB/s", value: (job) => job.algbw_GBps, text: (job) => GBps(job.algbw_GBps) },
  { title: "busbw GB/s", value: (job) => job.busbw_GBps, text: (job) => GBps(job.busbw_GBps) },
];

const COLLECTIVES: Column<Collective>[] = [
  { title: "job", value: (one) => one.job },
  { title: "collective", value: (one) => one.collective },
  { title: "ranks", value: (one) => one.ranks },
  { title: "size", value: (one) => one.size, text: (one) => bytes(one.size) },
  { title: "runs", value: (one) => one.runs },
  { title: "time", value: (one) => one.time_us, text: (one) => time(one.time_us === null ? null : one.time_us * 1e6) },
  { title: "ideal", value: (one) => one.ideal_us, text: (one) => time(one.ideal_us ? one.ideal_us * 1e6 : null) },
  { title: "algbw GB/s", value: (one) => one.algbw_GBps, text: (one) => GBps(one.algbw_GBps) },
  { title: "busbw GB/s", value: (one) => one.busbw_GBps, text: (one) => GBps(one.busbw_GBps) },
  { title: "algorithm", value: (one) => `${one.algorithm}, ${one.protocol}` },
];

export function jobs(run: Run): HTMLElement {
  return section("jobs", "Jobs",
    table({ id: "jobs-table", caption: "Jobs: what each took", columns: JOBS, rows: run.jobs }),
    run.collectives.length ? table({ id: "collectives-table", caption: "Collectives, as nccl-tests counts them", columns: COLLECTIVES, rows: run.collectives, filter: false }) : null);
}

const TIERS: Column<Tier>[] = [
  { title: "from", value: (tier) => tier.from },
  { title: "to", value: (tier) => tier.to },
  { title: "balance", value: (tier) => tier.balance },
  { title: "switches", value: (tier) => tier.switches },
  { title: "links", value: (tier) => tier.links },
  { title: "fullest over mean", value: (tier) => tier.max_mean, text: (tier) => times(tier.max_mean) },
  { title: "expected", value: (tier) => tier.max_mean_expected || null, text: (tier) => times(tier.max_mean_expected || null) },
  { title: "worst switch", value: (tier) => tier.max_mean_worst, text: (tier) => times(tier.max_mean_worst) },
  { title: "links used", value: (tier) => tier.used, text: (tier) => share(tier.used) },
  { title: "expected", value: (tier) => tier.used_expected, text: (tier) => share(tier.used_expected) },
];

export function balance(run: Run): HTMLElement | null {
  if (run.tiers.length === 0) return null;
  const polarised = run.tiers.filter((tier) => tier.hashes_as !== null);
  return section("balance", "Parallel links",
    h("p", {}, "How evenly links of one switch to the next tier were used. Flows that are spread by a hash are never even: compare with what an ideal hash gives."),
    table({ id: "balance-table", caption: "Balance of parallel links by tier", columns: TIERS, rows: run.tiers, filter: false }),
    ...polarised.map((tier) => h("p", { class: "warn" }, `${tier.from} to ${tier.to} hashes as ${tier.hashes_as} does: the tiers are polarised. Empty: ${tier.empty.join(", ") || "none"}.`)));
}

const PORTS: Column<Port>[] = [
  { title: "port", value: (port) => port.port },
  { title: "rate", value: (port) => port.rate_bps, text: (port) => rate(port.rate_bps) },
  { title: "used", value: (port) => port.utilisation, text: (port) => share(port.utilisation) },
  { title: "frames", value: (port) => port.frames, text: (port) => count(port.frames) },
  { title: "longest queue", value: (port) => port.queue_max_bytes, text: (port) => bytes(port.queue_max_bytes) },
  { title: "marked", value: (port) => port.ecn_marked, text: (port) => count(port.ecn_marked) },
  { title: "pauses sent", value: (port) => port.pfc_tx, text: (port) => count(port.pfc_tx) },
  { title: "pauses received", value: (port) => port.pfc_rx, text: (port) => count(port.pfc_rx) },
  { title: "paused", value: (port) => port.paused_ps, text: (port) => time(port.paused_ps) },
  { title: "drops", value: (port) => port.drops, text: (port) => count(port.drops) },
  { title: "why", value: (port) => Object.entries(port.drops_by).map(([reason, packets]) => `${reason} ${packets}`).join(", ") || null },
  { title: "lost", value: (port) => port.lost, text: (port) => count(port.lost) },
];

export function ports(run: Run, view: View): HTMLElement {
  return section("ports", "Ports",
    table({ id: "ports-table", caption: "Ports of hosts and switches; a name chooses the port in every chart", columns: PORTS, rows: run.ports, sort: { column: 4, down: true }, choose: (port) => view.choose([port.port]) }));
}

const NICS: Column<Nic>[] = [
  { title: "adapter", value: (nic) => nic.nic },
  { title: "sent", value: (nic) => nic.tx_payload_bytes, text: (nic) => bytes(nic.tx_payload_bytes) },
  { title: "received", value: (nic) => nic.rx_payload_bytes, text: (nic) => bytes(nic.rx_payload_bytes) },
  { title: "marked CE", value: (nic) => nic.ecn_marked, text: (nic) => count(nic.ecn_marked) },
  { title: "CNPs sent", value: (nic) => nic.cnps_sent, text: (nic) => count(nic.cnps_sent) },
  { title: "CNPs handled", value: (nic) => nic.cnps_handled, text: (nic) => count(nic.cnps_handled) },
  { title: "sent again", value: (nic) => nic.retransmitted, text: (nic) => count(nic.retransmitted) },
  { title: "timeouts", value: (nic) => nic.timeouts },
  { title: "NAKs", value: (nic) => nic.naks },
  { title: "RNR NAKs", value: (nic) => nic.rnr_naks },
  { title: "errors", value: (nic) => nic.errors },
];

export function adapters(run: Run, view: View): HTMLElement {
  return section("adapters", "Adapters", table({ id: "adapters-table", caption: "Adapters", columns: NICS, rows: run.nics, choose: (nic) => view.choose([nic.nic]) }));
}

const words = (program: Program) => (Array.isArray(program.argv) ? shell(program.argv) : program.argv);
const PROGRAMS: Column<Program>[] = [
  { title: "host", value: (one) => one.host },
  { title: "program", value: words },
  { title: "exit", value: (one) => one.exit, text: (one) => (one.signal ? `signal ${one.signal}` : String(one.exit ?? "not known")) },
  { title: "began", value: (one) => one.start_ps, text: (one) => time(one.start_ps) },
  { title: "ended", value: (one) => one.end_ps, text: (one) => (one.end_ps === null ? "has not ended" : time(one.end_ps)) },
  { title: "attached", value: (one) => (one.attached ? (one.late ? "late" : "yes") : "no") },
];
const QPS: Column<QueuePair>[] = [
  { title: "queue pair", value: (one) => `${one.host} ${one.qpn}` },
  { title: "peer", value: (one) => (one.peer === null ? "several" : `${one.peer} ${one.peer_qpn ?? ""}`) },
  { title: "program", value: (one) => one.program },
  { title: "messages", value: (one) => one.messages, text: (one) => count(one.messages) },
  { title: "bytes", value: (one) => one.bytes, text: (one) => bytes(one.bytes) },
  { title: "failed", value: (one) => one.failed },
  { title: "first post", value: (one) => one.first_post_ps, text: (one) => time(one.first_post_ps) },
  { title: "last completion", value: (one) => one.last_completion_ps, text: (one) => time(one.last_completion_ps) },
  { title: "goodput", value: (one) => one.goodput_bps, text: (one) => rate(one.goodput_bps) },
];

export function programs(run: Run): HTMLElement | null {
  if (!run.programs) return null;
  const still = run.stood_still_ns && run.real_ns ? `Fabric time stood still for ${share(run.stood_still_ns / run.real_ns)} of the time the fabric was up: this machine could not keep up.` : null;
  return section("programs", "Programs", still ? h("p", {}, still) : null,
    table({ id: "programs-table", caption: `${plural(run.programs.length, "program")} on the fabric`, columns: PROGRAMS, rows: run.programs }),
    run.queue_pairs?.length ? table({ id: "qps-table", caption: "Queue pairs of programs", columns: QPS, rows: run.queue_pairs }) : null);
}
