/* parts.tsx - what several views are made of. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Refused, type Job } from "./api";
import { duration, instant, instantFull, number, relative, serverNow } from "./format";
import { listen, type Change } from "./live";
import { plain, reasonText } from "./said";
import { t, type Sentence } from "./text";

/* The server's time, again every `seconds`. */
export function useNow(seconds = 1): number {
  const [now, set] = useState(serverNow());
  useEffect(() => {
    const timer = setInterval(() => document.hidden || set(serverNow()), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return now;
}

/* An answer that is read again when an event concerns it: one request at a time, and never more than two a second. */
export function useLive<T>(path: string, concerns: (c: Change) => boolean): { data: T | null; error: Refused | null; reload: () => void } {
  const [data, setData] = useState<T | null>(null);
  const [error, setError] = useState<Refused | null>(null);
  const reload = useRef(() => {});
  const judge = useRef(concerns);
  judge.current = concerns;
  useEffect(() => {
    const stop = new AbortController();
    let busy = false,
      again = false,
      timer = 0;
    const read = async () => {
      if (busy) {
        again = true;
        return;
      }
      busy = true;
      try {
        setData(await get<T>(path, stop.signal));
        setError(null);
      } catch (e) {
        if (!stop.signal.aborted && e instanceof Refused) setError(e);
      }
      timer = window.setTimeout(() => {
        busy = false;
        if (again) {
          again = false;
          void read();
        }
      }, 500);
    };
    reload.current = () => void read();
    void read();
    const quiet = listen((all) => {
      if (all.some((c) => c.gap || judge.current(c))) void read();
    });
    return () => {
      stop.abort();
      clearTimeout(timer);
      quiet();
    };
  }, [path]);
  return { data, error, reload: () => reload.current() };
}

export function Problem({ error }: { error: Refused | Error | null }): JSX.Element | null {
  return error ? (
    <p class="problem" role="alert">
      {error.message}
    </p>
  ) : null;
}

/* For a stream that continues when its connection is back. */
export function Broken({ is }: { is: boolean }): JSX.Element {
  return (
    <p class={is ? "problem" : "unseen"} role="status">
      {is ? t("connection.broken") : ""}
    </p>
  );
}

export function Card(p: { title: string; id?: string; class?: string; children: ComponentChildren; aside?: ComponentChildren }): JSX.Element {
  const id = p.id ?? p.title.replace(/\W+/g, "-").toLowerCase();
  return (
    <section class={`card ${p.class ?? ""}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{p.title}</h2>
        {p.aside}
      </header>
      {p.children}
    </section>
  );
}

/* What is known of one thing, each under its name; what is missing is left out. */
export function Fields({ rows }: { rows: [Sentence, ComponentChildren][] }): JSX.Element {
  return (
    <dl class="fields">
      {rows
        .filter((r) => r[1])
        .map(([key, value]) => (
          <div key={key}>
            <dt>{t(key)}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export interface Column<T> {
  head: string;
  cell: (row: T) => ComponentChildren;
  class?: string; /* "n": numbers; "why": long text */
}

export function Table<T>(p: { rows: T[]; id: (row: T) => string; columns: Column<T>[]; none?: string; class?: string }): JSX.Element {
  if (!p.rows.length && p.none) return <p class="empty">{p.none}</p>;
  return (
    <table class={p.class}>
      <thead>
        <tr>
          {p.columns.map((c) => (
            <th key={c.head} scope="col" class={c.class}>
              {c.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {p.rows.map((row) => (
          <tr key={p.id(row)}>
            {p.columns.map((c) => (
              <td key={c.head} class={c.class}>
                {c.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function JobName({ job }: { job: { id: string; name: string } }): JSX.Element {
  return (
    <>
      <a href={jobLink(job.id)}>{job.name}</a> <small>{short(job.id)}</small>
    </>
  );
}

export function short(id: string): string {
  return id.split(".")[0];
}

export function jobLink(id: string): string {
  return `#/jobs/${encodeURIComponent(short(id))}`;
}

export interface Outcome {
  word: string;
  kind: string; /* its colour */
}

/* How a job ended, in one word everywhere; `cause`: as the API and the history have it. */
export function ending(cause: string | null | undefined, status: number): Outcome {
  if (cause && cause !== "completed" && cause !== "failed") return { word: t(`past.${cause}` as Sentence), kind: cause === "deleted" || cause === "dependency" ? "deleted" : "failed" };
  if (status === 0) return { word: t("past.completed"), kind: "ok" };
  return { word: status > 256 ? t("ended.signal", { signal: status - 256 }) : t("ended.failed", { status }), kind: "failed" };
}

/* How a job ended, or its state. */
export function outcome(job: Job): Outcome {
  const failed = job.array_failed ?? 0;
  if (job.state === "C" && failed) return { word: t("ended.array", { n: number(failed), all: elements(job) }), kind: "failed" };
  if (job.state === "C") return ending(job.cause, job.exit_status ?? 0);
  const word = t(`state.${job.state}` as Sentence);
  return { word: failed ? `${word}, ${t("ended.array.some", { n: number(failed) })}` : word, kind: job.state };
}

/* The number of an array's elements. */
export function elements(job: Job): string {
  return number(Object.values(job.array_counts ?? {}).reduce((a, b) => a + b, 0));
}

/* Why a job waits, in the page's language. */
export function whyOf(job: Job): string {
  return job.reason ? reasonText(job.reason) : job.comment ? plain(job.comment) : "";
}

export function Ending({ outcome: o }: { outcome: Outcome }): JSX.Element {
  return <span class={`state state-${o.kind}`}>{o.word}</span>;
}

export function State({ job }: { job: Job }): JSX.Element {
  return <Ending outcome={outcome(job)} />;
}

export function Instant({ at }: { at: number | null | undefined }): JSX.Element | null {
  return at ? (
    <time dateTime={new Date(at * 1000).toISOString()} title={instantFull(at)}>
      {instant(at)}
    </time>
  ) : null;
}

export function Relative({ at, now }: { at: number | null | undefined; now: number }): JSX.Element | null {
  return at ? (
    <time dateTime={new Date(at * 1000).toISOString()} title={instantFull(at)}>
      {relative(at, now)}
    </time>
  ) : null;
}

/* A part of a whole, for eyes and for screen readers. */
export function Meter({ value, all, label }: { value: number; all: number; label: string }): JSX.Element {
  return <meter min={0} max={all || 1} value={value} aria-label={label} />;
}

/* How far a running job is into its time limit. */
export function Progress({ job, now }: { job: Job; now: number }): JSX.Element | null {
  if (!job.started || !job.walltime || job.state !== "R") return null;
  const ran = now - job.started;
  return <progress max={job.walltime} value={Math.min(ran, job.walltime)} title={duration(ran)} aria-label={t("job.running", { span: duration(ran), at: instant(job.started + job.walltime) })} />;
}

/* Asks before something that can't be undone: the browser's own dialog keeps the keyboard inside. */
export function Confirm(p: { title: string; text: string; action: string; onYes: () => void; onNo: () => void; children?: ComponentChildren }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  return (
    <dialog ref={box} aria-labelledby="confirm-title" onCancel={p.onNo}>
      <h2 id="confirm-title">{p.title}</h2>
      <p>{p.text}</p>
      {p.children}
      <div class="buttons">
        <button type="button" onClick={p.onNo} autofocus>
          {t("action.cancel")}
        </button>
        <button type="button" class="danger" onClick={p.onYes}>
          {p.action}
        </button>
      </div>
    </dialog>
  );
}

/* The session's token is in a header, which a link can't send: so the bytes are fetched, and then saved. */
export async function save(answer: Promise<Response>, name: string): Promise<void> {
  const at = URL.createObjectURL(await (await answer).blob());
  const a = document.createElement("a");
  a.href = at;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(at), 60000);
}

/* The title of the browser's tab while a view is shown. */
export function useTitle(text: string): void {
  useEffect(() => {
    document.title = text ? `${text} · ${t("app.name")}` : t("app.name");
    return () => {
      document.title = t("app.name");
    };
  }, [text]);
}
