/*
 * live.ts - streams of the server: the events, which all views share, and `persist`, by which every stream continues where it was after a broken connection.
 *
 * Server-Sent Events are read with fetch: EventSource can't send the session's header. The server sends something at least every 15 s, so silence shows that a connection is dead,
 * such as after a laptop slept; other streams are opened again with this one. When the server no longer has the last event that was read ("gap"), listeners read everything again.
 */
import { Refused, send } from "./api";

export interface Change {
  seq: number;
  job?: string;
  type: string;
  state?: string;
  owner?: string;
  gap?: boolean;
}

type Listener = (changes: Change[]) => void;

const listeners = new Set<Listener>();
let connected = true;
let last = 0;
let running: AbortController | null = null;
let queue: Change[] = [];
let due = 0;

/* Many events in a burst are reported at once, so that a busy cluster does not keep the page from drawing. */
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

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
const SILENCE_MS = 45_000; /* three times what the server lets pass */

/* Waits, but not longer than until the browser says that the network is back. */
function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const over = new AbortController();
    const end = () => (over.abort(), clearTimeout(timer), done());
    const timer = setTimeout(end, ms);
    stop.addEventListener("abort", end, { signal: over.signal });
    window.addEventListener("online", end, { signal: over.signal });
  });
}

/*
 * Calls `read` until it returns true (the stream is over) or is refused; after a break it is called again, and continues where it was. `read` calls `opened` when the server has
 * answered. `broken` hears of breaks and of their end. Throws what the server refused with.
 */
export async function persist(stop: AbortSignal, read: (signal: AbortSignal, opened: () => void) => Promise<boolean>, broken: (is: boolean) => void): Promise<void> {
  let wait = FIRST_WAIT_MS;
  while (!stop.aborted) {
    const attempt = new AbortController();
    const lost = () => isConnected() || attempt.abort();
    stop.addEventListener("abort", () => attempt.abort(), { signal: attempt.signal });
    window.addEventListener("connection", lost, { signal: attempt.signal });
    try {
      if (await read(attempt.signal, () => ((wait = FIRST_WAIT_MS), broken(false)))) return;
    } catch (e) {
      if (!stop.aborted && e instanceof Refused && e.status >= 400 && e.status < 500 && e.status !== 429) throw e;
    }
    attempt.abort();
    if (stop.aborted) return;
    broken(true);
    await pause(wait, stop);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

async function readEvents(signal: AbortSignal, opened: () => void): Promise<boolean> {
  const r = await send("GET", "/v1/events", { signal, headers: last ? { "Last-Event-ID": String(last) } : {} }).catch((e) => {
    if (e instanceof Refused && e.status === 400) last = 0; /* the server has never had such an event */
    throw e instanceof Refused && e.status === 400 ? new Error(e.message) : e;
  });
  const reader = r.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  opened();
  for (;;) {
    const silence = setTimeout(() => void reader.cancel(), SILENCE_MS);
    const { value, done } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return false;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop()!;
    blocks.forEach(block);
  }
}

/* For as long as one is signed in. What failed while the connection was broken is read again after it. */
export async function follow(): Promise<void> {
  running?.abort();
  const own = (running = new AbortController());
  let missed = false;
  const broken = (is: boolean) => {
    connection(!is);
    if (missed && !is) tell({ seq: last, type: "gap", gap: true });
    missed = is;
  };
  await persist(own.signal, readEvents, broken).catch(() => undefined); /* signed out */
}

export function unfollow(): void {
  running?.abort();
  running = null;
  last = 0;
  connected = true;
}
