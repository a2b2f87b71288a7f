// SPDX-License-Identifier: Apache-2.0
// A diagnosis: causes with their consequences below them, culprit, victims, evidence; the verdict on training; what was
// looked at and what is missing.  Where it is of one run, the run's own parts follow, and a finding is chosen in them.

import { h, section, type Child } from "./dom";
import { parse } from "./data";
import { bytes, count, NOTHING, plural, share, time } from "./format";
import { parts, viewOf } from "./run";
import { table } from "./table";
import type { Diagnose, DiagnoseFinding, DiagnoseTraining, Run } from "./types";
import type { View } from "./view";

const LEVELS: Record<string, string> = { info: "none", warning: "look", critical: "bad" };
const CONFIDENCE: Record<string, string> = { exact: "the simulator's own cause", strong: "between two looks", weak: "since boot, or an upper bound" };
const NAMES = 16;

function value(number: number | null, unit: string): string {
  if (number === null) return NOTHING;
  if (unit === "share") return share(number);
  return unit === "bytes" ? bytes(number) : `${count(number)}${unit ? ` ${unit}` : ""}`;
}

/** A sentence in which commands stand between backticks. */
function sentence(text: string): HTMLElement {
  return h("p", {}, ...text.split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part)));
}

function place(file: string | null, line: number | null): string {
  return file === null ? NOTHING : line ? `${file}:${line}` : file;
}

/** Names of ports and devices: buttons where there is something to choose them in. */
function names(list: string[], view: View | null): Child[] {
  const shown = list.slice(0, NAMES).flatMap((name): Child[] => [view ? h("button", { type: "button", class: "name", click: () => view.choose([name]), title: "Choose it in every chart" }, name) : h("code", {}, name), " "]);
  return list.length > NAMES ? [...shown, h("details", {}, h("summary", {}, `and ${list.length - NAMES} more`), h("p", {}, list.slice(NAMES).join(", ")))] : shown;
}

function row(title: string, ...children: Child[]): HTMLElement {
  return h("div", {}, h("dt", {}, title), h("dd", {}, ...children));
}

/** A runbook is a file beside the documentation; a path that is none is shown and not linked. */
function runbook(one: DiagnoseFinding): Child {
  const text = `${one.runbook}${one.runbook_title ? `: ${one.runbook_title}` : ""}`, page = one.runbook_page ?? "";
  return /^[\w/-]+\.md$/.test(page) ? h("a", { href: page, class: "runbook" }, `${text} (${page})`) : text;
}

function evidence(one: DiagnoseFinding, number: number): HTMLElement {
  return table({ id: `evidence-${number}`, caption: `Evidence for ${one.rule}${one.culprit ? `, ${one.culprit}` : ""}`, rows: one.evidence, filter: false, first: 12, columns: [
    { title: "of", value: (row) => row.object }, { title: "priority", value: (row) => row.priority }, { title: "counter", value: (row) => row.counter },
    { title: "value", value: (row) => row.value, text: (row) => value(row.value, row.unit) }, { title: "threshold", value: (row) => row.threshold, text: (row) => value(row.threshold, row.unit) },
    { title: "from", value: (row) => place(row.file, row.line) }] });
}

/** One finding, and in it those that it explains. */
function finding(data: Diagnose, number: number, view: View | null, above: number[]): HTMLElement {
  const one = data.findings[number] as DiagnoseFinding, level = LEVELS[one.severity] ?? "none", chosen = [one.culprit ?? [], one.victims].flat();
  const below = data.findings.flatMap((other, i) => (other.consequence_of === number && !above.includes(i) ? [i] : []));
  return h("li", { class: level, id: `finding-${number}`, "data-rule": one.rule },
    h("p", { class: "title" }, h("b", { class: `word ${level}` }, one.severity), " ", h("b", {}, one.cause), h("span", { class: "soft" }, ` ${one.rule}, ${one.confidence}: ${CONFIDENCE[one.confidence] ?? one.confidence}`)),
    h("p", {}, one.what),
    h("dl", { class: "made-by" }, one.culprit ? row("Culprit", ...names([one.culprit], view), one.priority === null ? "" : `priority ${one.priority}`) : null,
      one.also?.length ? row("With it", ...names(one.also, view)) : null, one.victims.length ? row("Victims", ...names(one.victims, view)) : null,
      row("Owner", `${one.owner} team`), row("Runbook", runbook(one))),
    view && chosen.length ? h("p", {}, h("button", { type: "button", class: "select", click: () => view.choose(chosen) }, one.victims.length ? "Choose culprit and victims everywhere" : "Choose the culprit everywhere")) : null,
    one.why ? sentence(one.why) : null, one.fix ? sentence(one.fix) : null,
    one.evidence.length ? h("details", { open: above.length === 0 }, h("summary", {}, plural(one.evidence.length, "piece") + " of evidence"), evidence(one, number)) : null,
    below.length ? h("div", { class: "consequences" }, h("p", { class: "soft" }, "Because of it:"), h("ol", { class: "findings" }, ...below.map((i) => finding(data, i, view, [...above, number])))) : null);
}

function findings(data: Diagnose, view: View | null): HTMLElement {
  const roots = data.findings.flatMap((one, i) => (one.consequence_of === null || one.consequence_of === undefined || data.findings[one.consequence_of] === undefined ? [i] : []));
  return section("findings", "Findings",
    data.acquitted ? h("p", {}, h("b", {}, "The network is not it.")) : null,
    roots.length ? h("ol", { class: "findings" }, ...roots.map((i) => finding(data, i, view, []))) : h("p", {}, `${data.answer === "clear" ? "Clear" : "Not enough to tell"}: ${data.because}.`));
}

/** What stands out though no cause explains it, and which outputs would decide. */
function standing(data: Diagnose): HTMLElement | null {
  if (!data.standing.length && !data.asks.length) return null;
  return section("standing", "What stands out, and what would decide",
    data.standing.length ? table({ id: "standing-table", caption: "In no cause; the worst first", rows: data.standing, columns: [
      { title: "of", value: (one) => one.object }, { title: "priority", value: (one) => one.priority }, { title: "counter or event", value: (one) => one.counter },
      { title: "count", value: (one) => one.count, text: (one) => value(one.count, one.unit) }, { title: "of the packets", value: (one) => one.share, text: (one) => (one.share === null ? NOTHING : share(one.share)) },
      { title: "grew", value: (one) => (one.grew ? "yes" : one.looks > 1 ? "no" : "not known") }, { title: "may mean", value: (one) => one.means }, { title: "from", value: (one) => place(one.file, one.line) }] }) : null,
    data.asks.length ? h("ul", { id: "asks" }, ...data.asks.map((one) => h("li", {}, one.device === null ? "Where the job runs: " : `On ${one.device}: `, one.command === null ? "" : h("code", {}, one.command), ` (${one.why})`))) : null);
}

const CONDITIONS: [key: "slow" | "exposed" | "not_straggler" | "network", text: string][] = [
  ["slow", "a step takes 5 % longer than the baseline, or more"], ["exposed", "70 % of the added time, or more, is waiting for communication"],
  ["not_straggler", "late ranks explain less than 30 % of it"], ["network", "the network has a finding on a path of the job"],
];

function conditions(data: Diagnose, one: DiagnoseTraining): Record<string, string> {
  const blamed = one.finding === null ? undefined : data.findings[one.finding];
  const steps = one.base_ns ? `${(one.step_ns / one.base_ns).toFixed(2)}x${one.base_is_ideal ? " the ideal time" : " the baseline"}` : NOTHING;
  return { slow: steps, exposed: share(one.added_exposed_share), not_straggler: share(one.skew_share), network: blamed ? `${blamed.rule}, ${blamed.culprit ?? blamed.cause}` : NOTHING };
}

function training(data: Diagnose): HTMLElement | null {
  if (!data.training?.length) return null;
  return section("training-verdict", "Is training slower because of the network?", ...data.training.flatMap((one, i) => {
    const found = conditions(data, one);
    return [h("h3", {}, one.job), h("p", {}, one.verdict), one.gpu_hours_per_hour > 0 ? h("p", {}, `It costs ${count(one.gpu_hours_per_hour)} GPU-hours an hour, of ${count(one.gpus)} GPUs.`) : null,
      table({ id: `training-verdict-${i}`, caption: "The four conditions; all must hold", rows: CONDITIONS, filter: false, columns: [
        { title: "condition", value: ([, text]) => text }, { title: "holds", value: ([key]) => one[key] }, { title: "measured", value: ([key]) => found[key] ?? NOTHING }] })];
  }));
}

function lookedAt(data: Diagnose): HTMLElement {
  const devices = data.devices ?? [], unseen = devices.filter((one) => !one.looked_at).length, all = data.looked_at;
  return section("looked-at", "What was looked at",
    h("p", {}, `${plural(all.hosts, "host")}, ${plural(all.switches, "switch", "switches")} and ${plural(all.ports, "port")} in ${plural(all.files, "file")}${unseen ? `; ${plural(unseen, "device")} without a counter` : ""}; ${all.looks > 1 ? `${plural(all.looks, "look")} within ${time(all.seconds * 1e12)}` : "one look: counters are since boot, and prove less"}${all.tied ? "" : "; ports are not tied to each other, so each device was judged alone"}.`),
    data.missing.length ? h("div", { id: "missing" }, h("h3", {}, "Missing"), h("ul", {}, ...data.missing.map((one) => h("li", {}, one)))) : null,
    devices.length ? table({ id: "devices-table", caption: "Devices", rows: devices, columns: [
      { title: "device", value: (one) => one.device }, { title: "role", value: (one) => one.role }, { title: "system", value: (one) => one.system }, { title: "ports", value: (one) => one.ports }, { title: "looked at", value: (one) => (one.looked_at ? "yes" : "no") }] }) : null,
    data.remarks?.length ? h("details", {}, h("summary", {}, plural(data.remarks.length + (data.remarks_left_out ?? 0), "remark")), table({ id: "remarks-table", caption: "What was not understood", rows: data.remarks, columns: [
      { title: "from", value: (one) => place(one.file, one.line) }, { title: "remark", value: (one) => one.text }] })) : null);
}

/** With a run its own parts follow.  The run is somebody's file: one that cannot be read or shown takes nothing from the findings. */
export function diagnose(data: Diagnose): (HTMLElement | null)[] {
  const own = (view: View | null) => [findings(data, view), standing(data), training(data), lookedAt(data)];
  if (!data.run) return own(null);
  try {
    const run = parse(data.run) as Run, view = viewOf(run), rest = parts(run, view).filter((one) => one?.id !== "verdict");
    return [...own(view), ...rest];
  } catch {
    return [...own(null), h("p", { class: "soft", id: "no-run" }, "The run itself cannot be shown: its document is not one of this version.")];
  }
}
