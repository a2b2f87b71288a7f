// SPDX-License-Identifier: Apache-2.0
// An acceptance plan: what did not pass first, then the rows of each phase.

import { h, section } from "./dom";
import { bytes, count, NOTHING, plural, time } from "./format";
import { type Column, table } from "./table";
import type { Plan, PlanRow } from "./types";

const PHASES = ["", "laboratory", "baseline", "synthetic", "AI workload", "failures", "operational"];

/** As the text report has it: 374.3 Gb/s, 1.05, 12.3 us. */
function shown(value: number | null, unit: string | null): string {
  if (value === null) return NOTHING;
  switch (unit) {
    case "picoseconds": return time(value);
    case "bytes": return bytes(value);
    case "bits_per_second": return `${(value / 1e9).toFixed(1)} Gb/s`;
    case "count": return count(Math.round(value));
    default: return value.toFixed(value > 0 && value < 0.01 ? 6 : 3);
  }
}

const COLUMNS: Column<PlanRow>[] = [
  { title: "verdict", value: (row) => row.verdict },
  { title: "test", value: (row) => row.test },
  { title: "of", value: (row) => row.subject, wrap: true },
  { title: "value", value: (row) => row.value, text: (row) => shown(row.value, row.unit) },
  { title: "file and line", value: (row) => row.source ?? "" },
  { title: "criterion", value: (row) => (row.criterion && row.verdict !== "skipped" ? `${row.criterion} ` : "") + row.formula, wrap: true },
  { title: "why", value: (row) => row.why, wrap: true },
  { title: "seconds", value: (row) => row.seconds, text: (row) => (row.seconds > 0 ? row.seconds.toFixed(1) : NOTHING) },
];

/** Values that were measured stand in a file; simulated ones in none. */
function list(id: string, title: string, rows: PlanRow[]): HTMLElement {
  const columns = rows.some((row) => row.source) ? COLUMNS : COLUMNS.filter((column) => column.title !== "file and line");
  return section(id, title, table({ id: `${id}-table`, caption: plural(rows.length, "row"), columns, rows, first: 100 }));
}

export function validate(data: Plan): HTMLElement[] {
  const look = data.rows.filter((row) => row.verdict === "fail" || row.verdict === "warn");
  const overrides = data.overrides.map((one) => h("li", {}, `line ${one.line}: ${one.criterion} ${one.value} instead of ${one.instead_of}`));
  return [
    ...(look.length ? [list("look", "Look here", look)] : []),
    ...(overrides.length ? [section("overrides", "Criteria that the file replaces", h("ul", {}, ...overrides))] : []),
    ...data.phases.map((phase) => list(`phase${phase}`, `Phase ${phase}, ${PHASES[phase] ?? ""}`, data.rows.filter((row) => row.phase === phase))),
  ];
}
