// One HTTP call with retries: backoff with jitter, `Retry-After`, and a timeout for each attempt.
//
// Every call here is safe to repeat: reads, validations, and submissions, which have an idempotency
// key.

import { SluiceError } from "./errors.js";

const FIRST_DELAY_MS = 250;
const DELAY_MS_MAX = 30_000;
/** A call that is to be repeated later than that fails. */
const RETRY_AFTER_MS_MAX = 60_000;

export interface TransportOptions {
  /** The access token, if the app verifies identities. `isRetry`: the last one was refused. */
  getToken?: ((isRetry: boolean) => string | null | undefined | Promise<string | null | undefined>) | undefined;
  /** The attempts of one call; 5 by default. A new token after a 401 does not count. */
  attempts?: number | undefined;
  /** How long one attempt may take, with its `getToken`; 30 seconds by default. */
  timeoutMs?: number | undefined;
  /** In place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** In place of a timer; for tests. */
  wait?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** The statuses, with a code, after which another attempt may succeed; 0 is no reply. */
const RETRIED = /^(0network|408|42[59]|5(?!01|05))/;

/** What `pick` finds in the reply. With `body`, the call is a POST. */
export async function call(
  url: string, options: TransportOptions, pick: (reply: any) => any, { signal }: CallOptions = {}, body?: object,
): Promise<any> {
  const { getToken, attempts = 5, timeoutMs = 30_000, wait = pause, fetch: send = fetch } = options;
  let isRetry = false;
  for (let attempt = 1; ; attempt++) {
    const aborter = new AbortController();
    const abort = () => aborter.abort();
    const ended = pause(timeoutMs, aborter.signal).then(abort);
    signal?.addEventListener("abort", abort, { signal: aborter.signal });
    let token: string | undefined;
    try {
      if (signal?.aborted) abort();
      token = (await Promise.race([getToken?.(isRetry), ended])) ?? "";
      // A `fetch` that ignores signals must not send without the token.
      if (aborter.signal.aborted) throw "getToken timeout";
      const reply = await send(url, {
        headers: {
          ...(body && { "content-type": "application/json" }),
          ...(token && { authorization: `Bearer ${token}` }),
        },
        ...(body && { method: "POST", body: JSON.stringify(body) }),
        signal: aborter.signal,
      });
      return await read(url, reply, pick);
    } catch (cause) {
      const error =
        signal?.aborted ? new SluiceError(`Aborted; call again: ${signal.reason}`, { code: "aborted", cause: signal.reason })
        : cause instanceof SluiceError ? cause
        : token === undefined ? new SluiceError(`getToken failed; nothing was sent: ${cause}`, { code: "token", cause })
        : new SluiceError(`No reply from ${url}; check baseUrl: ${cause}`, { code: "network", cause });
      const { status, code, retryAfterMs = 0 } = error;
      if (status === 401 && !isRetry && getToken) {
        isRetry = true;
        attempt--;
        continue;
      }
      if (attempt >= attempts || retryAfterMs > RETRY_AFTER_MS_MAX || !RETRIED.test(status + code)) throw error;
      const backoff = Math.min(FIRST_DELAY_MS * 2 ** attempt, DELAY_MS_MAX) * Math.random();
      await wait(retryAfterMs + backoff, signal);
    } finally {
      // Ends the timer and the listener.
      abort();
    }
  }
}

async function read(url: string, reply: Response, pick: (reply: any) => any): Promise<any> {
  const { ok, status, headers } = reply;
  // A proxy may send anything.
  const json: any = await reply.json().catch((error) => {
    if (ok && error.name !== "SyntaxError") throw error;
  });
  const found = ok && pick(json);
  if (found) return found;
  // A problem, or an error of tRPC.
  const { code, detail, error } = (!ok && json) || {};
  const after = headers.get("retry-after");
  const delay = +after! * 1000 || Date.parse(after ?? "") - Date.now();
  const { data, message = detail } = error ?? {};
  throw new SluiceError(message ?? `${url} replied ${status}; check baseUrl.`, {
    status,
    code: data?.reason ?? data?.code ?? code ?? (ok ? "reply" : "http"),
    retryAfterMs: delay > 0 ? delay : undefined,
    requestId: headers.get("x-request-id"),
  });
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
