// SPDX-License-Identifier: Apache-2.0
// Training: where a step's time goes, each step, and who waited for communication when.

import { drawing, fit, hatch } from "./canvas";
import { h, section } from "./dom";
import { bytes, count, plural, share, time } from "./format";
import { lines } from "./lines";
import { table } from "./table";
import { colour, heat, LINES } from "./theme";
import type { Run, Training } from "./types";

interface Part { name: string; ps: number; ink: string; waits: boolean }

function parts(job: Training): Part[] {
  const list: Part[] = [{ name: "computing", ps: job.compute_ps, ink: "line-1", waits: false }];
  job.groups.filter((group) => group.exposed_ps > 0).forEach((group, i) => list.push({ name: `waiting for ${group.group}`, ps: group.exposed_ps, ink: (LINES[(i + 1) % LINES.length] ?? ["line-2"])[0], waits: true }));
  const rest = job.step_ps - list.reduce((sum, part) => sum + part.ps, 0);
  if (rest > job.step_ps * 0.001) list.push({ name: "neither", ps: rest, ink: "rule", waits: false });
  return list;
}

/** One bar, the mean step; what waits is hatched. */
function bar(job: Training): HTMLElement {
  const list = parts(job), all = Math.max(list.reduce((sum, part) => sum + part.ps, 0), 1);
  const text = list.map((part) => `${part.name} ${time(part.ps)} (${share(part.ps / all)})`).join(", ");
  const chart = drawing(`A step of ${job.job} takes ${time(job.step_ps)}: ${text}.`, () => 34, (context, width) => {
    let x = 0;
    for (const part of list) {
      const wide = (part.ps / all) * width;
      context.fillStyle = colour(part.ink);
      context.fillRect(x, 2, wide, 30);
      if (part.waits) hatch(context, x, 2, wide, 30, colour("back"));
      if (wide > 60) {
        context.font = "12px system-ui, sans-serif";
        context.textBaseline = "middle";
        const label = fit(context, `${part.name} ${share(part.ps / all)}`, wide - 12);
        context.fillStyle = colour("back");
        context.fillRect(x + 3, 8, context.measureText(label).width + 6, 18);
        context.fillStyle = colour("text");
        context.fillText(label, x + 6, 17);
      }
      x += wide;
    }
  });
  return h("div", {}, chart.element, h("p", { class: "soft" }, text));
}

/** Ranks as rows, steps as columns. */
function waits(job: Training): HTMLElement | null {
  const list = job.rank_waits_ps ?? [], ranks = list[0]?.length ?? 0;
  if (list.length === 0 || ranks === 0) return null;
  const most = list.reduce((a, row) => row.reduce((b, value) => Math.max(b, value), a), 0);
  const named = (i: number) => (Array.isArray(job.ranks_listed) ? job.ranks_listed[i] ?? i : i);
  const tall = Math.max(2, Math.min(12, 400 / ranks));
  const told = h("p", { class: "told" }, "\u00a0");
  const chart = drawing(`Time that each of ${plural(ranks, "rank")} waited for communication in each of ${plural(list.length, "step")}; at most ${time(most)}.`, () => ranks * tall + 4, (context, width) => {
    const wide = (width - 60) / list.length;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let rank = 0; rank < ranks; rank++) {
      if (rank % Math.ceil(13 / tall) === 0) { context.fillStyle = colour("text"); context.fillText(`rank ${named(rank)}`, 0, rank * tall + tall / 2 + 2); }
      list.forEach((row, step) => { context.fillStyle = heat((row[rank] ?? 0) / Math.max(most, 1)); context.fillRect(60 + step * wide, rank * tall, wide + 0.3, tall + 0.3); });
    }
  });
  chart.element.addEventListener("mousemove", (event) => { const step = Math.floor((event.offsetX - 60) / ((chart.width() - 60) / list.length)), rank = Math.floor(event.offsetY / tall), value = list[step]?.[rank]; told.textContent = value === undefined ? "\u00a0" : `rank ${named(rank)}, step ${step}: waited ${time(value)}`; });
  return h("div", {}, h("h4", {}, `Waiting for communication, by rank (down) and step (across); darkest or brightest is ${time(most)}`), chart.element, told);
}

function one(job: Training, number: number): HTMLElement {
  const x = job.each_step_ps.map((_, i) => i);
  return h("div", {}, h("h3", {}, `${job.job}: ${time(job.step_ps)} a step${job.slice ? " of the slice" : ""}, ${share(job.idle)} of it not computing${job.tokens_per_s ? `, ${count(job.tokens_per_s)} tokens/s` : ""}`),
    job.slice ? h("p", { class: "slice" }, `Only a slice of the job was run: ${job.slice}. Times and bytes are the slice's, not the whole job's.`) : null, bar(job),
    job.each_step_ps.length > 1 ? lines({ title: "Time of each step", unit: "ps", xTitle: "steps", x, xWhole: true, xText: (value) => (Number.isInteger(value) ? String(value) : ""), lines: [{ label: job.job, values: job.each_step_ps }], height: 160 }) : null, waits(job),
    table({ id: `groups-${number}`, caption: `Groups of ${job.job}, in a step`, rows: job.groups, filter: false, columns: [
      { title: "group", value: (group) => group.group }, { title: "ranks", value: (group) => group.ranks }, { title: "calls", value: (group) => group.calls }, { title: "bytes", value: (group) => group.bytes, text: (group) => bytes(group.bytes) },
      { title: "under way", value: (group) => group.busy_ps, text: (group) => time(group.busy_ps) }, { title: "waited for", value: (group) => group.exposed_ps, text: (group) => time(group.exposed_ps) }, { title: "the rank that waited longest", value: (group) => group.exposed_most_ps, text: (group) => time(group.exposed_most_ps) }] }));
}

export function training(run: Run): HTMLElement | null {
  return run.training.length ? section("training", "Training steps", ...run.training.map(one)) : null;
}
