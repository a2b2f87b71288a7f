// SPDX-License-Identifier: Apache-2.0
// Lines drawn by uPlot: over time, with the zoom and crosshair of all charts, or over anything else.

import uPlot from "uplot";
import { h } from "./dom";
import { inUnit, plusMinus, time } from "./format";
import { colour, LINES, onTheme } from "./theme";
import { type View, zoomable } from "./view";

export interface Line { label: string; values: ArrayLike<number | null>; halves?: (number | null)[]; points?: boolean }
export interface Limit { label: string; value: number }
export interface Chart {
  title: string;
  help?: string | undefined;
  unit: string;
  x: ArrayLike<number>;
  lines: Line[];
  limits?: Limit[];
  view?: View;
  xText?: (value: number) => string;
  xTitle?: string;
  xLog?: boolean;
  xWhole?: boolean;
  yMost?: number;
  yLog?: boolean;
  steps?: boolean;
  height?: number;
  summary?: string;
}

const SYNC = uPlot.sync("time");

function drawLimits(u: uPlot, limits: Limit[]): void {
  const { ctx } = u, ratio = window.devicePixelRatio || 1, [most] = [u.scales["y"]?.max ?? 0];
  ctx.save();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  let before = Infinity, shift = 0;
  for (const limit of [...limits].sort((a, b) => a.value - b.value)) {
    if (limit.value > most) continue;
    const y = u.valToPos(limit.value, "y", true);
    ctx.strokeStyle = ctx.fillStyle = colour("limit");
    ctx.lineWidth = ratio;
    ctx.setLineDash([6 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(u.bbox.left, y);
    ctx.lineTo(u.bbox.left + u.bbox.width, y);
    ctx.stroke();
    shift = before - y < 14 * ratio ? shift + ctx.measureText(limit.label).width + 12 * ratio : 0;
    before = y;
    const wide = ctx.measureText(limit.label).width, right = u.bbox.left + u.bbox.width - 4 * ratio - shift;
    ctx.fillStyle = colour("panel"); // the line of another limit may run there
    ctx.fillRect(right - wide - 3 * ratio, y - 14 * ratio, wide + 6 * ratio, 13 * ratio);
    ctx.fillStyle = colour("limit");
    ctx.fillText(limit.label, right, y - 2 * ratio);
  }
  ctx.restore();
}

/** Intervals as upright lines with a foot and a head. */
function drawHalves(u: uPlot, lines: Line[]): void {
  const { ctx } = u, ratio = window.devicePixelRatio || 1;
  ctx.save();
  ctx.lineWidth = ratio;
  lines.forEach((line, i) => line.halves?.forEach((half, at) => {
    const value = line.values[at];
    if (!half || value === null || value === undefined || !u.series[i + 1]?.show) return;
    const x = u.valToPos(u.data[0][at] ?? 0, "x", true) + (i - (lines.length - 1) / 2) * 3 * ratio, low = u.valToPos(Math.max(value - half, 0), "y", true), high = u.valToPos(value + half, "y", true), wide = 3 * ratio;
    ctx.strokeStyle = colour(LINES[i % LINES.length]?.[0] ?? "line-1");
    ctx.beginPath();
    for (const [fromX, fromY, toX, toY] of [[x, low, x, high], [x - wide, low, x + wide, low], [x - wide, high, x + wide, high]] as const) { ctx.moveTo(fromX, fromY); ctx.lineTo(toX, toY); }
    ctx.stroke();
  }));
  ctx.restore();
}

function mostOf(lines: Line[]): number {
  let most = 0;
  for (const line of lines) for (let i = 0; i < line.values.length; i++) most = Math.max(most, (line.values[i] ?? 0) + (line.halves?.[i] ?? 0));
  return most;
}

function words(chart: Chart): string {
  return chart.summary ?? `${chart.title}. ${chart.lines.map((line) => `${line.label}: at most ${inUnit(mostOf([line]), chart.unit)}`).join("; ")}.${(chart.limits ?? []).map((limit) => ` ${limit.label} is at ${inUnit(limit.value, chart.unit)}.`).join("")}`;
}

function seriesOf(chart: Chart): uPlot.Series[] {
  return [{}, ...chart.lines.map((line, i): uPlot.Series => {
    const [ink, dash] = LINES[i % LINES.length] ?? ["line-1", []];
    const shared: uPlot.Series = { label: line.label, stroke: () => colour(ink), width: 1.5, dash, spanGaps: true };
    if (line.points) return { ...shared, paths: () => null, points: { show: true, size: 5, stroke: () => colour(ink), fill: () => colour(ink) } };
    return { ...shared, points: { show: chart.x.length < 60, size: 5 }, ...(chart.steps && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}) };
  })];
}

function axes(chart: Chart): uPlot.Axis[] {
  const look = { stroke: () => colour("soft"), grid: { stroke: () => colour("grid"), width: 1 }, ticks: { stroke: () => colour("rule"), width: 1 }, font: "12px system-ui, sans-serif" };
  const xText = chart.xText ?? time;
  return [{ ...look, values: (_, splits) => splits.map((value) => (value === null ? "" : xText(value))), space: chart.xWhole ? 60 : 90, size: 34, ...(chart.xWhole ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] } : {}) }, { ...look, size: 72, values: (_, splits) => splits.map((value) => (value === null ? "" : inUnit(value, chart.unit))) }];
}

/** Buttons that show and hide a line, with its value under the crosshair. */
function legend(chart: Chart, plot: () => uPlot | null): { element: HTMLElement; tell: (index: number | null | undefined) => void } {
  const values = chart.lines.map(() => h("span", { class: "at" }));
  const buttons = chart.lines.map((line, i) => {
    const [ink, dash] = LINES[i % LINES.length] ?? ["line-1", []];
    const key = h("span", { class: "key", style: `border-top: 3px ${line.points ? "dotted" : dash.length === 0 ? "solid" : "dashed"} var(--${ink})` });
    const button = h("button", { type: "button", "aria-pressed": "true", click: () => { const shown = button.getAttribute("aria-pressed") !== "true"; button.setAttribute("aria-pressed", String(shown)); plot()?.setSeries(i + 1, { show: shown }); } }, key, line.label, " ", values[i]);
    return button;
  });
  return { element: h("div", { class: "legend" }, ...buttons), tell: (index) => values.forEach((value, i) => {
    const at = index === null || index === undefined ? null : chart.lines[i]?.values[index];
    value.textContent = at === null || at === undefined ? "" : plusMinus(at, chart.lines[i]?.halves?.[index ?? 0] ?? null, chart.unit);
  }) };
}

export function lines(chart: Chart): HTMLElement {
  let plot: uPlot | null = null;
  const view = chart.view, limits = chart.limits ?? [];
  const highest = chart.yMost ?? Math.max(mostOf(chart.lines), ...limits.map((limit) => limit.value).filter((value) => value <= 2.5 * mostOf(chart.lines)), 1e-9) * 1.08;
  const { element: keys, tell } = legend(chart, () => plot);
  const place = h("div", { class: "plot" });
  const element = h("figure", { class: "chart", role: "img", tabindex: 0, "aria-label": words(chart) }, h("figcaption", { title: chart.help }, chart.title, h("span", { class: "soft" }, chart.xTitle ? ` over ${chart.xTitle}` : "")), keys, place);
  const options = (): uPlot.Options => ({
    width: Math.max(place.clientWidth, 200), height: chart.height ?? 190, legend: { show: false },
    scales: { x: { time: false, ...(chart.xLog ? { distr: 3 as const } : {}), ...(view ? { range: () => [view.range.from, view.range.to] as [number, number] } : chart.xWhole ? { range: () => [(chart.x[0] ?? 0) - 0.5, (chart.x[chart.x.length - 1] ?? 0) + 0.5] as [number, number] } : {}) }, y: chart.yLog ? { distr: 3 as const } : { range: () => [0, highest] as [number, number] } },
    cursor: { ...(view ? { sync: { key: SYNC.key } } : {}), drag: { x: false, y: false }, y: false },
    series: seriesOf(chart), axes: axes(chart),
    hooks: { draw: [(u) => drawLimits(u, limits), (u) => drawHalves(u, chart.lines)], setCursor: [(u) => tell(u.cursor.idx)] },
  });
  const make = () => {
    plot?.destroy();
    plot = new uPlot(options(), [chart.x as unknown as number[], ...chart.lines.map((line) => line.values as unknown as number[])], place);
    if (view) element.dataset["from"] = String(view.range.from);
  };
  let width = 0;
  new ResizeObserver(() => {
    if (place.clientWidth === width || place.clientWidth === 0) return;
    width = place.clientWidth;
    if (plot) plot.setSize({ width, height: chart.height ?? 190 }); else make();
  }).observe(place);
  onTheme(() => plot?.redraw());
  if (view) {
    const box = () => { const over = place.querySelector<HTMLElement>(".u-over"), own = element.getBoundingClientRect(), rect = over?.getBoundingClientRect(); return { left: rect ? rect.left - own.left : 0, width: rect?.width ?? 1 }; };
    zoomable(element, view, box);
    view.onRange(() => { element.dataset["from"] = String(view.range.from); plot?.setScale("x", { min: view.range.from, max: view.range.to }); });
  }
  return element;
}
