/* api.ts - requests to the server: the same API that the commands use, with the session's token in a header. */
import { errorText, type Reason, type Said } from "./said";
import { t } from "./text";

const KEY = "shunt-session";

export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/* Kept for this origin, port included, which the cookie is not. */
export function sessionToken(): string | null {
  return localStorage.getItem(KEY);
}

async function refusal(r: Response): Promise<Refused> {
  const body = await r.json().catch(() => null);
  const said = body?.error as (Said & { code: string }) | undefined;
  return new Refused(r.status, said?.code ?? "", said?.message ? errorText(said) : t("error.status", { status: r.status }));
}

/* Any request; the answer's status is good. */
export async function send(method: string, path: string, o: { body?: unknown; raw?: Blob; headers?: Record<string, string>; signal?: AbortSignal; keepalive?: boolean } = {}): Promise<Response> {
  const headers: Record<string, string> = { ...o.headers };
  const token = sessionToken();
  if (token) headers["Shunt-Session"] = token;
  if (o.body !== undefined) headers["Content-Type"] = "application/json";
  let r: Response;
  try {
    r = await fetch(path, { method, headers, body: o.raw ?? (o.body === undefined ? undefined : JSON.stringify(o.body)), signal: o.signal, keepalive: o.keepalive, cache: "no-store" });
  } catch (e) {
    if ((e as Error).name === "AbortError") throw e;
    throw new Refused(0, "unreachable", t("error.unreachable"));
  }
  if (!r.ok) {
    const e = await refusal(r);
    if (e.status === 401 && path !== "/v1/session") window.dispatchEvent(new Event("signed-out"));
    throw e;
  }
  return r;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await send("GET", path, { signal })).json();
}

/* A change is sent once: the key makes a repetition safe that the browser makes by itself. */
export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return (await send("POST", path, { body, signal, headers: { "Idempotency-Key": crypto.randomUUID() } })).json();
}

export async function change(method: "PATCH" | "PUT" | "DELETE", path: string, body?: unknown): Promise<unknown> {
  return (await send(method, path, { body })).json().catch(() => null);
}

export interface Ways {
  name: string;
  token: boolean;
  password: boolean;
}
export type Proof = { key: string } | { token: string } | { user: string; password: string };

/* A proof becomes a session. A link's key is taken out of the address at once, so that it stays in no history. */
export async function signIn(proof: Proof): Promise<void> {
  if ("key" in proof) history.replaceState(null, "", location.pathname);
  const r = await send("POST", "/v1/session", { body: proof });
  localStorage.setItem(KEY, ((await r.json()) as { token: string }).token);
}

export async function signOut(): Promise<void> {
  await send("DELETE", "/v1/session").catch(() => undefined);
  localStorage.removeItem(KEY);
  window.dispatchEvent(new Event("signed-out"));
}

/* ---- what the answers hold, as far as the page uses it; docs/openapi.yaml has the whole ---- */

export interface Job {
  id: string;
  name: string;
  owner: string;
  queue: string;
  state: string;
  type?: string;
  cpus?: number;
  nodect?: number;
  walltime?: number;
  created?: number;
  started?: number | null;
  ended?: number | null;
  exit_status?: number | null;
  cause?: string | null;
  comment?: string | null;
  label?: string | null;
  reason?: Reason | null;
  expected_start?: number | null;
  expected_end?: number | null;
  planned_start?: number | null;
  deadline?: number | null;
  guaranteed?: boolean;
  no_estimate?: string | null;
  array_counts?: Record<string, number> | null;
  array_failed?: number | null;
  array_spec?: string | null;
  resources?: string | null;
  exec_host?: string | null;
  used?: { cput: number; walltime: number; memory: number } | null;
  memory?: number | null;
  workdir?: string | null;
  output?: string | null;
  error?: string | null;
  join?: string | null;
  account?: string | null;
  depend?: string | null;
  priority?: number;
  holds?: string;
  past?: boolean;
}

export interface Overview {
  user: string;
  role: string;
  machine: { name: string; now: number; scheduling: boolean; policy: string; nodes: number; nodes_up: number; cpus: number; shutdown: { begin: number } | null };
  cpus_used: number;
  running: number;
  waiting: number;
  running_jobs: Job[];
  waiting_jobs: Job[];
  own_jobs: Job[];
  users: { user: string; running: number; cpus: number; waiting: number }[];
}

export interface PastJob {
  id: string;
  name: string;
  owner: string;
  queue: string;
  state: string;
  exit_status: number;
  submitted: number;
  started: number | null;
  ended: number;
  cpus: number;
  memory_kib: number;
  walltime: number;
  ran_ms: number;
  cpu_ms: number;
  peak_kib: number;
}

export interface Forecast {
  now: number;
  possible: boolean;
  start: number | null;
  end: number | null;
  nodes: string[] | null;
  guaranteed: boolean | null;
  reason: string | null;
  error?: Said;
  price?: number | null;
  price_unit?: string;
}
