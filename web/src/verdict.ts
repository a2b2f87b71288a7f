// SPDX-License-Identifier: Apache-2.0
// The verdict in words: what became of each job, and what was found.

import { h, section } from "./dom";
import type { Finding, Run } from "./types";
import type { View } from "./view";

const LEVELS: Record<string, string> = { ok: "good", info: "none", warning: "look", critical: "bad", error: "bad" };

export function findings(list: Finding[], choose: ((names: string[]) => void) | null): HTMLElement {
  return h("ol", { class: "findings" }, ...list.map((one) => h("li", { class: LEVELS[one.severity] ?? "none", "data-id": one.id },
    h("p", { class: "title" }, h("b", { class: `word ${LEVELS[one.severity] ?? ""}` }, one.severity), " ", h("b", {}, one.title), one.job ? ` (${one.job})` : "", h("span", { class: "soft" }, ` ${one.id}`)),
    h("p", {}, one.what), one.where ? h("p", { class: "soft" }, one.where) : null, one.why ? h("p", {}, one.why) : null, one.advice ? h("p", {}, one.advice) : null,
    choose && one.objects?.length ? h("p", { class: "objects" }, ...one.objects.slice(0, 16).flatMap((name) => [h("button", { type: "button", click: () => choose([name]) }, name), " "]),
      h("button", { type: "button", click: () => choose(one.objects ?? []) }, "show all of them")) : null)));
}

export function verdict(run: Run, view: View): HTMLElement | null {
  if (!run.verdict) return null;
  return section("verdict", "Verdict", run.verdict.length ? findings(run.verdict, (names) => view.choose(names)) : h("p", {}, "Nothing stands out."));
}
