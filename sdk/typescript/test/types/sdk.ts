// Wrong answers for a known flow do not compile: each line below an expectation is an error.
// `feedback.ts` is written by `sluice types` from feedback.yaml.

import { createSluice, SluiceError, type Answers, type Session } from "sluice";
import { check, follow, judge } from "sluice/check";

import { feedbackFlow, type FeedbackAnswers } from "./feedback.js";

const sluice = createSluice({ baseUrl: "https://feedback.example", apiKey: "pk_1", getToken: () => "token" });

export async function known(): Promise<void> {
  const session = await sluice.start(feedbackFlow, { answers: { nps: "9" } });
  session.answer("nps", "10").answer("use", ["api", "other:mine"]).answer("why", undefined).answer("why", null);
  // @ts-expect-error: not on the scale
  session.answer("nps", "11");
  // @ts-expect-error: a number is not a text
  session.answer("nps", 9);
  // @ts-expect-error: no such option
  session.answer("use", ["console"]);
  // @ts-expect-error: one text for a question that takes several
  session.answer("use", "api");
  // @ts-expect-error: several texts for a question that takes one
  session.answer("plan", ["free"]);
  // @ts-expect-error: no such question
  session.answer("unknown", "x");
  // @ts-expect-error: a statement takes no answer
  session.answer("intro", "x");
  // @ts-expect-error: the same for answers that are known already
  await sluice.start(feedbackFlow, { answers: { plan: "gold" } });
  session.answer("grid", ["speed:good", "price:bad"]);
  // @ts-expect-error: no such row
  session.answer("grid", ["size:good"]);
  const nps: "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "10" | undefined = session.answers.nps;
  // @ts-expect-error: it may be unanswered
  const always: string = session.answers.nps;

  const result = await session.submit();
  if (result.success) {
    const id: string = result.responseId;
    // @ts-expect-error: an accepted submission has no errors
    result.errors;
  } else {
    const first: string | undefined = result.errors.formErrors[0];
    // @ts-expect-error: a refused one has no id
    result.responseId;
  }
  const dropped: FeedbackAnswers["nps"] | undefined = result.carriedOver?.dropped.nps;
}

export async function whole(): Promise<void> {
  const base = { flowVersionId: "fv_1", flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only" } as const;
  await sluice.submit<FeedbackAnswers>({ ...base, answers: { nps: "9", terms: "accepted" } });
  // @ts-expect-error: nps must be answered
  await sluice.submit<FeedbackAnswers>({ ...base, answers: { terms: "accepted" } });
  // @ts-expect-error: another generation
  await sluice.submit({ ...base, flowVersionPayloadGeneration: "3" });
  // @ts-expect-error: not one of the two
  await sluice.submit({ ...base, respondentAnalyticsAdmission: "yes" });
  // @ts-expect-error: tags are flat
  await sluice.submit({ ...base, metadata: { tags: { a: { b: "c" } } } });
  const { success } = await sluice.validate({ ...base, answers: { anything: ["x"] } });
  check({ questions: [] }, { ...base, answers: {} }).map(({ code }) => code === "answer_required");
}

export async function unknown(flowId: string): Promise<Session> {
  // Without the type of a flow, every question takes a text or several.
  const session = await sluice.start(flowId);
  session.answer("anything", "x").answer("other", ["x", "y"]);
  // @ts-expect-error: never a number
  session.answer("anything", 5);
  const answers: Answers = session.answers;
  judge(session.snapshot, answers);
  follow(session.snapshot, answers).questions.map(({ id }) => id);
  try {
    await session.submit();
  } catch (error) {
    if (error instanceof SluiceError) error.status > 0 ? error.code.length : error.retryAfterMs;
  }
  return session;
}
