// The hook in a component: the session is there exactly if the flow was loaded.

import { createSluice } from "sluice";
import { useFlow } from "sluice/react";

import { feedbackFlow } from "./feedback.js";

const sluice = createSluice({ baseUrl: "https://feedback.example", apiKey: "pk_1" });

export function Survey() {
  const flow = useFlow(sluice, feedbackFlow, { locale: "de" });
  // @ts-expect-error: it may still be loading
  flow.session.questions;
  if (flow.status === "loading") return <p>…</p>;
  if (flow.status === "failed") return <button onClick={flow.retry}>{String(flow.error)}</button>;
  // @ts-expect-error: not on the scale
  const wrong = () => flow.session.answer("nps", "eleven");
  return <button onClick={() => flow.session.answer("nps", "3")}>{flow.session.questions.length}</button>;
}
