// `createSluice`: the calls of the public API, and sessions that make all of them.

import { PAYLOAD_GENERATION, type Calls } from "./calls.js";
import { Session, type StartOptions } from "./session.js";
import { call, randomId, type CallOptions, type TransportOptions } from "./transport.js";
import type { Answers, FlowId, ResolvedFlow, Snapshot, Submission, ValidateResult } from "./types.js";

export interface SluiceOptions extends TransportOptions {
  /** The address of the server, such as `https://feedback.example.com`. */
  baseUrl: string;
  /** The publishable key of the app: `pk_…`. */
  apiKey: string;
}

/** A client of one app. */
export interface Sluice extends Calls {
  /** Asks the server to judge a submission, and stores nothing. */
  validate<A extends Answers = Answers>(submission: Submission<A>, options?: CallOptions): Promise<ValidateResult>;
  /**
   * Resolves and fetches a flow, and returns a session that evaluates its logic, validates answers
   * and submits them.
   */
  start<A extends Answers = Answers>(flowId: FlowId<A>, options?: StartOptions<A>): Promise<Session<A>>;
}

export function createSluice(options: SluiceOptions): Sluice {
  const base = `${options.baseUrl.replace(/\/+$/, "")}/api/v1/${encodeURIComponent(options.apiKey)}`;
  const get = (path: string, own?: CallOptions) => call(base + path, options, own);
  const procedure = async (name: string, submission: object, own?: CallOptions) =>
    ((await call(`${base}/trpc/response.${name}`, options, own, submission)) as any).result.data;
  const sluice: Sluice = {
    resolve: (flowId, own) => get(`/flows/${encodeURIComponent(flowId)}`, own) as Promise<ResolvedFlow>,
    fetch: (id, own) => get(`/flow_versions/${encodeURIComponent(id)}?payload=${PAYLOAD_GENERATION}`, own) as Promise<Snapshot>,
    submit: (submission, own) =>
      procedure("submit", { ...submission, idempotencyKey: submission.idempotencyKey ?? randomId() }, own),
    validate: (submission, own) => procedure("validate", submission, own),
    async start(flowId, start = {}) {
      const flow = await sluice.resolve(flowId, start);
      return new Session(sluice, flow, await sluice.fetch(flow.flowVersionId, start), start);
    },
  };
  return sluice;
}
