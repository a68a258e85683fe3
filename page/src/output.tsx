/* output.tsx - what a job writes, as it grows. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Refused, send, type Job } from "./api";
import { persist } from "./live";
import { Broken, Card, short } from "./parts";
import { t } from "./text";

type Stream = "out" | "err";

const SHOWN = 200_000; /* characters of output */

/* The text so far; `note`: why there is none. After a break it continues behind the last byte that came. */
function useOutput(id: string, stream: Stream): { text: string; note: string | null; broken: boolean } {
  const [text, setText] = useState("");
  const [note, setNote] = useState<string | null>(null);
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    const path = `/v1/jobs/${encodeURIComponent(id)}`;
    const decoder = new TextDecoder();
    let from = 0;
    const over = async (signal: AbortSignal) => (await get<Job>(path, signal)).state === "C";
    const read = async (signal: AbortSignal, opened: () => void) => {
      try {
        const r = await send("GET", `${path}/output?stream=${stream}&follow=1&from=${from}`, { signal });
        opened();
        setNote(null);
        const reader = r.body!.getReader();
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
          const more = decoder.decode(part.value, { stream: true });
          from += part.value.length;
          setText((before) => (before + more).slice(-SHOWN));
        }
      } catch (e) {
        if (!(e instanceof Refused) || e.status !== 404) throw e;
        setNote(e.message); /* of a job that runs: its host may not have reconnected yet */
      }
      return over(signal);
    };
    persist(stop.signal, read, setBroken).catch((e) => stop.signal.aborted || setNote((e as Error).message));
    return () => stop.abort();
  }, [id, stream]);
  return { text, note, broken };
}

/* What a job writes is text for the page, never more. */
function Output({ id, stream, live }: { id: string; stream: Stream; live: boolean }): JSX.Element {
  const { text, note, broken } = useOutput(id, stream);
  const box = useRef<HTMLPreElement>(null);
  const bottom = useRef(true);
  useEffect(() => {
    if (box.current && bottom.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  return (
    <>
      <Broken is={broken} />
      {!text && <p class="empty">{note ?? (live ? t("job.output.none") : t("job.output.later"))}</p>}
      {text.length >= SHOWN && <p class="quiet">{t("job.output.cut")}</p>}
      {text && (
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
          {text}
        </pre>
      )}
    </>
  );
}

export function Outputs({ job }: { job: Job }): JSX.Element {
  const [stream, set] = useState<Stream>("out");
  const begun = job.state === "R" || job.state === "E" || job.state === "S" || job.state === "C";
  return (
    <Card
      title={t("job.output")}
      class="wide"
      aside={
        <span class="tabs" role="tablist">
          {(["out", "err"] as const).map((s) => (
            <button key={s} type="button" role="tab" aria-selected={s === stream} onClick={() => set(s)}>
              {t(`job.output.${s}`)}
            </button>
          ))}
        </span>
      }
    >
      {begun ? <Output key={`${stream} ${job.started}`} id={short(job.id)} stream={stream} live={job.state !== "C"} /> : <p class="empty">{t("job.output.later")}</p>}
    </Card>
  );
}
