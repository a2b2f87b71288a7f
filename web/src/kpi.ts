// SPDX-License-Identifier: Apache-2.0
// The strip of figures at the top: each against what it could be, with a word beside the colour.

import { h, section } from "./dom";
import { bytes, count, plural, share, time, times } from "./format";
import type { Flow, Run } from "./types";

export type Level = "good" | "look" | "bad" | "none";
export interface Figure {
  id: string;
  title: string;
  text: string;
  value: number | null;
  against: string;
  level: Level;
  section: string;
}

const sum = <T>(list: T[], value: (one: T) => number) => list.reduce((total, one) => total + value(one), 0);

function judge(value: number, look: number, bad: number): Level {
  return value > bad ? "bad" : value > look ? "look" : "good";
}

function jobTime(run: Run): Figure {
  const unfinished = run.jobs.filter((job) => job.time_ps === null).length;
  const known = run.jobs.filter((job) => job.time_ps !== null && job.ideal_ps);
  const ratio = (job: Run["jobs"][number]) => (job.time_ps ?? 0) / (job.ideal_ps ?? 1);
  const worst = known.reduce<Run["jobs"][number] | null>((a, b) => (a === null || ratio(b) > ratio(a) ? b : a), null);
  const base = { id: "jct", title: "Job time over ideal", section: "jobs" };
  if (unfinished > 0)
    return { ...base, title: "Jobs", text: `${unfinished} of ${run.jobs.length} not ended`, value: unfinished, against: "every job should end", level: run.state === "until" || run.state === "running" ? "look" : "bad" };
  if (worst === null)
    return { ...base, title: "Time", text: time(run.virtual_ps), value: run.virtual_ps, against: run.jobs.length ? "no ideal is known for these jobs" : "there are no jobs", level: "none" };
  const value = ratio(worst);
  return { ...base, text: times(value), value, against: `${worst.name}: ${time(worst.time_ps)}, ideal ${time(worst.ideal_ps)}`, level: judge(value, 1.05, 1.15) };
}

function bandwidth(run: Run): Figure | null {
  const ended = run.collectives.filter((one) => one.time_us !== null);
  const least = ended.reduce<Run["collectives"][number] | null>((a, b) => (a === null || reached(b) < reached(a) ? b : a), null);
  if (least === null) return null;
  const part = reached(least);
  return { id: "busbw", title: "Bus bandwidth", text: `${least.busbw_GBps.toFixed(1)} GB/s`, value: least.busbw_GBps, section: "jobs",
    against: least.ideal_us ? `${share(part)} of what is possible (${least.job}, ${bytes(least.size)})` : `${least.job}, ${bytes(least.size)}`,
    level: least.ideal_us ? (part < 0.8 ? "bad" : part < 0.9 ? "look" : "good") : "none" };
}

function reached(one: Run["collectives"][number]): number {
  return one.ideal_us && one.time_us ? one.ideal_us / one.time_us : 1;
}

function drops(run: Run): Figure {
  const lossless = new Set((run.classes ?? []).filter((one) => one.lossless).map((one) => one.priority));
  const all = sum(run.ports, (port) => port.drops), lost = sum(run.ports, (port) => port.lost);
  const inside = sum(run.ports, (port) => sum((port.priorities ?? []).filter((one) => lossless.has(one.priority)), (one) => one.drops ?? 0));
  const parts = [inside > 0 ? `${count(inside)} in lossless classes` : "", lost > 0 ? `${count(lost)} lost on links` : ""].filter((part) => part !== "");
  return { id: "drops", title: "Packets dropped", text: count(all + lost), value: all + lost, section: "ports",
    against: parts.join(", ") || "a lossless class drops none", level: inside > 0 || lost > 0 ? "bad" : all > 0 ? (lossless.size > 0 ? "look" : "bad") : "good" };
}

function paused(run: Run): Figure {
  const worst = run.ports.reduce<Run["ports"][number] | null>((a, b) => (a === null || b.paused_ps > a.paused_ps ? b : a), null);
  const value = worst && run.virtual_ps ? worst.paused_ps / run.virtual_ps : 0;
  const all = run.ports.length && run.virtual_ps ? sum(run.ports, (port) => port.paused_ps) / run.ports.length / run.virtual_ps : 0;
  return { id: "paused", title: "Time paused, worst port", text: share(value), value, section: "pauses",
    against: value > 0 ? `${worst?.port}; ${share(all)} over all ports` : "no port stood still", level: judge(value, 0.01, 0.1) };
}

function marked(run: Run): Figure {
  const value = sum(run.nics, (nic) => nic.ecn_marked) / Math.max(sum(run.nics, (nic) => nic.rx_packets), 1);
  const marks = sum(run.ports, (port) => port.ecn_marked);
  return { id: "marked", title: "Packets marked CE", text: share(value), value, section: "ports",
    against: marks ? `${count(marks)} marks by switches, ${count(sum(run.nics, (nic) => nic.cnps_sent))} CNPs` : "no queue passed its marking threshold", level: value > 0.2 ? "look" : "good" };
}

function again(run: Run): Figure {
  const packets = sum(run.nics, (nic) => nic.retransmitted), timeouts = sum(run.nics, (nic) => nic.timeouts);
  const part = packets / Math.max(sum(run.nics, (nic) => nic.tx_packets), 1);
  return { id: "retransmitted", title: "Packets sent again", text: count(packets), value: packets, section: "adapters",
    against: packets || timeouts ? `${share(part)} of those sent; ${plural(timeouts, "timeout")}` : "none is expected without loss", level: timeouts > 0 || part > 0.001 ? "bad" : packets > 0 ? "look" : "good" };
}

function imbalance(run: Run): Figure | null {
  const over = (tier: Run["tiers"][number]) => (tier.max_mean_expected ? tier.max_mean / tier.max_mean_expected : 0);
  const worst = run.tiers.reduce<Run["tiers"][number] | null>((a, b) => (a === null || over(b) > over(a) ? b : a), null);
  if (worst === null) return null;
  const value = worst.max_mean;
  return { id: "imbalance", title: "Fullest link over mean", text: times(value), value, section: "balance",
    against: worst.max_mean_expected ? `${worst.from} to ${worst.to}, ${worst.balance}; expected ${times(worst.max_mean_expected)}` : `${worst.from} to ${worst.to}; no expectation`,
    level: worst.max_mean_expected ? judge(over(worst), 1.1, 1.3) : "none" };
}

export function slowdown(flow: Flow): number | null {
  return flow.fct_ps && flow.ideal_ps && !flow.failed ? flow.fct_ps / flow.ideal_ps : null;
}

export function quantile(sorted: number[], part: number): number | null {
  return sorted.length ? sorted[Math.min(Math.ceil(sorted.length * part) - 1, sorted.length - 1)] ?? null : null;
}

/** The least that a flow takes beside those that begin with it at one of its ends: their lines carry one after the
 * other. Of flows that arrive one by one it is the flow's own time. Of a job whose flows all begin at once the job's ideal
 * time counts too: a page need not have all flows. */
function explained(run: Run): (flow: Flow) => number {
  const starts = new Map<string, Set<number | null>>(), ideal = new Map<string, number>(), sums = new Map<string, number>();
  const ends = (flow: Flow) => [`>${flow.dst} ${flow.start_ps}`, `<${flow.src} ${flow.start_ps}`];
  for (const job of run.jobs) ideal.set(job.name, Math.max(ideal.get(job.name) ?? 0, job.ideal_ps ?? 0));
  for (const flow of run.flows) {
    starts.set(flow.job, (starts.get(flow.job) ?? new Set()).add(flow.start_ps));
    for (const end of ends(flow)) sums.set(end, (sums.get(end) ?? 0) + (flow.ideal_ps ?? 0));
  }
  return (flow) => Math.max(flow.ideal_ps ?? 1, starts.get(flow.job)?.size === 1 ? ideal.get(flow.job) ?? 0 : 0, ...ends(flow).map((end) => sums.get(end) ?? 0));
}

/** Many senders to one are slow by their number: judged is what that does not explain. */
function flows(run: Run): Figure | null {
  const least = explained(run);
  const sort = (list: (number | null)[]) => list.filter((one): one is number => one !== null).sort((a, b) => a - b);
  const sorted = sort(run.flows.map(slowdown));
  const beyond = sort(run.flows.map((flow) => (slowdown(flow) === null ? null : (flow.fct_ps ?? 0) / least(flow))));
  const value = quantile(sorted, 0.99), unexplained = quantile(beyond, 0.99);
  if (value === null || unexplained === null) return null;
  const beside = unexplained < value ? `; ${times(unexplained)} of the least beside those that begin with it` : "";
  return { id: "slowdown", title: "Slowdown of flows, p99", text: times(value), value, section: "flows", against: `${plural(sorted.length, "flow")}, alone 1x${beside}`, level: judge(unexplained, 1.5, 3) };
}

function deadlocks(run: Run): Figure {
  const open = run.deadlocks.filter((one) => one.ended_ps === null).length;
  return { id: "deadlocks", title: "Deadlocks", text: count(run.deadlocks.length), value: run.deadlocks.length, section: "pauses",
    against: run.deadlocks.length ? `${open} not resolved` : "queues never waited in a circle", level: run.deadlocks.length ? "bad" : "good" };
}

export function figures(run: Run): Figure[] {
  return [jobTime(run), bandwidth(run), drops(run), paused(run), marked(run), again(run), imbalance(run), flows(run), deadlocks(run)].filter((one): one is Figure => one !== null);
}

const WORDS: Record<Level, string> = { good: "good", look: "look", bad: "bad", none: "" };

export function strip(list: Figure[]): HTMLElement {
  return section("figures", "Figures", h("ul", { class: "figures" }, ...list.map((figure) =>
    h("li", { class: `figure ${figure.level}`, id: `figure-${figure.id}`, "data-value": figure.value }, h("a", { href: `#${figure.section}` },
      h("span", { class: "title" }, figure.title), h("span", { class: "value" }, figure.text),
      h("span", { class: "against" }, figure.level === "none" ? null : h("b", { class: "word" }, WORDS[figure.level]), " ", figure.against))))));
}
