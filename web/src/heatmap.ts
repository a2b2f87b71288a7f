// SPDX-License-Identifier: Apache-2.0
// Ports over time: a row a port, colour for how much.  Paused is hatched, so that it is seen without colour.

import { drawing, fit, hatched, timeAxis } from "./canvas";
import { choice, h, section } from "./dom";
import { bytes, count, plural, share, time } from "./format";
import { byName, device, type Samples } from "./samples";
import { table } from "./table";
import { colour, heat } from "./theme";
import type { Run } from "./types";
import { type View, zoomable } from "./view";

interface Metric { id: string; title: string; text: (value: number) => string; full?: number }
interface Row { name: string; values: Float64Array | null; paused: Float64Array | null; most: number }

const MOST_ROWS = 512, FOOT = 22;

/** Values as shown: bytes on the line as share of its rate, pauses as share of the step. */
class Metrics {
  readonly list: Metric[];
  private readonly rates = new Map<string, number>();
  private readonly shown = new Map<string, Float64Array | null>();

  constructor(run: Run, private readonly samples: Samples) {
    for (const port of run.ports) this.rates.set(port.port, port.rate_bps);
    const all: Metric[] = [
      { id: "queue", title: "queue", text: bytes },
      { id: "tx", title: "line used", text: share, full: 1 },
      { id: "paused", title: "paused by the peer", text: share, full: 1 },
      { id: "pausing", title: "pausing the peer", text: share, full: 1 },
      { id: "marks", title: "packets marked", text: count },
      { id: "drops", title: "packets dropped", text: count },
      { id: "headroom", title: "headroom held", text: bytes },
    ];
    this.list = all.filter((metric) => samples.has(metric.id));
  }

  of(metric: string, port: string): Float64Array | null {
    const key = `${metric} ${port}`;
    const known = this.shown.get(key);
    if (known !== undefined) return known;
    const sum = this.samples.sum(metric, port);
    const scale = metric === "tx" ? 8e12 / (this.samples.step * (this.rates.get(port) ?? 1)) : metric === "paused" || metric === "pausing" ? 1 / this.samples.step : 1;
    const values = sum && scale !== 1 ? sum.map((value) => value * scale) : sum;
    this.shown.set(key, values);
    return values;
  }
}

function largest(lists: (Float64Array | null)[], length: number): Float64Array {
  const out = new Float64Array(length);
  for (const list of lists) if (list) for (let i = 0; i < length; i++) if ((list[i] ?? 0) > (out[i] ?? 0)) out[i] = list[i] ?? 0;
  return out;
}

function rowsOf(run: Run, samples: Samples, metrics: Metrics, metric: string, sort: string): Row[] {
  const names = samples.objects(metric).filter((name) => name.includes(":"));
  const tiers = new Map((run.nodes ?? []).map((node) => [node.node, node.tier]));
  const make = (name: string, values: Float64Array | null, paused: Float64Array | null): Row => ({ name, values, paused, most: values ? values.reduce((a, b) => Math.max(a, b), 0) : 0 });
  let rows: Row[];
  if (names.length > MOST_ROWS) {
    const groups = new Map<string, string[]>();
    for (const name of names) groups.set(device(name), [...(groups.get(device(name)) ?? []), name]);
    rows = [...groups].map(([name, ports]) => make(name, largest(ports.map((port) => metrics.of(metric, port)), samples.times.length), largest(ports.map((port) => metrics.of("paused", port)), samples.times.length)));
  } else {
    rows = names.map((name) => make(name, metrics.of(metric, name), metrics.of("paused", name)));
  }
  const place = (row: Row) => tiers.get(device(row.name)) ?? 0;
  rows.sort(sort === "worst" ? (a, b) => b.most - a.most || byName(a.name, b.name) : (a, b) => place(b) - place(a) || byName(a.name, b.name));
  return rows.slice(0, MOST_ROWS);
}

export function heatmap(run: Run, samples: Samples, view: View): HTMLElement | null {
  const metrics = new Metrics(run, samples);
  const first = metrics.list[0];
  if (!samples.any || !first) return null;
  let metric = first, sort = "device", cursor = -1;
  let rows = rowsOf(run, samples, metrics, metric.id, sort);
  let top = 1;
  const tall = () => Math.min(Math.max(620 / Math.max(rows.length, 1), 2), 16); // all of it is seen at once
  const label = () => (chart.width() < 500 ? 64 : 90);
  const right = () => chart.width() - 8;

  const chart = drawing("", () => rows.length * tall() + FOOT, (context, width, height) => {
    timeAxis(context, view, label(), width - 8, height - FOOT);
    rows.forEach((row, i) => drawRow(context, row, i * tall()));
    drawLabels(context);
  });

  function drawRow(context: CanvasRenderingContext2D, row: Row, y: number): void {
    const { from, to } = view.range, width = right() - label(), columns = Math.max(Math.min(Math.ceil(width), samples.times.length * 4), 1);
    const wide = width / columns, part = (to - from) / columns;
    for (let i = 0; i < columns; i++) {
      const begin = from + i * part, value = samples.most(row.values, begin, begin + part);
      if (value > 0) {
        context.fillStyle = heat(value / top);
        context.fillRect(label() + i * wide, y, wide + 0.5, tall() - (tall() > 6 ? 1 : 0));
      }
    }
    for (let i = 0; i < columns; i++) {
      let j = i;
      while (j < columns && samples.most(row.paused, from + j * part, from + (j + 1) * part) > 0.2) j++;
      if (j > i) hatched(context, label() + i * wide, y, (j - i) * wide, Math.max(tall() - 1, 1));
      i = Math.max(i, j);
    }
  }

  function drawLabels(context: CanvasRenderingContext2D): void {
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "middle";
    let free = -1;
    rows.forEach((row, i) => {
      const y = Math.max(i * tall() + tall() / 2, 6), chosen = view.chosen.includes(row.name);
      if (chosen || cursor === i) {
        context.strokeStyle = colour("focus");
        context.lineWidth = 2;
        context.strokeRect(label() - 1, i * tall() - 1, right() - label() + 2, tall() + 1);
      }
      const whole = tall() >= 12 || sort === "worst" || rows[i - 1] === undefined || device(rows[i - 1]?.name ?? "") !== device(row.name);
      if ((whole && y > free) || chosen) {
        context.fillStyle = colour(chosen ? "focus" : "text");
        context.fillText(fit(context, tall() >= 12 || chosen || sort === "worst" ? row.name : device(row.name), label() - 6), 0, y);
        free = y + 12;
      }
    });
  }

  function refresh(): void {
    rows = rowsOf(run, samples, metrics, metric.id, sort);
    top = metric.full ?? Math.max(...rows.map((row) => row.most), 1e-9);
    const worst = rows.reduce<Row | null>((a, b) => (a === null || b.most > a.most ? b : a), null);
    chart.element.setAttribute("aria-label", `Heat map of ${metric.title}: ${plural(rows.length, "row")} over ${time(view.full.to)}. Most: ${worst?.name ?? "none"} with ${metric.text(worst?.most ?? 0)}. Up and down choose a row, Enter selects it.`);
    scale.replaceChildren(h("span", {}, "0 "), h("span", { class: "ramp", style: `background: linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(heat).join(",")})` }), h("span", {}, ` ${metric.text(top)}`), h("span", { class: "hatched" }, "hatched: paused"));
    list.replaceChildren(table({ id: "heatmap-table", caption: `Most of ${metric.title}, by port`, rows, first: 10, choose: (row) => view.choose([row.name]),
      columns: [{ title: "port", value: (row) => row.name }, { title: `most ${metric.title}`, value: (row) => row.most, text: (row) => metric.text(row.most) }], sort: { column: 1, down: true } }));
    chart.redraw();
  }

  const scale = h("div", { class: "scale" }), list = h("div"), told = h("p", { class: "told" }, "\u00a0");
  const rowAt = (y: number) => Math.min(Math.max(Math.floor(y / tall()), 0), rows.length - 1);
  const choose = (i: number) => { const row = rows[i]; if (row) view.choose([row.name]); };
  zoomable(chart.element, view, () => ({ left: label(), width: right() - label() }), (_, y) => choose(rowAt(y)));
  chart.element.addEventListener("mousemove", (event) => {
    const row = rows[rowAt(event.offsetY)], at = view.range.from + ((event.offsetX - label()) / (right() - label())) * (view.range.to - view.range.from);
    told.textContent = row && at >= view.range.from ? `${row.name} at ${time(at)}: ${metric.text(samples.most(row.values, at, at))}` : "\u00a0";
  });
  chart.element.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { cursor = Math.min(Math.max(cursor + (event.key === "ArrowDown" ? 1 : -1), 0), rows.length - 1); told.textContent = `${rows[cursor]?.name}: at most ${metric.text(rows[cursor]?.most ?? 0)}`; chart.redraw(); event.preventDefault(); }
    if (event.key === "Enter" && cursor >= 0) choose(cursor);
  });
  view.onRange(chart.redraw);
  view.onChosen(chart.redraw);
  refresh();
  const out = run.series?.left_out;
  return section("heatmap", "Ports over time",
    h("div", { class: "tools" }, choice("Show", metrics.list.map((one) => [one.id, one.title]), metric.id, (id) => { metric = metrics.list.find((one) => one.id === id) ?? metric; refresh(); }),
      choice("Order", [["device", "by tier and device"], ["worst", "worst first"]], sort, (value) => { sort = value; refresh(); }), scale),
    chart.element, told, out ? h("p", { class: "soft" }, `Not among the samples: ${typeof out === "number" ? plural(out, "column") : String(out)}.`) : null,
    h("p", { class: "soft" }, "Ports that never had any are not listed."), h("details", {}, h("summary", {}, "As a table"), list));
}
