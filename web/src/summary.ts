// SPDX-License-Identifier: Apache-2.0
// One word on the whole, and the line of facts below the title.

import { count, plural, time } from "./format";
import type { Diagnose, Document_, Run } from "./types";

export interface Word { text: string; level: "good" | "look" | "bad" }

const STATES: Record<string, Word> = {
  done: { text: "every job ended", level: "good" },
  until: { text: "stopped at the time asked for", level: "good" },
  stuck: { text: "stuck: nothing will ever happen again", level: "bad" },
  failed: { text: "a job failed", level: "bad" },
  deadlock: { text: "deadlock", level: "bad" },
  running: { text: "still running", level: "look" },
};

const UP_DONE: Word = { text: "programs and jobs ended", level: "good" };

function ofRun(run: Run): Word {
  const word = run.kind === "up" && run.state === "done" ? UP_DONE : STATES[run.state] ?? { text: run.state, level: "look" };
  const wrong = (run.programs ?? []).filter((program) => program.end_ps === null || (program.exit !== null && program.exit !== 0)).length;
  if (word.level === "good" && wrong > 0) return { text: `${plural(wrong, "program")} failed or did not end`, level: "bad" };
  const worst = (run.verdict ?? []).find((one) => one.severity === "critical") ?? (run.verdict ?? []).find((one) => one.severity === "warning");
  if (word.level !== "good" || !worst) return word;
  return { text: worst.title, level: worst.severity === "critical" ? "bad" : "look" };
}

function ofDiagnosis(data: Diagnose): Word {
  const worst = data.findings.find((one) => one.severity === "critical") ?? data.findings.find((one) => one.severity === "warning");
  if (worst) return { text: worst.culprit ? `${worst.cause}: ${worst.culprit}` : worst.cause, level: worst.severity === "critical" ? "bad" : "look" };
  if (data.acquitted) return { text: "the network is not it", level: "good" };
  return data.answer === "clear" ? { text: "clear", level: "good" } : { text: "not enough to tell", level: "look" };
}

export function summary(data: Document_): { word: Word | null; facts: string[] } {
  switch (data.kind) {
    case "sim": case "up":
      return { word: ofRun(data), facts: [`${time(data.virtual_ps)} of virtual time`, `${count(data.packet_hops)} packet-hops`, `seed ${data.seed}`, `digest ${data.digest}`] };
    case "sweep": {
      const wrong = data.points.filter((point) => point.error !== null).length;
      return { word: wrong ? { text: `${plural(wrong, "point")} without a result`, level: "bad" } : data.partial ? { text: "interrupted: not all points", level: "look" } : null, facts: [plural(data.points.length, "point"), `varied: ${data.vary.join(", ")}`] };
    }
    case "compare": {
      const wrong = data.systems.filter((system) => system.error !== null).length, answers = [...new Set(data.answers.map((one) => one.system ?? "none"))];
      return { word: wrong ? { text: `${plural(wrong, "row")} without a result`, level: "look" } : null, facts: [plural(data.systems.length, "row"), `answer: ${answers.join(", ")}`] };
    }
    case "tune":
      return { word: data.helps ? { text: "tuning helps", level: "good" } : { text: "tuning cannot help", level: "look" }, facts: [`for ${data.goal}${data.class ? ` of ${data.class}` : ""}`, plural(data.runs, "run"), plural(data.drawn, "setting drawn", "settings drawn"), `${data.refused} refused by check`] };
    case "validate": {
      const { pass, warn, fail, skipped } = data.verdicts;
      const good = data.measured ? "what was measured passes" : data.phases.length < 6 ? "the phases asked for pass" : "accepted";
      const word: Word = fail ? { text: "not accepted", level: "bad" } : warn ? { text: `${good}, with warnings`, level: "look" } : { text: good, level: "good" };
      const counts = `${pass} pass, ${warn} warn, ${fail} fail, ${skipped} skipped`;
      return { word, facts: [...(data.measured ? [`measured, ${data.measured}`, counts] : [`${data.level} plan`, counts, `seed ${data.seed}`]), `digest ${data.digest}`] };
    }
    case "diagnose":
      return { word: ofDiagnosis(data), facts: [plural(data.findings.length, "finding"), plural(data.looked_at.devices, "device"), data.looked_at.looks > 1 ? plural(data.looked_at.looks, "look") : "one look, since boot"] };
    case "counters":
      return { word: null, facts: [plural(data.adapters.length, "adapter")] };
    case "capture": {
      const findings = data.files.flatMap((file) => file.verdict);
      const errors = findings.filter((one) => one.severity === "error").length, warnings = findings.filter((one) => one.severity === "warning").length;
      const word: Word = errors ? { text: plural(errors, "error"), level: "bad" } : warnings ? { text: plural(warnings, "warning"), level: "look" } : { text: "nothing wrong was found", level: "good" };
      return { word, facts: [plural(data.files.length, "file"), `${count(data.files.reduce((sum, file) => sum + file.packets, 0))} packets`] };
    }
  }
}
