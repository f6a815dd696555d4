// The hook in a component: the session is there exactly if the flow was loaded.

import { createSluice, type Answer, type QuestionView, type Session } from "sluice";
import { useFlow } from "sluice/react";

import { feedbackFlow, type FeedbackAnswers } from "./feedback.js";

const sluice = createSluice({ baseUrl: "https://feedback.example", apiKey: "pk_1" });

export function Survey() {
  const flow = useFlow(sluice, feedbackFlow, { locale: "de" });
  // @ts-expect-error: it may still be loading
  flow.session.questions;
  if (flow.status === "loading") return <p>…</p>;
  if (flow.status === "failed") return <button onClick={flow.retry}>{String(flow.error)}</button>;
  // @ts-expect-error: not on the scale
  const wrong = () => flow.session.answer("nps", "eleven");
  // The last refusal and the last error are typed, and submitting never throws.
  const lines: (string | undefined)[] = [flow.error?.message, ...(flow.refusal?.errors.formErrors ?? [])];
  const done: Promise<void> = flow.submit();
  return <button onClick={() => flow.session.answer("nps", "3")}>{flow.session.questions.length}</button>;
}

/** A generic field: it takes the question of any flow. */
function Field({ question, value, onChange }: { question: QuestionView; value: Answer | undefined; onChange: (value: Answer) => void }) {
  return <input aria-label={question.prompt} value={String(value ?? "")} onChange={({ target }) => onChange(target.value)} />;
}

/** A loop over the questions of a typed flow compiles without casts. */
export function Loop({ session }: { session: Session<FeedbackAnswers> }) {
  return session.pages.flatMap(({ questions }) => questions).concat(session.questions).map((question) => {
    const id: keyof FeedbackAnswers = question.id;
    // @ts-expect-error: still no number
    const wrong = () => session.answer(question.id, 5);
    return (
      <label key={id}>
        <Field question={question} value={session.answers[question.id]} onChange={(value) => session.answer(question.id, value)} />
        {session.issues(question.id)[0]?.message}
      </label>
    );
  });
}
