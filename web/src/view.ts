// SPDX-License-Identifier: Apache-2.0
// What the parts of the page share: the stretch of time that is shown, the ports that are chosen, and a moment.

export interface Range { from: number; to: number }

export class View {
  readonly full: Range;
  range: Range;
  chosen: string[] = [];
  moment: number;
  private readonly ranged = new Set<() => void>();
  private readonly chose = new Set<() => void>();
  private readonly moved = new Set<() => void>();
  private due = false;

  constructor(from: number, to: number) {
    this.full = { from, to: to > from ? to : from + 1 };
    this.range = { ...this.full };
    this.moment = this.full.to;
  }

  onRange(listener: () => void): void { this.ranged.add(listener); }
  onChosen(listener: () => void): void { this.chose.add(listener); }
  onMoment(listener: () => void): void { this.moved.add(listener); }

  /** Shows this stretch in every chart; it is kept inside the run, and not shorter than a nanosecond. */
  show(from: number, to: number): void {
    const least = Math.min(1000, this.full.to - this.full.from);
    const length = Math.min(Math.max(to - from, least), this.full.to - this.full.from);
    const begin = Math.min(Math.max(from, this.full.from), this.full.to - length);
    if (begin === this.range.from && begin + length === this.range.to) return;
    this.range = { from: begin, to: begin + length };
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => { this.due = false; for (const listener of this.ranged) listener(); });
  }

  reset(): void { this.show(this.full.from, this.full.to); }

  pan(share: number): void {
    const by = (this.range.to - this.range.from) * share;
    this.show(this.range.from + by, this.range.to + by);
  }

  zoom(factor: number, around = (this.range.from + this.range.to) / 2): void {
    const { from, to } = this.range;
    this.show(around - (around - from) * factor, around + (to - around) * factor);
  }

  choose(names: string[]): void {
    this.chosen = [...new Set(names)];
    for (const listener of this.chose) listener();
  }

  toggle(name: string): void {
    this.choose(this.chosen.includes(name) ? this.chosen.filter((one) => one !== name) : [...this.chosen.slice(-7), name]);
  }

  at(ps: number): void {
    this.moment = Math.min(Math.max(ps, this.full.from), this.full.to);
    for (const listener of this.moved) listener();
  }
}

/** Keys that every chart with a time axis knows; true when the key was one of them. */
export function timeKey(view: View, key: string): boolean {
  switch (key) {
    case "ArrowLeft": view.pan(-0.2); return true;
    case "ArrowRight": view.pan(0.2); return true;
    case "+": case "=": view.zoom(0.5); return true;
    case "-": case "_": view.zoom(2); return true;
    case "0": case "Home": case "Escape": view.reset(); return true;
    default: return false;
  }
}

/** Drag to zoom, double click to reset, keys; `plot` says where in the element time runs, in CSS pixels. */
export function zoomable(element: HTMLElement, view: View, plot: () => { left: number; width: number }, click?: (x: number, y: number) => void): void {
  const band = document.createElement("div");
  band.className = "band";
  band.hidden = true;
  element.append(band);
  let begun: number | null = null;
  const where = (event: PointerEvent | MouseEvent) => { const box = element.getBoundingClientRect(); return { x: event.clientX - box.left, y: event.clientY - box.top }; };
  const toTime = (x: number) => { const { left, width } = plot(); return view.range.from + (Math.min(Math.max(x - left, 0), width) / Math.max(width, 1)) * (view.range.to - view.range.from); };
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || (event.pointerType === "touch" && !event.isPrimary)) return;
    const { x } = where(event);
    const { left, width } = plot();
    if (x < left || x > left + width) { begun = null; return; }
    begun = x;
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (begun === null) return;
    const { x } = where(event);
    band.hidden = Math.abs(x - begun) < 4;
    band.style.left = `${Math.min(x, begun)}px`;
    band.style.width = `${Math.abs(x - begun)}px`;
  });
  element.addEventListener("pointerup", (event) => {
    const { x, y } = where(event);
    const from = begun;
    begun = null;
    band.hidden = true;
    if (from !== null && Math.abs(x - from) >= 4) view.show(Math.min(toTime(x), toTime(from)), Math.max(toTime(x), toTime(from)));
    else click?.(x, y);
  });
  element.addEventListener("pointercancel", () => { begun = null; band.hidden = true; });
  element.addEventListener("dblclick", () => view.reset());
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !timeKey(view, event.key)) return;
    event.preventDefault();
  });
}
