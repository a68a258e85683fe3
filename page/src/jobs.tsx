/* jobs.tsx - jobs as a table: filtered, sorted, live, with actions on several at once. */
import { Fragment, type JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { post, type Job, type Refused } from "./api";
import { Bags } from "./bags";
import { durationParse, number } from "./format";
import { Confirm, elements, Instant, jobLink, Problem, short, State, useLive, whyOf } from "./parts";
import { errorText, type Said } from "./said";
import { t, type Sentence } from "./text";

const FIELDS = "id,name,owner,queue,state,cpus,created,started,ended,exit_status,cause,comment,label,reason,expected_end,expected_start,planned_start,array_counts,array_failed";
const LOADED = 2000;
const PAGE = 100;
const ELEMENTS = 200;

const STATES: Record<string, string> = { active: "completed=0", running: "state=R,E,S,B&completed=0", waiting: "state=Q,H,W&completed=0", ended: "state=C", all: "completed=1" };

type Column = "id" | "name" | "owner" | "queue" | "state" | "cpus" | "created" | "when";

function when(job: Job): number | null | undefined {
  return job.ended ?? job.started ?? job.expected_start ?? job.planned_start;
}

function valueOf(job: Job, column: Column): string | number {
  switch (column) {
    case "id":
      return Number.parseInt(job.id, 10);
    case "when":
      return when(job) ?? Number.MAX_SAFE_INTEGER;
    case "cpus":
      return job.cpus ?? 0;
    case "created":
      return job.created ?? 0;
    default:
      return job[column] ?? "";
  }
}

function sorted(jobs: Job[], column: Column, down: boolean): Job[] {
  const sign = down ? -1 : 1;
  return [...jobs].sort((a, b) => {
    const x = valueOf(a, column),
      y = valueOf(b, column);
    return sign * (x < y ? -1 : x > y ? 1 : 0) || Number.parseInt(b.id, 10) - Number.parseInt(a.id, 10);
  });
}

function toggled(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(id)) next.add(id);
  return next;
}

function fits(job: Job, words: string[]): boolean {
  const text = `${short(job.id)} ${job.name} ${job.owner} ${job.queue}`.toLowerCase();
  return words.every((w) => text.includes(w));
}

/* The last cells of a row, of a job or of an element. */
function RestCells({ job }: { job: Job }): JSX.Element {
  return (
    <>
      <td class="n">{job.cpus}</td>
      <td>
        <Instant at={when(job)} />
      </td>
      <td class="why">{job.state === "R" ? "" : whyOf(job)}</td>
    </>
  );
}

/* The elements of an array, below its row. */
function Elements({ id, columns }: { id: string; columns: number }): JSX.Element {
  const { data, error } = useLive<{ jobs: Job[]; next: string | null }>(`/v1/jobs?ids=${encodeURIComponent(short(id))}&arrays=expand&fields=${FIELDS}&limit=${ELEMENTS}`, (c) => !!c.job && short(c.job).startsWith(short(id).split("[")[0]));
  if (!data)
    return (
      <tr class="element">
        <td colSpan={columns}>{error ? error.message : t("loading")}</td>
      </tr>
    );
  return (
    <>
      {data.jobs.map((job) => (
        <tr key={job.id} class="element">
          <td />
          <td class="n">{short(job.id)}</td>
          <td>
            <a href={jobLink(job.id)}>{job.name}</a>
          </td>
          <td>
            <State job={job} />
          </td>
          <td />
          <td />
          <RestCells job={job} />
        </tr>
      ))}
      {data.next && (
        <tr class="element">
          <td colSpan={columns}>{t("jobs.elements.limited", { n: ELEMENTS })}</td>
        </tr>
      )}
    </>
  );
}

export interface Wanted {
  action: string;
  body: object;
}

/* To which queue jobs go. */
export function Move({ n, onDo, onNo }: { n: number; onDo: (w: Wanted) => void; onNo: () => void }): JSX.Element {
  const { data } = useLive<{ queues: { name: string }[] }>("/v1/queues", () => false);
  const [queue, setQueue] = useState("");
  return (
    <Confirm title={t("bulk.move.title", { n })} text={t("bulk.move.text")} action={t("bulk.move.do")} onYes={() => queue && onDo({ action: "move", body: { queue } })} onNo={onNo}>
      <label>
        {t("col.queue")}
        <select value={queue} onChange={(e) => setQueue(e.currentTarget.value)}>
          <option value="" />
          {data?.queues.map((q) => (
            <option key={q.name} value={q.name}>
              {q.name}
            </option>
          ))}
        </select>
      </label>
    </Confirm>
  );
}

/* What is empty stays as it is. */
function Alter({ n, onDo, onNo }: { n: number; onDo: (w: Wanted) => void; onNo: () => void }): JSX.Element {
  const [priority, setPriority] = useState("");
  const [walltime, setWalltime] = useState("");
  const body = { ...(priority === "" ? {} : { priority: Number(priority) }), ...(walltime === "" ? {} : { resources: [`walltime=${walltime}`] }) };
  const wrong = walltime !== "" && Number.isNaN(durationParse(walltime));
  return (
    <Confirm title={t("bulk.alter.title", { n })} text={t("bulk.alter.text")} action={t("bulk.alter.do")} onYes={() => !wrong && Object.keys(body).length && onDo({ action: "alter", body })} onNo={onNo}>
      <label>
        {t("submit.priority")} <input type="number" min={-1024} max={1023} value={priority} onInput={(e) => setPriority(e.currentTarget.value)} />
      </label>
      <label>
        {t("field.walltime")} <input value={walltime} placeholder="1:00:00" spellcheck={false} aria-invalid={wrong} onInput={(e) => setWalltime(e.currentTarget.value)} />
      </label>
      {wrong && <p class="problem">{t("invalid.walltime")}</p>}
    </Confirm>
  );
}

export function JobsView({ user }: { user: string }): JSX.Element {
  const [state, setState] = useState("active");
  const [mine, setMine] = useState(false);
  const [filter, setFilter] = useState("");
  const [order, setOrder] = useState<{ column: Column; down: boolean }>({ column: "id", down: true });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [shown, setShown] = useState(PAGE);
  const [asked, setAsked] = useState<"delete" | "rerun" | "move" | "alter" | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  const path = `/v1/jobs?${STATES[state]}&fields=${FIELDS}&limit=${LOADED}${mine ? `&user=${encodeURIComponent(user)}` : ""}`;
  const { data, error, reload } = useLive<{ jobs: Job[]; next: string | null }>(path, (c) => !!c.job);

  const rows = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    return sorted(
      (data?.jobs ?? []).filter((j) => fits(j, words)),
      order.column,
      order.down,
    );
  }, [data, filter, order]);
  const page = rows.slice(0, shown);

  const toggle = (id: string) => setSelected(toggled(selected, id));
  const act = async (action: string, more: object = {}) => {
    setAsked(null);
    try {
      const r = await post<{ results: { id: string; error?: Said }[] }>(`/v1/jobs/${action}`, { ids: [...selected].map(short), ...more });
      const wrong = r.results.filter((x) => x.error);
      setFailure(wrong.length ? new Error(wrong.map((x) => `${x.id}: ${errorText(x.error!)}`).join(" ")) : null);
      setSelected(new Set());
    } catch (e) {
      setFailure(e as Refused);
    }
    reload();
  };
  const head = (column: Column, label: Sentence, n = false) => (
    <th scope="col" class={n ? "n" : ""} aria-sort={order.column === column ? (order.down ? "descending" : "ascending") : undefined}>
      <button type="button" class="sort" onClick={() => setOrder({ column, down: order.column === column ? !order.down : false })}>
        {t(label)}
      </button>
    </th>
  );

  return (
    <main id="content" tabIndex={-1}>
      <h1>{t("jobs.title")}</h1>
      <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
        <label>
          {t("jobs.filter")}
          <input type="search" value={filter} placeholder={t("jobs.filter.hint")} onInput={(e) => setFilter(e.currentTarget.value)} />
        </label>
        <label>
          {t("jobs.state")}
          <select value={state} onChange={(e) => setState(e.currentTarget.value)}>
            {Object.keys(STATES).map((s) => (
              <option key={s} value={s}>
                {t(`jobs.state.${s}` as Sentence)}
              </option>
            ))}
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={mine} onChange={(e) => setMine(e.currentTarget.checked)} /> {t("jobs.mine")}
        </label>
        <span class="quiet" role="status">
          {data ? t("jobs.shown", { shown: number(page.length), all: number(rows.length) }) : t("loading")}
        </span>
      </form>
      <Problem error={error ?? failure} />
      {data && <Bags jobs={data.jobs} onChoose={setFilter} />}
      <div class="actions" role="toolbar" aria-label={t("jobs.selected", { n: selected.size })}>
        <span>{t("jobs.selected", { n: selected.size })}</span>
        <button type="button" disabled={!selected.size} onClick={() => void act("hold", { holds: "u" })}>
          {t("action.hold")}
        </button>
        <button type="button" disabled={!selected.size} onClick={() => void act("release", { holds: "u" })}>
          {t("action.release")}
        </button>
        <button type="button" disabled={!selected.size} onClick={() => setAsked("alter")}>
          {t("bulk.alter")}
        </button>
        <button type="button" disabled={!selected.size} onClick={() => setAsked("move")}>
          {t("bulk.move")}
        </button>
        <button type="button" disabled={!selected.size} onClick={() => setAsked("rerun")}>
          {t("bulk.rerun")}
        </button>
        <button type="button" class="danger" disabled={!selected.size} onClick={() => setAsked("delete")}>
          {t("action.delete")}
        </button>
      </div>
      {asked === "move" && <Move n={selected.size} onDo={(w) => void act(w.action, w.body)} onNo={() => setAsked(null)} />}
      {asked === "alter" && <Alter n={selected.size} onDo={(w) => void act(w.action, w.body)} onNo={() => setAsked(null)} />}
      {asked === "rerun" && <Confirm title={t("bulk.rerun.title", { n: selected.size })} text={t("bulk.rerun.text")} action={t("bulk.rerun.do")} onYes={() => void act("rerun")} onNo={() => setAsked(null)} />}
      {asked === "delete" && (
        <Confirm title={t("confirm.delete.title", { n: selected.size })} text={t("confirm.delete.text")} action={t("action.delete")} onYes={() => void act("delete")} onNo={() => setAsked(null)} />
      )}
      {data && !rows.length ? (
        <p class="empty">{t("jobs.none")}</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={t("jobs.title")}>
          <table class="jobs">
            <thead>
              <tr>
                <th>
                  <input
                    type="checkbox"
                    aria-label={t("jobs.select.all")}
                    checked={page.length > 0 && page.every((j) => selected.has(j.id))}
                    onChange={(e) => setSelected(e.currentTarget.checked ? new Set(page.map((j) => j.id)) : new Set())}
                  />
                </th>
                {head("id", "col.id", true)}
                {head("name", "col.name")}
                {head("state", "col.state")}
                {head("owner", "col.owner")}
                {head("queue", "col.queue")}
                {head("cpus", "col.cpus", true)}
                {head("when", "col.when")}
                <th scope="col">{t("col.why")}</th>
              </tr>
            </thead>
            <tbody>
              {page.map((job) => (
                <Fragment key={job.id}>
                  <tr class={selected.has(job.id) ? "selected" : ""}>
                    <td>
                      <input type="checkbox" aria-label={t("jobs.select", { id: short(job.id) })} checked={selected.has(job.id)} onChange={() => toggle(job.id)} />
                    </td>
                    <td class="n">{short(job.id)}</td>
                    <td>
                      <a href={jobLink(job.id)}>{job.name}</a>
                      {job.array_counts && (
                        <button type="button" class="plain expand" aria-expanded={open.has(job.id)} aria-label={t("jobs.elements.of", { n: elements(job), id: short(job.id) })} onClick={() => setOpen(toggled(open, job.id))}>
                          {t("jobs.elements", { n: elements(job) })}
                        </button>
                      )}
                    </td>
                    <td>
                      <State job={job} />
                    </td>
                    <td>{job.owner}</td>
                    <td>{job.queue}</td>
                    <RestCells job={job} />
                  </tr>
                  {open.has(job.id) && <Elements id={job.id} columns={9} />}
                </Fragment>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rows.length > shown && (
        <p>
          <button type="button" onClick={() => setShown(shown + PAGE)}>
            {t("jobs.more")}
          </button>
        </p>
      )}
      {data?.next && <p class="quiet">{t("jobs.limited", { n: number(LOADED) })}</p>}
    </main>
  );
}
