// The reference: a typical hand-written implementation with tRPC, zod, and one INSERT per call.
//
// It has every advantage: the statement is prepared, and neither the app's key nor the questions of the
// flow are checked. Deliberately absent: idempotency, limits, and all other procedures.
import { randomUUID } from 'node:crypto'
import { initTRPC } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import pg from 'pg'
import { z } from 'zod'

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS responses (
    response_id     uuid PRIMARY KEY,
    flow_version_id text NOT NULL,
    received_at     timestamptz NOT NULL DEFAULT now(),
    admission       text NOT NULL,
    answers         jsonb NOT NULL,
    identities      jsonb NOT NULL,
    tags            jsonb NOT NULL,
    context         jsonb
  );
  CREATE INDEX IF NOT EXISTS responses_by_flow ON responses (flow_version_id, received_at)`

const INSERT = `
  INSERT INTO responses (response_id, flow_version_id, admission, answers, identities, tags, context)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`

const text = z.string().max(10_000)

const submission = z.object({
  flowVersionId: text.min(1),
  flowVersionPayloadGeneration: z.literal('4'),
  respondentAnalyticsAdmission: z.enum(['admitted', 'collection_only']),
  answers: z.record(text, z.union([text, z.array(text)])),
  identities: z.array(z.object({ type: text.min(1), value: text.min(1) })).default([]),
  metadata: z.object({ tags: z.record(text, text).default({}) }).default({ tags: {} }),
  context: z
    .object({
      page: z.object({ path: text, referrer: text, search: text }).partial(),
      locale: text,
      userAgent: text,
    })
    .partial()
    .optional(),
})

const pool = new pg.Pool({ connectionString: process.env.REFERENCE_STORE })
await pool.query(SCHEMA)

async function store(input) {
  const responseId = randomUUID()
  const values = [
    responseId,
    input.flowVersionId,
    input.respondentAnalyticsAdmission,
    JSON.stringify(input.answers),
    JSON.stringify(input.identities),
    JSON.stringify(input.metadata.tags),
    JSON.stringify(input.context ?? null),
  ]
  await pool.query({ name: 'insert-response', text: INSERT, values })
  return { success: true, responseId }
}

const t = initTRPC.create()
const router = t.router({
  response: t.router({
    submit: t.procedure.input(submission).mutation(({ input }) => store(input)),
  }),
})

const server = createHTTPServer({ router, basePath: '/trpc/' })
server.listen(0, '127.0.0.1', () => {
  console.log(`Reference listening on http://127.0.0.1:${server.address().port}`)
})
process.once('SIGTERM', () => {
  server.close(() => pool.end())
  server.closeAllConnections()
})
