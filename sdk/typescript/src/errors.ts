// Errors: the call could not be made or answered. A refused submission is a result, not an error.

interface Fields {
  /** The HTTP status; 0 if no reply was received. */
  status?: number;
  /**
   * Such as `flow_not_found`, `token_expired`, `TOO_MANY_REQUESTS`; or of this client: `network`,
   * `aborted`, `token`, `reply`, `base_url`, `unknown_question`, `wrong_answer_kind`.
   */
  code: string;
  /** When the server asked to retry, in milliseconds from now. */
  retryAfterMs?: number | undefined;
  /** Identifies the request in the log of the server. */
  requestId?: string | null;
  /** Of a submission whose outcome is unknown: sent again with this key, it is stored once. */
  idempotencyKey?: string;
  cause?: unknown;
}

export interface SluiceError extends Readonly<Omit<Fields, "cause" | "status">> {
  readonly status: number;
}

/** A reply other than the expected one, or none at all. The message names the remedy. */
export class SluiceError extends Error {
  constructor(message: string, fields: Fields) {
    super(message);
    Object.assign(this, { name: "SluiceError", status: 0 }, fields);
  }
}

/** Passes on every error but 404. */
export function ifMissing(error: unknown): undefined {
  if ((error as SluiceError).status !== 404) throw error;
}
