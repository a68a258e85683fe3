/* kiosk.tsx - the cluster for a display on the wall: large, live, without controls but the way out. */
import type { JSX } from "preact";
import type { Overview } from "./api";
import { clockSet, instant } from "./format";
import { NodeTile, type Node } from "./nodes";
import { Load, Running, Waiting } from "./overview";
import { Card, Problem, useLive, useNow } from "./parts";
import { t } from "./text";

export function KioskView(): JSX.Element {
  const { data, error } = useLive<Overview>("/v1/overview", () => true);
  const { data: machine } = useLive<{ nodes: Node[] }>("/v1/nodes", () => true);
  const now = useNow();
  if (data) clockSet(data.machine.now);
  return (
    <main id="content" class="kiosk" tabIndex={-1} aria-busy={!data}>
      <header>
        <h1>{data?.machine.name ?? t("overview.title")}</h1>
        <time>{instant(now)}</time>
        <a href="#/">{t("kiosk.leave")}</a>
      </header>
      <Problem error={error} />
      {data && (
        <>
          <Load o={data} />
          <div class="tiles">
            {machine?.nodes.map((n) => (
              <NodeTile key={n.name} node={n} by="load" />
            ))}
          </div>
          <div class="cards">
            <Card title={t("overview.running")}>
              <Running jobs={data.running_jobs} now={now} />
            </Card>
            <Card title={t("overview.waiting")}>
              <Waiting jobs={data.waiting_jobs} />
            </Card>
          </div>
        </>
      )}
    </main>
  );
}
