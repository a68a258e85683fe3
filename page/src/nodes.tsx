/* nodes.tsx - the cluster as tiles: a node each, coloured by load, state or owner; what is known of one, and taking it out of service. */
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { change } from "./api";
import { memory, number } from "./format";
import { Card, Confirm, Fields, Instant, jobLink, Problem, short, useLive } from "./parts";
import { hueOf } from "./planlayout";
import { Habit, Workstations, type Owner } from "./workstations";
import { lifeText, type LifeEvent } from "./said";
import { t, type Sentence } from "./text";

export interface Node {
  name: string;
  state: string;
  cpus: number;
  cpus_used: number;
  memory: number | null;
  memory_used: number;
  gpus: number;
  gpus_used: number;
  features: string[];
  note: string | null;
  health: string | null;
  drain_at: number | null;
  jobs: { id: string }[];
  workstation?: string | null;
  owner?: Owner;
}
interface Piece {
  job: string;
  node: string;
  owner?: string;
  cpus: number;
  state: string;
}
type By = "load" | "state" | "owner";
type Grouping = "none" | "name" | "feature";

/* By the name without its last number, or by the feature that names a rack, else the first one; "": none. */
function groupOf(n: Node, grouping: Grouping): string {
  if (grouping === "name") return n.name.replace(/\d+\D*$/, "");
  return grouping === "feature" ? (n.features.find((f) => /^rack/i.test(f)) ?? n.features[0] ?? "") : "";
}

function groupsOf(nodes: Node[], grouping: Grouping): [string, Node[]][] {
  const groups = new Map<string, Node[]>();
  for (const n of nodes) {
    const name = groupOf(n, grouping);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name)!.push(n);
  }
  return [...groups].sort((a, b) => Number(!a[0]) - Number(!b[0]) || a[0].localeCompare(b[0], undefined, { numeric: true }));
}

/* Who has the most CPUs of each node. */
function ownersOf(pieces: Piece[]): Map<string, string> {
  const most = new Map<string, Map<string, number>>();
  for (const p of pieces) {
    if (p.state !== "running" || !p.owner) continue;
    const here = most.get(p.node) ?? new Map<string, number>();
    most.set(p.node, here.set(p.owner, (here.get(p.owner) ?? 0) + p.cpus));
  }
  return new Map([...most].map(([node, all]) => [node, [...all].sort((a, b) => b[1] - a[1])[0][0]]));
}

const BAD = /offline|draining|down|unhealthy|claimed|joining/;

/* A button where it can be chosen. */
export function NodeTile({ node, by, owner, chosen, onChoose }: { node: Node; by: By; owner?: string; chosen?: boolean; onChoose?: () => void }): JSX.Element {
  const state = BAD.exec(node.state)?.[0] ?? (node.cpus_used >= node.cpus ? "busy" : node.cpus_used ? "partly" : "free");
  const said = by === "owner" ? (owner ?? "") : by === "state" ? t(`node.${state}` as Sentence) : `${node.cpus_used}/${node.cpus}`;
  const colour = (e: HTMLElement | null) => {
    e?.style.setProperty("--load", `${node.cpus ? Math.round((100 * node.cpus_used) / node.cpus) : 0}%`);
    e?.style.setProperty("--hue", owner ? String(hueOf(owner)) : "0");
  };
  const inside = (
    <>
      <b>{node.name}</b>
      <small>{said}</small>
      <span class="unseen">{t("nodes.tile", { state: t(`node.${state}` as Sentence), used: node.cpus_used, cpus: node.cpus, owner: owner ?? t("nodes.nobody") })}</span>
    </>
  );
  const look = `tile tile-${by} is-${state}`;
  return onChoose ? (
    <button type="button" class={look} aria-pressed={chosen} onClick={onChoose} ref={colour}>
      {inside}
    </button>
  ) : (
    <div class={look} ref={colour}>
      {inside}
    </div>
  );
}

function One({ node, operator, onDone }: { node: Node; operator: boolean; onDone: () => void }): JSX.Element {
  const { data } = useLive<{ events: LifeEvent[] }>(`/v1/nodes/${encodeURIComponent(node.name)}/events`, (c) => !c.job);
  const [asked, setAsked] = useState(false);
  const [note, setNote] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const off = /offline|draining/.test(node.state);
  const act = async () => {
    setAsked(false);
    try {
      await change("PATCH", `/v1/nodes/${encodeURIComponent(node.name)}`, off ? { offline: false, note: "" } : { offline: true, ...(note ? { note } : {}) });
      setError(null);
    } catch (e) {
      setError(e as Error);
    }
    onDone();
  };
  const jobs = [...new Set(node.jobs.map((j) => short(j.id)))];
  const rows: [Sentence, ComponentChildren][] = [
    ["nodes.state", node.state.split(",").map((s) => t(`node.${s.trim()}` as Sentence)).join(", ")],
    ["col.cpus", t("load.of", { used: node.cpus_used, all: node.cpus })],
    ["submit.memory", node.memory ? t("load.of", { used: memory(node.memory_used), all: memory(node.memory) }) : null],
    ["nodes.gpus", node.gpus ? t("load.of", { used: node.gpus_used, all: node.gpus }) : null],
    ["nodes.features", node.features.join(", ")],
    ["nodes.note", node.note],
    ["nodes.health", node.health],
    ["nodes.drain", node.drain_at ? <Instant at={node.drain_at} /> : null],
    ["nav.jobs", jobs.length ? jobs.map((id) => <a key={id} class="chip" href={jobLink(id)}>{id}</a>) : t("overview.running.none")],
  ];
  return (
    <Card title={node.name} id="one-node">
      <Problem error={error} />
      <Fields rows={rows} />
      {operator && (
        <div class="actions">
          <button type="button" class={off ? "" : "danger"} onClick={() => setAsked(true)}>
            {t(off ? "nodes.on" : "nodes.off")}
          </button>
        </div>
      )}
      {asked && (
        <Confirm
          title={t(off ? "nodes.on.title" : "nodes.off.title", { name: node.name })}
          text={t(off ? "nodes.on.text" : "nodes.off.text", { n: jobs.length })}
          action={t(off ? "nodes.on" : "nodes.off")}
          onYes={() => void act()}
          onNo={() => setAsked(false)}
        >
          {!off && (
            <label>
              {t("nodes.note")} <input value={note} onInput={(e) => setNote(e.currentTarget.value)} />
            </label>
          )}
        </Confirm>
      )}
      {node.owner && <Habit habit={node.owner.habit} />}
      <ol class="timeline">
        {(data?.events ?? []).slice(-30).reverse().map((e) => (
          <li key={e.seq}>
            <Instant at={e.time} /> <span>{lifeText(e)}</span>
          </li>
        ))}
      </ol>
    </Card>
  );
}

export function NodesView({ role, name }: { role: string; name?: string }): JSX.Element {
  const [by, setBy] = useState<By>("load");
  const { data, error, reload } = useLive<{ nodes: Node[] }>("/v1/nodes", () => true);
  const { data: plan } = useLive<{ pieces: Piece[] }>("/v1/plan", () => by === "owner");
  const owners = useMemo(() => ownersOf(plan?.pieces ?? []), [plan]);
  const [grouping, setGrouping] = useState<Grouping>("none");
  const groups = useMemo(() => groupsOf(data?.nodes ?? [], grouping), [data, grouping]);
  const chosen = data?.nodes.find((n) => n.name === name);
  return (
    <main id="content" tabIndex={-1} aria-busy={!data}>
      <h1>{t("nodes.title")}</h1>
      <Problem error={error} />
      <form class="filters" onSubmit={(e) => e.preventDefault()}>
        <label>
          {t("nodes.by")}
          <select value={by} onChange={(e) => setBy(e.currentTarget.value as By)}>
            {(["load", "state", "owner"] as const).map((b) => (
              <option key={b} value={b}>
                {t(`nodes.by.${b}`)}
              </option>
            ))}
          </select>
        </label>
        <label>
          {t("nodes.group")}
          <select value={grouping} onChange={(e) => setGrouping(e.currentTarget.value as Grouping)}>
            {(["none", "name", "feature"] as const).map((g) => (
              <option key={g} value={g}>
                {t(`nodes.group.${g}`)}
              </option>
            ))}
          </select>
        </label>
        <span class="quiet" role="status">
          {data ? t("nodes.count", { n: number(data.nodes.length) }) : t("loading")}
        </span>
      </form>
      {groups.map(([group, nodes]) => (
        <section key={group} aria-label={grouping === "none" ? t("nodes.title") : group || t("nodes.group.other")}>
          {grouping !== "none" && (
            <h2>
              {group || t("nodes.group.other")}{" "}
              <small class="quiet">
                {t("nodes.count", { n: number(nodes.length) })}, {t("col.cpus")} {t("load.of", { used: number(nodes.reduce((n, x) => n + x.cpus_used, 0)), all: number(nodes.reduce((n, x) => n + x.cpus, 0)) })}
              </small>
            </h2>
          )}
          <div class="tiles">
            {nodes.map((n) => (
              <NodeTile key={n.name} node={n} by={by} owner={owners.get(n.name)} chosen={n.name === name} onChoose={() => (location.hash = `#/nodes/${encodeURIComponent(n.name)}`)} />
            ))}
          </div>
        </section>
      ))}
      {data && <Workstations nodes={data.nodes} />}
      {chosen && <One key={chosen.name} node={chosen} operator={role !== "user"} onDone={reload} />}
    </main>
  );
}
