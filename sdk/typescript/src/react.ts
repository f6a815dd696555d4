// A React hook: a session as state of a component.

import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";

import type { Sluice } from "./client.js";
import type { Session, StartOptions } from "./session.js";
import type { Answers, FlowId } from "./types.js";

export type FlowState<A extends Answers = Answers> =
  | { status: "loading"; session?: undefined; error?: undefined }
  /** The flow could not be resolved or fetched. */
  | { status: "failed"; session?: undefined; error: unknown; retry: () => void }
  | { status: "open" | "submitting" | "done"; session: Session<A>; error?: undefined };

/**
 * Starts a session, and renders the component again whenever it changes. `sluice` and `flowId`
 * identify it: keep the client outside of the component. The options are read when it starts.
 */
export function useFlow<A extends Answers = Answers>(sluice: Sluice, flowId: FlowId<A>, options: StartOptions<A> = {}): FlowState<A> {
  const [{ session, error }, setState] = useState<{ session?: Session<A>; error?: unknown }>({});
  const [attempt, setAttempt] = useState(0);
  const latest = useRef(options);
  latest.current = options;

  useEffect(() => {
    const aborter = new AbortController();
    const set = (state: { session?: Session<A>; error?: unknown }) => aborter.signal.aborted || setState(state);
    set({});
    sluice.start(flowId, { ...latest.current, signal: aborter.signal }).then((session) => set({ session }), (error) => set({ error }));
    return () => aborter.abort();
  }, [sluice, flowId, attempt]);

  const subscribe = useCallback((changed: () => void) => session?.subscribe(changed) ?? (() => {}), [session]);
  const revision = () => session?.revision ?? 0;
  useSyncExternalStore(subscribe, revision, revision);

  if (error !== undefined) return { status: "failed", error, retry: () => setAttempt(attempt + 1) };
  if (!session) return { status: "loading" };
  return { status: session.result ? "done" : session.isSubmitting ? "submitting" : "open", session };
}
