// One HTTP call with retries: backoff with jitter, `Retry-After`, and a timeout for each attempt.
//
// Every call here is safe to repeat: reads, validations, and submissions, which have an idempotency
// key.

import { SluiceError } from "./errors.js";

/** No reply, or one that says that another attempt may succeed. */
const RETRIED = [0, 408, 429, 500, 502, 503, 504];
const FIRST_DELAY_MS = 250;
const DELAY_MS_MAX = 30_000;
/** A call that is to be repeated later than that fails. */
const RETRY_AFTER_MS_MAX = 60_000;

export interface TransportOptions {
  /** The access token, if the app verifies identities. `isRetry`: the last one was refused. */
  getToken?: ((isRetry: boolean) => string | null | undefined | Promise<string | null | undefined>) | undefined;
  /** The attempts of one call; 5 by default. */
  attempts?: number | undefined;
  /** How long one attempt may take; 30 seconds by default. */
  timeoutMs?: number | undefined;
  /** In place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** In place of a timer; for tests. */
  wait?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** The body of the reply, from JSON. With `body`, the call is a POST. */
export async function call(url: string, options: TransportOptions, { signal }: CallOptions = {}, body?: object): Promise<unknown> {
  const { attempts = 5, wait = pause } = options;
  let isRetry = false;
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(url, options, isRetry, signal, body);
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof SluiceError) || attempt >= attempts) throw error;
      const { status, retryAfterMs = 0 } = error;
      if (status === 401 && !isRetry && options.getToken) {
        isRetry = true;
        continue;
      }
      if (!RETRIED.includes(status) || retryAfterMs > RETRY_AFTER_MS_MAX) throw error;
      const backoff = Math.min(FIRST_DELAY_MS * 2 ** attempt, DELAY_MS_MAX) * Math.random();
      await wait(retryAfterMs + backoff, signal);
    }
  }
}

async function once(url: string, options: TransportOptions, isRetry: boolean, signal?: AbortSignal, body?: object): Promise<unknown> {
  const { getToken, timeoutMs = 30_000, fetch: send = fetch } = options;
  const token = await getToken?.(isRetry);
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const reply = await send(url, {
      headers: {
        ...(body && { "content-type": "application/json" }),
        ...(token && { authorization: `Bearer ${token}` }),
      },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    if (reply.ok) return await reply.json();
    const { status, headers } = reply;
    // A problem, or an error of tRPC; a proxy may send anything.
    const { code, detail, error }: any = await reply.json().catch(() => ({}));
    const after = headers.get("retry-after");
    const seconds = Number(after) || (Date.parse(after ?? "") - Date.now()) / 1000;
    const { data, message = detail ?? `HTTP ${status}` } = error ?? {};
    throw new SluiceError(message, {
      status,
      code: data?.reason ?? data?.code ?? code ?? "http",
      retryAfterMs: seconds > 0 ? seconds * 1000 : undefined,
      requestId: headers.get("x-request-id"),
    });
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    throw new SluiceError(`No reply from ${url}: ${error}`, { status: 0, code: "network", cause: error });
  }
}

/** Ends early if the call is aborted; its next attempt then fails. */
const pause = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => resolve(clearTimeout(timer)));
  });

/** A random UUID, also where pages are not served by HTTPS and `randomUUID` is absent. */
export function randomId(): string {
  return crypto.randomUUID?.() ?? crypto.getRandomValues(new Uint32Array(4)).join("-");
}
