// A whole submission, judged locally.

import { judge } from "./judge.js";
import { asSent, checkShape } from "./shape.js";
import type { Issue, Snapshot, Submission } from "./types.js";

/**
 * Every issue that the server would find in a submission to this version: first those of its shape,
 * or else those of its answers. Whether the version accepts responses now, and whether identities
 * match a token, only the server knows.
 */
export function check(snapshot: Pick<Snapshot, "questions">, submission: Submission): Issue[] {
  const { issues, answers } = checkShape(asSent(submission));
  return issues.length > 0 ? issues : judge(snapshot, answers);
}
