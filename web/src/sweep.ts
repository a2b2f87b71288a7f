// SPDX-License-Identifier: Apache-2.0
// A sweep: its points as a table, and each measure over the values that were varied.

import { bars } from "./bars";
import { choice, clear, h, section, sliced } from "./dom";
import { plural } from "./format";
import { lines } from "./lines";
import { column, half, last, type Measure, named, note, telling, value } from "./measures";
import { type Column, table } from "./table";
import type { Sweep, SweepPoint } from "./types";

const COMBINATIONS = 8, BARS = 64;

/** Those that the program's table shows, or all. */
function measures(sweep: Sweep, all: boolean): Measure[] {
  const known = sweep.columns.map(({ key, name, unit, help }): Measure => ({ key, title: name, unit, help }));
  if (all) return telling(sweep.points, known);
  return sweep.show.flatMap(({ key, job }) => known.filter((one) => one.key === key).map((one) => (job === null ? one : { ...one, job, title: `${one.title}:${job}` })));
}

function columns(sweep: Sweep, shown: Measure[]): Column<SweepPoint>[] {
  return [...sweep.vary.map((path, i): Column<SweepPoint> => ({ title: last(path), help: path, wrap: true, value: (point) => point.set[i] ?? null })), ...shown.map((one) => column<SweepPoint>(one)), ...note(sweep.points)];
}

/** Whether a line may run from one value to the next: all are quantities.  A value with a name is none, nor is a seed. */
function isContinuous(sweep: Sweep, axis: number, values: string[]): boolean {
  const path = sweep.vary[axis] ?? "";
  return last(path) !== "seed" && !sweep.named.some((one) => one.vary === path) && values.length > 1 && values.every((one) => /^[\d.]+ ?[a-z%]*(\/s)?$/i.test(one));
}

/** Over one of the varied values; a line or a bar for each combination of the others. */
function chart(sweep: Sweep, measure: Measure, axis: number): HTMLElement {
  const values = [...new Set(sweep.points.map((point) => point.set[axis] ?? ""))];
  const vary = sweep.vary.filter((_, i) => i !== axis), xTitle = sweep.vary[axis] ?? "";
  const others = new Map<string, (SweepPoint | null)[]>();
  for (const point of sweep.points) {
    const name = named(point.set.filter((_, i) => i !== axis), vary);
    const row = others.get(name) ?? values.map(() => null);
    row[values.indexOf(point.set[axis] ?? "")] = point;
    others.set(name, row);
  }
  const rows = [...others].slice(0, COMBINATIONS);
  if (!isContinuous(sweep, axis, values)) {
    const bar = (label: string, point: SweepPoint | null | undefined) => ({ label, value: point ? value(point, measure) : null, half: point ? half(point, measure) : null });
    const most = values.slice(0, Math.floor(BARS / rows.length));
    return bars({ title: measure.title, help: measure.help, unit: measure.unit, xTitle: xTitle + (most.length < values.length ? `, the first ${most.length} of ${values.length}` : ""),
      groups: vary.length ? most.map((one, i) => [one, rows.map(([name, points]) => bar(name, points[i]))]) : [["", most.map((one, i) => bar(one, rows[0]?.[1][i]))]] });
  }
  return lines({ title: measure.title, help: measure.help, unit: measure.unit, xTitle, x: values.map((_, i) => i), xWhole: true, xText: (at) => values[at] ?? "",
    lines: rows.map(([name, points]) => ({ label: name || measure.title, values: points.map((point) => point && value(point, measure)), halves: points.map((point) => point && half(point, measure)) })) });
}

export function sweep(data: Sweep): HTMLElement[] {
  const list = h("div"), place = h("div", { class: "charts" }), few = h("p", { class: "soft" });
  const counts = data.vary.map((_, i) => new Set(data.points.map((point) => point.set[i])).size);
  let axis = counts.indexOf(Math.max(...counts)), all = false;
  const draw = () => {
    const shown = measures(data, all);
    clear(list);
    list.append(table({ id: "points-table", caption: `${plural(data.points.length, "point")}, a row each`, columns: columns(data, shown), rows: data.points, first: 50 }));
    clear(place);
    place.append(...telling(data.points, shown).map((one) => chart(data, one, axis)));
    few.textContent = place.childElementCount === 0 ? "No point has a measure to draw." : counts.reduce((product, one, i) => (i === axis ? product : product * one), 1) > COMBINATIONS ? "The first eight combinations of the other values; the table has all." : "";
  };
  draw();
  return [
    section("measures", "Measures over what was varied", h("div", { class: "tools" },
      data.vary.length > 1 ? choice("Over", data.vary.map((path, i) => [String(i), path]), String(axis), (chosen) => { axis = Number(chosen); draw(); }) : null,
      choice("Measures", [["", "as printed"], ["all", "all that are not 0"]], "", (chosen) => { all = chosen !== ""; draw(); })), few, place),
    section("points", "Points", sliced(data.points.map((point) => point.slice)), list,
      data.named.length ? h("ul", {}, ...data.named.map((one) => h("li", {}, `${one.name}: `, h("code", {}, `${one.vary}=${one.value}`)))) : null),
  ];
}
