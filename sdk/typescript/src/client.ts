// `createSluice`: the calls of the public API, and sessions that make all of them.

import type { Calls } from "./calls.js";
import { ifMissing, SluiceError } from "./errors.js";
import { PAYLOAD_GENERATION } from "./generation.js";
import { Session, type StartOptions } from "./session.js";
import { call, randomId, type CallOptions, type TransportOptions } from "./transport.js";
import type { Answers, FlowId, Submission, ValidateResult } from "./types.js";

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
  const { baseUrl, apiKey, getToken } = options;
  if (!/^https?:\/\/./i.test(baseUrl)) {
    throw new SluiceError(`baseUrl "${baseUrl}" must start with https:// or http://.`, { code: "base_url" });
  }
  const base = `${baseUrl.replace(/\/+$/, "")}/api/v1/${encodeURIComponent(apiKey)}`;
  const get = (path: string, field: string, query = "") => (id: string, own?: CallOptions) =>
    call(`${base}/${path}/${encodeURIComponent(id)}${query}`, options, (reply) => reply?.[field] && reply, own);
  const procedure = (name: string) => (submission: object, own?: CallOptions) =>
    call(`${base}/trpc/response.${name}`, options, (reply) => reply?.result?.data, own, submission);
  const send = procedure("submit");
  const sluice: Sluice = {
    hasToken: !!getToken,
    resolve: get("flows", "flowVersionId"),
    fetch: get("flow_versions", "questions", `?payload=${PAYLOAD_GENERATION}`),
    validate: procedure("validate"),
    async submit(submission, own) {
      const idempotencyKey = submission.idempotencyKey ?? randomId();
      try {
        return await send({ ...submission, idempotencyKey }, own);
      } catch (error) {
        throw Object.assign(error as SluiceError, { idempotencyKey });
      }
    },
    async start(flowId, start = {}) {
      const { flowVersionId } = start;
      const flow = await sluice.resolve(flowId, start);
      let snapshot = flowVersionId ? await sluice.fetch(flowVersionId, start).catch(ifMissing) : undefined;
      if (!snapshot || snapshot.flowId !== flow.flowId) snapshot = await sluice.fetch(flow.flowVersionId, start);
      return new Session(sluice, flow, snapshot, start);
    },
  };
  return sluice;
}
