// `@trpc/client` 10 without this client is fully typed.

import { createTRPCProxyClient, httpBatchLink, TRPCClientError } from "@trpc/client";
import type { AppRouterV10, Issue } from "../../dist/index.js";

const client = createTRPCProxyClient<AppRouterV10>({ links: [httpBatchLink({ url: "https://feedback.example/api/v1/pk_1/trpc" })] });
const SUBMISSION = { flowVersionId: "fv_1", flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only" } as const;

export async function submit(): Promise<string | Issue[]> {
  const result = await client.response.submit.mutate({ ...SUBMISSION, answers: { nps: "9", use: ["api"] }, idempotencyKey: "one" });
  // @ts-expect-error: it may be refused
  result.responseId;
  // @ts-expect-error: a mutation
  client.response.submit.query(SUBMISSION);
  // @ts-expect-error: no such procedure
  client.response.delete.mutate(SUBMISSION);
  // @ts-expect-error: an answer is a text or several
  client.response.submit.mutate({ ...SUBMISSION, answers: { nps: 9 } });
  // @ts-expect-error: required
  client.response.submit.mutate({ flowVersionId: "fv_1" });
  return result.success ? result.responseId : result.errors.issues;
}

export async function validate(): Promise<boolean> {
  try {
    const result = await client.response.validate.mutate(SUBMISSION);
    // @ts-expect-error: nothing is stored
    result.responseId;
    if (!result.success) return result.errors.formErrors.length === 0;
    return (result.score ?? 0) > 0;
  } catch (error) {
    if (error instanceof TRPCClientError) {
      const typed: TRPCClientError<AppRouterV10> = error;
      return typed.data?.httpStatus === 429 && typed.data?.reason === "rate_limited";
    }
    throw error;
  }
}
