// SPDX-License-Identifier: Apache-2.0
// The parts of the page of one run, simulated or with programs.

import { figures, strip } from "./kpi";
import { adapters, balance, jobs, ports, programs } from "./lists";
import type { Run } from "./types";
import { View } from "./view";

export function run(data: Run): (HTMLElement | null)[] {
  const view = new View(0, data.virtual_ps);
  return [strip(figures(data)), programs(data), jobs(data), balance(data), ports(data, view), adapters(data, view)];
}
