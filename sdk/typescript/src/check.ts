// Whole submissions, and answers by themselves, judged locally: the issues that the server finds.

import { judgeKnown } from "./judge.js";
import { asSent, checkShape, compareKeys } from "./shape.js";
import type { Definition } from "./logic.js";
import type { Answers, Issue, Snapshot, Submission } from "./types.js";

export { judgeQuestion } from "./judge.js";
export { arrange, follow, type Definition, type Route } from "./logic.js";

const UNKNOWN_CHARS_MAX = 64;

/**
 * Every issue that the server would find in a submission to this version: first those of its shape,
 * or else those of its answers. Whether the version accepts responses now, and whether identities
 * match a token, only the server knows.
 */
export function check(snapshot: Pick<Snapshot, "questions">, submission: Submission): Issue[] {
  const { issues, answers } = checkShape(asSent(submission));
  return issues.length > 0 ? issues : judge(snapshot, answers);
}

/** Every issue of these answers; none means that the server accepts them. */
export function judge(definition: Definition, answers: Answers): Issue[] {
  const known = new Set(definition.questions.map(({ id }) => id));
  const unknown = Object.keys(answers).filter((id) => !known.has(id)).sort(compareKeys);
  return [...judgeKnown(definition, answers), ...unknown.map((id): Issue => {
    const shown = [...id].slice(0, UNKNOWN_CHARS_MAX).join("");
    return { code: "unknown_question", path: ["answers", id], message: `This version has no question "${shown}".` };
  })];
}
