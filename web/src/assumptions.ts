// SPDX-License-Identifier: Apache-2.0
// What the figures stand on: the model's simplifications in words (docs/model.md has all), as far as the run has what
// they are about; the command and the digest.

import { h, section } from "./dom";
import type { About, Document_, Run } from "./types";

/** Of one run: what it had. Of many (a sweep, a plan) the fabric files differ, and each says what it had. */
function model(run: Run | null): string[] {
  const had = run?.modelled ?? null, system = run?.system ?? "";
  const pauses = run === null || (run.classes ?? []).some((one) => one.lossless);
  const control = system === "infiniband" ? "ACK, NAK, CNP and credit" : system === "tcp" || system === "iwarp" ? "acknowledgement and pause" : system === "uet" ? "acknowledgement, trimmed packet and pause" : "ACK, NAK, CNP and pause";
  const when = (has: boolean | undefined, yes: string, no: string, either: string) => (had === null ? either : has ? yes : no);
  return [
    `Every data packet and every ${run === null ? "acknowledgement, pause and other control" : control} frame crosses every link; rates are exact to the picosecond, cables take 5 ns a metre.`,
    "Forwarding latency is one number a switch, ahead of the queue. Clocks do not drift; FEC takes no time of its own.",
    when(had?.software, "Host software takes the time that the file gives, for each post and completion.", "Host software takes no time: the file gives none.", "Host software takes time only where the file gives it.") + " Doorbells, WQE fetches and cache misses of queue pairs cost nothing.",
    when(had?.pcie, "PCIe is two rates at each adapter that has it in the file: of fetching what is sent, and of draining a buffer of what arrives. It adds no latency; memory is not modelled.", "PCIe and memory are not modelled: the file has no `pcie`.", "PCIe is two rates at an adapter, where the file has `pcie`. Memory is not modelled."),
    had?.slow_receivers ? "A slow receiver is a rate at which a buffer drains, and pauses above a threshold." : "",
    "A link that goes down does so at both ends at once." + when(had?.routes_converge, " Routes follow, hop by hop, at a regular pace; the messages of routing protocols are not modelled.", " Routes do not change: the file has no `converge`.", " With `converge` routes follow, hop by hop; the messages of routing protocols are not modelled."),
    "A bit error loses the whole frame" + when(had?.link_retry, ", and the port sends it again where the link has `llr`", "", "") + (pauses && system !== "infiniband" ? "; pause frames are never hit." : "."),
    pauses && system !== "infiniband" ? "One packet, the one that crosses the threshold, is blamed for a pause: the pause tree names one cause where several wait." : "",
    "An ideal time is what the rates of links alone allow: no latency of software, no contention with other jobs.",
  ].filter((one) => one !== "");
}
const PROGRAMS = [
  "With the virtual clock a program's computing costs nothing, and calls cost what is declared. TCP between programs has a latency and no bandwidth.",
];
const CAPTURE = [
  "A capture tells what crossed one place. What was dropped ahead of it, or cut off by it, is not known; counts say so where that matters.",
];

const LIVE = [
  "Counters since each program opened its adapter, read without disturbing it. What has ended is gone.",
];

const DIAGNOSIS = [
  "A culprit is named only where a counter of it, or of the other end of its cable, says so. What no counter shows cannot be found.",
  "Counters between two looks are evidence; of one look they are since boot, and findings from them are weak.",
  "Pause frames are no measure of time: where a device does not count durations, the paused share is an upper bound.",
  "Names of ports are tied by the fabric file, by neighbours or by descriptions; a device that cannot be tied is judged alone.",
];

/** As a shell takes it. */
export function shell(words: string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

export function assumptions(data: Document_, about: About): HTMLElement {
  const list = data.kind === "diagnose" || (data.kind === "validate" && data.measured) ? DIAGNOSIS : data.kind === "counters" ? LIVE : data.kind === "capture" ? CAPTURE : data.kind === "up" ? [...model(data), ...PROGRAMS] : model(data.kind === "sim" ? data : null);
  const digest = data.kind === "sim" || data.kind === "up" ? data.digest : null;
  return section("assumptions", "What this stands on",
    h("ul", {}, ...list.map((one) => h("li", {}, one))),
    h("p", {}, data.kind === "diagnose" ? "All rules, each with its limits, are in docs/diagnose.md of rocelab." : "All simplifications, each with its effect, are in docs/model.md of rocelab."),
    h("dl", { class: "made-by" },
      about.command.length ? h("div", {}, h("dt", {}, "Command"), h("dd", {}, h("code", {}, shell(about.command)))) : null,
      digest ? h("div", {}, h("dt", {}, "Digest of the run"), h("dd", {}, h("code", {}, digest), " (the same file and seed give the same one, on every machine)")) : null,
      about.rocelab ? h("div", {}, h("dt", {}, "Made by"), h("dd", {}, `rocelab ${about.rocelab}`)) : null));
}
