// SPDX-License-Identifier: Apache-2.0
// Bars: of what has names and no order, a bar each, with its label and value as text, and its interval where there is one.

import { h } from "./dom";
import { plusMinus } from "./format";

export interface Bar { label: string; value: number | null; half: number | null; strong?: boolean }
export interface Bars { title: string; help?: string | undefined; unit: string; xTitle: string; groups: [title: string, bars: Bar[]][] }

export function bars(chart: Bars): HTMLElement {
  const all = chart.groups.flatMap(([, list]) => list), most = Math.max(...all.map((bar) => (bar.value ?? 0) + (bar.half ?? 0))) || 1;
  const words = chart.groups.map(([title, list]) => `${title && `${title}: `}${list.map((bar) => `${bar.label} ${plusMinus(bar.value, bar.half, chart.unit)}`).join("; ")}`);
  const percent = (value: number) => `${((100 * Math.max(value, 0)) / most).toFixed(2)}%`;
  const row = ({ label, value, half, strong }: Bar) => [
    h("span", { class: strong ? "strong" : null }, label),
    h("span", { class: "track" }, h("i", { style: `width: ${percent(value ?? 0)}` }),
      value !== null && half ? h("b", { style: `left: ${percent(value - half)}; right: calc(100% - ${percent(value + half)})` }) : null),
    h("span", { class: "number" }, plusMinus(value, half, chart.unit))];
  return h("figure", { class: "chart", role: "img", tabindex: 0, "aria-label": `${chart.title}. ${words.join(". ")}.` },
    h("figcaption", { title: chart.help }, chart.title, h("span", { class: "soft" }, chart.xTitle ? ` by ${chart.xTitle}` : "")),
    h("div", { class: "bars" }, ...chart.groups.flatMap(([title, list]) => [title ? h("span", { class: "of" }, title) : null, ...list.flatMap(row)])));
}
