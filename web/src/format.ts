// SPDX-License-Identifier: Apache-2.0
// Numbers for people.  Units are those of the program's text: K, M, G are powers of 1000.

function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  const places = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return value.toFixed(places).replace(/\.0+$/, "");
}

function scaled(value: number, units: [number, string][]): string {
  for (const [unit, name] of units) if (Math.abs(value) >= unit) return `${digits(value / unit)} ${name}`;
  const last = units[units.length - 1];
  return last ? `${digits(value / last[0])} ${last[1]}` : digits(value);
}

export const NOTHING = "\u2013";

export function time(ps: number | null | undefined): string {
  if (ps === null || ps === undefined) return NOTHING;
  if (ps === 0) return "0";
  return scaled(ps, [[1e12, "s"], [1e9, "ms"], [1e6, "us"], [1e3, "ns"], [1, "ps"]]);
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  if (value === 0) return "0";
  return scaled(value, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]]);
}

export function rate(bps: number | null | undefined): string {
  if (bps === null || bps === undefined) return NOTHING;
  if (bps === 0) return "0";
  return scaled(bps, [[1e12, "Tb/s"], [1e9, "Gb/s"], [1e6, "Mb/s"], [1e3, "Kb/s"], [1, "b/s"]]);
}

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? NOTHING : value.toLocaleString("en-US", { maximumFractionDigits: 3 });
}

/** A share of one, as per cent. */
export function share(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  const percent = value * 100;
  if (percent !== 0 && Math.abs(percent) < 0.01) return "< 0.01 %";
  return `${digits(percent)} %`;
}

export function times(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value) ? NOTHING : `${value.toFixed(2)}x`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A value of a series in its unit. */
export function inUnit(value: number, unit: string): string {
  switch (unit) {
    case "bytes": return bytes(value);
    case "ps": return time(value);
    case "bps": return rate(value);
    case "share": return share(value);
    case "GB/s": return `${count(Number(value.toPrecision(4)))} GB/s`;
    default: return count(Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 1000) / 1000);
  }
}

/** A mean with half of its interval, which is null or 0 where there is none; a unit that both have stands once. */
export function plusMinus(value: number | null, half: number | null, unit: string): string {
  if (value === null) return NOTHING;
  const [mean = "", of = ""] = inUnit(value, unit).split(" "), [wide, by = ""] = half ? inUnit(half, unit).split(" ") : [];
  return [mean, of !== by || !wide ? of : "", wide ? `\u00b1 ${wide}` : "", wide ? by : ""].filter((part) => part !== "").join(" ");
}
