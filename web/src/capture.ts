// SPDX-License-Identifier: Apache-2.0
// A capture: its verdict, goodput over time, connections, pauses, connections set up through CM.

import { h, section } from "./dom";
import { bytes, count, plural, rate, share, time } from "./format";
import { type Figure, type Level, strip } from "./kpi";
import { lines } from "./lines";
import { table } from "./table";
import type { Bins, Capture, CaptureConnection, CaptureFile } from "./types";
import { findings } from "./verdict";
import { View } from "./view";

/** Nanoseconds between two times of day, which have more digits than a number holds. */
function since(from: string | number, to: string | number | null): number | null {
  return to === null ? null : Number(BigInt(to) - BigInt(from));
}

function figures(file: CaptureFile, id: (name: string) => string): Figure[] {
  const span = since(file.first_ns, file.last_ns) ?? 0;
  const one = (name: string, title: string, value: number, text: string, against: string, level: Level, to: string): Figure => ({ id: id(name), title, text, value, against, level, section: id(to) });
  const bad = (value: number): Level => (value > 0 ? "bad" : "good"), look = (value: number): Level => (value > 0 ? "look" : "good");
  return [
    one("roce", "RoCE packets", file.roce_packets, count(file.roce_packets), `of ${count(file.packets)} packets in ${time(span * 1000)}`, file.roce_packets ? "none" : "look", "connections"),
    one("goodput", "Goodput", file.goodput_bytes, span ? rate((file.goodput_bytes * 8e9) / span) : bytes(file.goodput_bytes), `${bytes(file.goodput_bytes)} over ${plural(file.connections_seen, "connection")}`, "none", "bins"),
    one("again", "Packets sent again", file.retransmitted, count(file.retransmitted), `${share(file.retransmitted / Math.max(file.requests, 1))} of requests; none is expected without loss`, bad(file.retransmitted), "connections"),
    one("naks", "NAKs", file.naks + file.rnr_naks, count(file.naks + file.rnr_naks), `${count(file.rnr_naks)} of them RNR: no buffer posted`, look(file.naks + file.rnr_naks), "connections"),
    one("marked", "Marked CE", file.ecn_marked, share(file.ecn_marked / Math.max(file.ecn_capable, 1)), `${count(file.ecn_marked)} packets, ${count(file.cnps)} CNPs`, file.ecn_marked / Math.max(file.ecn_capable, 1) > 0.2 ? "look" : "good", "connections"),
    one("pauses", "Pause frames", file.pfc_frames + file.pause_frames, count(file.pfc_frames + file.pause_frames), `${count(file.pfc_frames)} by priority, ${count(file.pause_frames)} of the whole link`, look(file.pfc_frames + file.pause_frames), "pauses"),
    one("icrc", "Wrong ICRCs", file.icrc_errors, count(file.icrc_errors), `of ${count(file.icrc_checked)} checked`, bad(file.icrc_errors), "connections"),
  ];
}

function spread(bins: Bins | undefined, length: number): (number | null)[] {
  return Array.from({ length }, (_, i) => (bins?.bytes[i - bins.first] ?? 0));
}

/** Goodput of all, and of the connections with most. */
function overTime(file: CaptureFile, view: View): HTMLElement {
  const width = file.bins.width_ns, length = Math.max(file.bins.first + file.bins.bytes.length, 1), toRate = (value: number | null) => ((value ?? 0) * 8e9) / Math.max(width, 1);
  const most = [...file.connections].sort((a, b) => b.goodput_bytes - a.goodput_bytes).slice(0, 5).filter((one) => file.connections.length > 1 && one.goodput_bytes > 0);
  const sum = (one: CaptureConnection) => spread(one.forward?.bins, length).map((value, i) => (value ?? 0) + (spread(one.reverse?.bins, length)[i] ?? 0));
  return lines({ title: "Goodput", unit: "bps", view, x: Array.from({ length }, (_, i) => i * width * 1000), steps: true, height: 240,
    lines: [{ label: "all", values: spread(file.bins, length).map(toRate) }, ...most.map((one) => ({ label: `${one.src} to ${one.dst} QP ${one.dst_qp ?? "?"}`, values: sum(one).map(toRate) }))] });
}

function connections(file: CaptureFile, id: string): HTMLElement {
  return table({ id: `${id}-table`, caption: "Connections, in order of their first packet", rows: file.connections, columns: [
    { title: "from", value: (one) => one.src }, { title: "QP", value: (one) => one.src_qp }, { title: "to", value: (one) => one.dst }, { title: "QP", value: (one) => one.dst_qp }, { title: "kind", value: (one) => `${one.transport} ${one.net}` },
    { title: "packets", value: (one) => one.packets, text: (one) => count(one.packets) }, { title: "goodput", value: (one) => one.goodput_bps, text: (one) => rate(one.goodput_bps) }, { title: "bytes", value: (one) => one.goodput_bytes, text: (one) => bytes(one.goodput_bytes) },
    { title: "began", value: (one) => since(file.first_ns, one.first_ns), text: (one) => time((since(file.first_ns, one.first_ns) ?? 0) * 1000) }, { title: "lasted", value: (one) => since(one.first_ns, one.last_ns), text: (one) => time((since(one.first_ns, one.last_ns) ?? 0) * 1000) },
    { title: "sent again", value: (one) => one.retransmitted }, { title: "NAKs", value: (one) => one.naks }, { title: "RNR NAKs", value: (one) => one.rnr_naks }, { title: "CNPs", value: (one) => one.cnps }, { title: "marked CE", value: (one) => one.ecn_marked }, { title: "wrong ICRC", value: (one) => one.icrc_errors }] });
}

function parts(file: CaptureFile, number: number, several: boolean): HTMLElement[] {
  const id = (name: string) => (several ? `${name}-${number}` : name), named = (title: string) => (several ? `${title}: ${file.file}` : title);
  const view = new View(0, Math.max((since(file.first_ns, file.last_ns) ?? 0) * 1000, (file.bins.first + file.bins.bytes.length) * file.bins.width_ns * 1000));
  const kpis = strip(figures(file, id));
  kpis.id = id("figures");
  const title = kpis.querySelector("h2");
  if (title && several) title.textContent = named("Figures");
  return [kpis, ...(file.error ? [h("section", { id: id("error") }, h("h2", {}, named("Not read to its end")), h("p", { class: "failed" }, file.error))] : []),
    section(id("verdict"), named("Verdict"), file.verdict.length ? findings(file.verdict.map((one) => ({ ...one, where: one.packets.length ? `Packets ${one.packets.join(", ")}; in Wireshark: ${one.filter ?? ""}` : "" })), null) : h("p", {}, "Nothing wrong was found.")),
    ...(file.bins.bytes.length ? [section(id("bins"), named("Over time"), overTime(file, view))] : []),
    section(id("connections"), named("Connections"), connections(file, id("connections"))),
    section(id("pauses"), named("Pauses"), file.pauses.length ? table({ id: `${id("pauses")}-table`, caption: "Who sent pauses", rows: file.pauses, filter: false, columns: [
      { title: "from", value: (one) => one.smac }, { title: "priority", value: (one) => (one.global ? "all (802.3x)" : one.priority) }, { title: "pauses", value: (one) => one.xoff }, { title: "resumes", value: (one) => one.xon }, { title: "time paused", value: (one) => one.paused_ns, text: (one) => time(one.paused_ns * 1000) }, { title: "longest", value: (one) => one.longest_ns, text: (one) => time(one.longest_ns * 1000) }] }) : h("p", {}, "No pause frames are in the capture.")),
    ...(file.cm.length ? [section(id("cm"), named("Connections set up through CM"), table({ id: `${id("cm")}-table`, caption: "Set-ups", rows: file.cm, columns: [
      { title: "initiator", value: (one) => one.initiator }, { title: "QP", value: (one) => one.initiator_qp }, { title: "acceptor", value: (one) => one.acceptor }, { title: "QP", value: (one) => one.acceptor_qp }, { title: "port", value: (one) => one.port || null },
      { title: "asked", value: (one) => since(file.first_ns, one.req_ns), text: (one) => time(one.req_ns === null ? null : (since(file.first_ns, one.req_ns) ?? 0) * 1000) }, { title: "outcome", value: (one) => (one.rej_ns !== null ? `rejected, reason ${one.reject_reason}` : one.rtu_ns !== null ? "set up" : "not completed") }] }))] : [])];
}

export function capture(data: Capture): HTMLElement[] {
  return data.files.flatMap((file, i) => parts(file, i, data.files.length > 1));
}
