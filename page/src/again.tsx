/* again.tsx - a job as it was submitted, or a template, in a form: submits it again, or changes it. Of a job only what differs is sent: the server has the rest as it was. */
import type { JSX, TargetedEvent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { change, get, post } from "./api";
import { Card, jobLink, Problem, short } from "./parts";
import { Answer, Field, Templates, useForecast } from "./submit";
import { EXTRAS } from "./submitmore";
import { language, t, type Sentence } from "./text";

type Value = string | number | boolean | null | Value[] | { [key: string]: Value };
type Submission = Record<string, Value>;

const FIRST = ["script", "name", "resources", "args", "workdir", "array", "queue", "account", "environment"];
const LABELS: Record<string, Sentence> = {
  script: "again.script",
  name: "submit.name",
  resources: "again.resources",
  array: "submit.array",
  queue: "submit.queue",
  account: "submit.account",
  environment: "submit.env",
  depend: "submit.depend",
  deadline: "submit.deadline",
  at: "submit.after",
  priority: "submit.priority",
  mail: "submit.mail",
  label: "change.label",
  max_run_subjobs: "change.subjobs",
  retries: "change.retries",
  ...Object.fromEntries(EXTRAS.map((x) => [x.key, x.label])),
  exclusive: "change.exclusive",
};

/* A value as a person edits it: texts as they are, lists of texts line by line, all else as JSON. */
function shown(v: Value): string {
  if (typeof v === "string") return v;
  return Array.isArray(v) && v.every((x) => typeof x === "string") ? v.join("\n") : JSON.stringify(v);
}

/* The same for what was typed; a text if it is not JSON: the server says what is wrong with it. */
function typed(old: Value, text: string): Value {
  if (typeof old === "string") return text;
  if (Array.isArray(old) && old.every((x) => typeof x === "string")) return text.split("\n").filter((x) => x !== "");
  try {
    return JSON.parse(text) as Value;
  } catch {
    return text;
  }
}

function label(key: string): string {
  return LABELS[key] ? t(LABELS[key]) : key.replaceAll("_", " ");
}

const submissionOf = (path: string) => get<Submission>(`${path}/submission`);

/* A template as one would submit it: in one's home, if it has no directory. */
async function templateJob(path: string): Promise<Submission> {
  const [kept, me] = await Promise.all([get<{ job: Submission }>(path), get<{ home?: string }>("/v1/whoami")]);
  return { ...(me.home ? { workdir: me.home } : {}), ...kept.job };
}

/* A form of all that a job was submitted with; only what differs is in `changes`. */
function useSubmission(path: string, read = submissionOf): { old: Submission | null; changes: Submission; field: (key: string, hint?: string, words?: string[]) => JSX.Element; error: Error | null } {
  const [old, setOld] = useState<Submission | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [texts, setTexts] = useState<Record<string, string>>({});
  useEffect(() => {
    read(path).then(setOld, setError);
  }, [path]);
  const before = (key: string): Value => old?.[key] ?? "";
  const changes: Submission = {};
  for (const [key, text] of Object.entries(texts)) if (text !== shown(before(key))) changes[key] = typed(before(key), text);
  const field = (key: string, hint = "", words?: string[]) => {
    const text = texts[key] ?? shown(before(key));
    const p = {
      id: `again-${key}`,
      value: text,
      onInput: (e: TargetedEvent<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>) => setTexts({ ...texts, [key]: e.currentTarget.value }),
      spellcheck: false,
      autocomplete: "off",
    };
    return (
      <Field key={key} id={p.id} label={label(key)} hint={key in changes ? t("again.changed") : hint}>
        {key === "script" ? (
          <textarea rows={14} {...p} />
        ) : words ? (
          <select {...p}>
            {["", ...words].map((w) => (
              <option key={w}>{w}</option>
            ))}
          </select>
        ) : text.includes("\n") || key === "environment" || key === "resources" ? (
          <textarea rows={Math.max(2, Math.min(8, text.split("\n").length))} {...p} />
        ) : (
          <input {...p} />
        )}
      </Field>
    );
  };
  return { old, changes, field, error };
}

export function AgainView({ from, template, manager }: { from: string; template?: boolean; manager: boolean }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const path = `/v1/${template ? "templates" : "jobs"}/${encodeURIComponent(from)}`;
  const { old, changes, field, error: unread } = useSubmission(path, template ? templateJob : submissionOf);
  const { forecast, error } = useForecast(old && { ...old, ...changes });
  const keys = old ? [...FIRST.filter((k) => k in old), ...Object.keys(old).filter((k) => !FIRST.includes(k))] : [];
  const submit = async (e: Event) => {
    e.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      const r = await (template ? post<{ id: string }>("/v1/jobs", { ...old, ...changes }) : post<{ id: string }>(`${path}/again`, changes));
      location.hash = jobLink(short(r.id));
    } catch (x) {
      setFailure(x as Error);
      setBusy(false);
    }
  };
  return (
    <main id="content" tabIndex={-1}>
      <h1>{template ? t("template.title", { name: from }) : t("again.title", { job: short(from) })}</h1>
      <Problem error={failure ?? unread} />
      {old && (
        <form class="submit" onSubmit={(e) => void submit(e)} noValidate>
          <Card title={t(template ? "submit.form" : "again.form")}>
            <p class="quiet">{t("again.hint")}</p>
            {keys.map((k) => field(k))}
            <Templates job={{ ...old, ...changes }} manager={manager} />
            <div class="buttons">
              <button type="submit" class="primary" disabled={busy}>
                {busy ? t("submit.busy") : t(template ? "submit.button" : "action.resubmit")}
              </button>
            </div>
          </Card>
          <div class="beside">
            <Answer valid forecast={forecast} error={error} />
          </div>
        </form>
      )}
    </main>
  );
}

interface Property {
  type?: string;
  description?: string;
  enum?: (string | null)[];
  nullable?: boolean;
}

/* Everything that may be changed of a job that waits or runs: the server's own description of the API has the list. */
export function ChangeView({ id }: { id: string }): JSX.Element {
  const [failure, setFailure] = useState<Error | null>(null);
  const [rows, setRows] = useState<Record<string, Property>>({});
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  const { old, changes, field, error: unread } = useSubmission(path);
  useEffect(() => {
    get<{ components: { schemas: { Settings: { properties: Record<string, Property> } } } }>("/openapi.json").then((r) => setRows(r.components.schemas.Settings.properties), setFailure);
  }, []);
  const save = async (e: Event) => {
    e.preventDefault();
    const body = Object.fromEntries(Object.entries(changes).map(([k, v]) => [k, v === "" && rows[k]?.nullable ? null : rows[k]?.type === "integer" && typeof v === "string" ? Number(v) : rows[k]?.type === "boolean" && typeof v === "string" ? v === "true" : rows[k]?.type === "array" && typeof v === "string" ? v.split("\n").filter(Boolean) : v]));
    try {
      await change("PATCH", path, body);
      location.hash = jobLink(id);
    } catch (x) {
      setFailure(x as Error);
    }
  };
  const names = Object.keys(rows).filter((k) => k !== "hold");
  return (
    <main id="content" tabIndex={-1} aria-busy={!old || !names.length}>
      <h1>{t("change.title", { job: id })}</h1>
      <Problem error={failure ?? unread} />
      {old && names.length > 0 && (
        <form class="card change" onSubmit={(e) => void save(e)} noValidate>
          <p class="quiet">{t("change.hint")}</p>
          <div class="fields-row">{[...FIRST.filter((k) => names.includes(k) && k !== "environment"), ...names.filter((k) => !FIRST.includes(k)), "environment"].map((k) => field(k, language() === "en" ? rows[k].description?.replaceAll("`", "") : "", rows[k].enum?.filter((w): w is string => !!w) ?? (rows[k].type === "boolean" ? ["true", "false"] : undefined)))}</div>
          <div class="buttons">
            <a class="button" href={jobLink(id)}>
              {t("action.cancel")}
            </a>
            <button type="submit" class="primary" disabled={!Object.keys(changes).length}>
              {t("bulk.alter.do")}
            </button>
          </div>
        </form>
      )}
    </main>
  );
}
