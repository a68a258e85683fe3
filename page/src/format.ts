/* format.ts - times, durations and amounts as people read them, in the browser's own time zone. */
import { language, t } from "./text";

/* The server's clock minus the browser's, seconds: instants are compared by the server's. */
let ahead = 0;

export function clockSet(now: number): void {
  ahead = now - Date.now() / 1000;
}

export function serverNow(): number {
  return Date.now() / 1000 + ahead;
}

export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s < 600 && s % 60 ? ` ${s % 60} s` : ""}`;
  if (s < 86400) return `${Math.floor(s / 3600)} h${s % 3600 >= 60 ? ` ${Math.floor((s % 3600) / 60)} min` : ""}`;
  return `${Math.floor(s / 86400)} d${s % 86400 >= 3600 ? ` ${Math.floor((s % 86400) / 3600)} h` : ""}`;
}

export function clock(seconds: number): string {
  const s = Math.max(0, Math.round(seconds)),
    two = (n: number) => String(n).padStart(2, "0");
  return `${Math.floor(s / 3600)}:${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`;
}

const instants = new Map<string, Intl.DateTimeFormat>();

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  /* The user's own form of the page's language: whether hours are counted to 12 or to 24. */
  const own = navigator.languages.find((l) => l.split("-")[0] === language()) ?? language();
  const key = own + JSON.stringify(options);
  let f = instants.get(key);
  if (!f) instants.set(key, (f = new Intl.DateTimeFormat(own, options)));
  return f;
}

/* "14:05" of today, "17 Nov, 14:05" of another day. */
export function instant(at: number | null | undefined): string {
  if (!at) return "";
  const d = new Date(at * 1000);
  const today = new Date(serverNow() * 1000).toDateString() === d.toDateString();
  return format(today ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }).format(d);
}

/* "17 Nov", of a day in UTC, or here. */
export function dayText(at: number, utc = true): string {
  return format({ day: "numeric", month: "short", ...(utc ? { timeZone: "UTC" } : {}) }).format(new Date(at * 1000));
}

/* "14:05" of any day. */
export function clockText(at: number, seconds = false): string {
  return format({ hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}) }).format(new Date(at * 1000));
}

export function instantFull(at: number): string {
  return format({ dateStyle: "medium", timeStyle: "medium" }).format(new Date(at * 1000));
}

/* "in 5 min", "3 min ago" */
export function relative(at: number | null | undefined, now: number): string {
  if (!at) return "";
  const d = at - now;
  if (Math.abs(d) < 2) return t("time.now");
  return d > 0 ? t("time.in", { span: duration(d) }) : t("time.ago", { span: duration(-d) });
}

export function memory(kib: number): string {
  const units = ["KB", "MB", "GB", "TB", "PB"]; /* as memory_human() in src/base/amount.c */
  let unit = 0;
  for (; kib >= 1024 && unit < 4; unit++) kib /= 1024;
  return `${kib < 10 && !Number.isInteger(kib) ? decimal(kib) : kib.toFixed(0)} ${units[unit]}`;
}

export function bytes(n: number): string {
  return n < 1024 ? `${n} B` : memory(Math.round(n / 1024));
}

export function number(n: number): string {
  return new Intl.NumberFormat(language()).format(n);
}

/* With that many digits behind the point, or the comma. */
export function decimal(n: number, digits = 1): string {
  return new Intl.NumberFormat(language(), { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(n);
}

/* "2026-11-18T14:05", as fields for an instant have it. */
export function localText(at: number): string {
  return new Date(at * 1000 - new Date(at * 1000).getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

const UNITS: Record<string, number> = { y: 365 * 86400, w: 7 * 86400, d: 86400, h: 3600, m: 60, s: 1 };

/* Seconds of a text as qsub reads it: "1:30:00", "90:00", "45", "90m", "1d12h"; NaN: it is none of these. */
export function durationParse(text: string): number {
  const typed = text.trim().toLowerCase();
  if (/^(\d{1,9}y)?(\d{1,9}w)?(\d{1,9}d)?(\d{1,9}h)?(\d{1,9}m)?(\d{1,9}s)?$/.test(typed) && typed) return [...typed.matchAll(/(\d+)(.)/g)].reduce((sum, [, n, unit]) => sum + Number(n) * UNITS[unit], 0);
  const parts = typed.split(":").reverse();
  const scale = [1, 60, 3600, 86400],
    below = [60, 60, 24, Infinity];
  if (parts.length > 4 || !parts.every((x, i) => /^\d{1,9}$/.test(x) && (i === parts.length - 1 || Number(x) < below[i]))) return NaN;
  return parts.reduce((sum, x, i) => sum + Number(x) * scale[i], 0);
}

/* KiB of a text as qsub reads it: "500mb", "4g", "4096" (bytes); NaN: it is none of these. */
export function memoryParse(text: string): number {
  const m = /^(\d{1,15})([kmgtp]?)[bw]?$/i.exec(text.trim());
  return m ? Math.ceil((Number(m[1]) * 1024 ** " kmgtp".indexOf(m[2].toLowerCase() || " ") * (/w$/i.test(text.trim()) ? 8 : 1)) / 1024) : NaN;
}
