// SPDX-License-Identifier: Apache-2.0
// A sweep: its points as a table, and each measure over the values that were varied.

import { choice, clear, h, section, sliced } from "./dom";
import { inUnit, NOTHING, plural } from "./format";
import { type Line, lines } from "./lines";
import { type Column, table } from "./table";
import type { Sweep, SweepPoint } from "./types";

interface Measure { key: string; title: string; unit: string }

const MEASURES: Measure[] = [
  { key: "time_ps", title: "time", unit: "ps" }, { key: "busbw_GBps", title: "bus bandwidth GB/s", unit: "" },
  { key: "slowdown_p50", title: "slowdown, median", unit: "" }, { key: "slowdown_p95", title: "slowdown, p95", unit: "" }, { key: "slowdown_p99", title: "slowdown, p99", unit: "" }, { key: "slowdown_max", title: "slowdown, worst", unit: "" },
  { key: "fct_p99_ps", title: "completion time, p99", unit: "ps" }, { key: "pauses", title: "pause frames", unit: "" }, { key: "paused_ps", title: "time paused, all ports", unit: "ps" },
  { key: "drops", title: "dropped", unit: "" }, { key: "lost", title: "lost on links", unit: "" }, { key: "marks", title: "marked", unit: "" }, { key: "queue_max_bytes", title: "longest queue", unit: "bytes" },
  { key: "cnps", title: "CNPs", unit: "" }, { key: "retransmitted", title: "sent again", unit: "" }, { key: "timeouts", title: "timeouts", unit: "" }, { key: "step_ps", title: "training step", unit: "ps" }, { key: "exposed_ps", title: "exposed in a step", unit: "ps" },
  { key: "imbalance", title: "fullest link over mean", unit: "" },
];

function value(point: SweepPoint, key: string): number | null {
  const found = point[key];
  return typeof found === "number" ? found : null;
}

/** Measures that say something: known somewhere, and not 0 everywhere. */
function telling(sweep: Sweep): Measure[] {
  return MEASURES.filter((measure) => sweep.points.some((point) => (value(point, measure.key) ?? 0) !== 0));
}

function columns(sweep: Sweep, measures: Measure[]): Column<SweepPoint>[] {
  const interval = (point: SweepPoint, measure: Measure) => { const half = value(point, `${measure.key}_ci95`); return half ? ` \u00b1 ${inUnit(half, measure.unit)}` : ""; };
  return [...sweep.vary.map((path, i): Column<SweepPoint> => ({ title: path, value: (point) => point.set[i] ?? null })),
    ...measures.map((measure): Column<SweepPoint> => ({ title: measure.title, value: (point) => value(point, measure.key), text: (point) => { const known = value(point, measure.key); return known === null ? NOTHING : inUnit(known, measure.unit) + interval(point, measure); } })),
    { title: "note", value: (point) => point.error ?? (point.state === "done" || point.state === "until" ? null : point.state) }];
}

/** Over one of the varied values; a line for each combination of the others. */
function chart(sweep: Sweep, measure: Measure, axis: number): HTMLElement {
  const ticks = [...new Set(sweep.points.map((point) => point.set[axis] ?? ""))];
  const others = new Map<string, (number | null)[]>();
  for (const point of sweep.points) {
    const name = point.set.filter((_, i) => i !== axis).join(", ") || measure.title;
    const row = others.get(name) ?? ticks.map(() => null);
    row[ticks.indexOf(point.set[axis] ?? "")] = value(point, measure.key);
    others.set(name, row);
  }
  const rows: Line[] = [...others].slice(0, 8).map(([label, values]) => ({ label, values }));
  return lines({ title: measure.title, unit: measure.unit, xTitle: sweep.vary[axis] ?? "", x: ticks.map((_, i) => i), xWhole: true, xText: (at) => (Number.isInteger(at) ? ticks[at] ?? "" : ""), lines: rows });
}

export function sweep(data: Sweep): HTMLElement[] {
  const measures = telling(data), place = h("div", { class: "charts" });
  const counts = data.vary.map((_, i) => new Set(data.points.map((point) => point.set[i])).size);
  let axis = counts.indexOf(Math.max(...counts));
  const draw = () => { clear(place); place.append(...measures.map((measure) => chart(data, measure, axis))); };
  draw();
  const combinations = counts.reduce((product, one, i) => (i === axis ? product : product * one), 1);
  return [
    section("points", "Points", sliced(data.points.map((point) => point.slice)), table({ id: "points-table", caption: `${plural(data.points.length, "point")}, a row each`, columns: columns(data, measures), rows: data.points, first: 50 })),
    section("measures", "Measures over what was varied", data.vary.length > 1 ? h("div", { class: "tools" }, choice("Over", data.vary.map((path, i) => [String(i), path]), String(axis), (chosen) => { axis = Number(chosen); draw(); }), combinations > 8 ? h("span", { class: "soft" }, "The first eight combinations of the other values; the table has all.") : null) : null,
      measures.length ? place : h("p", {}, "No point has a measure to draw.")),
  ];
}
