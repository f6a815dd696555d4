// The whole story with the client of @hey-api/openapi-ts; no cast is needed.

import { createClient } from "./hey/client/index.js";
import {
  createApp, createFlow, exportResponses, fetchVersion, getSummary, listResponses, publishFlow, resolveFlow, submitResponse, validateResponse,
} from "./hey/index.js";
import type { Definition, Submission } from "./hey/index.js";

const [, , baseUrl = "", token = ""] = process.argv;
const admin = createClient({ baseUrl, auth: token, throwOnError: true });
const open = createClient({ baseUrl, throwOnError: true });

const definition: Definition = {
  title: "Story",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely?", required: true },
    { id: "use", type: "multipleChoice", prompt: "What?", options: [{ id: "api", label: "API" }, { id: "ui", label: "UI" }] },
  ],
};
const { data: app } = await createApp({ client: admin, throwOnError: true, body: { name: "Story" } });
const apiKey = app.apiKeys[0] ?? "";
const { data: flow } = await createFlow({ client: admin, throwOnError: true, path: { appId: app.appId }, body: { name: "Story", kind: "survey", definition } });
const { flowId } = flow;
await publishFlow({ client: admin, throwOnError: true, path: { flowId } });

const { data: resolved } = await resolveFlow({ client: open, throwOnError: true, path: { apiKey, flowId } });
const { flowVersionId } = resolved;
const { data: snapshot } = await fetchVersion({ client: open, throwOnError: true, path: { apiKey, flowVersionId }, query: { payload: "4" } });
const choices = snapshot.questions.flatMap((question) => (question.type === "multipleChoice" ? question.options.map((option) => option.id) : []));
for (const plan of ["pro", "free"]) {
  const body: Submission = {
    flowVersionId,
    flowVersionPayloadGeneration: snapshot.payloadGeneration,
    respondentAnalyticsAdmission: "collection_only",
    answers: { nps: "9", use: choices },
    metadata: { tags: { plan } },
  };
  const { data: judged } = await validateResponse({ client: open, throwOnError: true, path: { apiKey }, body });
  if (!judged.result.data.success) throw new Error(judged.result.data.errors.formErrors.join());
  const { data: reply } = await submitResponse({ client: open, throwOnError: true, path: { apiKey }, body });
  const { data } = reply.result;
  if (!data.success) throw new Error(data.errors.formErrors.join());
  if (!data.responseId.startsWith("rs_")) throw new Error(data.responseId);
}
const { data: list } = await listResponses({ client: admin, throwOnError: true, path: { flowId }, query: { tag: { plan: "pro" }, answer: { "nps[gte]": "9" } } });
const plans = list.items.map((item) => item.metadata.tags["plan"]);
if (plans.length !== 1 || plans[0] !== "pro") throw new Error(`filtered by nothing: ${plans}`);
const use = list.items[0]?.answers["use"];
if (!Array.isArray(use) || use.join() !== "api,ui") throw new Error(`answers: ${use}`);
const { data: summary } = await getSummary({ client: admin, throwOnError: true, path: { flowId } });
if (!("responses" in summary) || summary.responses !== 2) throw new Error("results");
const { data: file } = await exportResponses({ client: admin, throwOnError: true, path: { flowId }, query: { format: "xlsx" }, parseAs: "blob" });
const bytes = new Uint8Array(await file.arrayBuffer());
if (String.fromCharCode(...bytes.subarray(0, 2)) !== "PK") throw new Error("not a workbook");
console.log("done");
