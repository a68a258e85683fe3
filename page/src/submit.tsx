/* submit.tsx - a form that writes the script, shows it, and says what would become of the job before it is submitted. */
import type { ComponentChildren, InputHTMLAttributes, JSX, TargetedEvent } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { change, get, post, Refused, type Forecast } from "./api";
import { decimal, duration, durationParse, instant, memory, memoryParse, relative, serverNow } from "./format";
import { Card, jobLink, Problem, short } from "./parts";
import { extraLines, extraMembers, extraNode, extraResources, GROUPS, type Extra, type Extras } from "./submitmore";
import { errorText, plain } from "./said";
import { t } from "./text";

interface Form {
  commands: string;
  name: string;
  nodes: string;
  ppn: string;
  memory: string;
  walltime: string;
  queue: string;
  deadline: string;
  array: string;
  after: string;
  depend: string;
  account: string;
  priority: string;
  mail: string;
  env: string;
  extra: Extras;
}
type Key = Exclude<keyof Form, "extra">;

const EMPTY: Form = {
  commands: "",
  name: "job",
  nodes: "1",
  ppn: "1",
  memory: "",
  walltime: "1:00:00",
  queue: "",
  deadline: "",
  array: "",
  after: "",
  depend: "",
  account: "",
  priority: "",
  mail: "a",
  env: "",
  extra: {},
};

type Faults = Partial<Record<Key, string>>;

/* What the form itself can judge; the server judges the rest in its forecast. */
function faultsOf(f: Form): Faults {
  const faults: Faults = {};
  if (!f.commands.trim()) faults.commands = t("invalid.commands");
  if (!/^[^\s/]{1,236}$/.test(f.name)) faults.name = t("invalid.name");
  for (const k of ["nodes", "ppn"] as const) if (!/^[1-9]\d{0,8}$/.test(f[k])) faults[k] = t("invalid.number");
  if (f.memory && !(memoryParse(f.memory) > 0)) faults.memory = t("invalid.memory");
  if (!(durationParse(f.walltime) > 0)) faults.walltime = t("invalid.walltime");
  return faults;
}

function instantOf(local: string): number | null {
  const at = Date.parse(local);
  return Number.isNaN(at) ? null : Math.floor(at / 1000);
}

function resourcesOf(f: Form, api: boolean): string[] {
  return [`nodes=${f.nodes}:ppn=${f.ppn}${extraNode(f.extra)}`, `walltime=${f.walltime}`, ...(f.memory ? [`mem=${f.memory}`] : []), ...extraResources(f.extra, api)];
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}

/* As qsub reads it: [[CC]YY]MMDDhhmm, in the user's own time. */
function stamp(at: number): string {
  const d = new Date(at * 1000);
  return `${d.getFullYear()}${two(d.getMonth() + 1)}${two(d.getDate())}${two(d.getHours())}${two(d.getMinutes())}`;
}

/* The same job as a file for qsub. */
function scriptOf(f: Form): string {
  const lines = [`-N ${f.name}`, ...resourcesOf(f, false).map((r) => `-l ${r}`)];
  const after = instantOf(f.after),
    deadline = instantOf(f.deadline);
  if (f.queue) lines.push(`-q ${f.queue}`);
  if (f.array) lines.push(`-t ${f.array}`);
  if (after) lines.push(`-a ${stamp(after)}`);
  if (deadline) lines.push(`-l deadline=${stamp(deadline)}`);
  if (f.depend) lines.push(`-W depend=${f.depend}`);
  if (f.account) lines.push(`-A ${f.account}`);
  if (f.priority) lines.push(`-p ${f.priority}`);
  if (f.mail !== "a") lines.push(`-m ${f.mail || "n"}`);
  lines.push(...extraLines(f.extra));
  const set = f.env
    .split("\n")
    .filter((x) => x.includes("="))
    .map((x) => `export ${x.slice(0, x.indexOf("="))}='${x.slice(x.indexOf("=") + 1).replaceAll("'", "'\\''")}'\n`)
    .join("");
  return `#!/bin/sh\n${lines.map((x) => `#PBS ${x}\n`).join("")}\n${set}${f.commands.replace(/\s*$/, "")}\n`;
}

function bodyOf(f: Form, home: string): Record<string, unknown> {
  const body: Record<string, unknown> = { script: scriptOf(f), name: f.name, resources: resourcesOf(f, true), mail: f.mail || "n" };
  if (home) body.workdir = home;
  if (f.queue) body.queue = f.queue;
  if (f.array) body.array = f.array;
  if (f.depend) body.depend = f.depend;
  if (f.account) body.account = f.account;
  if (f.priority) body.priority = Number(f.priority);
  if (f.after) body.at = instantOf(f.after);
  if (f.deadline) body.deadline = instantOf(f.deadline);
  return Object.assign(body, extraMembers(f.extra));
}

/* A moment after the last key, since every question costs the server a little. */
export function useForecast(body: Record<string, unknown> | null): { forecast: Forecast | null; error: Refused | null } {
  const [state, set] = useState<{ forecast: Forecast | null; error: Refused | null }>({ forecast: null, error: null });
  const text = body ? JSON.stringify(body) : "";
  useEffect(() => {
    set({ forecast: null, error: null });
    if (!text) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      post<Forecast>("/v1/whatif", JSON.parse(text), stop.signal).then(
        (forecast) => set({ forecast, error: null }),
        (error) => stop.signal.aborted || set({ forecast: null, error: error as Refused }),
      );
    }, 300);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  return state;
}

export function Answer({ valid, forecast, error }: { valid: boolean; forecast: Forecast | null; error: Refused | null }): JSX.Element {
  const now = serverNow();
  return (
    <Card title={t("submit.forecast")}>
      <div class="forecast" role="status">
        {error ? (
          <p class="problem">{error.message}</p>
        ) : !valid ? (
          <p class="empty">–</p>
        ) : !forecast ? (
          <p class="empty">{t("submit.forecast.wait")}</p>
        ) : !forecast.possible ? (
          <p class="problem">{forecast.error ? errorText(forecast.error) : forecast.reason && plain(forecast.reason)}</p>
        ) : (
          <>
            <p>
              {!forecast.start
                ? t("submit.forecast.unknown", { why: forecast.reason ? plain(forecast.reason) : "" })
                : forecast.start <= forecast.now + 5
                ? `${t("submit.forecast.now")} ${t("submit.forecast.end", { end: instant(forecast.end) })}`
                : t("submit.forecast.at", { when: relative(forecast.start, now), at: instant(forecast.start), end: instant(forecast.end) })}{" "}
              {forecast.nodes?.length ? t("submit.forecast.nodes", { nodes: forecast.nodes.join(", ") }) : ""}
            </p>
            {forecast.guaranteed !== null && forecast.guaranteed !== undefined && (
              <p class={forecast.guaranteed ? "good" : "problem"}>{t(forecast.guaranteed ? "submit.forecast.guaranteed" : "submit.forecast.unguaranteed")}</p>
            )}
            {forecast.price !== undefined && forecast.price !== null && <p>{t("submit.price", { hours: decimal(forecast.price / 3600, 2), unit: (forecast.price_unit ?? "").replaceAll("_", " ") })}</p>}
            {forecast.start && forecast.reason && <p class="quiet">{plain(forecast.reason)}</p>}
          </>
        )}
      </div>
    </Card>
  );
}

export function Field(p: { id: string; label: string; hint?: string; fault?: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class={`field ${p.fault ? "wrong" : ""}`}>
      <label for={p.id}>{p.label}</label>
      {p.children}
      <small id={`${p.id}-hint`}>{p.fault ?? p.hint ?? ""}</small>
    </div>
  );
}

function ExtraField({ x, value, onValue }: { x: Extra; value: string; onValue: (v: string) => void }): JSX.Element {
  const id = `extra-${x.key}`;
  if (x.flag)
    return (
      <label class="check">
        <input type="checkbox" checked={!!value} onChange={(e) => onValue(e.currentTarget.checked ? "1" : "")} /> {t(x.label)}
      </label>
    );
  return (
    <Field id={id} label={t(x.label)}>
      {x.words ? (
        <select id={id} value={value || Object.keys(x.words)[0]} onChange={(e) => onValue(e.currentTarget.value)}>
          {Object.entries(x.words).map(([w, label]) => (
            <option key={w} value={w}>
              {t(label)}
            </option>
          ))}
        </select>
      ) : (
        <input id={id} value={value} placeholder={x.example} onInput={(e) => onValue(e.currentTarget.value)} autocomplete="off" spellcheck={false} />
      )}
    </Field>
  );
}

interface Template {
  name: string;
  site: boolean;
  description: string | null;
}

/* Jobs that the server keeps under names. One that is chosen opens in a form of its own; `job` is what would be kept. */
export function Templates({ job, manager }: { job: Record<string, unknown>; manager: boolean }): JSX.Element {
  const [all, setAll] = useState<Template[]>([]);
  const [site, setSite] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const name = String(job.name ?? "");
  const path = `/v1/templates/${encodeURIComponent(name)}`;
  const read = () => void get<{ templates: Template[] }>("/v1/templates").then((r) => (setAll(r.templates), setFailure(null)), setFailure);
  useEffect(read, []);
  const known = all.find((x) => x.name === name && !x.site) ?? all.find((x) => x.name === name && manager); /* one's own comes first, also for the server */
  return (
    <div class="actions">
      {all.length > 0 && (
        <label>
          {t("submit.template")}{" "}
          <select value="" onChange={(e) => (location.hash = `#/template/${encodeURIComponent(e.currentTarget.value)}`)}>
            <option value="">{t("submit.template.choose")}</option>
            {all.map((x) => (
              <option key={`${x.name} ${x.site}`} value={x.name}>
                {x.name + (x.site ? ` (${t("submit.template.site")})` : "") + (x.description ? `: ${x.description}` : "")}
              </option>
            ))}
          </select>
        </label>
      )}
      <button type="button" onClick={() => void change("PUT", path, { site, job }).then(read, setFailure)}>
        {t("submit.template.keep", { name })}
      </button>
      {manager && (
        <label class="check">
          <input type="checkbox" checked={site} onChange={(e) => setSite(e.currentTarget.checked)} /> {t("submit.template.everybody")}
        </label>
      )}
      {known && (
        <button type="button" class="plain" onClick={() => void change("DELETE", path).then(read, setFailure)}>
          {t("submit.template.drop", { name }) + (known.site ? ` (${t("submit.template.site")})` : "")}
        </button>
      )}
      <Problem error={failure} />
    </div>
  );
}

/* What is left of the month's quota, beside what the job asks for. */
function Left({ form }: { form: Form }): JSX.Element | null {
  const [quota, setQuota] = useState<{ limit: Record<string, number>; left: Record<string, number> } | null>(null);
  useEffect(() => {
    get<{ counted: boolean; quota: { limit: Record<string, number>; left: Record<string, number> }[] }>("/v1/quota").then((r) => setQuota(r.counted ? (r.quota[0] ?? null) : null), () => undefined);
  }, []);
  if (!quota) return null;
  const asked = durationParse(form.walltime) * Number(form.nodes) * Number(form.ppn);
  const kind = form.deadline ? "priority" : "normal";
  return <p class={asked > quota.left[kind] ? "problem" : "quiet"}>{t("submit.quota", { asked: duration(asked), left: duration(quota.left[kind]) })}</p>;
}

/* `first`: what the form begins with. */
export function SubmitView({ first = {}, manager }: { first?: Partial<Form>; manager: boolean }): JSX.Element {
  const [form, setForm] = useState<Form>({ ...EMPTY, ...first });
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [queues, setQueues] = useState<string[]>([]);
  const [home, setHome] = useState("");
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const faults = faultsOf(form);
  const valid = Object.keys(faults).length === 0;
  const script = useMemo(() => scriptOf(form), [form]);
  const asked = valid || (Object.keys(faults).length === 1 && faults.commands); /* the forecast needs no commands */
  const { forecast, error } = useForecast(asked ? bodyOf(form, home) : null);

  useEffect(() => {
    get<{ queues: { name: string }[] }>("/v1/queues").then((r) => setQueues(r.queues.map((q) => q.name)), () => undefined);
    get<{ home?: string }>("/v1/whoami").then((r) => setHome(r.home ?? ""), () => undefined);
  }, []);

  const set = (key: Key) => (e: TargetedEvent<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>) => {
    setForm({ ...form, [key]: e.currentTarget.value });
    setTouched(new Set([...touched, key]));
  };
  const input = (key: Key, more: InputHTMLAttributes = {}) => (
    <input id={key} value={form[key]} onInput={set(key)} aria-describedby={`${key}-hint`} aria-invalid={touched.has(key) && !!faults[key]} autocomplete="off" spellcheck={false} {...more} />
  );
  const fault = (key: Key) => (touched.has(key) ? faults[key] : undefined);
  const submit = async (e: Event) => {
    e.preventDefault();
    setTouched(new Set(Object.keys(EMPTY)));
    if (!valid) document.getElementById(Object.keys(faults)[0])?.focus();
    if (!valid || busy) return;
    setBusy(true);
    try {
      const r = await post<{ id: string }>("/v1/jobs", bodyOf(form, home));
      location.hash = jobLink(short(r.id));
    } catch (x) {
      setFailure(x as Error);
      setBusy(false);
    }
  };
  const mail = (letter: string) => {
    const has = form.mail.includes(letter);
    setForm({ ...form, mail: has ? form.mail.replace(letter, "") : form.mail + letter });
  };

  /* The form's own fields that stand in a group. */
  const rarer: Record<string, JSX.Element> = {
    deadline: (
      <Field key="deadline" id="deadline" label={t("submit.deadline")}>
        {input("deadline", { type: "datetime-local" })}
      </Field>
    ),
    after: (
      <Field key="after" id="after" label={t("submit.after")}>
        {input("after", { type: "datetime-local" })}
      </Field>
    ),
    array: (
      <Field key="array" id="array" label={t("submit.array")} hint={t("submit.array.hint")}>
        {input("array")}
      </Field>
    ),
    depend: (
      <Field key="depend" id="depend" label={t("submit.depend")} hint={t("submit.depend.hint")}>
        {input("depend")}
      </Field>
    ),
    account: (
      <Field key="account" id="account" label={t("submit.account")}>
        {input("account")}
      </Field>
    ),
    priority: (
      <Field key="priority" id="priority" label={t("submit.priority")}>
        {input("priority", { type: "number", min: -1024, max: 1023 })}
      </Field>
    ),
    mail: (
      <div key="mail" role="group" aria-label={t("submit.mail")}>
        {t("submit.mail")}{" "}
        {(["b", "e", "a"] as const).map((m) => (
          <label key={m} class="check">
            <input type="checkbox" checked={form.mail.includes(m)} onChange={() => mail(m)} /> {t(`submit.mail.${m}`)}
          </label>
        ))}
      </div>
    ),
  };

  return (
    <main id="content" tabIndex={-1}>
      <h1>{t("submit.title")}</h1>
      <Problem error={failure} />
      <form class="submit" onSubmit={(e) => void submit(e)} noValidate>
        <Card title={t("submit.form")}>
          <Field id="commands" label={t("submit.commands")} hint={t("submit.commands.hint")} fault={fault("commands")}>
            <textarea id="commands" rows={6} value={form.commands} onInput={set("commands")} aria-describedby="commands-hint" aria-invalid={!!fault("commands")} spellcheck={false} autofocus />
          </Field>
          <div class="fields-row">
            <Field id="name" label={t("submit.name")} fault={fault("name")}>
              {input("name")}
            </Field>
            <Field id="walltime" label={t("submit.walltime")} hint={durationParse(form.walltime) > 0 ? t("submit.means", { amount: duration(durationParse(form.walltime)) }) : t("submit.walltime.hint")} fault={fault("walltime")}>
              {input("walltime")}
            </Field>
            <Field id="nodes" label={t("submit.nodes")} fault={fault("nodes")}>
              {input("nodes", { type: "number", min: 1 })}
            </Field>
            <Field id="ppn" label={t("submit.ppn")} fault={fault("ppn")}>
              {input("ppn", { type: "number", min: 1 })}
            </Field>
            <Field id="memory" label={t("submit.memory")} hint={memoryParse(form.memory) > 0 ? t("submit.means", { amount: memory(memoryParse(form.memory)) }) : t("submit.memory.hint")} fault={fault("memory")}>
              {input("memory")}
            </Field>
            <Field id="queue" label={t("submit.queue")}>
              <select id="queue" value={form.queue} onChange={set("queue")}>
                <option value="">{t("submit.queue.default")}</option>
                {queues.map((q) => (
                  <option key={q}>{q}</option>
                ))}
              </select>
            </Field>
          </div>
          <details>
            <summary>{t("submit.more")}</summary>
            {GROUPS.map((g) => (
              <fieldset key={g.label}>
                <legend>{t(g.label)}</legend>
                <div class="fields-row">
                  {g.fields.map((name) => rarer[name])}
                  {g.extras.map((x) => (
                    <ExtraField key={x.key} x={x} value={form.extra[x.key] ?? ""} onValue={(v) => setForm({ ...form, extra: { ...form.extra, [x.key]: v } })} />
                  ))}
                </div>
                {g.label === "group.program" && (
                  <Field id="env" label={t("submit.env")} hint={t("submit.env.hint")}>
                    <textarea id="env" rows={3} value={form.env} onInput={set("env")} aria-describedby="env-hint" spellcheck={false} />
                  </Field>
                )}
              </fieldset>
            ))}
          </details>
          <Templates job={bodyOf(form, "")} manager={manager} />
          <div class="buttons">
            <button type="submit" class="primary" disabled={busy}>
              {busy ? t("submit.busy") : t("submit.button")}
            </button>
          </div>
        </Card>
        <div class="beside">
          <Answer valid={!!asked} forecast={forecast} error={error} />
          <Left form={form} />
          <Card title={t("submit.script")}>
            <pre class="script" tabIndex={0} aria-label={t("submit.script")}>
              {script}
            </pre>
            <p class="quiet">{t("submit.script.hint")}</p>
          </Card>
        </div>
      </form>
    </main>
  );
}
