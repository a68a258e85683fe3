/*
 * said.ts - what the server says, in the page's language. The API gives codes and values beside English text: sentences in other languages are made here, those in English are
 * the server's own.
 */
import { duration, instant, memory, number, serverNow } from "./format";
import { codes, life, sentences } from "./ptsaid";
import { knows, language, t, type Sentence } from "./text";

export interface Said {
  code?: string;
  message: string;
  where?: string;
  template?: string;
  values?: string[];
}

function fill(sentence: string, values: string[]): string {
  return sentence.replace(/\{(\d)\}/g, (_, n) => values[Number(n) - 1] ?? "");
}

/* For text that came without its template, such as that of answers which are repeated: the sentence that it fits. */
let patterns: [RegExp, string][] | null = null;

function patternsMake(): [RegExp, string][] {
  const quoted = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const words = (s: string) => s.replace(/\{\d\}/g, "").length;
  return Object.keys(sentences)
    .sort((a, b) => words(b) - words(a)) /* those with the most words of their own first */
    .filter((s) => words(s) > 8)
    .map((s) => [new RegExp(`^${s.split(/\{\d\}/).map(quoted).join("(.*)")}$`, "s"), sentences[s]]);
}

function found(text: string): string | null {
  const whole = match(text);
  if (whole || !/^[A-Z].*\.$/s.test(text)) return whole;
  const part = match(text[0].toLowerCase() + text.slice(1, -1)); /* a sentence that was made of a part of one */
  return part && `${part[0].toUpperCase()}${part.slice(1)}.`;
}

function match(text: string): string | null {
  if (text in sentences) return sentences[text];
  patterns ??= patternsMake();
  for (const [pattern, sentence] of patterns) {
    const m = pattern.exec(text);
    if (m) return fill(sentence, m.slice(1).map(inner));
  }
  return null;
}

/* A value may be a sentence of its own. */
function inner(value: string): string {
  return found(value) ?? value;
}

/* A sentence of the server; null: it is not known in this language. */
export function sentence(s: Said): string | null {
  if (language() !== "pt") return s.message;
  const known = s.template ? sentences[s.template] : undefined;
  const said = known ? fill(known, (s.values ?? []).map(inner)) : found(s.where && s.message.startsWith(s.where) ? s.message.slice(s.where.length + 2) : s.message);
  return said && s.where ? `${s.where}: ${said}` : said;
}

/* An error: at least what its code means is said in the page's language. */
export function errorText(s: Said): string {
  return sentence(s) ?? (s.code && codes[s.code] ? `${codes[s.code]}: ${s.message}` : s.message);
}

export function plain(text: string): string {
  return sentence({ message: text }) ?? text;
}

/* ---- why a job waits ---- */

export interface Reason {
  code: string;
  text: string;
  needed?: number;
  free?: number;
  limit?: { of: string; name: string | null; measure: string; most: number; used: number; asked: number; soft: boolean };
  reservation?: string;
  begins?: number;
  ends?: number;
  template?: string;
  values?: string[];
}

const FIXED = new Set(["held", "depend", "time", "retry", "route", "stopped", "cpus", "machines", "nodes", "turn"]);

function amountOf(measure: string, n: number): string {
  if (measure === "memory") return memory(n);
  return measure === "cpu_seconds" || measure.endsWith("_credits") ? duration(n) : number(n);
}

function limitText(l: NonNullable<Reason["limit"]>): string {
  const measure = l.measure.endsWith("_credits") ? "credits" : l.measure;
  const whose = t(`limit.of.${l.of}` as Sentence, { name: l.name ?? "" });
  const values = { whose, most: amountOf(l.measure, l.most), used: amountOf(l.measure, l.used), asked: amountOf(l.measure, l.asked) };
  return t(`limit.${measure}` as Sentence, values) + (l.soft ? `; ${t("limit.soft")}` : "");
}

function boundText(r: Reason): string {
  const name = r.reservation ?? "";
  if (!name) return t("bound.nowhere");
  if (!r.begins && !r.ends) return t("bound.over", { name });
  if (r.begins && r.begins > serverNow()) return t("bound.begins", { name, at: instant(r.begins) });
  return t("bound.ends", { name, at: instant(r.ends) });
}

export function reasonText(r: Reason): string {
  if (FIXED.has(r.code)) return t(`reason.${r.code}` as Sentence, { needed: r.needed ?? 0, free: r.free ?? 0 });
  if (r.limit) return limitText(r.limit);
  if (r.code === "bound") return boundText(r);
  if (r.code === "said") return r.text; /* what the user, an operator or a hook wrote */
  return sentence({ message: r.text, template: r.template, values: r.values }) ?? r.text;
}

/* ---- what happened ---- */

export interface JobEvent {
  seq: number;
  time: number;
  type: string;
  text: string;
  nodes?: string;
  at?: number;
  who?: string;
  by?: string;
  exit_status?: number;
  moves?: boolean;
  retried?: boolean;
  checkpoint?: string;
  cause?: string | null;
  restarted?: number;
  detail?: string;
}

function finishText(e: JobEvent): string {
  const status = e.exit_status ?? 0;
  if (status >= 256) return t("event.finish.signal", { signal: status - 256 });
  return status === -2 ? t("event.finish.lost") : t("event.finish", { status });
}

function checkpointText(e: JobEvent): string {
  if (e.checkpoint === "none") return e.restarted ? t("event.restarted", { n: e.restarted }) : t("event.work.lost");
  return t(`event.checkpoint.${e.checkpoint}` as Sentence, { cause: e.cause ? t(`cause.${e.cause}` as Sentence) : "?" });
}

function happened(e: JobEvent): string {
  const values = { at: instant(e.at), nodes: e.nodes ?? "?" };
  if (e.type === "finish") return finishText(e);
  if (e.type === "checkpoint") return checkpointText(e);
  if (e.type === "keep" && !e.nodes) return t("event.keep.none");
  if (e.type === "preempt" && e.moves) return t("event.preempt.moves");
  if (e.type === "migrate" && e.by) return t("event.migrate.by", values);
  if (e.type === "asked") return t(e.detail === "rerun" ? "event.asked.rerun" : "event.asked.delete");
  return knows(`event.${e.type}`) ? t(`event.${e.type}` as Sentence, values) : e.text;
}

/* Those whose sentence is the detail alone. */
const TOLD = new Set(["note", "alter", "holds", "signal", "site", "rank"]);

export function eventText(e: JobEvent): string {
  const detail = e.detail && e.type !== "asked" ? plain(e.detail) : "";
  let text = (TOLD.has(e.type) || e.retried) && detail ? detail : happened(e) + (detail ? `: ${detail}` : "");
  if (e.who) text += ` ${t("event.who", { who: e.who })}`;
  if (e.by) text += ` ${t("event.by", { job: e.by })}`;
  return text;
}

export interface LifeEvent {
  seq: number;
  time: number;
  type: string;
  text: string;
  at?: number;
  who: string | null;
  reason: string | null;
}

export function lifeText(e: LifeEvent): string {
  if (language() !== "pt" || !life[e.type]) return e.text;
  return `${life[e.type]}${e.at ? ` ${instant(e.at)}` : ""}${e.who ? `, ${e.who === "the server" ? "pelo servidor" : t("event.who", { who: e.who })}` : ""}${e.reason ? `: ${e.reason}` : ""}`;
}
