/* job.tsx - one job: what is happening to it in plain words, its output as it grows, and what has happened so far. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { post, send, type Forecast, type Job } from "./api";
import { ArrayCard } from "./array";
import { clock, duration, durationParse, instant, memory, relative } from "./format";
import { Move, type Wanted } from "./jobs";
import { Outputs } from "./output";
import { Card, Confirm, Fields, Instant, outcome, Problem, Progress, short, State, useLive, useNow, useTitle, whyOf } from "./parts";
import { errorText, eventText, plain, type JobEvent, type Said } from "./said";
import { t, type Sentence } from "./text";
import { Use } from "./use";

/* How it ended, or what it waits for; one sentence each. */
function Now({ job, now }: { job: Job; now: number }): JSX.Element {
  const start = job.expected_start ?? job.planned_start;
  const over = job.state === "C";
  return (
    <Card title={t(over ? "job.how" : "job.now")}>
      <p class="now">
        <State job={job} />
        {over && !job.array_counts && <span>{job.started ? t("job.ran", { span: duration((job.ended ?? job.started) - job.started), at: instant(job.ended) }) : t("job.never")}</span>}
        {job.state === "R" && job.started && <span>{t("job.running", { span: duration(now - job.started), at: instant(job.started + (job.walltime ?? 0)) })}</span>}
        {whyOf(job) && <span>{whyOf(job)}</span>}
        {start && job.state !== "R" && !over && <span>{t("job.expected", { when: relative(start, now), at: instant(start) })}</span>}
        {job.no_estimate && job.no_estimate !== job.comment && <span class="quiet">{plain(job.no_estimate)}</span>}
        {job.deadline && <span>{t(job.guaranteed ? "job.guaranteed" : "job.deadline", { at: instant(job.deadline) })}</span>}
      </p>
      <Progress job={job} now={now} />
    </Card>
  );
}

/* To the directory, or to the one that has the file. */
function FileLink({ path, file = false }: { path: string; file?: boolean }): JSX.Element {
  return <a href={`#/files/${encodeURIComponent(file ? path.replace(/\/[^/]*$/, "") || "/" : path)}`}>{path}</a>;
}

function Details({ job }: { job: Job }): JSX.Element {
  const rows: [Sentence, JSX.Element | string | null | undefined][] = [
    ["field.owner", job.owner],
    ["field.queue", job.queue],
    ["field.resources", job.resources],
    ["field.walltime", job.walltime ? clock(job.walltime) : null],
    ["field.hosts", job.exec_host],
    ["field.used", job.used && job.state === "C" ? t("job.used", { cpu: duration(job.used.cput), memory: memory(job.used.memory) }) : null],
    ["field.account", job.account],
    ["field.workdir", job.workdir && <FileLink path={job.workdir} />],
    ["field.output", job.output && <FileLink path={job.output} file />],
    ["field.error", job.error && job.error !== job.output ? <FileLink path={job.error} file /> : null],
    ["field.depend", job.depend],
    ["field.submitted", job.created ? <Instant at={job.created} /> : null],
    ["field.started", job.started ? <Instant at={job.started} /> : null],
    ["field.ended", job.ended ? <Instant at={job.ended} /> : null],
  ];
  return (
    <Card title={t("job.details")}>
      <Fields rows={rows} />
    </Card>
  );
}

function reasonOf(f: Forecast): string {
  return f.error ? errorText(f.error) : f.reason ? plain(f.reason) : t("whatif.never");
}

/* What would become of a waiting job if it asked for something else; nothing is changed. */
function WhatIf({ job, now }: { job: Job; now: number }): JSX.Element {
  const [resources, setResources] = useState(job.resources ?? "");
  const [walltime, setWalltime] = useState(job.walltime ? clock(job.walltime) : "");
  const [answer, setAnswer] = useState<Forecast | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const ask = async (e: SubmitEvent) => {
    e.preventDefault();
    try {
      const list = resources.split(",").filter((r) => r.trim() && !/^\s*walltime=/.test(r));
      setAnswer(await post<Forecast>("/v1/whatif", { resources: [list.join(","), ...(walltime ? [`walltime=${walltime}`] : [])].filter(Boolean), queue: job.queue }));
      setError(null);
    } catch (x) {
      setAnswer(null);
      setError(x as Error);
    }
  };
  const start = job.expected_start ?? job.planned_start;
  return (
    <Card title={t("whatif.title")}>
      <form class="attribute" onSubmit={ask}>
        <label>
          {t("field.resources")} <input value={resources} spellcheck={false} onInput={(e) => setResources(e.currentTarget.value)} />
        </label>
        <label>
          {t("field.walltime")} <input value={walltime} spellcheck={false} onInput={(e) => setWalltime(e.currentTarget.value)} />
        </label>
        <button type="submit">{t("whatif.ask")}</button>
      </form>
      <Problem error={error} />
      <p role="status">
        {answer &&
          (answer.possible && answer.start
            ? `${t("whatif.start", { when: relative(answer.start, now), at: instant(answer.start), end: instant(answer.end) })}${start ? ` ${t("whatif.now", { at: instant(start) })}` : ""}`
            : reasonOf(answer))}
      </p>
    </Card>
  );
}

function Script({ id }: { id: string }): JSX.Element | null {
  const [text, set] = useState<string | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    send("GET", `/v1/jobs/${encodeURIComponent(id)}/script`, { signal: stop.signal })
      .then((r) => r.text())
      .then(set)
      .catch(() => undefined); /* it is for its owner alone, and goes with the job */
    return () => stop.abort();
  }, [id]);
  return text === null ? null : (
    <Card title={t("job.script")}>
      <pre class="script" tabIndex={0}>
        {text}
      </pre>
    </Card>
  );
}

/* Another time limit, for a job that runs as well. */
function Extend({ job, onDo, onNo }: { job: Job; onDo: (w: Wanted) => void; onNo: () => void }): JSX.Element {
  const [walltime, setWalltime] = useState(clock(job.walltime ?? 0));
  const wrong = !(durationParse(walltime) > 0);
  return (
    <Confirm title={t("extend.title")} text={t("extend.text")} action={t("bulk.alter.do")} onYes={() => wrong || onDo({ action: "alter", body: { resources: [`walltime=${walltime}`] } })} onNo={onNo}>
      <label>
        {t("field.walltime")} <input value={walltime} spellcheck={false} aria-invalid={wrong} onInput={(e) => setWalltime(e.currentTarget.value)} />
      </label>
      <p class={wrong ? "problem" : "quiet"}>{wrong ? t("invalid.walltime") : t("submit.means", { amount: duration(durationParse(walltime)) })}</p>
      <div class="actions">
        {[1800, 3600, 4 * 3600].map((more) => (
          <button key={more} type="button" onClick={() => setWalltime(clock((durationParse(walltime) || 0) + more))}>
            {t("extend.more", { span: duration(more) })}
          </button>
        ))}
      </div>
    </Confirm>
  );
}

type Asked = "delete" | "rerun" | "move" | "extend" | null;

/* What can be done with a job in its state. What was done is said, with a way back where there is one. */
function Actions({ job, id, reload }: { job: Job; id: string; reload: () => void }): JSX.Element {
  const [asked, setAsked] = useState<Asked>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  const [done, setDone] = useState<{ text: string; back?: Wanted } | null>(null);
  const act = async ({ action, body }: Wanted, text: string, back?: Wanted) => {
    setAsked(null);
    setDone(null);
    try {
      const r = await post<{ results: { error?: Said }[] }>(`/v1/jobs/${action}`, { ids: [id], ...body });
      const error = r.results.find((x) => x.error)?.error;
      setFailure(error ? new Error(errorText(error)) : null);
      if (!error) setDone({ text, back });
    } catch (e) {
      setFailure(e as Error);
    }
    reload();
  };
  const hold: Wanted = { action: "hold", body: { holds: "u" } };
  const release: Wanted = { action: "release", body: { holds: "u" } };
  const over = job.state === "C",
    running = "RES".includes(job.state);
  const button = (label: Sentence, onClick: () => void, style = "") => (
    <button type="button" class={style} onClick={onClick}>
      {t(label)}
    </button>
  );
  return (
    <>
      <Problem error={failure} />
      <div class="actions">
        {job.state === "H" && button("action.release", () => void act(release, t("done.released"), hold))}
        {!running && !over && job.state !== "H" && button("action.hold", () => void act(hold, t("done.held"), release))}
        {!over && (
          <a class="button" href={`#/change/${encodeURIComponent(id)}`}>
            {t("bulk.alter")}
          </a>
        )}
        {!over && button("action.extend", () => setAsked("extend"))}
        {!over && !running && button("bulk.move", () => setAsked("move"))}
        {running && button("bulk.rerun", () => setAsked("rerun"))}
        {job.state === "R" && !job.array_counts && (
          <a class="button" href={`#/shell/${encodeURIComponent(id)}`}>
            {t("action.shell")}
          </a>
        )}
        <a class="button" href={`#/submit/${encodeURIComponent(id)}`}>
          {t("action.resubmit")}
        </a>
        {!over && button("action.delete", () => setAsked("delete"), "danger")}
      </div>
      <p class={done ? "done" : "unseen"} role="status">
        {done?.text}{" "}
        {done?.back && button("action.undo", () => void act(done.back!, t("done.undone")), "plain")}
      </p>
      {asked === "delete" && <Confirm title={t("confirm.delete.title", { n: 1 })} text={t("confirm.delete.text")} action={t("action.delete")} onYes={() => void act({ action: "delete", body: {} }, t("done.deleted"))} onNo={() => setAsked(null)} />}
      {asked === "rerun" && <Confirm title={t("bulk.rerun.title", { n: 1 })} text={t("bulk.rerun.text")} action={t("bulk.rerun.do")} onYes={() => void act({ action: "rerun", body: {} }, t("done.rerun"))} onNo={() => setAsked(null)} />}
      {asked === "move" && <Move n={1} onDo={(w) => void act(w, t("done.moved"), { action: "move", body: { queue: job.queue } })} onNo={() => setAsked(null)} />}
      {asked === "extend" && <Extend job={job} onDo={(w) => void act(w, t("done.extended"), { action: "alter", body: { resources: [`walltime=${clock(job.walltime ?? 0)}`] } })} onNo={() => setAsked(null)} />}
    </>
  );
}

/* What happened so far, and what it waits for now. */
function Timeline({ job, events }: { job: Job; events: JobEvent[] }): JSX.Element {
  const why = job.state !== "C" && job.state !== "R" ? whyOf(job) : "";
  return (
    <Card title={t("job.timeline")}>
      <ol class="timeline">
        {events.map((e) => (
          <li key={e.seq}>
            <Instant at={e.time} /> <span>{eventText(e)}</span>
          </li>
        ))}
        {why && (
          <li>
            <span class="quiet">{t("time.now")}</span> <span>{why}</span>
          </li>
        )}
      </ol>
    </Card>
  );
}

export function JobView({ id }: { id: string }): JSX.Element {
  const about = (job?: string) => !!job && (short(job) === id || short(job).startsWith(`${id.split("[")[0]}[`));
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  const { data: job, error, reload } = useLive<Job>(path, (c) => about(c.job));
  const { data: past } = useLive<{ events: JobEvent[] }>(`${path}/events`, (c) => about(c.job));
  const now = useNow();
  useTitle(job ? `${job.name} ${id}: ${outcome(job).word}` : t("job.title", { id }));
  if (!job)
    return (
      <main id="content" tabIndex={-1}>
        <h1>{t("job.title", { id })}</h1>
        {error ? <p class="problem">{error.status === 404 ? t("job.unknown") : error.message}</p> : <p class="empty">{t("loading")}</p>}
      </main>
    );
  return (
    <main id="content" tabIndex={-1}>
      <h1>
        {job.name} <small>{t("job.title", { id })}</small> <State job={job} />
      </h1>
      {!job.past && <Actions job={job} id={id} reload={reload} />}
      <div class="cards">
        <Now job={job} now={now} />
        <Timeline job={job} events={past?.events ?? []} />
        {job.array_counts && !job.past ? <ArrayCard job={job} /> : <Outputs job={job} />}
        <Use job={job} now={now} />
        <Details job={job} />
        <Script id={id} />
        {(job.state === "Q" || job.state === "H" || job.state === "W") && <WhatIf job={job} now={now} />}
      </div>
    </main>
  );
}
