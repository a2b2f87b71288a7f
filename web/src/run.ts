// SPDX-License-Identifier: Apache-2.0
// The parts of the page of one run, simulated or with programs.

import { detail } from "./detail";
import { flows } from "./flows";
import { heatmap } from "./heatmap";
import { figures, strip } from "./kpi";
import { adapters, balance, jobs, ports, programs } from "./lists";
import { pauses } from "./pauses";
import { Samples } from "./samples";
import { timeline } from "./timeline";
import { topology } from "./topology";
import { training } from "./training";
import type { Run } from "./types";
import { verdict } from "./verdict";
import { View } from "./view";

let last: View | null = null; // of a live page, whose data comes again and again

/** The zoom and the choice of the reader outlive new data. */
export function viewOf(data: Run): View {
  const view = new View(0, data.virtual_ps);
  if (last) {
    view.chosen = last.chosen;
    if (last.range.to < last.full.to || last.range.from > last.full.from) view.range = { ...last.range };
  }
  last = view;
  return view;
}

export function run(data: Run): (HTMLElement | null)[] {
  return parts(data, viewOf(data));
}

export function parts(data: Run, view: View): (HTMLElement | null)[] {
  const samples = new Samples(data);
  const over = detail(data, samples, view); // chooses what is shown first
  return [strip(figures(data)), verdict(data, view), timeline(data, view), heatmap(data, samples, view), topology(data, samples, view), over,
    training(data), pauses(data, view), flows(data, view), programs(data), jobs(data), balance(data), ports(data, view), adapters(data, view)];
}
