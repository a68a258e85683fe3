/* again.tsx - submits a job again: shows all that it was submitted with, and sends only what was changed. The server has the rest as it was. */
import type { JSX, TargetedEvent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, post } from "./api";
import { Card, jobLink, Problem, short } from "./parts";
import { Answer, Field, useForecast } from "./submit";
import { EXTRAS } from "./submitmore";
import { t, type Sentence } from "./text";

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
  ...Object.fromEntries(EXTRAS.map((x) => [x.key, x.label])),
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

export function AgainView({ from }: { from: string }): JSX.Element {
  const [old, setOld] = useState<Submission | null>(null);
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const path = `/v1/jobs/${encodeURIComponent(from)}`;
  useEffect(() => {
    get<Submission>(`${path}/submission`).then(setOld, setFailure);
  }, [path]);

  const changes: Submission = {};
  for (const [key, text] of Object.entries(texts)) if (old && text !== shown(old[key])) changes[key] = typed(old[key], text);
  const { forecast, error } = useForecast(old && { ...old, ...changes });
  const keys = old ? [...FIRST.filter((k) => k in old), ...Object.keys(old).filter((k) => !FIRST.includes(k))] : [];
  const submit = async (e: Event) => {
    e.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      const r = await post<{ id: string }>(`${path}/again`, changes);
      location.hash = jobLink(short(r.id));
    } catch (x) {
      setFailure(x as Error);
      setBusy(false);
    }
  };
  const field = (key: string, v: Value) => {
    const text = texts[key] ?? shown(v);
    const p = {
      id: `again-${key}`,
      value: text,
      onInput: (e: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) => setTexts({ ...texts, [key]: e.currentTarget.value }),
      spellcheck: false,
      autocomplete: "off",
    };
    return (
      <Field key={key} id={p.id} label={label(key)} hint={key in changes ? t("again.changed") : ""}>
        {key === "script" ? <textarea rows={14} {...p} /> : text.includes("\n") ? <textarea rows={Math.min(8, text.split("\n").length)} {...p} /> : <input {...p} />}
      </Field>
    );
  };

  return (
    <main id="content" tabIndex={-1}>
      <h1>{t("again.title", { job: short(from) })}</h1>
      <Problem error={failure} />
      {old && (
        <form class="submit" onSubmit={(e) => void submit(e)} noValidate>
          <Card title={t("again.form")}>
            <p class="quiet">{t("again.hint")}</p>
            {keys.map((k) => field(k, old[k]))}
            <div class="buttons">
              <button type="submit" class="primary" disabled={busy}>
                {busy ? t("submit.busy") : t("action.resubmit")}
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
