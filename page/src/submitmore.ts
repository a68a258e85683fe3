/*
 * submitmore.ts - the rarer options of qsub in one table, by groups: what each is called in the form, in the script, and in the API. What belongs into a resource list is
 * written there.
 */
import { durationParse } from "./format";
import type { Sentence } from "./text";

export interface Extra {
  key: string;
  label: Sentence;
  example?: string;
  words?: Record<string, Sentence>; /* one of these; the first stands for "as usual" */
  flag?: boolean;
  line?: (value: string) => string; /* behind #PBS */
  resource?: (value: string) => string; /* in the resource list, by itself */
  node?: (value: string) => string; /* behind nodes=N:ppn=M */
  member?: (value: string) => Record<string, unknown>; /* of the request, where the script is not read */
}

const quoted = (v: string) => (/\s/.test(v) ? `"${v.replaceAll('"', "")}"` : v);
const text = (key: string, label: Sentence, option: string, example?: string): Extra => ({ key, label, example, line: (v) => `${option}${quoted(v)}`, member: (v) => ({ [key]: v }) });

/* By what they are about, each group with the fields of the form that belong to it. */
export const GROUPS: { label: Sentence; fields: string[]; extras: Extra[] }[] = [
  {
    label: "group.nodes",
    fields: [],
    extras: [
      { key: "gpus", label: "more.gpus", example: "1", node: (v) => `:gpus=${v}` },
      { key: "features", label: "more.features", example: "fast", node: (v) => `:${v.trim().split(/[\s,:]+/).join(":")}` },
      { key: "partition", label: "more.partition", resource: (v) => `partition=${v}` },
      { key: "reservation", label: "more.reservation", resource: (v) => `advres=${v}` },
      { key: "more", label: "more.resources", example: "matlab=1", resource: (v) => v.trim() },
      { key: "exclusive", label: "more.exclusive", flag: true, line: () => "-n", member: () => ({ exclusive: "node" }) },
    ],
  },
  {
    label: "group.when",
    fields: ["array", "depend", "after", "deadline"],
    extras: [
      { key: "guarantee", label: "more.guarantee", flag: true, member: () => ({ require_guarantee: true }) },
      { key: "hold", label: "more.hold", flag: true, line: () => "-h", member: () => ({ hold: "u" }) },
    ],
  },
  {
    label: "group.program",
    fields: [],
    extras: [
      { key: "args", label: "more.args", example: "a b", line: (v) => `-F "${v}"`, member: (v) => ({ args: v.trim().split(/\s+/) }) },
      text("shell", "more.shell", "-S ", "/bin/bash"),
      { key: "rerunnable", label: "more.rerun", words: { y: "word.yes", n: "word.no" }, line: (v) => `-r ${v}`, member: (v) => ({ rerunnable: v === "y" }) },
      text("checkpoint", "more.checkpoint", "-c ", "c=30"),
      text("class", "more.class", "--class "),
      text("restart", "more.restart", "--restart ", "12"),
    ],
  },
  {
    label: "group.files",
    fields: [],
    extras: [
      text("workdir", "submit.workdir", "-d ", "/home/ann/run1"),
      text("output", "more.output", "-o ", "out.txt"),
      text("error", "more.error", "-e ", "err.txt"),
      { key: "join", label: "more.join", words: { n: "join.n", oe: "join.oe", eo: "join.eo" }, line: (v) => `-j ${v}`, member: (v) => ({ join: v }) },
      { key: "keep", label: "more.keep", words: { n: "keep.n", o: "keep.o", e: "keep.e", oe: "keep.oe" }, line: (v) => `-k ${v}`, member: (v) => ({ keep: v }) },
      text("stagein", "more.stagein", "-W stagein=", "data@host:/scratch/data"),
      text("stageout", "more.stageout", "-W stageout=", "result@host:/scratch/result"),
      text("umask", "more.umask", "-W umask=", "027"),
    ],
  },
  {
    label: "group.account",
    fields: ["account", "priority"],
    extras: [
      text("project", "more.project", "-P "),
      { key: "type", label: "more.type", words: { C: "type.C", Q: "type.Q", N: "type.N", E: "type.E" }, line: (v) => `-t ${v}`, member: (v) => ({ type: v }) },
      { key: "estimate", label: "more.estimate", example: "0:30:00", resource: (v) => `estimate=${v}`, member: (v) => ({ estimate: durationParse(v) }) },
      { key: "budget", label: "more.budget", example: "2", resource: (v) => `budget=${v}`, member: (v) => ({ budget: Math.round(Number(v) * 3600) }) },
      text("comment", "more.comment", "--comment "),
    ],
  },
  { label: "group.mail", fields: ["mail"], extras: [text("mail_to", "more.mail", "-M ", "ann@example.org")] },
];

export const EXTRAS: Extra[] = GROUPS.flatMap((g) => g.extras);

export type Extras = Record<string, string>;

const given = (x: Extra, all: Extras) => !!all[x.key] && !(x.words && all[x.key] === Object.keys(x.words)[0]);
const used = (all: Extras) => EXTRAS.filter((x) => given(x, all));

export const extraNode = (all: Extras): string => used(all).map((x) => x.node?.(all[x.key]) ?? "").join("");
/* Those that the API has a member for are not said twice there. */
export const extraResources = (all: Extras, api: boolean): string[] => used(all).flatMap((x) => (x.resource && !(api && x.member) ? [x.resource(all[x.key])] : []));
export const extraLines = (all: Extras): string[] => used(all).flatMap((x) => (x.line ? [x.line(all[x.key])] : []));
export const extraMembers = (all: Extras): Record<string, unknown> => Object.assign({}, ...used(all).map((x) => x.member?.(all[x.key]) ?? {}));
