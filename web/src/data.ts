// SPDX-License-Identifier: Apache-2.0
// Where the document comes from: out of the page itself, or from the server that delivered the page.

import type { About, Document_ } from "./types";

export class Unreadable extends Error {}

function base64(id: string): Uint8Array<ArrayBuffer> {
  const text = document.getElementById(id)?.textContent?.replace(/\s+/g, "") ?? "";
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(packed: Uint8Array<ArrayBuffer>): Promise<string> {
  if (typeof DecompressionStream === "undefined")
    throw new Unreadable("This browser cannot unpack the data of this page: it has no DecompressionStream. Browsers since 2023 have it. The same data is printed by the command below with --json instead of --html.");
  try {
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return await new Response(stream).text();
  } catch {
    throw new Unreadable("The data of this page cannot be unpacked: the file is damaged, or was not written to its end.");
  }
}

/** Times of day have 19 digits, more than a number holds: those of captures are kept as text. */
export function parse(text: string): Document_ {
  return JSON.parse(text.replace(/"(\w+_ns)": (\d{16,})/g, '"$1": "$2"')) as Document_;
}

export function isLive(): boolean {
  return (document.getElementById("data")?.textContent?.trim() ?? "") === "";
}

export function about(): About {
  if (isLive()) return { rocelab: "", command: [], left_out: null };
  return JSON.parse(new TextDecoder().decode(base64("about"))) as About;
}

export async function embedded(): Promise<Document_> {
  return parse(await inflate(base64("data")));
}

/** The state of what the server watches.  `changed` is called when it says that there is another. */
export async function fetched(): Promise<Document_> {
  const answer = await fetch("api/state.json", { cache: "no-store" });
  if (!answer.ok) throw new Unreadable(`The server answered ${answer.status}.`);
  return parse(await answer.text());
}

export function listen(changed: () => void): void {
  const source = new EventSource("api/events");
  source.onmessage = changed;
  source.addEventListener("state", changed);
}
