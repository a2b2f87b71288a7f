// SPDX-License-Identifier: Apache-2.0
// A canvas that is drawn again when its width, the theme or what it shows changes, sharp on every screen.

import { h } from "./dom";
import { time } from "./format";
import { colour, onTheme } from "./theme";
import type { View } from "./view";

export interface Drawing { element: HTMLDivElement; canvas: HTMLCanvasElement; redraw: () => void; width: () => number }

/** `height` may depend on the width; `draw` gets a context in CSS pixels. */
export function drawing(label: string, height: (width: number) => number, draw: (context: CanvasRenderingContext2D, width: number, height: number) => void): Drawing {
  const canvas = h("canvas");
  const element = h("div", { class: "drawing", role: "img", tabindex: 0, "aria-label": label }, canvas);
  let width = 0, due = false;
  const paint = () => {
    due = false;
    if (width === 0) return;
    const tall = height(width), ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(tall * ratio);
    canvas.style.height = `${tall}px`;
    const context = canvas.getContext("2d");
    if (!context) return;
    context.scale(ratio, ratio);
    draw(context, width, tall);
  };
  const redraw = () => { if (!due) { due = true; requestAnimationFrame(paint); } };
  new ResizeObserver(() => { if (element.clientWidth !== width) { width = element.clientWidth; redraw(); } }).observe(element);
  onTheme(redraw);
  return { element, canvas, redraw, width: () => width };
}

/** Round steps for an axis, about `wanted` of them. */
export function ticks(from: number, to: number, wanted: number): number[] {
  const rough = (to - from) / Math.max(wanted, 1);
  if (!(rough > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
  const list: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) list.push(at);
  return list;
}

/** The time axis at the foot of a drawing, with a line up through it for each tick. */
export function timeAxis(context: CanvasRenderingContext2D, view: View, left: number, right: number, foot: number): void {
  const { from, to } = view.range;
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const at of ticks(from, to, (right - left) / 110)) {
    const x = left + ((at - from) / (to - from)) * (right - left);
    context.strokeStyle = colour("grid");
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, foot);
    context.stroke();
    context.fillStyle = colour("soft");
    if (x > left - 1 && x < right - 10) context.fillText(time(at), Math.max(x, left + 14), foot + 4);
  }
}

/** Diagonal lines, light and dark, over any colour: what stands still, readable without colour. */
export function hatched(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number): void {
  hatch(context, x, y, width, height, "#ffffff");
  hatch(context, x, y, width, height, "#000000", 1.5);
}

export function hatch(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, ink: string, aside = 0): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = ink;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - height - ((x - height) % 6) + aside; at < x + width + height; at += 6) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}

/** A text cut to a width. */
export function fit(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}\u2026`).width > width) length--;
  return `${text.slice(0, length)}\u2026`;
}
