// SPDX-License-Identifier: Apache-2.0
// Switches of one tier against those of the next: a cell for the hottest link between two.  For fabrics too large to draw.

import { drawing, fit } from "./canvas";
import { byName, device } from "./samples";
import { colour, heat } from "./theme";
import type { Heats } from "./topology";
import type { Link, Run } from "./types";
import type { View } from "./view";

const HOSTS = "hosts";

export interface Matrix { element: HTMLElement; paint: (heats: Heats) => void }

export function matrix(run: Run, view: View, say: (link: Link | null) => void): Matrix {
  const tier = new Map((run.nodes ?? []).map((node) => [node.node, node.tier]));
  const rows = (run.nodes ?? []).filter((node) => node.tier === 1).map((node) => node.node).sort(byName);
  const columns = [HOSTS, ...(run.nodes ?? []).filter((node) => node.tier === 2).map((node) => node.node).sort(byName)];
  const rowOf = new Map(rows.map((name, i) => [name, i])), columnOf = new Map(columns.map((name, i) => [name, i]));
  const cells = new Map<number, Link[]>();
  for (const link of run.links ?? []) {
    const ends = [device(link.a), device(link.b)], leaf = ends.find((name) => tier.get(name) === 1), other = ends.find((name) => name !== leaf);
    const row = rowOf.get(leaf ?? ""), column = tier.get(other ?? "") === 0 ? 0 : columnOf.get(other ?? "");
    if (row === undefined || column === undefined) continue;
    const key = row * columns.length + column;
    cells.set(key, [...(cells.get(key) ?? []), link]);
  }
  let heats: Heats | null = null;
  const tall = () => Math.max(2, Math.min(12, 480 / rows.length)), left = 70, top = 18;
  const wide = () => (chart.width() - left - 4) / columns.length;
  const hottest = (key: number) => (cells.get(key) ?? []).reduce<Link | null>((a, b) => (a === null || (heats?.value(b) ?? 0) > (heats?.value(a) ?? 0) ? b : a), null);
  const chart = drawing("", () => top + rows.length * tall(), (context) => {
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = colour("text");
    columns.forEach((name, i) => { if (i % Math.ceil(54 / wide()) === 0) context.fillText(fit(context, name, Math.max(wide() - 4, 50)), left + i * wide(), 8); });
    let free = -1;
    rows.forEach((name, i) => { const y = Math.max(top + (i + 0.5) * tall(), top + 5); if (y > free) { context.fillText(fit(context, name, left - 6), 0, y); free = y + 11; } });
    for (const key of cells.keys()) {
      const link = hottest(key), value = link ? heats?.value(link) ?? 0 : 0;
      context.fillStyle = value > 0 ? heat(value) : colour("grid");
      context.fillRect(left + (key % columns.length) * wide(), top + Math.floor(key / columns.length) * tall(), Math.max(wide() - 0.5, 1), Math.max(tall() - 0.5, 1));
    }
  });
  const at = (event: MouseEvent) => { const column = Math.floor((event.offsetX - left) / wide()), row = Math.floor((event.offsetY - top) / tall()); return column < 0 || row < 0 ? null : hottest(row * columns.length + column); };
  chart.element.addEventListener("mousemove", (event) => say(at(event)));
  chart.element.addEventListener("click", (event) => { const link = at(event); if (link) view.choose([link.a, link.b]); });
  return { element: chart.element, paint: (now) => { heats = now; chart.redraw(); } };
}
