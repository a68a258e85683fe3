/* admin.tsx - what operators and managers change: queues, reservations, limits, accounts, the server; and who changed what. Before a change it says what it does. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { change, type Refused } from "./api";
import { instant, localText } from "./format";
import { Card, Confirm, Instant, jobLink, Problem, short, Table, useLive, type Column } from "./parts";
import { SimulationSection } from "./simulation";
import { t, type Sentence } from "./text";

interface Thing {
  name: string;
  attributes: Record<string, unknown>;
  state?: string;
  begins?: number;
  ends?: number;
}
interface Attribute {
  name: string;
  of: string[];
  type: string;
  default: string | null;
  about: string;
}
interface Record_ {
  seq: number;
  time: number;
  who: string;
  kind: string;
  name: string;
  action: string;
  change: string;
  undo: string | null;
}
interface Affected {
  id: string;
  owner: string;
  running: boolean;
  start?: number;
  start_then?: number;
}

/* Where the objects of each kind are, and what one is called among attributes. */
const KINDS: Record<string, { path: string; list: string; of: string }> = {
  queues: { path: "/v1/queues", list: "queues", of: "queue" },
  reservations: { path: "/v1/reservations", list: "reservations", of: "reservation" },
  users: { path: "/v1/users", list: "users", of: "user" },
  groups: { path: "/v1/groups", list: "groups", of: "group" },
  accounts: { path: "/v1/accounts", list: "accounts", of: "account" },
  qos: { path: "/v1/qos", list: "qos", of: "qos" },
};
const SECTIONS = [...Object.keys(KINDS), "server", "audit", "simulation"];

const textOf = (value: unknown): string => (Array.isArray(value) ? value.map(textOf).join(", ") : value !== null && typeof value === "object" ? Object.entries(value).map(([k, v]) => `${k}=${textOf(v)}`).join(", ") : String(value));

interface Wish {
  title: string;
  text: string;
  danger?: boolean;
  jobs?: Affected[];
  run: () => Promise<unknown>;
}

/* What a change means, in the words of the attribute's own description. */
function meaning(a: Attribute | undefined, thing: Thing, attribute: string, value: string): string {
  const before = thing.attributes[attribute];
  return `${t("admin.from", { name: attribute, from: before === undefined ? t("admin.unset") : textOf(before), to: value || t("admin.unset") })} ${a?.about ?? ""}`;
}

function Attributes({ kind, thing, known, onWish }: { kind: string; thing: Thing; known: Attribute[]; onWish: (w: Wish) => void }): JSX.Element {
  const k = KINDS[kind];
  const path = k ? `${k.path}/${encodeURIComponent(thing.name)}` : "/v1/server";
  const set = async (e: SubmitEvent) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget as HTMLFormElement);
    const name = String(form.get("name")).trim(),
      value = String(form.get("value")).trim();
    const body = { changes: [value ? { op: "set", name, value } : { op: "unset", name }] };
    let jobs: Affected[] | undefined;
    if (kind === "reservations") jobs = ((await change("PATCH", `${path}?dry_run=true`, body).catch(() => null)) as { jobs: Affected[] } | null)?.jobs;
    onWish({ title: t("admin.change.title", { name: thing.name }), text: meaning(known.find((a) => a.name === name.split(".")[0]), thing, name, value), jobs, run: () => change("PATCH", path, body) });
  };
  return (
    <form class="attribute" onSubmit={set}>
      <label>
        {t("admin.attribute")}
        <input name="name" list={`attributes-${kind}`} required spellcheck={false} />
      </label>
      <label>
        {t("admin.value")}
        <input name="value" spellcheck={false} placeholder={t("admin.value.hint")} />
      </label>
      <button type="submit">{t("admin.set")}</button>
      <datalist id={`attributes-${kind}`}>
        {known.map((a) => (
          <option key={a.name} value={a.name} />
        ))}
      </datalist>
    </form>
  );
}

function QueueButtons({ queue, onWish }: { queue: Thing; onWish: (w: Wish) => void }): JSX.Element {
  const flag = (name: "enabled" | "started") => {
    const on = textOf(queue.attributes[name]) === "True" || queue.attributes[name] === true;
    const key = `admin.${name}.${on ? "off" : "on"}`;
    return (
      <button
        type="button"
        onClick={() =>
          onWish({
            title: t(`${key}.title` as Sentence, { name: queue.name }),
            text: t(`${key}.text` as Sentence, { name: queue.name }),
            run: () => change("PATCH", `/v1/queues/${encodeURIComponent(queue.name)}`, { changes: [{ op: "set", name, value: on ? "False" : "True" }] }),
          })
        }
      >
        {t(key as Sentence)}
      </button>
    );
  };
  return (
    <span class="row-actions">
      {flag("enabled")} {flag("started")}
    </span>
  );
}

const at = (form: FormData, name: string) => {
  const instant_ = Date.parse(String(form.get(name)));
  return Number.isNaN(instant_) ? "" : new Date(instant_).toISOString().replace(/\.\d+/, "");
};

/* What was marked in the plan. */
interface Marked {
  nodes: string;
  start: number;
  end: number;
}

/* A reservation in one form; whom it would delay is asked before it is made. */
function Reserve({ onWish, marked }: { onWish: (w: Wish) => void; marked?: Marked }): JSX.Element {
  const [error, setError] = useState<Error | null>(null);
  const make = async (e: SubmitEvent) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget as HTMLFormElement);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const nodes = text("nodes");
    const values: [string, string][] = [[/^\d+$/.test(nodes) ? "node_count" : "nodes", nodes], ["start", at(form, "start")], ["end", at(form, "end")], ["acl_users", text("users")], ["maintenance", form.get("maintenance") ? "True" : ""], ["comment", text("comment")]];
    const body = { changes: values.filter(([, value]) => value).map(([name, value]) => ({ op: "set", name, value })) };
    const path = `/v1/reservations/${encodeURIComponent(text("name"))}?new=true`;
    try {
      const tried = (await change("PATCH", `${path}&dry_run=true`, body)) as { jobs: Affected[] };
      setError(null);
      onWish({ title: t("admin.create.title", { name: text("name") }), text: t("reserve.text", { nodes, from: text("start").replace("T", " "), to: text("end").replace("T", " ") }), jobs: tried.jobs, run: () => change("PATCH", path, body) });
    } catch (x) {
      setError(x as Error);
    }
  };
  return (
    <Card title={t("reserve.title")} id="reserve">
      <Problem error={error} />
      <form class="fields-row" onSubmit={(e) => void make(e)}>
        <label>
          {t("col.name")} <input name="name" required spellcheck={false} autocomplete="off" />
        </label>
        <label>
          {t("reserve.nodes")} <input name="nodes" required spellcheck={false} placeholder="n[1-4]" defaultValue={marked?.nodes} />
        </label>
        <label>
          {t("plan.from")} <input name="start" type="datetime-local" required defaultValue={marked && localText(marked.start)} />
        </label>
        <label>
          {t("plan.to")} <input name="end" type="datetime-local" required defaultValue={marked && localText(marked.end)} />
        </label>
        <label>
          {t("reserve.users")} <input name="users" spellcheck={false} placeholder={t("reserve.nobody")} />
        </label>
        <label>
          {t("more.comment")} <input name="comment" />
        </label>
        <label class="check">
          <input type="checkbox" name="maintenance" /> {t("reserve.maintenance")}
        </label>
        <span class="buttons">
          <button type="submit" class="primary">
            {t("admin.create")}
          </button>
        </span>
      </form>
    </Card>
  );
}

function Things({ kind, manager, known, onWish, marked }: { kind: string; manager: boolean; known: Attribute[]; onWish: (w: Wish) => void; marked?: Marked }): JSX.Element {
  const k = KINDS[kind];
  const { data, error } = useLive<Record<string, Thing[]>>(k.path, () => true);
  const [open, setOpen] = useState<string | null>(null);
  const columns: Column<Thing>[] = [
    {
      head: t("col.name"),
      cell: (x) => (
        <button type="button" class="plain" aria-expanded={open === x.name} onClick={() => setOpen(open === x.name ? null : x.name)}>
          {x.name}
        </button>
      ),
    },
    ...(kind === "reservations"
      ? [{ head: t("col.state"), cell: (x: Thing) => `${x.state ?? ""}${x.begins ? ` ${instant(x.begins)}` : ""}${x.ends ? ` – ${instant(x.ends)}` : ""}` }]
      : []),
    { head: t("admin.attributes"), class: "why", cell: (x) => Object.entries(x.attributes ?? {}).map(([name, value]) => `${name} = ${textOf(value)}`).join("; ") },
    {
      head: t("col.actions"),
      cell: (x) => (
        <>
          {kind === "queues" && <QueueButtons queue={x} onWish={onWish} />}
          {manager && (
            <button
              type="button"
              class="plain danger"
              aria-label={t("admin.remove.one", { name: x.name })}
              onClick={() => onWish({ title: t("admin.remove.title", { name: x.name }), text: t(`admin.remove.${kind}` as Sentence), danger: true, run: () => change("DELETE", `${k.path}/${encodeURIComponent(x.name)}`) })}
            >
              {t("action.delete")}
            </button>
          )}
        </>
      ),
    },
  ];
  const chosen = data?.[k.list]?.find((x) => x.name === open);
  const make = (e: SubmitEvent) => {
    e.preventDefault();
    const name = String(new FormData(e.currentTarget as HTMLFormElement).get("name")).trim();
    onWish({ title: t("admin.create.title", { name }), text: t("admin.create.text"), run: () => change("PUT", `${k.path}/${encodeURIComponent(name)}`) });
  };
  return (
    <>
      <Problem error={error} />
      <div class="scroll" tabIndex={0} role="region" aria-label={t(`admin.${kind}` as Sentence)}>
        <Table rows={data?.[k.list] ?? []} id={(x) => x.name} columns={columns} none={data ? t("admin.none") : t("loading")} />
      </div>
      {chosen && (
        <Card title={chosen.name} id="chosen-thing">
          <Attributes kind={kind} thing={chosen} known={known} onWish={onWish} />
        </Card>
      )}
      {manager && kind === "reservations" && <Reserve onWish={onWish} marked={marked} />}
      {manager && kind !== "reservations" && (
        <form class="attribute" onSubmit={make}>
          <label>
            {t("admin.new")}
            <input name="name" required spellcheck={false} />
          </label>
          <button type="submit">{t("admin.create")}</button>
        </form>
      )}
    </>
  );
}

function Server({ known, onWish }: { known: Attribute[]; onWish: (w: Wish) => void }): JSX.Element {
  const { data, error } = useLive<Thing>("/v1/server", () => false);
  const rows = Object.entries(data?.attributes ?? {});
  return (
    <>
      <Problem error={error} />
      {data && <Attributes kind="server" thing={data} known={known} onWish={onWish} />}
      <div class="scroll" tabIndex={0} role="region" aria-label={t("admin.server")}>
        <Table
          rows={rows}
          id={(r) => r[0]}
          columns={[
            { head: t("admin.attribute"), cell: (r) => r[0] },
            { head: t("admin.value"), class: "why", cell: (r) => textOf(r[1]) },
          ]}
          none={t("admin.none")}
        />
      </div>
    </>
  );
}

function Audit(): JSX.Element {
  const { data, error } = useLive<{ records: Record_[] }>(`/v1/audit?since=${Math.floor(Date.now() / 1000) - 30 * 86400}`, () => false);
  const columns: Column<Record_>[] = [
    { head: t("admin.when"), cell: (r) => <Instant at={r.time} /> },
    { head: t("usage.who"), cell: (r) => r.who },
    { head: t("admin.what"), cell: (r) => `${r.action} ${r.kind} ${r.name}` },
    { head: t("admin.how"), class: "why", cell: (r) => r.change },
    { head: t("admin.undo"), class: "why", cell: (r) => (r.undo ? <code>{r.undo}</code> : "") },
  ];
  return (
    <>
      <Problem error={error} />
      <div class="scroll" tabIndex={0} role="region" aria-label={t("admin.audit")}>
        <Table rows={[...(data?.records ?? [])].reverse()} id={(r) => String(r.seq)} columns={columns} none={data ? t("admin.none") : t("loading")} />
      </div>
    </>
  );
}

export function AdminView({ role, section = "queues", marked }: { role: string; section?: string; marked?: Marked }): JSX.Element {
  const { data } = useLive<{ attributes: Attribute[] }>("/v1/attributes", () => false);
  const [wish, setWish] = useState<Wish | null>(null);
  const [failed, setFailed] = useState<{ in: string; error: Refused } | null>(null);
  const [version, setVersion] = useState(0);
  const known = (data?.attributes ?? []).filter((a) => a.of.includes(KINDS[section]?.of ?? section));
  const run = async () => {
    const w = wish!;
    setWish(null);
    try {
      await w.run();
      setFailed(null);
    } catch (e) {
      setFailed({ in: section, error: e as Refused });
    }
    setVersion(version + 1);
  };
  return (
    <main id="content" tabIndex={-1}>
      <h1>{t("admin.title")}</h1>
      <nav class="tabs" aria-label={t("admin.title")}>
        {SECTIONS.filter((s) => s !== "audit" || role === "manager").map((s) => (
          <a key={s} href={`#/admin/${s}`} aria-current={s === section ? "page" : undefined}>
            {t(`admin.${s}` as Sentence)}
          </a>
        ))}
      </nav>
      <Problem error={failed?.in === section ? failed.error : null} />
      <div key={`${section} ${version}`}>
        {section === "simulation" ? <SimulationSection /> : section === "audit" ? <Audit /> : section === "server" ? <Server known={known} onWish={setWish} /> : KINDS[section] && <Things kind={section} manager={role === "manager"} known={known} onWish={setWish} marked={marked} />}
      </div>
      {wish && (
        <Confirm title={wish.title} text={wish.text} action={t("admin.do")} onYes={() => void run()} onNo={() => setWish(null)}>
          {wish.jobs && (
            <>
              <p>{t(wish.jobs.length ? "admin.affected" : "admin.unaffected", { n: wish.jobs.length })}</p>
              <ul>
                {wish.jobs.slice(0, 20).map((j) => (
                  <li key={j.id}>
                    <a href={jobLink(j.id)}>{short(j.id)}</a> {j.owner} {j.start_then ? t("admin.later", { from: instant(j.start), to: instant(j.start_then) }) : ""}
                  </li>
                ))}
              </ul>
            </>
          )}
        </Confirm>
      )}
    </main>
  );
}
