/* signin.tsx - who is not signed in: a form where the server takes passwords or tokens, else the command that prints a link. */
import { type JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, signIn, type Proof, type Ways } from "./api";
import { t } from "./text";

function ByForm({ ways, onIn }: { ways: Ways; onIn: () => void }): JSX.Element {
  const [byToken, setByToken] = useState(!ways.password);
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const enter = async (e: SubmitEvent) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget as HTMLFormElement);
    const text = (name: string) => String(form.get(name) ?? "");
    const proof: Proof = byToken ? { token: text("token").trim() } : { user: text("user").trim(), password: text("password") };
    setBusy(true);
    setError(null);
    try {
      await signIn(proof);
      onIn();
    } catch (x) {
      setError((x as Error).message);
      setBusy(false);
    }
  };
  return (
    <form class="signin-form" onSubmit={enter}>
      {byToken ? (
        <label key="token">
          {t("signin.token")}
          <input name="token" type="password" autocomplete="off" required spellcheck={false} />
          <small>{t("signin.token.hint")}</small>
        </label>
      ) : (
        <>
          <label key="user">
            {t("signin.user")}
            <input name="user" autocomplete="username" required autocapitalize="none" spellcheck={false} />
          </label>
          <label key="password">
            {t("signin.password")}
            <input name="password" type="password" autocomplete="current-password" required />
          </label>
        </>
      )}
      {error && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
      <div class="buttons">
        <button type="submit" class="primary" disabled={busy}>
          {busy ? t("signin.wait") : t("signin.title")}
        </button>
        {ways.password && (
          <button type="button" class="plain" onClick={() => setByToken(!byToken)}>
            {byToken ? t("signin.by.password") : t("signin.by.token")}
          </button>
        )}
      </div>
    </form>
  );
}

export function SignIn({ failed, onIn }: { failed: string | null; onIn: () => void }): JSX.Element {
  const [ways, setWays] = useState<Ways | null | undefined>(undefined);
  useEffect(() => {
    get<Ways>("/v1/session").then(setWays, () => setWays(null));
  }, []);
  const form = ways && (ways.password || ways.token);
  return (
    <main id="content" class="signin" tabIndex={-1} aria-busy={ways === undefined}>
      <h1>{form ? t("signin.title.at", { name: ways.name }) : t("signin.title")}</h1>
      {failed && (
        <p class="problem" role="alert">
          {failed}
        </p>
      )}
      {form && <ByForm ways={ways} onIn={onIn} />}
      {ways !== undefined && !form && (
        <>
          <p>{t("signin.how")}</p>
          <pre>shunt page</pre>
        </>
      )}
    </main>
  );
}
