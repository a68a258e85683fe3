/* files.tsx - the user's own files on the cluster: look, download, edit small ones, upload some, and upload an archive that a job unpacks and builds. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { post, Refused, send } from "./api";
import { bytes } from "./format";
import { Card, Instant, jobLink, Problem, save, Table, useLive, type Column } from "./parts";
import { shellOpen } from "./shell";
import { t } from "./text";

interface Entry {
  name: string;
  kind: "file" | "directory" | "link" | "other";
  size: number;
  modified: number;
}
interface Listing {
  path: string;
  entries: Entry[];
  more: boolean;
}

const SHOWN_MOST = 1 << 20;
const UPLOAD_MOST = 64 << 20;

const join = (path: string, name: string) => `${path.replace(/\/$/, "")}/${name}`;
const link = (path: string) => `#/files/${encodeURIComponent(path)}`;

const content = (path: string) => send("GET", `/v1/files/content?path=${encodeURIComponent(path)}`);
/* Writes a file: a new one, or the version of that instant. */
async function write(path: string, raw: Blob, modified?: number): Promise<Entry> {
  const r = await send("PUT", `/v1/files/content?path=${encodeURIComponent(path)}${modified === undefined ? "" : `&modified=${modified}`}`, { raw });
  return (await r.json()) as Entry;
}

const download = (path: string) => save(content(path), path.split("/").pop()!);

function Path({ path }: { path: string }): JSX.Element {
  const parts = path.split("/").filter(Boolean);
  return (
    <nav class="path" aria-label={t("files.path")}>
      <a href={link("/")}>/</a>
      {parts.map((name, i) => (
        <span key={i}>
          <a href={link(`/${parts.slice(0, i + 1).join("/")}`)} aria-current={i === parts.length - 1 ? "page" : undefined}>
            {name}
          </a>
          /
        </span>
      ))}
    </nav>
  );
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/* What is uploaded is unpacked by the user's own job, which ends with an error if the directory is there already. */
function scriptOf(directory: string, archive: string, build: string): string {
  return `#!/bin/sh\nset -e\nmkdir ${quoted(directory)}\ntar -x --no-same-owner -f ${quoted(archive)} -C ${quoted(directory)}\nrm ${quoted(archive)}\ncd ${quoted(directory)}\n${build.replace(/\s*$/, "")}\n`;
}

function Upload(): JSX.Element {
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const go = async (e: SubmitEvent) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget as HTMLFormElement);
    const file = form.get("file") as File;
    const name = String(form.get("name"));
    if (file.size > UPLOAD_MOST) {
      setError(new Error(t("files.large")));
      return;
    }
    setBusy(true);
    setError(null);
    try {
      const r = await send("POST", `/v1/uploads?name=${encodeURIComponent(name)}`, { raw: file });
      const made = (await r.json()) as { archive: string; directory: string };
      const job = await post<{ id: string }>("/v1/jobs", { script: scriptOf(made.directory, made.archive, String(form.get("build"))), name: `build-${name}`, join: "oe", workdir: made.directory.replace(/\/[^/]*$/, "") || "/" });
      location.hash = jobLink(job.id);
    } catch (x) {
      setError(x as Refused);
      setBusy(false);
    }
  };
  return (
    <form class="upload" onSubmit={go}>
      <p class="quiet">{t("files.upload.how")}</p>
      <label>
        {t("files.archive")}
        <input type="file" name="file" accept=".tar,.tgz,.gz,application/x-tar,application/gzip" required />
      </label>
      <label>
        {t("files.directory")}
        <input name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,63}" title={t("files.directory.hint")} spellcheck={false} />
        <small>{t("files.directory.hint")}</small>
      </label>
      <label>
        {t("files.build")}
        <textarea name="build" rows={2} spellcheck={false} defaultValue="make" />
      </label>
      <Problem error={error} />
      <div class="buttons">
        <button type="submit" class="primary" disabled={busy}>
          {busy ? t("files.busy") : t("files.upload")}
        </button>
      </div>
    </form>
  );
}

/* Files from this computer, into the directory that is shown. One that exists is left alone. */
function UploadHere({ path, done }: { path: string; done: () => void }): JSX.Element {
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const go = async (e: SubmitEvent) => {
    e.preventDefault();
    const form = e.currentTarget as HTMLFormElement;
    setBusy(true);
    setError(null);
    try {
      for (const file of new FormData(form).getAll("files") as File[]) {
        if (file.size > UPLOAD_MOST) throw new Error(t("files.one.large", { name: file.name }));
        await write(join(path, file.name), file);
      }
      form.reset();
    } catch (x) {
      setError(x as Error);
    }
    setBusy(false);
    done();
  };
  return (
    <form class="upload" onSubmit={go}>
      <label>
        {t("files.these")}
        <input type="file" name="files" multiple required />
      </label>
      <Problem error={error} />
      <div class="buttons">
        <button type="submit" disabled={busy}>
          {busy ? t("files.busy") : t("files.upload.here")}
        </button>
      </div>
    </form>
  );
}

/* A file's text, to look at or to change. What an editor of a browser would not give back byte for byte is only shown. */
function Text({ path, entry, text, close, saved }: { path: string; entry: Entry; text: string; close: () => void; saved: (e: Entry, text: string) => void }): JSX.Element {
  const [edited, setEdited] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      const now = await write(path, new Blob([edited!]), entry.modified);
      saved({ ...entry, size: now.size, modified: now.modified }, edited!);
      setEdited(null);
      setError(null);
    } catch (x) {
      setError(x as Error);
    }
    setBusy(false);
  };
  const buttons = (
    <>
      {edited === null && entry.kind === "file" && !/[\r\0\ufffd]/.test(text) && (
        <button type="button" class="plain" onClick={() => setEdited(text)}>
          {t("files.edit")}
        </button>
      )}
      <button type="button" class="plain" onClick={close}>
        {t("files.close")}
      </button>
    </>
  );
  return (
    <Card title={entry.name} id="shown-file" aside={buttons}>
      <Problem error={error} />
      {edited === null ? (
        <pre class="output" tabIndex={0}>
          {text}
        </pre>
      ) : (
        <>
          <textarea class="code" rows={20} spellcheck={false} aria-label={entry.name} value={edited} onInput={(e) => setEdited(e.currentTarget.value)} />
          <div class="buttons">
            <button type="button" class="primary" disabled={busy} onClick={save}>
              {t("files.save")}
            </button>
            <button type="button" onClick={() => setEdited(null)}>
              {t("files.discard")}
            </button>
          </div>
        </>
      )}
    </Card>
  );
}

export function FilesView({ path }: { path?: string }): JSX.Element {
  const { data, error, reload } = useLive<Listing>(`/v1/files${path ? `?path=${encodeURIComponent(path)}` : ""}`, () => false);
  const [failure, setFailure] = useState<Error | null>(null);
  const [text, setText] = useState<{ path: string; entry: Entry; text: string } | null>(null);
  const here = data?.path ?? path ?? "";
  const attempt = (what: Promise<unknown>) => void what.then(() => setFailure(null), setFailure);
  const latest = useRef(0);
  const show = async (e: Entry) => {
    const own = ++latest.current;
    const read = await (await content(join(here, e.name))).text();
    if (own === latest.current) setText({ path: join(here, e.name), entry: e, text: read }); /* else another was chosen meanwhile */
  };
  const rows = [...(data?.entries ?? [])].sort((a, b) => Number(b.kind === "directory") - Number(a.kind === "directory") || a.name.localeCompare(b.name));
  const columns: Column<Entry>[] = [
    { head: t("col.name"), cell: (e) => (e.kind === "directory" ? <a href={link(join(here, e.name))}>{e.name}/</a> : e.name) },
    { head: t("files.size"), class: "n", cell: (e) => (e.kind === "file" ? bytes(e.size) : "") },
    { head: t("files.modified"), cell: (e) => <Instant at={e.modified} /> },
    {
      head: t("col.actions"),
      cell: (e) =>
        (e.kind === "file" || e.kind === "link") && (
          <span class="row-actions">
            <button type="button" class="plain" aria-label={t("files.download.one", { name: e.name })} onClick={() => attempt(download(join(here, e.name)))}>
              {t("files.download")}
            </button>
            {e.size <= SHOWN_MOST && (
              <button type="button" class="plain" aria-label={t("files.show.one", { name: e.name })} onClick={() => attempt(show(e))}>
                {t("files.show")}
              </button>
            )}
          </span>
        ),
    },
  ];
  return (
    <main id="content" tabIndex={-1} aria-busy={!data && !error}>
      <h1>{t("files.title")}</h1>
      <Path path={here} />
      <Problem error={error ?? failure} />
      {data && (
        <div class="scroll" tabIndex={0} role="region" aria-label={here}>
          <Table rows={rows} id={(e) => e.name} columns={columns} none={t("files.none")} class="files" />
          {data.more && <p class="quiet">{t("files.more")}</p>}
        </div>
      )}
      {text && (
        <Text
          key={text.path}
          {...text}
          close={() => (latest.current++, setText(null))}
          saved={(entry, now) => {
            setText({ path: text.path, entry, text: now });
            reload();
          }}
        />
      )}
      <p>
        <button type="button" onClick={reload}>
          {t("files.reload")}
        </button>{" "}
        {data && (
          <button type="button" onClick={() => attempt(shellOpen(here))}>
            {t("files.terminal")}
          </button>
        )}
      </p>
      {data && (
        <Card title={t("files.here.title")}>
          <UploadHere path={here} done={reload} />
        </Card>
      )}
      <Card title={t("files.upload.title")}>
        <Upload />
      </Card>
    </main>
  );
}
