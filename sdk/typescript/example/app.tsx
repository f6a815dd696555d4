// A survey with an interface of its own: the session decides what to ask, these components how it
// looks.

import { createSluice, type EndingView, type Session } from "sluice";
import { useFlow } from "sluice/react";
import { browserContext, html, progress } from "sluice/ui";
import { StrictMode, useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";

import { Field } from "./fields.js";

const parameters = new URLSearchParams(location.search);
const sluice = createSluice({ baseUrl: parameters.get("server") ?? location.origin, apiKey: parameters.get("key") ?? "" });
const userId = parameters.get("user");
const START = {
  html,
  locale: navigator.languages,
  context: browserContext(),
  tags: { source: "example" },
  identities: userId ? [{ type: "userId", value: userId }] : [],
};

function App() {
  const state = useFlow(sluice, parameters.get("flow") ?? "", START);
  if (state.status === "loading") return <Card><p className="muted" role="status">Loading…</p></Card>;
  if (state.status === "failed") {
    return (
      <Card>
        <h1>This survey could not be opened</h1>
        <p className="muted">{state.error.message}</p>
        <button className="primary" onClick={state.retry}>Try again</button>
      </Card>
    );
  }
  const { session } = state;
  if (state.status === "done") return <Finished ending={session.ending} score={session.score} />;
  return <Survey key={session.snapshot.flowVersionId} session={session} />;
}

function Card({ children }: { children: React.ReactNode }) {
  return <main className="card">{children}</main>;
}

function Survey({ session }: { session: Session }) {
  const { pages, welcome } = session;
  // Page -1 is the welcome screen. After a change of version, the first open question is shown.
  const [at, setAt] = useState(() => (session.carriedOver ? firstOpen(session) : welcome ? -1 : 0));
  const [isChecked, setChecked] = useState(false);
  const [failure, setFailure] = useState("");
  const heading = useRef<HTMLHeadingElement>(null);
  const page = pages[Math.min(at, pages.length - 1)];
  const isLast = at >= pages.length - 1;
  useEffect(() => heading.current?.focus(), [at]);

  if (at < 0 && welcome) {
    return (
      <Card>
        <h1 ref={heading} tabIndex={-1}>{welcome.title ?? session.title}</h1>
        {welcome.bodyHtml && <div className="text" dangerouslySetInnerHTML={{ __html: welcome.bodyHtml }} />}
        <button className="primary" onClick={() => setAt(0)}>{welcome.buttonText ?? "Start"}</button>
      </Card>
    );
  }

  const isWrong = () => page?.questions.some(({ id }) => session.issues(id).length > 0);
  const goOn = async () => {
    setFailure("");
    setChecked(true);
    if (isWrong()) return;
    if (!isLast) {
      setChecked(false);
      return setAt(at + 1);
    }
    try {
      const result = await session.submit();
      if (!result.success && !result.carriedOver) setFailure(result.errors.formErrors.join(" "));
    } catch (error) {
      setFailure(`Your answers are not lost. ${(error as Error).message}`);
    }
  };

  const first = page?.questions[0];
  const { number, of } = first ? progress(session, first.id) : { number: 1, of: 1 };
  return (
    <Card>
      <p className="muted" ref={heading} tabIndex={-1}>{session.title}</p>
      {session.carriedOver && <Changed session={session} />}
      {at === 0 && session.descriptionHtml && <div className="text" dangerouslySetInnerHTML={{ __html: session.descriptionHtml }} />}
      {page?.title && <h1>{page.title}</h1>}
      <form noValidate onSubmit={(event) => (event.preventDefault(), void goOn())}>
        {page?.questions.map((question) => (
          <Field key={question.id} question={question} value={session.answers[question.id]}
            issue={isChecked ? session.issues(question.id)[0] : undefined}
            onChange={(value) => session.answer(question.id, value)} />
        ))}
        {isLast && session.asksConsent && (
          <label className="choice">
            <input type="checkbox" name="consent" onChange={({ target }) => (session.admission = target.checked ? "admitted" : "collection_only")} />
            Link my answers to my account
          </label>
        )}
        {failure && <p className="error" role="alert">{failure}</p>}
        <div className="actions">
          {at > (welcome ? -1 : 0) && <button type="button" onClick={() => (setChecked(false), setAt(at - 1))}>Back</button>}
          <button className="primary" name="next" disabled={session.isSubmitting}>{isLast ? "Send" : "Next"}</button>
        </div>
      </form>
      <progress value={number} max={of} aria-label="Progress" />
      <p className="muted">Question {number} of {of}</p>
    </Card>
  );
}

/** The page of the first question that a newer version asks and that has no answer yet. */
function firstOpen({ pages, answers }: Session): number {
  const isOpen = ({ id, type }: { id: string; type: string }) => type !== "statement" && answers[id] === undefined;
  const at = pages.findIndex(({ questions }) => questions.some(isOpen));
  return at < 0 ? Math.max(0, pages.length - 1) : at;
}

function Changed({ session }: { session: Session }) {
  const dropped = Object.values(session.carriedOver?.dropped ?? {}).flat();
  return (
    <div className="notice" role="status">
      <p>This survey has changed since you opened it. We kept every answer that still fits; please check the rest.</p>
      {dropped.length > 0 && <p>You answered before: {dropped.join(", ")}</p>}
    </div>
  );
}

function Finished({ ending, score }: { ending: EndingView; score: number | undefined }) {
  return (
    <Card>
      <h1>{ending.title ?? "Thank you"}</h1>
      {ending.bodyHtml && <div className="text" dangerouslySetInnerHTML={{ __html: ending.bodyHtml }} />}
      {score !== undefined && <p className="muted">Your score: {score}</p>}
      {ending.redirectUrl && <a className="primary" href={ending.redirectUrl}>Continue</a>}
    </Card>
  );
}

createRoot(document.getElementById("root")!).render(<StrictMode><App /></StrictMode>);
