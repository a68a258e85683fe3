/*
 * live.ts - the stream of events, and what listens to it.
 *
 * Server-Sent Events, read with fetch: EventSource can't send the session's header. After a lost connection it goes on behind the last event that
 * it has seen; when the server does not have that any more ("gap"), listeners read everything anew.
 */
import { send, Refused } from "./api";

export interface Change {
  seq: number;
  job?: string;
  type: string;
  state?: string;
  gap?: boolean;
}

type Listener = (changes: Change[]) => void;

const listeners = new Set<Listener>();
let connected = true;
let last = 0;
let running: AbortController | null = null;
let queue: Change[] = [];
let due = 0;

/* Many events in a burst are told at once, so that a busy cluster does not keep the page from drawing. */
const BATCH_MS = 250;

function tell(change: Change): void {
  queue.push(change);
  if (due) return;
  due = window.setTimeout(() => {
    const all = queue;
    queue = [];
    due = 0;
    for (const l of [...listeners]) l(all);
  }, BATCH_MS);
}

function connection(is: boolean): void {
  if (is === connected) return;
  connected = is;
  window.dispatchEvent(new CustomEvent("connection", { detail: is }));
}

export function isConnected(): boolean {
  return connected;
}

export function listen(l: Listener): () => void {
  listeners.add(l);
  return () => listeners.delete(l);
}

function block(text: string): void {
  let type = "message",
    data = "",
    id = 0;
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) type = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
    else if (line.startsWith("id: ")) id = Number(line.slice(4));
  }
  if (id) last = id;
  if (type === "gap") tell({ seq: last, type, gap: true });
  else if (data) tell({ ...JSON.parse(data), type });
}

async function read(signal: AbortSignal): Promise<void> {
  const r = await send("GET", "/v1/events", { signal, headers: last ? { "Last-Event-ID": String(last) } : {} });
  const reader = r.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  connection(true);
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop()!;
    blocks.forEach(block);
  }
}

/* For as long as one is signed in. Events may have been missed before the first connection: everything is read anew after it. */
export async function follow(): Promise<void> {
  running?.abort();
  const own = (running = new AbortController());
  for (let wait = 500; !own.signal.aborted; wait = Math.min(wait * 2, 10000)) {
    const began = Date.now();
    try {
      await read(own.signal);
    } catch (e) {
      if (own.signal.aborted) return;
      if (e instanceof Refused && e.status === 401) return;
      if (e instanceof Refused && e.status === 400) last = 0; /* the server has never had such an event */
    }
    if (own.signal.aborted) return;
    connection(false);
    if (Date.now() - began > 5000) wait = 500;
    await new Promise((done) => setTimeout(done, wait));
    if (!last) tell({ seq: 0, type: "gap", gap: true });
  }
}

export function unfollow(): void {
  running?.abort();
  running = null;
  last = 0;
  connected = true;
}
