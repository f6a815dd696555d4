// A React hook: a session as state of a component.

import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";

import type { Sluice } from "./client.js";
import type { SluiceError } from "./errors.js";
import type { Session, SessionResult, StartOptions } from "./session.js";
import type { CallOptions } from "./transport.js";
import type { Answers, FlowId, Refused } from "./types.js";

export type FlowState<A extends Answers = Answers> =
  | { status: "loading"; session?: undefined; refusal?: undefined; error?: undefined }
  /** The flow could not be resolved or fetched. */
  | { status: "failed"; session?: undefined; refusal?: undefined; error: SluiceError; retry: () => void }
  | {
    status: "open" | "submitting" | "done";
    /** Another object after every change, so that memoized children see it. */
    session: Session<A>;
    /** Why the last submission was refused, and the error with which it ended. */
    refusal: (SessionResult<A> & Refused) | undefined;
    error: SluiceError | undefined;
    /** Submits, and never throws: `refusal` and `error` say what happened. */
    submit: (options?: CallOptions) => Promise<void>;
  };

interface Outcome<A extends Answers> {
  refusal?: SessionResult<A> & Refused;
  error?: SluiceError;
}

/**
 * Starts a session, and renders the component again whenever it changes. `sluice` and `flowId`
 * identify it: keep the client outside of the component. The options are read when it starts.
 */
export function useFlow<A extends Answers = Answers>(sluice: Sluice, flowId: FlowId<A>, options: StartOptions<A> = {}): FlowState<A> {
  const [{ session, error }, setState] = useState<{ session?: Session<A>; error?: SluiceError }>({});
  const [outcome, setOutcome] = useState<Outcome<A>>({});
  const [attempt, setAttempt] = useState(0);
  const latest = useRef(options);
  latest.current = options;

  useEffect(() => {
    const aborter = new AbortController();
    const set = (state: { session?: Session<A>; error?: SluiceError }) => aborter.signal.aborted || setState(state);
    set({});
    setOutcome({});
    sluice.start(flowId, { ...latest.current, signal: aborter.signal }).then((session) => set({ session }), (error) => set({ error }));
    return () => aborter.abort();
  }, [sluice, flowId, attempt]);

  const subscribe = useCallback((changed: () => void) => session?.subscribe(changed) ?? (() => {}), [session]);
  const revision = () => session?.revision ?? 0;
  const current = useSyncExternalStore(subscribe, revision, revision);
  const view = useMemo(() => session && viewOf(session, setOutcome), [session, current]);

  if (error !== undefined) return { status: "failed", error, retry: () => setAttempt(attempt + 1) };
  if (!session || !view) return { status: "loading" };
  return {
    status: session.result ? "done" : session.isSubmitting ? "submitting" : "open",
    session: view,
    refusal: outcome.refusal,
    error: outcome.error,
    submit: (options) => view.submit(options).then(() => {}, () => {}),
  };
}

/** The session under another identity, which reports the outcome of submissions. */
function viewOf<A extends Answers>(session: Session<A>, report: (outcome: Outcome<A>) => void): Session<A> {
  const submit = async (options?: CallOptions) => {
    report({});
    try {
      const result = await session.submit(options);
      if (!result.success) report({ refusal: result });
      return result;
    } catch (error) {
      report({ error: error as SluiceError });
      throw error;
    }
  };
  return new Proxy(session, {
    get(target, name) {
      const value: unknown = name === "submit" ? submit : Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value),
  });
}
