/* main.tsx - the frame of the page: signing in, which view is shown, the connection. */
import "./style.css";
import { render, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { AgainView, ChangeView } from "./again";
import { get, post, sessionToken, signIn, signOut } from "./api";
import { AdminView } from "./admin";
import { FilesView } from "./files";
import { clock, localText } from "./format";
import { HistoryView } from "./history";
import { JobView } from "./job";
import { JobsView } from "./jobs";
import { KioskView } from "./kiosk";
import { follow, isConnected, unfollow } from "./live";
import { NodesView } from "./nodes";
import { useNotifications } from "./notify";
import { OverviewView } from "./overview";
import { PaletteButton } from "./palette";
import { PlanView } from "./plan";
import { ShellView } from "./shell";
import { SignIn } from "./signin";
import { SubmitView } from "./submit";
import { language, LANGUAGES, languageSet, t, type Sentence } from "./text";
import { UsageView } from "./usage";

interface User {
  user: string;
  role: string;
}

const VIEWS: [string, Sentence][] = [
  ["#/", "nav.overview"],
  ["#/jobs", "nav.jobs"],
  ["#/plan", "nav.plan"],
  ["#/nodes", "nav.nodes"],
  ["#/history", "nav.history"],
  ["#/usage", "nav.usage"],
  ["#/files", "nav.files"],
  ["#/submit", "nav.submit"],
];

/* Views that belong to an entry of the menu. */
const PARTS: Record<string, string> = { change: "#/jobs", shell: "#/jobs", reserve: "#/admin", try: "#/submit" };
const ADMIN: [string, Sentence][] = [["#/admin", "nav.admin"]];

function useHash(): string {
  const [hash, set] = useState(location.hash);
  useEffect(() => {
    const changed = () => set(location.hash);
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return hash;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function View({ hash, user }: { hash: string; user: User }): JSX.Element {
  const [, view, name, ...rest] = hash.split("/").map(decoded);
  const before = useRef(hash);
  /* A new view is announced, and the keyboard continues from its beginning. */
  useEffect(() => {
    if (before.current === hash) return;
    before.current = hash;
    document.getElementById("content")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [hash]);
  if (view === "jobs" && name) return <JobView key={name} id={name} />;
  if (view === "jobs") return <JobsView user={user.user} />;
  if (view === "history") return <HistoryView user={user.user} />;
  if (view === "files") return <FilesView key={name ?? ""} path={name} />;
  if (view === "nodes") return <NodesView role={user.role} name={name} />;
  if (view === "admin") return <AdminView role={user.role} section={name} />;
  if (view === "usage") return <UsageView user={user.user} />;
  if (view === "kiosk") return <KioskView />;
  if (view === "plan") return <PlanView manager={user.role === "manager"} />;
  if (view === "reserve") return <AdminView role={user.role} section="reservations" marked={{ nodes: name, start: Number(rest[0]), end: Number(rest[1]) }} />;
  const manager = user.role === "manager";
  if (view === "try") return <SubmitView manager={manager} first={{ nodes: name, ppn: rest[0], walltime: clock(Number(rest[1])), after: localText(Number(rest[2])) }} />;
  if (view === "shell" && name) return <ShellView key={name} id={name} />;
  if (view === "change" && name) return <ChangeView key={name} id={name} />;
  if (view === "template" && name) return <AgainView key={`template ${name}`} from={name} template manager={manager} />;
  if (view === "submit") return name ? <AgainView key={name} from={name} manager={manager} /> : <SubmitView manager={manager} />;
  return <OverviewView />;
}

function Connection(): JSX.Element {
  const [good, set] = useState(isConnected());
  useEffect(() => {
    const changed = () => set(isConnected());
    window.addEventListener("connection", changed);
    return () => window.removeEventListener("connection", changed);
  }, []);
  return (
    <div role="status" class={good ? "" : "lost"}>
      {good ? "" : t("connection.lost")}
    </div>
  );
}

interface Cluster {
  name: string;
  trouble: string | null;
}

/* This cluster, and the others that the user is logged in to: choosing one asks it for a link that signs in once. Nothing where there are no others. */
function Clusters({ onError }: { onError: (e: Error | null) => void }): JSX.Element | null {
  const [others, setOthers] = useState<Cluster[]>([]);
  const [going, setGoing] = useState("");
  const [here, setHere] = useState("");
  useEffect(() => {
    get<{ clusters: Cluster[] }>("/v1/clusters").then(
      (r) => setOthers(r.clusters.filter((c) => !c.trouble)),
      () => undefined,
    );
    get<{ name: string }>("/v1/server").then(
      (r) => setHere(r.name),
      () => undefined,
    );
  }, []);
  const go = async (name: string) => {
    setGoing(name);
    onError(null);
    try {
      location.assign((await post<{ url: string }>(`/v1/clusters/${encodeURIComponent(name)}`, {})).url);
    } catch (e) {
      onError(e as Error);
      setGoing("");
    }
  };
  if (!others.length) return null;
  return (
    <select aria-label={t("nav.cluster")} value={going} disabled={!!going} onChange={(e) => e.currentTarget.value && void go(e.currentTarget.value)}>
      <option value="">{here}</option>
      {others.map((c) => (
        <option key={c.name} value={c.name}>
          {c.name}
        </option>
      ))}
    </select>
  );
}

function Frame({ user, onLanguage }: { user: User; onLanguage: () => void }): JSX.Element {
  const hash = useHash();
  const [failure, setFailure] = useState<Error | null>(null);
  const here = PARTS[hash.split("/")[1]] ?? [...VIEWS, ...ADMIN].findLast(([to]) => hash.startsWith(to))?.[0] ?? "#/";
  const views = [...VIEWS, ...(user.role === "user" ? [] : ADMIN)];
  useNotifications(user.user);
  useEffect(() => {
    void follow();
    return unfollow;
  }, []);
  return (
    <>
      <a class="skip" href="#content" onClick={(e) => (e.preventDefault(), document.getElementById("content")?.focus())}>
        {t("app.skip")}
      </a>
      <header class="top" hidden={hash.startsWith("#/kiosk")}>
        <a class="brand" href="#/">
          <img src="/icon.svg" alt="" width="26" height="26" /> <span>{t("app.name")}</span>
        </a>
        <nav aria-label={t("nav.main")}>
          {views.map(([to, label]) => (
            <a key={to} href={to} aria-current={to === here ? "page" : undefined}>
              {t(label)}
            </a>
          ))}
        </nav>
        <span class="user">
          <PaletteButton views={views.map(([to, label]) => [to, t(label)])} /> <Clusters onError={setFailure} />{" "}
          <select aria-label={t("nav.language")} value={language()} onChange={(e) => (languageSet(e.currentTarget.value), onLanguage())}>
            {Object.entries(LANGUAGES).map(([code, name]) => (
              <option key={code} value={code} lang={code}>
                {name}
              </option>
            ))}
          </select>{" "}
          {user.user}{" "}
          <button type="button" class="plain" onClick={() => void signOut()}>
            {t("nav.signout")}
          </button>
        </span>
      </header>
      <Connection />
      {failure && (
        <div class="lost" role="alert">
          {failure.message}
        </div>
      )}
      <View hash={hash} user={user} />
    </>
  );
}

function App(): JSX.Element {
  const [user, setUser] = useState<User | null | undefined>(undefined);
  const [failed, setFailed] = useState<string | null>(null);
  const [spoken, setSpoken] = useState(language());
  const entered = useRef(async () => {});
  useEffect(() => {
    const out = () => setUser(null);
    const enter = async () => {
      const key = /^#key=([0-9a-zA-Z_-]+)$/.exec(location.hash)?.[1];
      try {
        if (key) await signIn({ key });
        setUser(sessionToken() ? await get<User>("/v1/whoami") : null);
      } catch (e) {
        setFailed(key ? t("signin.failed") : (e as Error).message);
        setUser(null);
      }
    };
    /* A link that is opened where the page is open already changes only what is behind the #. */
    const linked = () => void (location.hash.startsWith("#key=") && enter());
    window.addEventListener("signed-out", out);
    window.addEventListener("hashchange", linked);
    entered.current = enter;
    void enter();
    return () => {
      window.removeEventListener("signed-out", out);
      window.removeEventListener("hashchange", linked);
    };
  }, []);
  if (user === undefined) return <main id="content" aria-busy="true" />;
  return user ? <Frame key={spoken} user={user} onLanguage={() => setSpoken(language())} /> : <SignIn failed={failed} onIn={() => entered.current()} />;
}

render(<App />, document.getElementById("page")!);
