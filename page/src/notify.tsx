/* notify.tsx - the browser's notifications when one's own jobs end, while the page is open: a notification for each job, one for an array, one for many at once. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, type Job } from "./api";
import { listen, type Change } from "./live";
import { jobLink, outcome, short } from "./parts";
import { t } from "./text";

const KEY = "shunt-notify";
const FEW = 3; /* more at once are one notification */
const MANY = 20; /* jobs that are asked for one by one, at most */

/* Browsers have none where the page came over an open network. */
const possible = () => "Notification" in window && isSecureContext;
const wanted = () => possible() && Notification.permission === "granted" && localStorage.getItem(KEY) === "1";

function show(title: string, link: string): void {
  const n = new Notification(title, { icon: "/icon.svg", tag: link });
  n.onclick = () => {
    window.focus();
    location.hash = link;
    n.close();
  };
}

/* Those that have ended; an element stands for its array. */
function endedOf(changes: Change[], user: string): string[] {
  const own = changes.filter((c) => c.job && c.state === "C" && c.owner === user && c.type !== "gone");
  return [...new Set(own.map((c) => short(c.job!).replace(/\[\d+\]$/, "[]")))];
}

export function useNotifications(user: string): void {
  useEffect(() => {
    const told = new Set<string>();
    return listen((changes) => {
      if (!wanted()) return;
      const ids = endedOf(changes, user).filter((id) => !told.has(id));
      if (ids.length > MANY) {
        show(t("notify.many", { n: ids.length }), "#/jobs");
        return;
      }
      Promise.all(ids.map((id) => get<Job>(`/v1/jobs/${encodeURIComponent(id)}`).catch(() => null))).then((jobs) => {
        const over = jobs.filter((j): j is Job => j?.state === "C");
        over.forEach((j) => told.add(short(j.id)));
        if (over.length > FEW) show(t("notify.many", { n: over.length }), "#/jobs");
        else over.forEach((j) => show(`${j.name} ${short(j.id)}: ${outcome(j).word}`, jobLink(j.id)));
      });
    });
  }, [user]);
}

export function NotifyToggle(): JSX.Element | null {
  const [on, setOn] = useState(wanted());
  if (!possible()) return null;
  const toggle = async () => {
    localStorage.setItem(KEY, on ? "0" : "1");
    if (!on && Notification.permission !== "granted") await Notification.requestPermission();
    setOn(wanted());
  };
  return (
    <button type="button" aria-pressed={on} onClick={() => void toggle()}>
      {t(on ? "notify.on" : "notify.off")}
    </button>
  );
}
