/* palette.tsx - Ctrl+K: any view, job or node by a few letters of its name. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, type Job } from "./api";
import { jobLink, outcome, short } from "./parts";
import { t } from "./text";

interface Entry {
  to: string;
  label: string;
  note: string;
}

const SHOWN = 12;
const LOADED = 2000;

/* Every word must be found; those that begin with the first come first. */
function found(all: Entry[], typed: string): Entry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (e: Entry) => `${e.label} ${e.note}`.toLowerCase();
  const fits = all.filter((e) => words.every((w) => text(e).includes(w)));
  const begins = (e: Entry) => (words[0] && e.label.toLowerCase().startsWith(words[0]) ? 0 : 1);
  return fits.sort((a, b) => begins(a) - begins(b)).slice(0, SHOWN);
}

function Palette({ views, onClose }: { views: [string, string][]; onClose: () => void }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const [more, setMore] = useState<Entry[]>([]);
  useEffect(() => {
    box.current?.showModal();
    Promise.all([get<{ jobs: Job[] }>(`/v1/jobs?fields=id,name,owner,state,exit_status,cause,array_counts,array_failed&limit=${LOADED}`), get<{ nodes: { name: string; state: string }[] }>("/v1/nodes")]).then(
      ([jobs, nodes]) =>
        setMore([
          ...jobs.jobs.reverse().map((j) => ({ to: jobLink(j.id), label: `${j.name} ${short(j.id)}`, note: `${j.owner}, ${outcome(j).word}` })),
          ...nodes.nodes.map((n) => ({ to: `#/nodes/${encodeURIComponent(n.name)}`, label: n.name, note: t("nodes.name") })),
        ]),
      () => undefined,
    );
  }, []);
  const all = useMemo(() => [...views.map(([to, label]) => ({ to, label, note: "" })), ...more], [views, more]);
  const rows = found(all, typed);
  const go = (e: Entry | undefined) => {
    if (!e) return;
    location.hash = e.to;
    onClose();
  };
  const keys: Record<string, () => void> = { ArrowDown: () => setAt(Math.min(at + 1, rows.length - 1)), ArrowUp: () => setAt(Math.max(at - 1, 0)), Enter: () => go(rows[at]) };
  return (
    <dialog ref={box} class="palette" aria-label={t("palette.title")} onClose={onClose}>
      <input
        role="combobox"
        aria-label={t("palette.title")}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={rows.length ? `palette-${at}` : undefined}
        placeholder={t("palette.hint")}
        value={typed}
        spellcheck={false}
        autocomplete="off"
        autofocus
        onInput={(e) => (setTyped(e.currentTarget.value), setAt(0))}
        onKeyDown={(e) => {
          if (!keys[e.key]) return;
          e.preventDefault();
          keys[e.key]();
        }}
      />
      <ul id="palette-list" role="listbox" aria-label={t("palette.title")}>
        {rows.map((r, i) => (
          <li key={r.to} id={`palette-${i}`} role="option" aria-selected={i === at} onClick={() => go(r)} onPointerMove={() => setAt(i)}>
            {r.label} <small>{r.note}</small>
          </li>
        ))}
      </ul>
      {!rows.length && <p class="empty">{t("palette.none")}</p>}
    </dialog>
  );
}

/* A button, and the keys that do the same. */
export function PaletteButton({ views }: { views: [string, string][] }): JSX.Element {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (!(e.ctrlKey || e.metaKey) || e.key.toLowerCase() !== "k") return;
      e.preventDefault();
      setOpen(true);
    };
    window.addEventListener("keydown", key);
    return () => window.removeEventListener("keydown", key);
  }, []);
  return (
    <>
      <button type="button" class="plain" title="Ctrl+K" onClick={() => setOpen(true)}>
        {t("palette.button")}
      </button>
      {open && <Palette views={views} onClose={() => setOpen(false)} />}
    </>
  );
}
