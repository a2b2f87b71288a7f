// SPDX-License-Identifier: Apache-2.0
// Systems beside each other: a row each, why each is where it is, the answer with its weights, the prices in the sums.

import { h, section, sliced } from "./dom";
import { bytes, count, NOTHING, plural, share, time } from "./format";
import { type Column, table } from "./table";
import type { Comparison, ComparedSystem, Answer, Price } from "./types";

type Show = (value: number) => string;
const whole: Show = (value) => count(Math.round(value));
const MEASURES: [key: string, title: string, show: Show][] = [
  ["time_ps", "time", time], ["busbw_GBps", "bus bandwidth GB/s", (value) => value.toFixed(2)], ["step_ps", "training step", time], ["idle", "GPUs idle", share],
  ["p50_ps", "completion, p50", time], ["p99_ps", "completion, p99", time], ["p999_ps", "completion, p99.9", time], ["small_ps", "8 bytes, one way", time], ["small_4k_ps", "4 KiB, one way", time],
  ["drops", "dropped", count], ["lost", "lost on links", count], ["retransmitted", "sent again", count], ["timeouts", "timeouts", count], ["trimmed", "trimmed", count],
  ["paused_ps", "paused, all ports", time], ["held_ps", "hosts held back", time], ["queue_max_bytes", "longest queue", bytes], ["overhead", "no payload", share],
  ["watts", "W", whole], ["usd", "USD", whole], ["score", "score", (value) => value.toFixed(3)],
];

function number(system: ComparedSystem, key: string): number | null {
  const found = system[key];
  return typeof found === "number" ? found : null;
}

function columns(data: Comparison): Column<ComparedSystem>[] {
  const telling = MEASURES.filter(([key]) => data.systems.some((system) => (number(system, key) ?? 0) !== 0));
  return [...data.vary.map((path, i): Column<ComparedSystem> => ({ title: path, value: (system) => system.set[i] ?? null })),
    { title: "system", value: (system) => system.system },
    ...telling.map(([key, title, show]): Column<ComparedSystem> => ({ title, value: (system) => number(system, key), text: (system) => { const known = number(system, key); return known === null ? NOTHING : show(known); } })),
    { title: "note", value: (system) => system.error ?? (system.state === "done" || system.state === "until" ? null : system.state) }];
}

function named(set: string[], data: Comparison): string {
  return set.map((value, i) => `${data.vary[i] ?? ""} ${value}`).join(", ");
}

function answer(data: Comparison, one: Answer): HTMLElement {
  const moves = one.weights.flatMap((weight) => (["below", "above"] as const).flatMap((way) => {
    const move = weight[way];
    return move.weight === null || move.system === null ? [] : [h("li", {}, `${weight.of}: ${way} ${move.weight.toFixed(2)} instead of ${weight.weight}, and it is ${move.system}`)];
  }));
  const weighed = one.weights.filter((weight) => weight.counts).map((weight) => `${weight.of} ${weight.weight}`).join(", ");
  return h("div", {}, one.set.length ? h("h3", {}, named(one.set, data)) : null,
    h("p", {}, h("strong", {}, one.system ?? "no answer"), weighed ? `, weighing ${weighed}` : ""),
    moves.length ? h("ul", {}, ...moves) : h("p", { class: "soft" }, "No single weight changes that."));
}

export function compare(data: Comparison): HTMLElement[] {
  const whys = data.systems.map((system) => h("li", {}, h("strong", {}, system.system), system.set.length ? ` (${named(system.set, data)})` : "", `: ${system.why}`,
    system.left_out.length ? h("ul", {}, ...system.left_out.map((one) => h("li", { class: "soft" }, `left out, line ${one.line}: ${one.message}`))) : null));
  const prices: Column<Price>[] = [{ title: "price", value: (price) => price.price }, { title: "each", value: (price) => price.each }, { title: "unit", value: (price) => price.unit }, { title: "year", value: (price) => price.year ?? null }, { title: "source", value: (price) => (price.line ? `${price.source}, line ${price.line}` : price.source) }];
  return [
    section("systems", "Systems", sliced(data.systems.map((system) => system.slice)), table({ id: "systems-table", caption: `${plural(data.systems.length, "row")}, a system each`, columns: columns(data), rows: data.systems, first: 60 })),
    section("why", "Why", h("ul", {}, ...whys)),
    section("answer", data.answers.length > 1 ? "Answers" : "Answer", ...data.answers.map((one) => answer(data, one))),
    section("prices", "Prices in the sums", h("p", {}, "All of them are assumptions; 'prices:' in the fabric file replaces any."), table({ id: "prices-table", caption: plural(data.prices.length, "price"), columns: prices, rows: data.prices })),
  ];
}
