// SPDX-License-Identifier: Apache-2.0
// Live programs: their adapters, a row each, and every counter that is not 0.

import { section } from "./dom";
import { bytes, count } from "./format";
import { table } from "./table";
import type { Adapter, Counters } from "./types";

interface Row { adapter: string; name: string; value: number }

const named = (one: Adapter) => `${one.program} (${one.pid}) ${one.device}`;
const of = (one: Adapter, ...names: string[]) => names.reduce((sum, name) => sum + (one.counters[name] ?? 0), 0);
const drops = (one: Adapter) => of(one, ...Object.keys(one.counters).filter((name) => name.startsWith("drop_")));

export function adapters(data: Counters): HTMLElement[] {
  const number = (title: string, ...names: string[]) => ({ title, value: (one: Adapter) => of(one, ...names), text: (one: Adapter) => count(of(one, ...names)) });
  const size = (title: string, name: string) => ({ title, value: (one: Adapter) => of(one, name), text: (one: Adapter) => bytes(of(one, name)) });
  const rows = data.adapters.flatMap((one): Row[] => Object.entries(one.counters).filter(([, value]) => value > 0).map(([name, value]) => ({ adapter: named(one), name, value })));
  return [
    section("adapters", "Adapters", table({ id: "adapters-table", caption: "Adapters that programs have open", rows: data.adapters, columns: [
      { title: "program", value: (one) => one.program }, { title: "process", value: (one) => one.pid }, { title: "device", value: (one) => one.device }, { title: "interface", value: (one) => one.interface },
      size("sent", "tx_payload_bytes"), size("received", "rx_payload_bytes"), number("sent again", "retransmitted_packets"), number("timeouts", "local_ack_timeout_err"),
      number("marks seen", "np_ecn_marked_roce_packets"), number("CNPs sent", "np_cnp_sent"), number("CNPs handled", "rp_cnp_handled"), { title: "drops", value: drops, text: (one) => count(drops(one)) },
    ] })),
    section("counters", "Counters", table({ id: "counters-table", caption: "Every counter that is not 0", rows, filter: true, columns: [
      { title: "adapter", value: (one) => one.adapter }, { title: "counter", value: (one) => one.name }, { title: "value", value: (one) => one.value, text: (one) => count(one.value) },
    ] })),
  ];
}
