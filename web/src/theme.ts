// SPDX-License-Identifier: Apache-2.0
// Light and dark: as the system says, or as the reader does.  Colours of charts come from the style sheet, so that both
// have one place.

import { h } from "./dom";

const listeners = new Set<() => void>();

export function onTheme(listener: () => void): void {
  listeners.add(listener);
}

/** What was drawn is drawn anew: nothing of it is to be told any more. */
export function forgetTheme(): void {
  listeners.clear();
}

export function isDark(): boolean {
  const said = document.documentElement.dataset["theme"];
  return said ? said === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function changed(): void {
  for (const listener of listeners) listener();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);

export function themeButton(): HTMLElement {
  const button = h("button", { type: "button", class: "theme", click: () => {
    document.documentElement.dataset["theme"] = isDark() ? "light" : "dark";
    changed();
  } });
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Show the page in ${isDark() ? "light" : "dark"} colours`); };
  label();
  listeners.add(label);
  return button;
}

/** Lines of a chart: told apart without colour by their dashes. */
export const LINES: [name: string, dash: number[]][] = [
  ["line-1", []], ["line-2", [8, 3]], ["line-3", [2, 3]], ["line-4", [10, 3, 2, 3]], ["line-5", [5, 5]], ["line-6", [14, 4]], ["line-7", [3, 6]], ["line-8", [8, 3, 2, 3, 2, 3]],
];

const SCALE: [number, number, number][] = [[68, 1, 84], [71, 39, 119], [62, 73, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [54, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37]];

/** From little (0) to much (1), readable by the colour-blind and in grey: lightness alone tells the order.  Little is near
 * the ground that it stands on. */
export function heat(value: number): string {
  const part01 = Math.min(Math.max(value, 0), 1), at = (isDark() ? part01 : 1 - part01) * (SCALE.length - 1);
  const low = SCALE[Math.floor(at)] ?? [0, 0, 0], high = SCALE[Math.min(Math.floor(at) + 1, SCALE.length - 1)] ?? low;
  const part = at - Math.floor(at);
  return `rgb(${low.map((one, i) => Math.round(one + ((high[i] ?? 0) - one) * part)).join(",")})`;
}
