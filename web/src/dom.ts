// SPDX-License-Identifier: Apache-2.0
// Elements.  Text from a document reaches the page as text nodes and attribute values alone, so a name that looks like
// HTML is shown and never read as such.

export type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  add(element, ...children);
}

export function add(element: Element, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** An HTML element; attributes whose value is a function are listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

export function clear(element: Element): void {
  element.replaceChildren();
}

/** A section of the page with its heading; it is named in the navigation. */
export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children);
}

/** A choice of one of several; `change` is called with the value chosen. */
export function choice(label: string, options: [value: string, text: string][], value: string, change: (value: string) => void): HTMLElement {
  const select = h("select", { change: () => change(select.value) });
  for (const [each, text] of options) select.append(h("option", { value: each, selected: each === value }, text));
  return h("label", { class: "choice" }, `${label} `, select);
}

/** Under what was measured: training jobs of which only a slice was run, each text once. */
export function sliced(list: (string | null | undefined)[]): HTMLElement | null {
  const known = [...new Set(list.filter((one): one is string => typeof one === "string"))];
  return known.length ? h("p", { class: "slice" }, `Only a slice was run of ${known.slice(0, 20).join("; ")}. Times are the slice's, not the whole job's.`) : null;
}
