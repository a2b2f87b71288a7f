// SPDX-License-Identifier: Apache-2.0
// What was measured of a point of a sweep, or of a system of a comparison: its value, and half of its interval where it
// is a mean over seeds.

import { plusMinus } from "./format";
import type { Column } from "./table";

export interface Measure { key: string; title: string; unit: string; help?: string; job?: string | null }
export type Measured = Record<string, unknown> & { jobs: Record<string, unknown>[] };

function read(point: Measured, measure: Measure, key: string): number | null {
  const found = (measure.job ? point.jobs.find((job) => job["name"] === measure.job) : point)?.[key];
  return typeof found === "number" ? found : null;
}

export const value = (point: Measured, measure: Measure) => read(point, measure, measure.key);
export const half = (point: Measured, measure: Measure) => read(point, measure, `${measure.key}_ci95`);

/** Those that say something: known somewhere, and not 0 everywhere. */
export function telling(points: Measured[], measures: Measure[]): Measure[] {
  return measures.filter((measure) => points.some((point) => (value(point, measure) ?? 0) !== 0));
}

export function column<T extends Measured>(measure: Measure): Column<T> {
  return { title: measure.title, help: measure.help ?? "", value: (point) => value(point, measure), text: (point) => plusMinus(value(point, measure), half(point, measure), measure.unit) };
}

/** Why there are no values, or how a run ended that did not end well: a column where there is one. */
export function note<T extends { error: string | null; state: string | null }>(points: T[]): Column<T>[] {
  const told = (point: T) => point.error ?? (point.state === "done" || point.state === "until" ? null : point.state);
  return points.some((point) => told(point) !== null) ? [{ title: "note", wrap: true, value: told }] : [];
}

/** The last word of a path. */
export const last = (path: string) => path.slice(path.lastIndexOf(".") + 1);

/** "hosts 8, rate 400G" */
export function named(set: string[], vary: string[]): string {
  return set.map((one, i) => `${last(vary[i] ?? "")} ${one}`).join(", ");
}
