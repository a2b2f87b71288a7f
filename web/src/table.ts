// SPDX-License-Identifier: Apache-2.0
// Tables: sorted by a click on a heading, filtered by words, copied as CSV.  They are the readable form of every chart.

import { clear, h } from "./dom";
import { NOTHING, plural } from "./format";

export type Value = number | string | null | undefined;
export interface Column<T> {
  title: string;
  value: (row: T) => Value;
  text?: (row: T) => string;
  help?: string;
  wrap?: boolean; // sentences: in lines, not in one
}
export interface TableOptions<T> {
  id: string;
  caption: string;
  columns: Column<T>[];
  rows: T[];
  sort?: { column: number; down: boolean };
  choose?: (row: T) => void;
  filter?: boolean;
  first?: number;
}

function order(a: Value, b: Value): number {
  const noA = a === null || a === undefined, noB = b === null || b === undefined;
  if (noA || noB) return noA && noB ? 0 : noA ? -1 : 1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/** A spreadsheet runs what begins like a formula: such a text gets an apostrophe. */
function csvCell(value: Value): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+@\t\r-]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv<T>(columns: Column<T>[], rows: T[]): string {
  const lines = [columns.map((column) => csvCell(column.title)), ...rows.map((row) => columns.map((column) => csvCell(column.value(row))))];
  return lines.map((cells) => cells.join(",")).join("\n") + "\n";
}

/** To the clipboard; where that is refused, into a field to copy from. */
async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    const field = h("textarea", { readonly: true, rows: 6, "aria-label": "The table as CSV" });
    field.value = text;
    button.after(field);
    field.select();
    button.textContent = "Select and copy below";
  }
  setTimeout(() => { button.textContent = "Copy as CSV"; }, 3000);
}

export function table<T>(options: TableOptions<T>): HTMLElement {
  const { columns, rows } = options;
  let sort = options.sort ?? null, words = "", limit = options.first ?? 25;
  const cell = (column: Column<T>, row: T) => column.text ? column.text(row) : String(column.value(row) ?? NOTHING);
  const numeric = columns.map((column) => rows.some((row) => typeof column.value(row) === "number"));
  const body = h("tbody");
  const count = h("span", { class: "count", "aria-live": "polite" });
  const more = h("button", { type: "button", click: () => { limit = Infinity; draw(); } });
  const heads = columns.map((column, i) => h("th", { scope: "col", class: numeric[i] ? "number" : null, title: column.help ?? null },
    h("button", { type: "button", click: () => { sort = { column: i, down: sort?.column === i ? !sort.down : numeric[i] === true }; draw(); } }, column.title)));

  function visible(): T[] {
    const wanted = words.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const kept = wanted.length === 0 ? [...rows] : rows.filter((row) => {
      const text = columns.map((column) => cell(column, row)).join("\n").toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    const column = sort ? columns[sort.column] : undefined;
    if (sort && column) { const sign = sort.down ? -1 : 1; kept.sort((a, b) => sign * order(column.value(a), column.value(b))); }
    return kept;
  }

  function draw(): void {
    const kept = visible();
    clear(body);
    for (const row of kept.slice(0, limit)) {
      const line = h("tr", {}, ...columns.map((column, i) => h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: numeric[i] ? "number" : column.wrap ? "wrap" : null }, cell(column, row))));
      if (options.choose) {
        const first = line.firstElementChild;
        const text = first?.textContent ?? "";
        first?.replaceChildren(h("button", { type: "button", class: "name", click: () => options.choose?.(row), title: "Choose it in every chart" }, text));
      }
      body.append(line);
    }
    heads.forEach((head, i) => head.setAttribute("aria-sort", sort?.column === i ? (sort.down ? "descending" : "ascending") : "none"));
    count.textContent = kept.length === rows.length ? plural(rows.length, "row") : `${kept.length} of ${plural(rows.length, "row")}`;
    more.hidden = kept.length <= limit;
    more.textContent = `Show all ${kept.length}`;
  }

  const filter = h("input", { type: "search", class: "filter", placeholder: "Filter  /", "aria-label": `Filter: ${options.caption}`, input: () => { words = filter.value; draw(); } });
  const copyButton = h("button", { type: "button", click: () => void copy(csv(columns, visible()), copyButton) }, "Copy as CSV");
  draw();
  return h("div", { class: "table", id: options.id },
    h("div", { class: "tools" }, options.filter === false ? null : filter, count, copyButton),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": options.caption }, h("table", {}, h("caption", {}, options.caption), h("thead", {}, h("tr", {}, ...heads)), body)), more);
}

/** The key `/` goes to the first filter below the top of the window. */
export function filterKey(): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement | null;
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || target?.matches("input, textarea, select")) return;
    const filters = [...document.querySelectorAll<HTMLInputElement>("input.filter")].filter((one) => one.checkVisibility());
    const next = filters.find((one) => one.getBoundingClientRect().top >= 0) ?? filters[0];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}
