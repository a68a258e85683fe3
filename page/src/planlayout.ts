/* planlayout.ts - where each piece of the plan is drawn: its node's row, and which of the node's CPUs it is given. Pure: no clock, no canvas. */

export interface PlanNode {
  name: string;
  cpus: number;
  up: boolean;
  drain_at?: number;
  partition?: string;
  reservations?: { name: string; start: number; end: number | null }[];
}

export interface PlanPiece {
  job: string | null;
  name: string | null;
  owner: string | null;
  node: string;
  cpus: number;
  start: number;
  end: number;
  state: "running" | "reserved" | "guaranteed" | "expected";
  deadline?: number;
}

export interface Plan {
  now: number;
  nodes: PlanNode[];
  pieces: PlanPiece[];
}

/* A piece with its row and the first of its CPUs. The CPUs are not the machine's: only their number is known. */
export interface Placed {
  piece: PlanPiece;
  row: number;
  cpu: number;
}

/* The lowest gap of that many CPUs among pieces that overlap; where forecasts add up to more than there are, the last CPUs. */
function gap(busy: Placed[], cpus: number, all: number): number {
  let at = 0;
  for (const b of [...busy].sort((x, y) => x.cpu - y.cpu)) {
    if (b.cpu - at >= cpus) break;
    at = Math.max(at, b.cpu + b.piece.cpus);
  }
  return Math.max(0, Math.min(at, all - cpus));
}

/* By row, then by start: so that a window of rows and times is found without looking at all of them. */
export function layOut(plan: Plan): Placed[][] {
  const rows: Placed[][] = plan.nodes.map(() => []);
  const rowOf = new Map(plan.nodes.map((n, i) => [n.name, i]));
  for (const piece of [...plan.pieces].sort((a, b) => a.start - b.start || b.cpus - a.cpus)) {
    const row = rowOf.get(piece.node);
    if (row === undefined) continue;
    const busy = rows[row].filter((x) => x.piece.end > piece.start && x.piece.start < piece.end);
    rows[row].push({ piece, row, cpu: gap(busy, piece.cpus, plan.nodes[row].cpus) });
  }
  return rows;
}

/* A round distance between lines of the time axis, of which there are to be about `count`. */
export function tick(seconds: number, count: number): number {
  const steps = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800];
  return steps.find((s) => seconds / s <= count) ?? 2592000;
}

/* The times that matter: from a little before now to the last end, at least an hour. */
export function span(plan: Plan): [number, number] {
  const last = plan.pieces.reduce((most, p) => Math.max(most, p.end), plan.now + 3600);
  const length = Math.min(last - plan.now, 14 * 86400);
  return [plan.now - length * 0.08, plan.now + length * 1.04];
}

/* What the plan opens with: the next three hours, or less if it ends before. */
export function near(plan: Plan): [number, number] {
  const [from, to] = span(plan);
  const end = plan.now + 3 * 3600;
  return to <= end ? [from, to] : [plan.now - 0.04 * 3 * 3600, end];
}

/* A hue by owner and name, the same every day: jobs of one kind look alike. */
export function hueOf(text: string): number {
  let h = 0;
  for (const c of text) h = (h * 31 + c.charCodeAt(0)) % 360;
  return h;
}
