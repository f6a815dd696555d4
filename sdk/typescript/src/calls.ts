// The three calls that a session makes.

import type { CallOptions } from "./transport.js";
import type { Answers, ResolvedFlow, Snapshot, Submission, SubmitResult } from "./types.js";

export interface Calls {
  /** Whether calls have a token that says who answers. */
  readonly hasToken?: boolean;
  /** The latest published version of a flow, and whether its live window is open. */
  resolve(flowId: string, options?: CallOptions): Promise<ResolvedFlow>;
  /** The snapshot of a version: its questions and texts. */
  fetch(flowVersionId: string, options?: CallOptions): Promise<Snapshot>;
  /**
   * Submits answers. Attempts of one call share an idempotency key, so that at most one response is
   * stored. A refusal is a result; an error means that the outcome is unknown, or that the call
   * could not be made. To call again after an error, set its `idempotencyKey` in the submission.
   */
  submit<A extends Answers = Answers>(submission: Submission<A>, options?: CallOptions): Promise<SubmitResult>;
}
