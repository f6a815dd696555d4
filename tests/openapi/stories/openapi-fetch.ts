// The whole story with openapi-fetch and the types of openapi-typescript; no cast is needed.

import createClient from "openapi-fetch";

import type { components, paths } from "./schema.js";

const [, , baseUrl = "", token = ""] = process.argv;
const admin = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });
const open = createClient<paths>({ baseUrl });

function ok<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const definition: components["schemas"]["Definition"] = {
  title: "Story",
  questions: [
    { id: "nps", type: "nps", prompt: "How likely?", required: true },
    { id: "use", type: "multipleChoice", prompt: "What?", options: [{ id: "api", label: "API" }, { id: "ui", label: "UI" }] },
    { id: "why", type: "longText", prompt: "Why?", maxLength: 500, visibleIf: { question: "nps", lessThan: 7 } },
  ],
};
const app = ok(await admin.POST("/api/admin/v1/apps", { body: { name: "Story" } }));
const { appId } = app;
const apiKey = app.apiKeys[0] ?? "";
const flow = ok(await admin.POST("/api/admin/v1/apps/{appId}/flows", { params: { path: { appId } }, body: { name: "Story", kind: "survey", definition } }));
const { flowId } = flow;
const published = ok(await admin.POST("/api/admin/v1/flows/{flowId}/publish", { params: { path: { flowId } } }));

const resolved = ok(await open.GET("/api/v1/{apiKey}/flows/{flowId}", { params: { path: { apiKey, flowId } } }));
const { flowVersionId } = resolved;
if (flowVersionId !== published.flowVersionId) throw new Error("another version");
const snapshot = ok(await open.GET("/api/v1/{apiKey}/flow_versions/{flowVersionId}", { params: { path: { apiKey, flowVersionId }, query: { payload: "4" } } }));
const choices = snapshot.questions.flatMap((question) => (question.type === "multipleChoice" ? question.options.map((option) => option.id) : []));

const answers: components["schemas"]["Submission"]["answers"] = { nps: "9", use: choices };
for (const plan of ["pro", "free"]) {
  const body: components["schemas"]["Submission"] = {
    flowVersionId,
    flowVersionPayloadGeneration: snapshot.payloadGeneration,
    respondentAnalyticsAdmission: "collection_only",
    answers,
    metadata: { tags: { plan, seats: ["a", "b"] } },
  };
  const judged = ok(await open.POST("/api/v1/{apiKey}/trpc/response.validate", { params: { path: { apiKey } }, body })).result.data;
  if (!judged.success) throw new Error(judged.errors.formErrors.join());
  const { data } = ok(await open.POST("/api/v1/{apiKey}/trpc/response.submit", { params: { path: { apiKey } }, body })).result;
  // `success` narrows: each side has only its own fields.
  if (!data.success) throw new Error(data.errors.issues.map((issue) => issue.code).join());
  if (!data.responseId.startsWith("rs_")) throw new Error(data.responseId);
}
const refused = ok(await open.POST("/api/v1/{apiKey}/trpc/response.submit", {
  params: { path: { apiKey } },
  body: { flowVersionId, flowVersionPayloadGeneration: "4", respondentAnalyticsAdmission: "collection_only" },
})).result.data;
if (refused.success || refused.errors.issues[0]?.code !== "answer_required") throw new Error("not refused");

const list = ok(await admin.GET("/api/admin/v1/flows/{flowId}/responses", { params: { path: { flowId }, query: { tag: { plan: "pro" }, answer: { "nps[gte]": "9" } } } }));
const plans = list.items.map((item) => item.metadata.tags["plan"]);
if (plans.length !== 1 || plans[0] !== "pro") throw new Error(`filtered by nothing: ${plans}`);
const use = list.items[0]?.answers["use"];
if (!Array.isArray(use) || use.join() !== "api,ui") throw new Error(`answers: ${use}`);
const summary = ok(await admin.GET("/api/admin/v1/flows/{flowId}/summary", { params: { path: { flowId } } }));
if (!("responses" in summary) || summary.responses !== 2) throw new Error("results");
const file = await admin.GET("/api/admin/v1/flows/{flowId}/export", { params: { path: { flowId }, query: { format: "xlsx", tag: { plan: "pro" } } }, parseAs: "arrayBuffer" });
const bytes = new Uint8Array(ok(file));
if (String.fromCharCode(...bytes.subarray(0, 2)) !== "PK") throw new Error("not a workbook");
console.log("done");
