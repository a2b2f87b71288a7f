// SPDX-License-Identifier: Apache-2.0
// Reads the data, chooses what to show for its kind, and says when the page is ready.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { about, embedded, fetched, isLive, listen, Unreadable } from "./data";
import { clear, h } from "./dom";
import { adapters as adaptersPage } from "./adapters";
import { capture as capturePage } from "./capture";
import { compare as comparePage } from "./compare";
import { diagnose as diagnosePage } from "./diagnose";
import { run as runPage } from "./run";
import { summary } from "./summary";
import { sweep as sweepPage } from "./sweep";
import { tune as tunePage } from "./tune";
import { validate as validatePage } from "./validate";
import { assumptions } from "./assumptions";
import { filterKey } from "./table";
import { forgetTheme, themeButton } from "./theme";
import type { About, Document_ } from "./types";

function title(data: Document_): string {
  switch (data.kind) {
    case "sim": case "up": return data.fabric;
    case "sweep": return data.file;
    case "compare": case "tune": case "validate": return data.fabric;
    case "capture": return data.files.map((file) => file.file).join(", ");
    case "counters": return "programs of this machine";
    case "diagnose": return data.fabric ?? data.inputs.join(", ");
  }
}

function sections(data: Document_): (HTMLElement | null)[] {
  switch (data.kind) {
    case "sim": case "up": return runPage(data);
    case "sweep": return sweepPage(data);
    case "compare": return comparePage(data);
    case "tune": return tunePage(data);
    case "validate": return validatePage(data);
    case "capture": return capturePage(data);
    case "counters": return adaptersPage(data);
    case "diagnose": return diagnosePage(data);
  }
}

function head(data: Document_, made: About, list: HTMLElement[]): HTMLElement {
  const { word, facts } = summary(data);
  const links = list.map((one) => h("a", { href: `#${one.id}` }, one.querySelector("h2")?.textContent ?? one.id));
  return h("header", {}, h("div", { class: "bar" }, h("h1", {}, h("span", { class: "kind" }, `rocelab ${data.kind}`), " ", title(data)),
    word ? h("span", { class: `verdict-word ${word.level}`, id: "verdict-word" }, word.text) : null, themeButton()),
    h("p", { class: "facts" }, facts.join(" \u00b7 ")), made.left_out ? h("p", { class: "facts", id: "left-out" }, made.left_out) : null, h("nav", { "aria-label": "Sections" }, ...links));
}

function show(data: Document_, made: About): void {
  const place = document.getElementById("page");
  if (!place) return;
  forgetTheme();
  const list = [...sections(data), assumptions(data, made)].filter((one): one is HTMLElement => one !== null);
  clear(place);
  place.append(head(data, made, list), ...list);
  document.title = `${title(data)} \u2013 rocelab ${data.kind}`;
  document.documentElement.dataset["ready"] = "yes";
}


function fail(error: unknown, made: About | null): void {
  const place = document.getElementById("page");
  if (!place) return;
  clear(place);
  const text = error instanceof Unreadable ? error.message : `The data of this page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  place.append(h("h1", {}, "rocelab"), h("p", { role: "alert", class: "failed" }, text), made && made.command.length ? h("p", {}, h("code", {}, made.command.join(" "))) : "");
  document.documentElement.dataset["ready"] = "failed";
}

/** Shows what the server says, and again whenever it says that there is more, at most once a second and not while the
 * reader has asked for rest. */
async function live(made: About): Promise<void> {
  let due = false, resting = false;
  const button = h("button", { type: "button", "aria-pressed": "false", click: () => { resting = !resting; button.setAttribute("aria-pressed", String(resting)); button.textContent = resting ? "Go on" : "Hold still"; } }, "Hold still");
  const update = async () => {
    const data = await fetched(), at = window.scrollY;
    show(data, made);
    document.querySelector("header .bar")?.append(button);
    window.scrollTo({ top: at, behavior: "instant" });
  };
  await update();
  listen(() => {
    if (due || resting || document.hidden || document.activeElement?.matches("input, select, textarea")) return;
    due = true;
    setTimeout(() => { due = false; update().catch(() => undefined); }, 1000);
  });
}

async function begin(): Promise<void> {
  let made: About | null = null;
  filterKey();
  try {
    made = about();
    if (isLive()) await live(made);
    else show(await embedded(), made);
  } catch (error) {
    fail(error, made);
  }
}

void begin();
