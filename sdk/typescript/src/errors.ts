// Errors: the call could not be answered. A refused submission is a result, not an error.

interface Fields {
  /** The HTTP status; 0 if no reply was received. */
  status: number;
  /** Such as `flow_not_found`, `token_expired`, `TOO_MANY_REQUESTS`, or `network`. */
  code: string;
  /** When the server asked to retry, in milliseconds from now. */
  retryAfterMs?: number | undefined;
  /** Identifies the request in the log of the server. */
  requestId?: string | null;
  cause?: unknown;
}

export interface SluiceError extends Readonly<Omit<Fields, "cause">> {}

/** A reply other than the expected one, or none at all. */
export class SluiceError extends Error {
  constructor(message: string, fields: Fields) {
    super(message);
    Object.assign(this, { name: "SluiceError" }, fields);
  }
}
