/*
 * shell.tsx - a shell in a running job, or in a job of its own that runs in a directory: a terminal. A browser can't leave HTTP, so what the shell writes is a stream, and what is
 * typed are requests (docs/api.md, /v1/jobs/ID/program).
 */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { post, Refused, send, type Job } from "./api";
import { jobLink, outcome, Problem, short, useLive, useTitle, whyOf } from "./parts";
import { Screen } from "./screen";
import { type Run } from "./terminal";
import { t } from "./text";

type Head = { t: string; [key: string]: unknown };
const text = new TextEncoder();

/* A frame: the length of the rest and that of the head, the head, and data (src/base/frame.h). */
function frame(head: Head, data: Uint8Array = new Uint8Array()): Uint8Array {
  const h = text.encode(JSON.stringify(head));
  const all = new Uint8Array(8 + h.length + data.length);
  const view = new DataView(all.buffer);
  view.setUint32(0, 4 + h.length + data.length);
  view.setUint32(4, h.length);
  all.set(h, 8);
  all.set(data, 8 + h.length);
  return all;
}

const joined = (parts: Uint8Array[]) => new Blob(parts as BlobPart[]);
const BUSY_MS = 200;
const PIECE = 32768; /* bytes of a frame of what is typed or pasted */
const AT_ONCE = 131072; /* bytes of frames in a request */
const BEHIND = 64; /* frames that wait: more only if somebody types them */

/* A program in a job, from its start to its end. */
class Program {
  private readonly path: string;
  private readonly stop = new AbortController();
  private waits: Uint8Array[] = [];
  private sending = false;
  private open = false; /* its first frame is sent */

  constructor(
    job: string,
    private readonly out: (data: Uint8Array) => void,
  ) {
    this.path = `/v1/jobs/${encodeURIComponent(job)}/program?key=${crypto.randomUUID()}`;
  }

  /* Returns when it has ended. */
  async run(head: Head): Promise<void> {
    const r = await this.begin();
    const reader = r.body!.getReader();
    let rest = new Uint8Array();
    this.open = true;
    this.waits.unshift(frame(head));
    void this.push();
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const all = new Uint8Array(rest.length + part.value.length);
        all.set(rest);
        all.set(part.value, rest.length);
        rest = this.frames(all);
      }
    } finally {
      this.open = false;
    }
  }

  /* A job that has its place may not have started yet. */
  private async begin(tries = 50): Promise<Response> {
    for (;;) {
      try {
        return await send("GET", this.path, { signal: this.stop.signal });
      } catch (e) {
        if (!(e instanceof Refused) || e.code !== "bad_state" || --tries === 0) throw e;
        await new Promise((done) => setTimeout(done, BUSY_MS));
      }
    }
  }

  /* Takes whole frames, and returns what is left. */
  private frames(all: Uint8Array): Uint8Array<ArrayBuffer> {
    const view = new DataView(all.buffer);
    let at = 0;
    while (all.length - at >= 8 && all.length - at >= 4 + view.getUint32(at)) {
      const end = at + 4 + view.getUint32(at),
        data = at + 8 + view.getUint32(at + 4);
      const head = JSON.parse(new TextDecoder().decode(all.subarray(at + 8, data))) as Head;
      if (head.t === "out" || head.t === "err") this.out(all.subarray(data, end));
      if (head.t === "refused") throw new Error(String(head.reason));
      at = end; /* others: started, exit, alive */
    }
    return all.slice(at) as Uint8Array<ArrayBuffer>;
  }

  put(head: Head, data?: Uint8Array): void {
    this.waits.push(frame(head, data));
    if (this.open && !this.sending) void this.push();
  }

  type(typed: string): void {
    const data = text.encode(typed);
    for (let at = 0; at < data.length; at += PIECE) this.put({ t: "in" }, data.subarray(at, at + PIECE));
  }

  /* What the program asks the terminal, over and over if it likes, without reading the answers. */
  answer(answer: string): void {
    if (this.waits.length < BEHIND) this.type(answer);
  }

  /* Takes the frames of the next request. */
  private next(): Uint8Array[] {
    let size = 0;
    const end = this.waits.findIndex((f) => (size += f.length) > AT_ONCE);
    return this.waits.splice(0, end < 0 ? this.waits.length : Math.max(1, end));
  }

  /* One request at a time: what is typed meanwhile goes with the next. */
  private async push(): Promise<void> {
    this.sending = true;
    while (this.waits.length && !this.stop.signal.aborted) {
      const parts = this.next();
      try {
        await send("POST", this.path, { raw: joined(parts), signal: this.stop.signal });
      } catch (e) {
        if (!(e instanceof Refused) || e.status !== 429) break; /* the stream says what is wrong */
        this.waits = [...parts, ...this.waits];
        await new Promise((done) => setTimeout(done, BUSY_MS));
      }
    }
    this.sending = false;
  }

  end(): void {
    this.stop.abort();
  }
}

const KEYS: Record<string, string> = {
  Enter: "\r", Backspace: "\x7f", Tab: "\t", Escape: "\x1b",
  Home: "\x1b[1~", Insert: "\x1b[2~", Delete: "\x1b[3~", End: "\x1b[4~", PageUp: "\x1b[5~", PageDown: "\x1b[6~",
  F1: "\x1bOP", F2: "\x1bOQ", F3: "\x1bOR", F4: "\x1bOS", F5: "\x1b[15~", F6: "\x1b[17~", F7: "\x1b[18~", F8: "\x1b[19~", F9: "\x1b[20~", F10: "\x1b[21~",
};
const ARROWS: Record<string, string> = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D" };

/* What a key sends; null: the browser's own business, such as letters, which come as input. */
function keyText(e: KeyboardEvent, application: boolean): string | null {
  if (e.isComposing || e.metaKey || (e.shiftKey && e.key === "Tab")) return null;
  if (ARROWS[e.key]) return `\x1b${application ? "O" : "["}${ARROWS[e.key]}`;
  if (KEYS[e.key]) return KEYS[e.key];
  if (e.ctrlKey && !e.altKey && !e.shiftKey && /^[a-z[\\\]^_ ]$/i.test(e.key)) return String.fromCharCode(e.key.toUpperCase().charCodeAt(0) & 31);
  return e.altKey && !e.ctrlKey && e.key.length === 1 ? `\x1b${e.key}` : null;
}

const DRAW_MS = 20;
const SHELL = { t: "task", argv: ["/bin/sh", "-c", 'exec "${SHELL:-/bin/sh}"'], env: ["TERM=screen-256color"] };

/* How many characters fit, by the size of ten of them. */
function sizeOf(box: HTMLElement, ten: HTMLElement): { rows: number; columns: number } {
  const r = ten.getBoundingClientRect();
  return { rows: Math.max(4, Math.floor(box.clientHeight / r.height)), columns: Math.max(20, Math.floor((box.clientWidth - 4) / (r.width / 10))) };
}

function TerminalCard({ job, onEnd }: { job: string; onEnd: (e: Error | null) => void }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const ten = useRef<HTMLSpanElement>(null);
  const input = useRef<HTMLTextAreaElement>(null);
  const [lines, setLines] = useState<Run[][]>([]);
  const live = useRef<{ program: Program; screen: Screen } | null>(null);
  useEffect(() => {
    const size = sizeOf(box.current!, ten.current!);
    const decoder = new TextDecoder();
    let due = 0;
    const draw = () => {
      due = 0;
      setLines(screen.lines());
    };
    const program = new Program(job, (data) => {
      screen.write(decoder.decode(data, { stream: true }));
      due ||= window.setTimeout(draw, DRAW_MS);
    });
    const screen = new Screen(size.rows, size.columns, (answer) => program.answer(answer));
    live.current = { program, screen };
    const watch = new ResizeObserver(() => {
      if (!box.current || !ten.current) return;
      const now = sizeOf(box.current, ten.current);
      if (now.rows === size.rows && now.columns === size.columns) return;
      Object.assign(size, now);
      screen.resize(now.rows, now.columns);
      program.put({ t: "window", ...now });
      draw();
    });
    program.run({ ...SHELL, ...size }).then(() => onEnd(null), (e) => onEnd(e instanceof TypeError ? new Error(t("error.unreachable")) : e));
    watch.observe(box.current!);
    input.current!.focus();
    return () => {
      watch.disconnect();
      program.end();
      clearTimeout(due);
    };
  }, [job]);
  useEffect(() => void (box.current!.scrollTop = box.current!.scrollHeight), [lines]);
  const type = (typed: string) => live.current?.program.type(typed);
  return (
    <div class="shell" ref={box} onClick={() => getSelection()?.isCollapsed !== false && input.current!.focus()}>
      <textarea
        ref={input}
        aria-label={t("shell.input")}
        aria-describedby="shell-keys"
        autocapitalize="off"
        autocomplete="off"
        spellcheck={false}
        rows={1}
        onKeyDown={(e) => {
          const keys = keyText(e, live.current!.screen.application);
          if (keys === null) return;
          e.preventDefault();
          e.stopPropagation(); /* Ctrl+K is the shell's here */
          type(keys);
        }}
        onInput={(e) => {
          if (e.isComposing) return;
          type(e.currentTarget.value.replaceAll("\n", "\r"));
          e.currentTarget.value = "";
        }}
        onCompositionEnd={(e) => {
          type(e.currentTarget.value);
          e.currentTarget.value = "";
        }}
      />
      <span class="ten" aria-hidden="true" ref={ten}>
        MMMMMMMMMM
      </span>
      <pre role="log" aria-label={t("shell.screen")}>
        {lines.map((row, y) => (
          <div key={y}>{row.map((r, i) => (r.style ? <span key={i} class={r.style}>{r.text}</span> : r.text))}</div>
        ))}
      </pre>
    </div>
  );
}

/* Jobs of their own for shells, which end with them. Not in the address: a link that somebody sends must not delete a job. */
const made = new Set<string>();

/* Opens a shell in a directory, in a job that does nothing but hold a place for it. */
export async function shellOpen(directory: string): Promise<void> {
  const job = await post<{ id: string }>("/v1/jobs", { name: "terminal", script: "#!/bin/sh\nexec sleep 28800\n", workdir: directory, resources: ["ncpus=1,walltime=4:00:00"], output: "/dev/null", error: "/dev/null", mail: "n", rerunnable: false });
  made.add(short(job.id));
  location.hash = `#/shell/${encodeURIComponent(short(job.id))}`;
}

export function ShellView({ id }: { id: string }): JSX.Element {
  const own = made.has(id);
  const { data: job, error } = useLive<Job>(`/v1/jobs/${encodeURIComponent(id)}`, (c) => !!c.job && c.job.startsWith(id));
  const [ended, setEnded] = useState<{ error: Error | null } | null>(null);
  const [count, setCount] = useState(0);
  useTitle(t("shell.title", { job: id }));
  const drop = () => void (own && send("POST", "/v1/jobs/delete", { body: { ids: [id] }, keepalive: true }).catch(() => undefined));
  useEffect(() => {
    window.addEventListener("pagehide", drop);
    return () => (window.removeEventListener("pagehide", drop), drop());
  }, []);
  const runs = job?.state === "R";
  return (
    <main id="content" tabIndex={-1}>
      <h1>
        {t("shell.title", { job: id })}{" "}
        <small>
          <a href={jobLink(id)}>{job?.name ?? ""}</a>
        </small>
      </h1>
      <Problem error={error ?? ended?.error ?? null} />
      {job && !runs && !ended && <p role="status">{job.state === "C" ? outcome(job).word : t("shell.waits", { why: whyOf(job) || outcome(job).word })}</p>}
      {runs && !ended && (
        <>
          <TerminalCard
            key={count}
            job={id}
            onEnd={(e) => {
              if (e?.name === "AbortError") return;
              setEnded({ error: e });
              drop();
            }}
          />
          <p class="quiet" id="shell-keys">
            {t("shell.keys")}
          </p>
        </>
      )}
      {ended && (
        <p role="status">
          {t("shell.ended")}{" "}
          {runs && !own && (
            <button type="button" onClick={() => (setCount(count + 1), setEnded(null))}>
              {t("shell.again")}
            </button>
          )}
        </p>
      )}
    </main>
  );
}
