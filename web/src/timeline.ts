// SPDX-License-Identifier: Apache-2.0
// What happened when: jobs, training steps, faults, route changes, pauses, watchdog, deadlocks, one row each.

import { drawing, fit, hatch, timeAxis } from "./canvas";
import { h, section } from "./dom";
import { plural, time } from "./format";
import { table } from "./table";
import { colour } from "./theme";
import type { Run } from "./types";
import { type View, zoomable } from "./view";

export interface Span { from: number; to: number; text: string; object?: string | undefined }
interface Row { label: string; kind: "bar" | "pause" | "mark"; ink: string; spans: Span[] }

const ROWS = 24; // of jobs

function jobRows(run: Run): Row[] {
  const names = [...new Set(run.jobs.map((job) => job.name))];
  const many = names.length > ROWS;
  const rows = (many ? names.slice(0, ROWS - 1) : names).map((name): Row => ({ label: name, kind: "bar", ink: "line-1", spans: [] }));
  const rest: Row = { label: `${names.length - rows.length} other jobs`, kind: "bar", ink: "line-6", spans: [] };
  for (const job of run.jobs) {
    if (job.start_ps === null) continue;
    const row = rows[names.indexOf(job.name)] ?? rest;
    const ended = job.time_ps !== null ? time(job.time_ps) : job.failed_ps !== null ? "failed" : "not ended";
    row.spans.push({ from: job.start_ps, to: job.time_ps !== null ? job.start_ps + job.time_ps : job.failed_ps ?? run.virtual_ps, text: `${job.name}, run ${job.repetition}: ${ended}` });
  }
  return many ? [...rows, rest] : rows;
}

/** Programs of a fabric that was up, a row a host. */
function programRows(run: Run): Row[] {
  const rows = new Map<string, Row>();
  for (const program of run.programs ?? []) {
    if (program.start_ps === null) continue;
    const row = rows.get(program.host) ?? { label: `${program.host}: programs`, kind: "bar", ink: "line-5", spans: [] };
    rows.set(program.host, row);
    const words = Array.isArray(program.argv) ? program.argv.join(" ") : program.argv;
    row.spans.push({ from: program.start_ps, to: program.end_ps ?? run.virtual_ps, text: `${words}: ${program.end_ps === null ? "has not ended" : `exit ${program.exit ?? "not known"}`}` });
  }
  return [...rows.values()].slice(0, ROWS);
}

function trainingRows(run: Run): Row[] {
  return run.training.map((job) => {
    let at = run.jobs.find((one) => one.name === job.job)?.start_ps ?? 0;
    return { label: `${job.job}: steps`, kind: "bar", ink: "line-3", spans: job.each_step_ps.map((step, i) => ({ from: at, to: (at += step), text: `${job.job}, step ${i}: ${time(step)}` })) };
  });
}

function pauseRow(run: Run): Row {
  return { label: "pauses", kind: "pause", ink: "line-2", spans: (run.pause_intervals ?? []).map((one) => ({ from: one.from_ps, to: one.to_ps ?? run.virtual_ps, object: one.paused,
    text: `${one.paused} paused by ${one.port}, priority ${one.priority}, for ${time((one.to_ps ?? run.virtual_ps) - one.from_ps)}${one.cause ? `; cause ${one.cause}` : ""}` })) };
}

function troubleRows(run: Run): Row[] {
  const end = run.virtual_ps;
  return [
    { label: "faults", kind: "bar", ink: "bad", spans: (run.faults ?? []).map((fault) => ({ from: fault.at_ps, to: fault.until_ps ?? end, text: fault.text, object: fault.what ?? undefined })) },
    { label: "route changes", kind: "mark", ink: "line-4", spans: (run.routes ?? []).map((route) => ({ from: route.at_ps, to: route.at_ps, text: `${route.switch}: routes change` })) },
    pauseRow(run),
    { label: "watchdog", kind: "mark", ink: "bad", spans: watchdogSpans(run) },
    { label: "deadlock", kind: "bar", ink: "bad", spans: run.deadlocks.map((one) => ({ from: one.closed_ps ?? one.seen_ps ?? 0, to: one.ended_ps ?? end, text: `circle of ${plural(one.cycle.length, "queue")}, ${plural(one.stuck, "queue")} stuck`, object: one.cycle[0]?.port })) },
    eventRow(run),
  ];
}

/** Each time it acted where events say so, else the last. */
function watchdogSpans(run: Run): Span[] {
  const acted = (run.events ?? []).filter((one) => one.kind === "watchdog");
  if (acted.length > 0) return acted.map((one) => ({ from: one.at_ps, to: one.at_ps, text: `${one.object ?? ""} queue ${one.priority ?? ""} cut off`, object: one.object ?? undefined }));
  return run.watchdog.filter((one) => one.acted_at_ps !== null).map((one) => ({ from: one.acted_at_ps ?? 0, to: one.restored_at_ps ?? run.virtual_ps, text: `${one.port} queue ${one.queue} cut off`, object: one.port }));
}

const ELSEWHERE = /^(xoff|xon|paused|resumed|job-|step-|routes|watchdog|restored|deadlock)/; // on rows of their own

function eventRow(run: Run): Row {
  const rest = (run.events ?? []).filter((one) => !ELSEWHERE.test(one.kind));
  return { label: "events", kind: "mark", ink: "line-7", spans: rest.map((one) => ({ from: one.at_ps, to: one.at_ps, text: `${one.kind} ${one.object ?? ""}${one.priority === null || one.priority === undefined ? "" : `, priority ${one.priority}`}`, object: one.object ?? undefined })) };
}

const HEIGHT = 20, FOOT = 22;

function drawSpans(context: CanvasRenderingContext2D, row: Row, y: number, toX: (ps: number) => number, left: number, right: number): void {
  let drawn = -Infinity;
  for (const span of row.spans) {
    const from = Math.max(toX(span.from), left), to = Math.min(Math.max(toX(span.to), from + 1), right);
    if (to < left || from > right || (row.kind !== "bar" && to <= drawn)) continue;
    drawn = to;
    context.fillStyle = colour(row.ink);
    if (row.kind === "mark") {
      context.fillRect(from - 1, y + 2, 2, HEIGHT - 5);
    } else if (row.kind === "pause") {
      context.fillRect(from, y + 3, Math.max(to - from, 1), HEIGHT - 7);
      hatch(context, from, y + 3, Math.max(to - from, 1), HEIGHT - 7, colour("back"));
    } else {
      context.fillRect(from, y + 3, Math.max(to - from - 0.5, 1), HEIGHT - 7);
    }
  }
}

function spanAt(rows: Row[], x: number, y: number, toX: (ps: number) => number): Span | null {
  const row = rows[Math.floor(y / HEIGHT)];
  return row?.spans.find((span) => x >= toX(span.from) - 3 && x <= Math.max(toX(span.to), toX(span.from) + 2) + 3) ?? null;
}

function words(rows: Row[], run: Run): string {
  return `What happened over ${time(run.virtual_ps)}: ${rows.map((row) => `${row.label} ${row.spans.length}`).join(", ")}. Drag or press + and - to zoom all charts, arrows to move, 0 to see all.`;
}

export function timeline(run: Run, view: View): HTMLElement {
  const rows = [...programRows(run), ...jobRows(run), ...trainingRows(run), ...troubleRows(run)].filter((row) => row.spans.length > 0);
  const label = () => (chart.width() < 500 ? 78 : 150);
  const toX = (ps: number) => label() + ((ps - view.range.from) / (view.range.to - view.range.from)) * (chart.width() - label() - 8);
  const chart = drawing(words(rows, run), () => rows.length * HEIGHT + FOOT, (context, width, height) => {
    timeAxis(context, view, label(), width - 8, height - FOOT);
    rows.forEach((row, i) => {
      drawSpans(context, row, i * HEIGHT, toX, label(), width - 8);
      context.fillStyle = colour("text");
      context.font = "12px system-ui, sans-serif";
      context.textAlign = "left";
      context.textBaseline = "middle";
      context.fillText(fit(context, row.label, label() - 8), 0, i * HEIGHT + HEIGHT / 2);
    });
  });
  const told = h("p", { class: "told" }, "\u00a0");
  view.onRange(chart.redraw);
  zoomable(chart.element, view, () => ({ left: label(), width: chart.width() - label() - 8 }), (x, y) => { const span = spanAt(rows, x, y, toX); if (span?.object) view.choose([span.object]); });
  chart.element.addEventListener("mousemove", (event) => { const span = spanAt(rows, event.offsetX, event.offsetY, toX); told.textContent = span ? `${time(span.from)} to ${time(span.to)}: ${span.text}` : "\u00a0"; });
  const all = rows.flatMap((row) => row.spans.map((span) => ({ row: row.label, ...span })));
  return section("timeline", "Timeline", range(view), chart.element, told, missing(run),
    h("details", {}, h("summary", {}, "As a table"), table({ id: "timeline-table", caption: "Everything on the timeline", rows: all, sort: { column: 1, down: false },
      columns: [{ title: "what", value: (one) => one.row }, { title: "from", value: (one) => one.from, text: (one) => time(one.from) }, { title: "to", value: (one) => one.to, text: (one) => time(one.to) }, { title: "in words", value: (one) => one.text }] })));
}

/** Documents list so many events and pauses, the first. */
function missing(run: Run): HTMLElement | null {
  const parts = [run.events_lost ? plural(run.events_lost, "event") : "", run.pause_intervals_left_out ? plural(run.pause_intervals_left_out, "pause") : ""].filter((part) => part !== "");
  return parts.length ? h("p", { class: "soft" }, `Not shown: ${parts.join(" and ")}, later than the others.`) : null;
}

/** The stretch that is shown, in words, with buttons for those who do not drag. */
function range(view: View): HTMLElement {
  const text = h("output", { id: "shown", "aria-live": "polite" });
  const say = () => { text.textContent = view.range.from === view.full.from && view.range.to === view.full.to ? `all ${time(view.full.to)}` : `${time(view.range.from)} to ${time(view.range.to)}`; };
  const button = (label: string, name: string, act: () => void) => h("button", { type: "button", "aria-label": name, title: name, click: act }, label);
  view.onRange(say);
  say();
  return h("div", { class: "tools print-no" }, h("span", {}, "Shown: ", text), button("+", "Zoom in", () => view.zoom(0.5)), button("\u2212", "Zoom out", () => view.zoom(2)),
    button("\u2190", "Earlier", () => view.pan(-0.2)), button("\u2192", "Later", () => view.pan(0.2)), button("All", "Show all of the run", () => view.reset()),
    h("span", { class: "soft" }, "Drag in any chart to zoom all; double click for all."));
}
