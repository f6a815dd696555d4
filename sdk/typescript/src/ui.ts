// For user interfaces: Markdown as HTML, progress, and the context of a page.

import { progressAt } from "./logic.js";
import type { Session } from "./session.js";
import type { Answers } from "./types.js";

export { browserContext } from "./browser.js";
export { html } from "./html.js";

/** The number of a visible question, and of all questions on the longest way from there. */
export function progress<A extends Answers>(session: Session<A>, question: keyof A & string): { number: number; of: number } {
  return progressAt(session.snapshot, session.answers as Answers, question);
}
