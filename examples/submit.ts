import { createTRPCUntypedClient, httpBatchLink } from "@trpc/client";

// Both are in the calls that the first start of the server prints.
const { SLUICE_URL, SLUICE_API_KEY, SLUICE_FLOW_ID } = process.env;
const api = `${SLUICE_URL ?? "http://127.0.0.1:8080"}/api/v1/${SLUICE_API_KEY}`;

type Receipt =
  | { success: true; responseId: string }
  | { success: false; errors: { formErrors: string[] } };

async function getJson(path: string) {
  const reply = await fetch(api + path);
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
}

// 1. Resolve the latest published version, 2. fetch its questions, and show them in your own interface.
const { flowVersionId } = await getJson(`/flows/${SLUICE_FLOW_ID}`);
const { title, questions } = await getJson(`/flow_versions/${flowVersionId}?payload=4`);
console.log(`${title}: ${questions.length} questions`);

// 3. Submit the answers.
const trpc = createTRPCUntypedClient({ links: [httpBatchLink({ url: `${api}/trpc` })] });
const receipt = (await trpc.mutation("response.submit", {
  flowVersionId,
  flowVersionPayloadGeneration: "4",
  respondentAnalyticsAdmission: "collection_only",
  answers: { nps: "9", use: ["api"], docs: "5" },
  metadata: { tags: { plan: "pro" } },
  // One key per call: if the reply is lost, send the same call again, and it is stored once.
  idempotencyKey: crypto.randomUUID(),
})) as Receipt;

if (receipt.success) console.log(`Stored as ${receipt.responseId}`);
else console.error(receipt.errors.formErrors.join("\n"));
