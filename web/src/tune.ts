// SPDX-License-Identifier: Apache-2.0
// A search for settings: the answer and what to change, the front of settings that no other beats, what matters, why.

import { h, section, sliced } from "./dom";
import { NOTHING, plural, share, time, times } from "./format";
import { lines } from "./lines";
import { type Column, table } from "./table";
import type { Tuning, TunedParameter, TunedRatio, TunedSetting } from "./types";

/** "-12.3 %" of a ratio; of bandwidth, whose ratio is of its inverse, the change of the bandwidth. */
function change(ratio: number | null, inverse: boolean): string {
  if (ratio === null) return NOTHING;
  const percent = 100 * ((inverse ? 1 / ratio : ratio) - 1);
  return `${percent < 0 ? "\u2212" : "+"}${Math.abs(percent).toFixed(1)} %`;
}

function interval(of: TunedRatio, inverse: boolean): string {
  if (of.ratio_least === null || of.ratio_most === null) return change(of.ratio, inverse);
  const ends = inverse ? [of.ratio_most, of.ratio_least] : [of.ratio_least, of.ratio_most];
  return `${change(of.ratio, inverse)} (${ends.map((end) => change(end, inverse)).join(" to ")})`;
}

const latency = (setting: TunedSetting) => setting.p99_slowdown_milli ?? setting.p99_ps ?? null;
const latencyText = (setting: TunedSetting) => (typeof setting.p99_slowdown_milli === "number" ? times(setting.p99_slowdown_milli / 1000) : time(setting.p99_ps));
const goalName = (data: Tuning) => (data.goal === "p99" ? `p99 of ${data.class ?? ""}` : data.goal === "paused" ? "paused share" : data.goal === "busbw" ? "bus bandwidth" : "time");

/** A dot a setting; x is speed. */
function scatter(data: Tuning, title: string, unit: string, y: (setting: TunedSetting) => number | null): HTMLElement | null {
  const bandwidth = data.goal === "busbw", x = (setting: TunedSetting) => (bandwidth ? setting.busbw_GBps : setting.time_ps);
  const dots = data.settings.filter((setting) => setting.worthless === null && x(setting) !== null && y(setting) !== null).sort((a, b) => (x(a) ?? 0) - (x(b) ?? 0));
  const groups: [string, (setting: TunedSetting) => boolean][] = [
    ["tuned", (one) => one.name === "tuned"], ["as it is", (one) => one.name === "as it is"], ["knee", (one) => one.knee && one.name !== "tuned" && one.name !== "as it is"],
    ["front", (one) => one.front && !one.knee && one.name !== "tuned" && one.name !== "as it is"], ["others", (one) => !one.front && one.name !== "tuned" && one.name !== "as it is"]];
  if (dots.length < 2) return null;
  return lines({ title, unit, height: 260, x: dots.map((dot) => x(dot) ?? 0), xTitle: bandwidth ? "bus bandwidth GB/s" : "time", xText: bandwidth ? (value) => value.toFixed(2) : time,
    lines: groups.filter(([, has]) => dots.some(has)).map(([label, has]) => ({ label, points: true, values: dots.map((dot) => (has(dot) ? y(dot) : null)) })),
    summary: `${title} over ${bandwidth ? "bus bandwidth" : "time"} of ${plural(dots.length, "setting")}; on the front: ${dots.filter((dot) => dot.front).map((dot) => dot.name).join(", ")}.` });
}

function settings(data: Tuning): HTMLElement {
  const columns: Column<TunedSetting>[] = [
    { title: "setting", value: (one) => one.name }, { title: `${goalName(data)} against the file`, value: (one) => one.goal.ratio, text: (one) => interval(one.goal, data.goal === "busbw") },
    { title: "time", value: (one) => one.time_ps, text: (one) => time(one.time_ps) }, { title: "bus bandwidth GB/s", value: (one) => one.busbw_GBps, text: (one) => one.busbw_GBps?.toFixed(2) ?? NOTHING },
    { title: "p99", value: latency, text: latencyText }, { title: "paused", value: (one) => one.paused_share, text: (one) => share(one.paused_share) },
    { title: "note", value: (one) => one.worthless ?? (one.knee ? "front, knee" : one.front ? "front" : null) },
    { title: "from", value: (one) => one.source },
    { title: "values changed", value: (one) => one.values.filter((value) => value.changed).map((value) => `${value.key} ${value.value}`).join("; ") || null }];
  return table({ id: "settings-table", caption: `${plural(data.settings.length, "setting")}, means over ${plural(data.fresh_seeds, "fresh seed")}`, columns, rows: data.settings, first: 40 });
}

function parameters(data: Tuning): HTMLElement {
  const columns: Column<TunedParameter>[] = [
    { title: "key", value: (one) => one.key }, { title: "now", value: (one) => one.now }, { title: "tuned", value: (one) => (one.tuned === one.now ? "as it is" : one.tuned) },
    { title: "if set back", value: (one) => one.set_back_ratio, text: (one) => change(one.set_back_ratio, data.goal === "busbw"), help: "what the goal loses when this value alone stays as it is" },
    { title: "matters", value: (one) => one.share, text: (one) => share(one.share), help: "share of the differences between drawn settings that goes with it" }];
  return table({ id: "parameters-table", caption: plural(data.parameters.length, "value"), columns, rows: data.parameters });
}

export function tune(data: Tuning): (HTMLElement | null)[] {
  const tuned = data.settings.find((setting) => setting.name === "tuned");
  const head = data.helps && tuned ? `${goalName(data)}: ${interval(tuned.goal, data.goal === "busbw")} on ${plural(data.fresh_seeds, "fresh seed")}.`
    : `${goalName(data)}: tuning cannot help: no setting that was tried is better than the file as it is, beyond the 95 % interval.`;
  return [
    section("answer", "Answer", h("p", {}, h("strong", {}, head)), sliced([data.slice]), data.out_of_time ? h("p", {}, "--time ended the search before its runs were used: another machine may answer otherwise.") : null,
      data.change.length ? h("pre", {}, data.change.map((one) => `${one.key}: ${one.value}`).join("\n")) : null, h("ul", {}, ...data.why.map((why) => h("li", {}, why))),
      data.not_tuned.length ? h("ul", {}, ...data.not_tuned.map((why) => h("li", { class: "soft" }, `not tuned: ${why}`))) : null),
    section("front", "Front", h("p", {}, "Settings of the front are better in something than every other: speed, p99 or paused share. The knee is the least product of losses."),
      h("div", { class: "charts" }, scatter(data, "p99", data.settings.some((one) => typeof one.p99_slowdown_milli === "number") ? "times" : "ps", (one) => (typeof one.p99_slowdown_milli === "number" ? one.p99_slowdown_milli / 1000 : latency(one))),
        scatter(data, "Paused", "share", (one) => one.paused_share)), settings(data)),
    section("values", "Values", parameters(data)),
    data.under.length ? section("under", "Other traffic", h("p", {}, `The tuned setting against the file's: ${change(data.robustness_ratio, false)} on average, ${change(data.robustness_worst_ratio, false)} in the worst.`),
      table({ id: "under-table", caption: plural(data.under.length, "traffic", "traffics"), rows: data.under, columns: [{ title: "under", value: (one) => one.traffic },
        { title: "against the file", value: (one) => one.ratio, text: (one) => change(one.ratio, false) }, { title: "searched", value: (one) => (one.searched ? "yes" : null) }] })) : null,
  ];
}
