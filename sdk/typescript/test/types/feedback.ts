// Answers to "Feedback" (fl_1), version 1. Written by `sluice types`.

import type { FlowId } from "sluice";

export type FeedbackAnswers = {
  /** How likely? */
  nps: "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "10";
  /** Why? */
  why?: string;
  /** Which plan? */
  plan?: "free" | "pro";
  /** What do you use? */
  use?: ("api" | "web" | `other:${string}`)[];
  /** How is… */
  grid?: `${"speed" | "price"}:${"good" | "bad"}`[];
  /** Terms */
  terms: "accepted";
};

export const feedbackFlow = "fl_1" as FlowId<FeedbackAnswers>;
