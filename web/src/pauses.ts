// SPDX-License-Identifier: Apache-2.0
// Who paused whom and because of which queue, as a tree from its root; circles of waiting queues; the watchdog.

import { h, section } from "./dom";
import { count, plural, share, time } from "./format";
import { table } from "./table";
import type { Pause, Run } from "./types";
import type { View } from "./view";

const DEEPEST = 12, WIDEST = 24;

interface Root { name: string; kind: "host" | "queue" | "circle"; total: number }
interface Tree { roots: Root[]; below: Map<string, Pause[]> }

/** A root is a port whose queue made others pause while nobody paused it, or a host that pauses its switch. */
function tree(pauses: Pause[]): Tree {
  const below = new Map<string, Pause[]>(), stood = new Set(pauses.map((one) => one.paused)), hosts = new Set<string>();
  for (const one of pauses) {
    const from = one.cause ?? one.port;
    if (one.cause === null) hosts.add(from);
    below.set(from, [...(below.get(from) ?? []), one]);
  }
  for (const list of below.values()) list.sort((a, b) => b.time_ps - a.time_ps);
  const total = (name: string) => (below.get(name) ?? []).reduce((sum, one) => sum + one.time_ps, 0);
  const seen = new Set<string>();
  const visit = (name: string): void => { if (!seen.has(name)) { seen.add(name); for (const one of below.get(name) ?? []) visit(one.paused); } };
  const names = [...below.keys()].sort((a, b) => total(b) - total(a));
  const roots = names.filter((name) => !stood.has(name)).map((name): Root => ({ name, kind: hosts.has(name) ? "host" : "queue", total: total(name) }));
  for (const root of roots) visit(root.name);
  for (const name of names) if (!seen.has(name)) { roots.push({ name, kind: "circle", total: total(name) }); visit(name); } // what no root leads to waits in a circle
  return { below, roots };
}

const BEGINS = { host: " pauses its switch: a slow receiver, or a broken adapter", queue: " is where it begins: nobody paused it, and its queue made others wait", circle: " is in a circle: it waits for those that wait for it" };

function branch(all: Tree, name: string, above: string[], run: Run, view: View): HTMLElement | null {
  const list = all.below.get(name) ?? [];
  if (list.length === 0 || above.length >= DEEPEST) return null;
  return h("ul", {}, ...list.slice(0, WIDEST).map((one) => {
    const circle = above.includes(one.paused);
    const text = `${plural(one.count, "pause")}, ${time(one.time_ps)} (${share(one.time_ps / Math.max(run.virtual_ps, 1))}) by ${one.port}, priority ${one.priority}${one.passed_on_ps ? `; ${time(one.passed_on_ps)} of it passed on` : ""}`;
    const line = [h("button", { type: "button", class: "name", click: () => view.choose([one.paused, one.port]) }, one.paused), ` stood still: ${text}`];
    const more = circle ? null : branch(all, one.paused, [...above, one.paused], run, view);
    if (circle) return h("li", {}, ...line, h("b", { class: "word bad" }, " back in a circle"));
    return h("li", {}, more ? h("details", { open: above.length < 3 }, h("summary", {}, ...line), more) : h("span", {}, ...line));
  }), list.length > WIDEST ? h("li", {}, `and ${list.length - WIDEST} more`) : null);
}

function circles(run: Run, view: View): HTMLElement[] {
  return run.deadlocks.map((one) => h("div", { class: "deadlock" }, h("h3", {}, `Deadlock at ${time(one.closed_ps ?? one.seen_ps)}`),
    h("p", {}, `Seen at ${time(one.seen_ps)}; ${one.ended_ps === null ? "it never ended" : `gone at ${time(one.ended_ps)}`}. ${plural(one.stuck, "queue")} can never send. Each of these waits for the next, the last for the first:`),
    h("ol", { class: "circle" }, ...one.cycle.map((queue) => h("li", {}, h("button", { type: "button", class: "name", click: () => view.choose([queue.port]) }, queue.port), `, priority ${queue.priority}`)))));
}

export function pauses(run: Run, view: View): HTMLElement {
  const all = tree(run.pauses);
  const roots = all.roots.slice(0, WIDEST).map((root) => h("li", {}, h("button", { type: "button", class: "name", click: () => view.choose([root.name]) }, root.name),
    BEGINS[root.kind], branch(all, root.name, [root.name], run, view)));
  return section("pauses", "Pauses", ...circles(run, view),
    run.pauses.length ? h("ul", { class: "tree" }, ...roots) : h("p", {}, "No port was paused."),
    run.pauses.length ? h("details", {}, h("summary", {}, "As a table"), table({ id: "pauses-table", caption: "Who paused whom", rows: run.pauses, sort: { column: 5, down: true }, choose: (one) => view.choose([one.paused, one.port]), columns: [
      { title: "stood still", value: (one) => one.paused }, { title: "paused by", value: (one) => one.port }, { title: "priority", value: (one) => one.priority }, { title: "cause", value: (one) => one.cause ?? "a host" }, { title: "pauses", value: (one) => one.count, text: (one) => count(one.count) },
      { title: "time", value: (one) => one.time_ps, text: (one) => time(one.time_ps) }, { title: "passed on", value: (one) => one.passed_on_ps, text: (one) => time(one.passed_on_ps) }] })) : null,
    run.watchdog.length ? table({ id: "watchdog-table", caption: "Queues that the pause watchdog cut off", rows: run.watchdog, filter: false, columns: [
      { title: "port", value: (one) => one.port }, { title: "queue", value: (one) => one.queue }, { title: "acted", value: (one) => one.acted }, { title: "last", value: (one) => one.acted_at_ps, text: (one) => time(one.acted_at_ps) }, { title: "restored", value: (one) => one.restored }, { title: "cut off for", value: (one) => one.cut_off_ps, text: (one) => time(one.cut_off_ps) }, { title: "dropped", value: (one) => one.port_drops }] }) : null);
}
