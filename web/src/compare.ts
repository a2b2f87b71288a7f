// SPDX-License-Identifier: Apache-2.0
// Systems beside each other: a row each, why each is where it is, the answer with its weights, the prices in the sums.

import { bars } from "./bars";
import { h, section, sliced } from "./dom";
import { plural } from "./format";
import { column, half, last, type Measure, named, note, telling, value } from "./measures";
import { type Column, table } from "./table";
import type { Comparison, ComparedSystem, Answer, Price } from "./types";

/** What is decided by comes first: it is seen without scrolling. */
const MEASURES: Measure[] = ([
  ["score", "score", "", "weighted mean of what it needs over what the best system needs: 1 is the best in everything"], ["time_ps", "time", "ps"], ["step_ps", "step", "ps", "training: mean time of a step"], ["usd", "USD", "", "cost of the network's parts"], ["watts", "W", "", "power of the network's parts"],
  ["busbw_GBps", "busbw", "GB/s", "bus bandwidth of collectives"], ["idle", "idle", "share", "training: share of the time that GPUs do not compute"],
  ["fct_p50_ps", "p50", "ps", "completion time, median"], ["fct_p99_ps", "p99", "ps", "completion time, 99th percentile"], ["fct_p999_ps", "p99.9", "ps", "completion time, 99.9th percentile"], ["small_ps", "8 B", "ps", "one way of a message of 8 bytes"], ["small_4k_ps", "4 KiB", "ps", "one way of a message of 4,096 bytes"],
  ["drops", "drops", "", "packets dropped by switches and adapters"], ["lost", "lost", "", "packets lost on links"], ["retransmitted", "again", "", "packets sent again"], ["timeouts", "timeouts", ""], ["trimmed", "trimmed", "", "packets that switches trimmed to their headers"],
  ["paused_ps", "paused", "ps", "total of all ports"], ["held_ps", "held", "ps", "time hosts were held back by pauses or want of credit"], ["queue_max_bytes", "queue", "bytes", "the longest of any switch port"], ["overhead", "overhead", "share", "share of the hosts' bytes that is not payload"],
] as const).map(([key, title, unit, help]) => ({ key, title, unit, help: help ?? "" }));
const WEIGHED: Record<string, string> = { time: "time_ps", step: "step_ps", p99: "fct_p99_ps", small: "small_ps", cost: "usd", watts: "watts" };
const BARS = 60;

function columns(data: Comparison): Column<ComparedSystem>[] {
  return [...data.vary.map((path, i): Column<ComparedSystem> => ({ title: last(path), help: path, wrap: true, value: (system) => system.set[i] ?? null })),
    { title: "system", value: (system) => system.system }, ...telling(data.systems, MEASURES).map((one) => column<ComparedSystem>(one)), ...note(data.systems)];
}

/** Score, time, price and power, and what else is weighed: a bar a system, the answer's in bold. */
function charts(data: Comparison): HTMLElement {
  const weighed = data.answers.flatMap((one) => one.weights.filter((weight) => weight.counts).map((weight) => WEIGHED[weight.of]));
  const shown = telling(data.systems, MEASURES).filter(({ key }) => ["score", "time_ps", "usd", "watts", ...weighed].includes(key));
  const sets = new Map<string, ComparedSystem[]>();
  for (const system of data.systems.slice(0, BARS)) { const name = named(system.set, data.vary); sets.set(name, [...(sets.get(name) ?? []), system]); }
  const best = (system: ComparedSystem) => data.answers.some((one) => one.system === system.system && one.set.join() === system.set.join());
  return h("div", { class: "charts small" }, ...shown.map((one) => bars({ title: one.title, help: one.help, unit: one.unit, xTitle: "system",
    groups: [...sets].map(([name, list]) => [name, list.map((system) => ({ label: system.system, value: value(system, one), half: half(system, one), strong: best(system) }))]) })));
}

function answer(data: Comparison, one: Answer): HTMLElement {
  const moves = one.weights.flatMap((weight) => (["below", "above"] as const).flatMap((way) => {
    const move = weight[way];
    return move.weight === null || move.system === null ? [] : [h("li", {}, `${weight.of}: ${way} ${move.weight.toFixed(2)} instead of ${weight.weight}, and it is ${move.system}`)];
  }));
  const weighed = one.weights.filter((weight) => weight.counts).map((weight) => `${weight.of} ${weight.weight}`).join(", ");
  return h("div", {}, one.set.length ? h("h3", {}, named(one.set, data.vary)) : null,
    h("p", {}, h("strong", {}, one.system ?? "no answer"), weighed ? `, weighing ${weighed}` : ""),
    moves.length ? h("ul", {}, ...moves) : h("p", { class: "soft" }, "No single weight changes that."));
}

export function compare(data: Comparison): HTMLElement[] {
  const whys = data.systems.map((system) => h("li", {}, h("strong", {}, system.system), system.set.length ? ` (${named(system.set, data.vary)})` : "", `: ${system.why}`,
    system.left_out.length ? h("ul", {}, ...system.left_out.map((one) => h("li", { class: "soft" }, `left out, line ${one.line}: ${one.message}`))) : null));
  const prices: Column<Price>[] = [{ title: "price", value: (price) => price.price }, { title: "each", value: (price) => price.each }, { title: "unit", value: (price) => price.unit }, { title: "year", value: (price) => price.year ?? null }, { title: "source", value: (price) => (price.line ? `${price.source}, line ${price.line}` : price.source) }];
  return [
    section("systems", "Systems", charts(data), data.systems.length > BARS ? h("p", { class: "soft" }, `Of the first ${BARS} rows; the table has all.`) : null, sliced(data.systems.map((system) => system.slice)), table({ id: "systems-table", caption: `${plural(data.systems.length, "row")}, a system each`, columns: columns(data), rows: data.systems, first: 60 })),
    section("why", "Why", h("ul", {}, ...whys)),
    section("answer", data.answers.length > 1 ? "Answers" : "Answer", ...data.answers.map((one) => answer(data, one))),
    section("prices", "Prices in the sums", h("p", {}, "All of them are assumptions; 'prices:' in the fabric file replaces any."), table({ id: "prices-table", caption: plural(data.prices.length, "price"), columns: prices, rows: data.prices })),
  ];
}
