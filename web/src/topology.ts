// SPDX-License-Identifier: Apache-2.0
// The fabric as drawn on a board: tiers as rows, links coloured by how full or how long paused they were, over the run
// or at one moment.  With more than 64 leaves a matrix of leaves and spines takes its place.

import { choice, clear, h, s, section } from "./dom";
import { plural, rate, share, time } from "./format";
import { matrix } from "./matrix";
import { byName, device, type Samples } from "./samples";
import { table } from "./table";
import { heat, onTheme } from "./theme";
import type { Link, Node_, Run } from "./types";
import type { View } from "./view";

export type Measure = "used" | "paused";
export interface Heats { value: (link: Link) => number; paused: (link: Link) => number; down: (link: Link) => boolean }

const LEAVES = 64, HOSTS = 64;

/** Values of links: over the whole run from counters, at a moment from samples. */
export function heats(run: Run, samples: Samples, measure: Measure, moment: number | null): Heats {
  const ports = new Map(run.ports.map((port) => [port.port, port]));
  const at = (metric: string, port: string) => { const values = samples.sum(metric, port); return moment === null || values === null ? 0 : samples.most(values, moment, moment); };
  const used = (port: string) => { const known = ports.get(port); return moment === null ? known?.utilisation ?? 0 : (at("tx", port) * 8e12) / samples.step / (known?.rate_bps ?? 1); };
  const paused = (port: string) => (moment === null ? Math.min((ports.get(port)?.paused_ps ?? 0) / Math.max(run.virtual_ps, 1), 1) : at("paused", port) / samples.step);
  const both = (link: Link, value: (port: string) => number) => Math.max(value(link.a), value(link.b));
  const faults = (run.faults ?? []).filter((fault) => /down|flap|drain/.test(fault.kind) && (moment === null || (fault.at_ps <= moment && moment < (fault.until_ps ?? Infinity))));
  const hit = new Set(faults.map((fault) => fault.what));
  return { value: (link) => both(link, measure === "used" ? used : paused), paused: (link) => both(link, paused), down: (link) => [link.a, link.b, device(link.a), device(link.b)].some((name) => hit.has(name)) };
}

interface Place { x: number; y: number; node: Node_ }
interface Board { places: Map<string, Place>; links: Link[]; width: number; height: number }

function board(run: Run): Board {
  const nodes = run.nodes ?? [], hosts = nodes.filter((node) => node.tier === 0).length > HOSTS ? [] : nodes.filter((node) => node.tier === 0);
  const tiers = [...new Set(nodes.map((node) => node.tier))].filter((tier) => tier > 0 || hosts.length > 0).sort((a, b) => b - a);
  const rows = tiers.map((tier) => nodes.filter((node) => node.tier === tier && (tier > 0 || hosts.length > 0)).sort((a, b) => (a.pod ?? 0) - (b.pod ?? 0) || byName(a.node, b.node)));
  const width = Math.max(1100, ...rows.map((row) => row.length * 46)), places = new Map<string, Place>();
  rows.forEach((row, level) => row.forEach((node, i) => places.set(node.node, { node, x: ((i + 0.5) / row.length) * width, y: 24 + level * 120 })));
  return { places, links: (run.links ?? []).filter((link) => places.has(device(link.a)) && places.has(device(link.b))), width, height: 48 + (rows.length - 1) * 120 };
}

function told(link: Link, heat: Heats, measure: Measure): string {
  return `${link.a} to ${link.b}, ${rate(link.rate_bps)}, ${link.length_m} m: ${share(heat.value(link))} ${measure === "used" ? "used" : "paused"}${heat.down(link) ? ", down" : ""}`;
}

interface Picture { element: SVGSVGElement; paint: (heats: Heats, measure: Measure, chosen: string[]) => void; point: (link: Link | null) => void }

/** A straight line between tiers; within one an arc above the nodes. */
function way(a: Place | undefined, b: Place | undefined, aside: number): string {
  const [x1, y1, x2, y2] = [(a?.x ?? 0) + aside, a?.y ?? 0, (b?.x ?? 0) + aside, b?.y ?? 0];
  if (y1 === y2) return `M ${x1} ${y1 + 12} Q ${(x1 + x2) / 2} ${y1 + 30 + Math.abs(x2 - x1) / 12} ${x2} ${y2 + 12}`;
  return y1 > y2 ? `M ${x1} ${y1 - 12} L ${x2} ${y2 + 12}` : `M ${x1} ${y1 + 12} L ${x2} ${y2 - 12}`;
}

/** Parallel links of two nodes are drawn beside each other. */
function picture(map: Board, hover: (link: Link | null) => void, choose: (link: Link) => void): Picture {
  const seen = new Map<string, number>();
  const drawn = map.links.map((link) => {
    const a = map.places.get(device(link.a)), b = map.places.get(device(link.b)), pair = `${device(link.a)} ${device(link.b)}`, n = seen.get(pair) ?? 0;
    seen.set(pair, n + 1);
    const aside = (n % 2 ? 1 : -1) * Math.ceil(n / 2) * 4;
    const line = s("path", { d: way(a, b, aside), class: "link", "stroke-width": Math.max(1.5, Math.log2(link.rate_bps / 2.5e10) * 0.7 + 1), mouseenter: () => hover(link), mouseleave: () => hover(null), click: () => choose(link) });
    return { link, line };
  });
  const boxes = [...map.places.values()].map(({ node, x, y }) => ({ node, group: s("g", { class: "node" }, s("rect", { x: x - 21, y: y - 12, width: 42, height: 24, rx: 3 }), s("text", { x, y: y + 4 }, node.node.length > 7 ? `${node.node.slice(0, 6)}\u2026` : node.node), s("title", {}, `${node.node}, ${node.role}${node.model ? `, ${node.model}` : ""}`)) }));
  const element = s("svg", { viewBox: `0 0 ${map.width} ${map.height}`, role: "img", tabindex: 0, class: "topology", style: `min-width: ${Math.min(map.width, 640)}px` }, ...drawn.map((one) => one.line), ...boxes.map((one) => one.group));
  return { element, point: (link) => { for (const one of drawn) one.line.classList.toggle("pointed", one.link === link); },
    paint: (heats, measure, chosen) => {
      for (const { link, line } of drawn) {
        const value = heats.value(link);
        line.setAttribute("stroke", value > 0 ? heat(value) : "var(--rule)");
        line.setAttribute("stroke-dasharray", heats.down(link) ? "1 6" : heats.paused(link) > 0.01 ? "8 4" : "");
        line.classList.toggle("chosen", chosen.includes(link.a) || chosen.includes(link.b));
        line.replaceChildren(s("title", {}, told(link, heats, measure)));
      }
      for (const { node, group } of boxes) group.classList.toggle("chosen", chosen.some((name) => device(name) === node.node));
    } };
}

export function topology(run: Run, samples: Samples, view: View): HTMLElement | null {
  if (!run.nodes?.length || !run.links?.length) return null;
  const leaves = run.nodes.filter((node) => node.tier === 1).length;
  const said = h("p", { class: "told" }, "\u00a0"), list = h("div"), place = h("div", { class: "scroll" });
  let measure: Measure = "used", moment: number | null = null, cursor = -1, order: Link[] = [];
  const say = (link: Link | null) => { said.textContent = link ? told(link, heats(run, samples, measure, moment), measure) : "\u00a0"; };
  const choose = (link: Link) => view.choose([link.a, link.b]);
  const map = board(run), grid = leaves > LEAVES ? matrix(run, view, say) : null, image = grid ? null : picture(map, say, choose);
  const paint = () => {
    const now = heats(run, samples, measure, moment), links = run.links ?? [];
    order = [...links].sort((a, b) => now.value(b) - now.value(a));
    image?.paint(now, measure, view.chosen);
    grid?.paint(now);
    const hot = order[0], when = moment === null ? `over ${time(run.virtual_ps)}` : `at ${time(moment)}`;
    (image?.element ?? grid?.element)?.setAttribute("aria-label", `${plural(run.nodes?.length ?? 0, "node")} and ${plural(links.length, "link")}, ${measure === "used" ? "share of the line used" : "share of time paused"} ${when}. Hottest: ${hot ? told(hot, now, measure) : "none"}. Arrows go through links from the hottest, Enter chooses.`);
    clear(list);
    list.append(table({ id: "links-table", caption: `Links ${when}, hottest first`, rows: order.slice(0, 200), first: 10, choose, columns: [{ title: "link", value: (link) => link.a }, { title: "to", value: (link) => link.b }, { title: "tier", value: (link) => link.tier }, { title: "rail", value: (link) => link.rail }, { title: "rate", value: (link) => link.rate_bps, text: (link) => rate(link.rate_bps) },
      { title: "used", value: (link) => heats(run, samples, "used", moment).value(link), text: (link) => share(heats(run, samples, "used", moment).value(link)) }, { title: "paused", value: (link) => now.paused(link), text: (link) => share(now.paused(link)) }] }));
  };
  place.append(image?.element ?? grid?.element ?? "");
  place.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft" && event.key !== "Enter") return;
    if (event.key === "Enter") { const link = order[cursor]; if (link) choose(link); return; }
    cursor = Math.min(Math.max(cursor + (event.key === "ArrowRight" ? 1 : -1), 0), order.length - 1);
    image?.point(order[cursor] ?? null);
    say(order[cursor] ?? null);
    event.preventDefault();
  });
  view.onChosen(paint);
  onTheme(paint);
  paint();
  return section("topology", "Topology", h("div", { class: "tools" }, choice("Colour", [["used", "share of the line used"], ["paused", "share of time paused"]], measure, (value) => { measure = value as Measure; paint(); }),
    samples.any ? slider(view, (at) => { moment = at; paint(); }) : null, h("span", { class: "scale" }, "0 ", h("span", { class: "ramp heat" }), " 100 %", h("span", {}, "dashed: paused; dotted: down"))),
    run.series?.left_out ? h("p", { class: "soft" }, "At a moment only links of ports that were sampled have a colour.") : null, place, said, map.places.size < (run.nodes?.length ?? 0) && !grid ? h("p", { class: "soft" }, "Hosts are not drawn: there are too many. The table has their links.") : null, h("details", {}, h("summary", {}, "As a table"), list));
}

/** The whole run, or a moment of it. */
function slider(view: View, change: (at: number | null) => void): HTMLElement {
  const text = h("output", {}, "the whole run");
  const input = h("input", { type: "range", min: 0, max: 1000, value: 1000, step: 1, "aria-label": "Moment shown in the topology", input: () => {
    const at = view.range.from + (Number(input.value) / 1000) * (view.range.to - view.range.from);
    text.textContent = time(at);
    input.setAttribute("aria-valuetext", time(at));
    change(at);
  } });
  return h("span", { class: "slider" }, h("label", {}, "At ", input), text, h("button", { type: "button", click: () => { text.textContent = "the whole run"; change(null); } }, "Whole run"));
}
