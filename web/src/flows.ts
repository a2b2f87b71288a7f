// SPDX-License-Identifier: Apache-2.0
// Flows: how much longer each took than alone in the fabric, by job and by size, and the worst ten with their way.

import { h, section } from "./dom";
import { bytes, count, plural, time, times } from "./format";
import { quantile, slowdown } from "./kpi";
import { lines } from "./lines";
import { table } from "./table";
import type { Flow, Run } from "./types";
import type { View } from "./view";

const JOBS = 8, POINTS = 200, DOTS = 3000;

interface Done { flow: Flow; slow: number }

function byJob(done: Done[]): [string, Done[]][] {
  const groups = new Map<string, Done[]>();
  for (const one of done) {
    const list = groups.get(one.flow.job);
    if (list) list.push(one); else groups.set(one.flow.job, [one]);
  }
  const sorted = [...groups].sort((a, b) => b[1].length - a[1].length);
  if (sorted.length <= JOBS) return sorted;
  return [...sorted.slice(0, JOBS - 1), ["other jobs", sorted.slice(JOBS - 1).flatMap(([, list]) => list)]];
}

/** At most POINTS of each job's distribution: more are not seen. */
function cdf(groups: [string, Done[]][]): HTMLElement {
  const curves = groups.map(([name, list]) => {
    const sorted = list.map((one) => one.slow).sort((a, b) => a - b), points = new Map<number, number>();
    for (let i = 0; i < Math.min(POINTS, sorted.length); i++) { const at = Math.round(((i + 1) / Math.min(POINTS, sorted.length)) * sorted.length) - 1; points.set(sorted[at] ?? 1, (at + 1) / sorted.length); }
    return { name, points, sorted };
  });
  const x = [...new Set(curves.flatMap((curve) => [...curve.points.keys()]))].sort((a, b) => a - b);
  const wide = (x[x.length - 1] ?? 1) / (x[0] ?? 1) > 20;
  return lines({ title: "Share of flows that are at most so slow", unit: "share", xTitle: "slowdown", x, xText: times, xLog: wide, steps: true, yMost: 1.02, height: 240,
    lines: curves.map((curve) => ({ label: curve.name, values: x.map((value) => curve.points.get(value) ?? null) })),
    summary: `Distribution of slowdown by job. ${curves.map((curve) => `${curve.name}: median ${times(quantile(curve.sorted, 0.5))}, p99 ${times(quantile(curve.sorted, 0.99))}`).join("; ")}.` });
}

function scatter(groups: [string, Done[]][], total: number): HTMLElement {
  const keep = Math.max(1, Math.ceil(total / DOTS));
  const dots = groups.flatMap(([name, list]) => [...list].sort((a, b) => b.slow - a.slow).filter((_, i) => i < DOTS / 8 || i % keep === 0).map((one) => ({ name, ...one }))).sort((a, b) => a.flow.bytes - b.flow.bytes);
  const least = dots[0]?.flow.bytes ?? 1, most = dots[dots.length - 1]?.flow.bytes ?? 1, slowest = Math.max(...dots.map((dot) => dot.slow), 1);
  return lines({ title: "Slowdown", unit: "times", xTitle: keep > 1 ? "size; the slowest, and one of each " + keep : "size", x: dots.map((dot) => dot.flow.bytes), xText: bytes, xLog: least > 0 && most / least > 20, yLog: slowest > 30, height: 240,
    lines: groups.map(([name]) => ({ label: name, points: true, values: dots.map((dot) => (dot.name === name ? dot.slow : null)) })), summary: `Slowdown of ${plural(total, "flow")} by size, from ${bytes(least)} to ${bytes(most)}; the slowest ${times(slowest)}.` });
}

function latency(run: Run): HTMLElement | null {
  const ns = (value: number) => time(value * 1000);
  if (!run.latency?.length) return null;
  return table({ id: "latency-table", caption: "Latencies: round trips, completion times, waiting in queues", rows: run.latency, filter: false, columns: [
    { title: "what", value: (one) => one.what }, { title: "of", value: (one) => one.object }, { title: "count", value: (one) => one.count, text: (one) => count(one.count) },
    { title: "p50", value: (one) => one.p50, text: (one) => ns(one.p50) }, { title: "p90", value: (one) => one.p90, text: (one) => ns(one.p90) }, { title: "p99", value: (one) => one.p99, text: (one) => ns(one.p99) },
    { title: "p99.9", value: (one) => one.p999, text: (one) => ns(one.p999) }, { title: "most", value: (one) => one.max, text: (one) => ns(one.max) }] });
}

export function flows(run: Run, view: View): HTMLElement | null {
  const done = run.flows.map((flow) => ({ flow, slow: slowdown(flow) })).filter((one): one is Done => one.slow !== null);
  const open = run.flows.filter((flow) => flow.fct_ps === null || flow.failed);
  if (run.flows.length === 0) return run.latency?.length ? section("flows", "Latencies", latency(run)) : null;
  const groups = byJob(done), worst = [...done].sort((a, b) => b.slow - a.slow).slice(0, 10);
  return section("flows", "Flows", h("p", {}, `${plural(done.length, "flow")} ended${open.length ? `; ${plural(open.length, "flow")} did not, or failed` : ""}. A flow's slowdown is its time over what it takes alone in the fabric.`),
    done.length ? h("div", { class: "charts" }, cdf(groups), scatter(groups, done.length)) : null,
    table({ id: "flows-table", caption: worst.length ? "The ten slowest flows; a number chooses the ports on its way" : "Flows that did not end", rows: worst.length ? worst : open.slice(0, 10).map((flow) => ({ flow, slow: 0 })), filter: false, choose: ({ flow }) => view.choose(flow.path ?? [flow.src, flow.dst]), columns: [
      { title: "flow", value: ({ flow }) => flow.id }, { title: "job", value: ({ flow }) => flow.job }, { title: "from", value: ({ flow }) => flow.src }, { title: "to", value: ({ flow }) => flow.dst }, { title: "size", value: ({ flow }) => flow.bytes, text: ({ flow }) => bytes(flow.bytes) },
      { title: "time", value: ({ flow }) => flow.fct_ps, text: ({ flow }) => time(flow.fct_ps) }, { title: "alone", value: ({ flow }) => flow.ideal_ps, text: ({ flow }) => time(flow.ideal_ps) }, { title: "slowdown", value: ({ slow }) => slow || null, text: ({ slow }) => times(slow || null) }, { title: "way", value: ({ flow }) => flow.path?.join(" ") ?? null }] }),
    latency(run));
}
