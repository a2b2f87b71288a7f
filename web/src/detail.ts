// SPDX-License-Identifier: Apache-2.0
// What the chosen ports, switches and adapters did over time, with the thresholds they were told.

import { clear, h, section } from "./dom";
import { bytes, plural } from "./format";
import { type Chart, type Limit, type Line, lines } from "./lines";
import { device, type Samples } from "./samples";
import type { Port, Run, Threshold } from "./types";
import type { View } from "./view";

const MOST = 8;

function set(run: Run, port: Port | undefined): Threshold[] {
  return port?.thresholds === null || port?.thresholds === undefined ? [] : run.thresholds?.[port.thresholds] ?? [];
}

/** Of the queue's priority: where marking begins, where all is marked, where a group that sends here pauses its peer. */
function queueLimits(run: Run, port: Port | undefined, priorities: Set<number | null>): { limits: Limit[]; notes: string[] } {
  const limits: Limit[] = [], notes: string[] = [];
  for (const one of set(run, port)) {
    if (!priorities.has(one.priority)) continue;
    if (one.ecn_min_bytes !== null) limits.push({ label: `Kmin ${bytes(one.ecn_min_bytes)}`, value: one.ecn_min_bytes });
    if (one.ecn_max_bytes !== null) limits.push({ label: `Kmax ${bytes(one.ecn_max_bytes)}`, value: one.ecn_max_bytes });
    if (one.pause_bytes) limits.push({ label: `pause ${bytes(one.pause_bytes)} (an ingress group)`, value: one.pause_bytes });
    if (one.pause_alpha) notes.push(`${port?.port}, priority ${one.priority}: a group pauses its peer above ${one.pause_alpha} of what is free of the shared buffer, so the threshold falls as the buffer fills.`);
  }
  return { limits: limits.filter((one, i) => limits.findIndex((other) => other.label === one.label) === i), notes };
}

function named(object: string, priority: number | null, several: boolean): string {
  return priority === null || !several ? object : `${object} priority ${priority}`;
}

function columns(samples: Samples, metric: string, objects: string[], change: (value: number, object: string) => number = (value) => value): Line[] {
  return objects.flatMap((object) => {
    const list = samples.of(metric, object);
    return list.map((column) => ({ label: named(object, column.priority, list.length > 1), values: column.data.map((value) => change(value, object)) }));
  });
}

function portCharts(run: Run, samples: Samples, chosen: string[]): { charts: Omit<Chart, "x" | "view">[]; notes: string[] } {
  const ports = new Map(run.ports.map((port) => [port.port, port]));
  const first = ports.get(chosen[0] ?? "");
  const used = new Set(samples.of("queue", chosen[0] ?? "").map((column) => column.priority));
  const { limits, notes } = queueLimits(run, first, used);
  const headroom = set(run, first).filter((one) => one.headroom_bytes).map((one) => ({ label: `headroom ${bytes(one.headroom_bytes)}`, value: one.headroom_bytes ?? 0 }));
  const seconds = samples.step / 1e12;
  return { notes, charts: [
    { title: "Queue", unit: "bytes", lines: columns(samples, "queue", chosen), limits },
    { title: "Line used", unit: "share", lines: columns(samples, "tx", chosen, (value, port) => (value * 8) / seconds / (ports.get(port)?.rate_bps ?? 1)), yMost: 1.05 },
    { title: "Time paused by the peer", unit: "share", lines: columns(samples, "paused", chosen, (value) => value / samples.step), yMost: 1.05 },
    { title: "Time it paused the peer", unit: "share", lines: columns(samples, "pausing", chosen, (value) => value / samples.step), yMost: 1.05 },
    { title: "Headroom held", unit: "bytes", lines: columns(samples, "headroom", chosen), limits: headroom.slice(0, 1) },
    { title: "Packets marked in a step", unit: "packets", lines: columns(samples, "marks", chosen) },
    { title: "Packets dropped in a step", unit: "packets", lines: columns(samples, "drops", chosen) },
  ] };
}

function nicCharts(samples: Samples, chosen: string[]): Omit<Chart, "x" | "view">[] {
  const bits = (value: number) => (value * 8e12) / samples.step;
  return [
    { title: "Goodput received", unit: "bps", lines: columns(samples, "rx_payload", chosen, bits) },
    { title: "Payload sent", unit: "bps", lines: columns(samples, "tx_payload", chosen, bits) },
    { title: "CNPs handled in a step", unit: "packets", lines: columns(samples, "cnps_handled", chosen) },
    { title: "CNPs sent in a step", unit: "packets", lines: columns(samples, "cnps_sent", chosen) },
    { title: "Packets sent again in a step", unit: "packets", lines: columns(samples, "retransmitted", chosen) },
    { title: "Timeouts in a step", unit: "packets", lines: columns(samples, "timeouts", chosen) },
  ];
}

function wholeCharts(samples: Samples, chosen: string[]): Omit<Chart, "x" | "view">[] {
  const switches = [...new Set(chosen.map(device))], queuePairs = samples.objects("rate").slice(0, MOST);
  return [
    { title: "Buffer of the switch held", unit: "bytes", lines: columns(samples, "buffer", switches) },
    { title: "Jobs: rate of payload acknowledged", unit: "bps", lines: columns(samples, "job", samples.objects("job").slice(0, MOST), (value) => (value * 8e12) / samples.step) },
    { title: "Rate of connections", unit: "bps", lines: columns(samples, "rate", queuePairs) },
    { title: "Window of connections", unit: "bytes", lines: columns(samples, "window", samples.objects("window").slice(0, MOST)) },
    { title: "Alpha of connections", unit: "share", lines: columns(samples, "alpha", samples.objects("alpha").slice(0, MOST), (value) => value / 1e6), yMost: 1.05 },
  ];
}

/** The port with the longest queue at first: something to look at. */
function worst(run: Run, samples: Samples): string[] {
  const known = new Set([...samples.objects("queue"), ...samples.objects("tx")]);
  const ports = run.ports.filter((port) => known.has(port.port)).sort((a, b) => b.queue_max_bytes - a.queue_max_bytes);
  return ports[0] ? [ports[0].port] : [];
}

export function detail(run: Run, samples: Samples, view: View): HTMLElement | null {
  if (!samples.any) return null;
  const place = h("div", { class: "charts" }), said = h("p", { id: "chosen", "aria-live": "polite" });
  const draw = () => {
    const chosen = view.chosen.slice(0, MOST);
    const { charts, notes } = portCharts(run, samples, chosen);
    const all = [...charts, ...nicCharts(samples, chosen), ...wholeCharts(samples, chosen)].filter((chart) => chart.lines.length > 0);
    said.textContent = `Chosen: ${chosen.join(", ") || "nothing"}. ${chosen.length && charts.every((chart) => chart.lines.length === 0) ? "Its samples are all zero, or it is not among those kept." : ""}`;
    clear(place);
    place.append(...all.map((chart) => lines({ ...chart, x: samples.times, view })), ...notes.map((note) => h("p", { class: "soft" }, note)));
  };
  view.onChosen(draw);
  if (view.chosen.length === 0) view.chosen = worst(run, samples);
  draw();
  return section("series", "Over time", said, h("p", { class: "soft print-no" }, `Choose a port in the heat map, the topology or a table. ${plural(samples.times.length, "step")}; a counter is given as its increase in a step, a queue as its length at the end of one.`), place);
}
