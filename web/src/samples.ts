// SPDX-License-Identifier: Apache-2.0
// The series of a document, by metric and object.  A step's value is drawn at its end; columns that are absent were 0 all
// the time.

import type { Column, Run } from "./types";

export class Samples {
  readonly times: Float64Array;
  readonly step: number;
  private readonly columns = new Map<string, Map<string, Column[]>>();
  private readonly sums = new Map<string, Float64Array>();

  constructor(run: Run) {
    const series = run.series;
    const steps = series?.steps ?? 0;
    this.step = series?.step_ps ?? 1;
    this.times = Float64Array.from({ length: steps }, (_, i) => (series?.first_ps ?? 0) + i * this.step);
    for (const column of series?.columns ?? []) {
      const objects = this.columns.get(column.metric) ?? new Map<string, Column[]>();
      this.columns.set(column.metric, objects);
      objects.set(column.object, [...(objects.get(column.object) ?? []), column]);
    }
  }

  get any(): boolean { return this.times.length > 0 && this.columns.size > 0; }
  has(metric: string): boolean { return this.columns.has(metric); }
  objects(metric: string): string[] { return [...(this.columns.get(metric)?.keys() ?? [])]; }
  of(metric: string, object: string): Column[] { return this.columns.get(metric)?.get(object) ?? []; }

  /** Over all priorities; null where nothing was ever there. */
  sum(metric: string, object: string): Float64Array | null {
    const key = `${metric} ${object}`;
    const known = this.sums.get(key);
    if (known) return known;
    const list = this.of(metric, object);
    if (list.length === 0) return null;
    const total = new Float64Array(this.times.length);
    for (const column of list) for (let i = 0; i < total.length; i++) total[i] = (total[i] ?? 0) + (column.data[i] ?? 0);
    this.sums.set(key, total);
    return total;
  }

  /** The first and last step that a stretch of time touches. */
  between(from: number, to: number): [first: number, last: number] {
    const start = (this.times[0] ?? 0) - this.step;
    const first = Math.floor((from - start) / this.step), last = Math.ceil((to - start) / this.step) - 1;
    return [Math.min(Math.max(first, 0), this.times.length - 1), Math.min(Math.max(last, 0), this.times.length - 1)];
  }

  /** The largest within a stretch. */
  most(values: Float64Array | null, from: number, to: number): number {
    if (values === null) return 0;
    const [first, last] = this.between(from, to);
    let most = 0;
    for (let i = first; i <= last; i++) if ((values[i] ?? 0) > most) most = values[i] ?? 0;
    return most;
  }
}

/** "leaf0:3" is a port of leaf0. */
export function device(port: string): string {
  const colon = port.lastIndexOf(":");
  return colon < 0 ? port : port.slice(0, colon);
}

export function byName(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}
