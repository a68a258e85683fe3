/* output.tsx - what a job writes, as it grows. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Refused, send, type Job } from "./api";
import { persist } from "./live";
import { Broken, Card, Problem, save, short } from "./parts";
import { Terminal, type Run } from "./terminal";
import { t } from "./text";

type Stream = "out" | "err";

const SHOWN = 200_000; /* characters of output */
const DRAW_MS = 50; /* many small writes are drawn at once */

/* What was written so far; `note`: why there is nothing. After a break it continues behind the last byte that came. */
function useOutput(id: string, stream: Stream): { runs: Run[]; cut: boolean; note: string | null; broken: boolean } {
  const [{ runs, cut }, setRuns] = useState<{ runs: Run[]; cut: boolean }>({ runs: [], cut: false });
  const [note, setNote] = useState<string | null>(null);
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    const path = `/v1/jobs/${encodeURIComponent(id)}`;
    const decoder = new TextDecoder();
    const terminal = new Terminal(SHOWN);
    let from = 0,
      due = 0;
    const draw = () => {
      due = 0;
      setRuns({ runs: terminal.runs(), cut: terminal.cut });
    };
    const over = async (signal: AbortSignal) => (await get<Job>(path, signal)).state === "C";
    const read = async (signal: AbortSignal, opened: () => void) => {
      try {
        const r = await send("GET", `${path}/output?stream=${stream}&follow=1&from=${from}`, { signal });
        opened();
        setNote(null);
        const reader = r.body!.getReader();
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
          from += part.value.length;
          terminal.write(decoder.decode(part.value, { stream: true }));
          due ||= window.setTimeout(draw, DRAW_MS);
        }
      } catch (e) {
        if (!(e instanceof Refused) || e.status !== 404) throw e;
        setNote(e.message); /* of a job that runs: its host may not have reconnected yet */
      }
      return over(signal);
    };
    persist(stop.signal, read, setBroken).catch((e) => stop.signal.aborted || setNote((e as Error).message));
    return () => (stop.abort(), clearTimeout(due));
  }, [id, stream]);
  return { runs, cut, note, broken };
}

/* What a job writes is text for the page, never more. */
function Output({ id, stream, live }: { id: string; stream: Stream; live: boolean }): JSX.Element {
  const { runs, cut, note, broken } = useOutput(id, stream);
  const any = runs.some((r) => r.text);
  const box = useRef<HTMLPreElement>(null);
  const bottom = useRef(true);
  useEffect(() => {
    if (box.current && bottom.current) box.current.scrollTop = box.current.scrollHeight;
  }, [runs]);
  return (
    <>
      <Broken is={broken} />
      {!any && <p class="empty">{note ?? t(live ? "job.output.none" : "job.output.nothing")}</p>}
      {cut && <p class="quiet">{t("job.output.cut")}</p>}
      {any && (
        <pre
          class="output"
          ref={box}
          tabIndex={0}
          role="log"
          aria-label={t(`job.output.${stream}`)}
          onScroll={(e) => {
            const b = e.currentTarget;
            bottom.current = b.scrollTop + b.clientHeight >= b.scrollHeight - 4;
          }}
        >
          {runs.map((r, i) => (r.style ? <span key={i} class={r.style}>{r.text}</span> : r.text))}
        </pre>
      )}
    </>
  );
}

function Pane({ job, stream }: { job: Job; stream: Stream }): JSX.Element {
  const [failure, setFailure] = useState<Error | null>(null);
  const id = short(job.id);
  const download = () => save(send("GET", `/v1/jobs/${encodeURIComponent(id)}/output?stream=${stream}`), `${job.name}.${stream[0]}${id}`).then(() => setFailure(null), setFailure);
  return (
    <section aria-label={t(`job.output.${stream}`)}>
      <header>
        <h3>{t(`job.output.${stream}`)}</h3>
        <button type="button" class="plain" aria-label={t(`job.output.download.${stream}`)} onClick={() => void download()}>
          {t("job.output.download")}
        </button>
      </header>
      <Problem error={failure} />
      <Output id={id} stream={stream} live={job.state !== "C"} />
    </section>
  );
}

/* Output and errors side by side, or the reason that there are none; `bare`: without a card. */
export function Outputs({ job, bare = false }: { job: Job; bare?: boolean }): JSX.Element {
  const over = job.state === "C";
  const none = job.past ? "job.output.gone" : over && !job.started ? "job.output.never" : over || "RES".includes(job.state) ? null : "job.output.later";
  const streams: Stream[] = job.join === "oe" || job.join === "eo" ? ["out"] : ["out", "err"];
  const panes = none ? <p class="empty">{t(none)}</p> : <div class="pair">{streams.map((s) => <Pane key={`${s} ${job.started}`} job={job} stream={s} />)}</div>;
  return bare ? (
    panes
  ) : (
    <Card title={t("job.writes")} class="wide">
      {panes}
    </Card>
  );
}
