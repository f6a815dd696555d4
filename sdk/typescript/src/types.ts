// The data that Sluice sends and takes: snapshots of one payload generation, submissions and their
// results.

import type { PayloadGeneration } from "./generation.js";

/** A text, or several: the answer to a question, or the value of a tag. */
export type Answer = string | readonly string[];

/** Answers by question id. `sluice types` writes the exact type of one flow. */
export type Answers = { readonly [question: string]: Answer | undefined };

/** The id of a flow together with the type of its answers; `sluice types` writes one. */
export type FlowId<A extends Answers = Answers> = string & { readonly __answers?: A };

export type QuestionType =
  | "shortText" | "longText" | "email" | "url" | "phone" | "number" | "date" | "singleChoice" | "dropdown"
  | "multipleChoice" | "ranking" | "matrix" | "rating" | "nps" | "yesNo" | "consent" | "statement";

export interface Image {
  assetId: string;
  alt?: string;
}

/** An option, a row or a column. */
export interface Choice {
  id: string;
  label: string;
  score?: number;
  /** Whether it keeps its place in a random order. */
  fixed?: boolean;
  image?: Image;
}

/** When a question is shown, a jump is taken or an ending applies. */
export type Condition =
  | { all: Condition[] }
  | { any: Condition[] }
  | { not: Condition }
  | ({ question: string } & Test)
  | ({ score: true } & Test);

export interface Test {
  equals?: string | number;
  in?: (string | number)[];
  notIn?: (string | number)[];
  includes?: string;
  answered?: boolean;
  lessThan?: string | number;
  greaterThan?: string | number;
}

export interface Jump {
  when?: Condition;
  /** The id of a later question, `end`, or `end:` and the id of an ending. */
  to: string;
}

export interface Question {
  id: string;
  type: QuestionType;
  prompt: string;
  help?: string;
  image?: Image;
  required?: boolean;
  visibleIf?: Condition;
  next?: Jump[];
  minLength?: number;
  maxLength?: number;
  min?: number | string;
  max?: number | string;
  integer?: boolean;
  options?: Choice[];
  allowOther?: boolean;
  optionOrder?: "random";
  minSelected?: number;
  maxSelected?: number;
  rows?: Choice[];
  columns?: Choice[];
  shape?: "star" | "number" | "emoji";
  lowLabel?: string;
  highLabel?: string;
  score?: "value";
}

export interface Ending {
  id?: string;
  when?: Condition;
  title?: string;
  body?: string;
  redirectUrl?: string | null;
}

export interface Section {
  id: string;
  title?: string;
  questions: string[];
}

export interface Welcome {
  title?: string;
  body?: string;
  buttonText?: string;
}

/** The texts of one language; those that are absent are shown in the default language. */
export interface Translation {
  title?: string;
  description?: string;
  questions?: { [question: string]: { [field: string]: string | { [choice: string]: string } } };
  ending?: { title?: string; body?: string };
  endings?: { [ending: string]: { title?: string; body?: string } };
  welcome?: Welcome;
  sections?: { [section: string]: { title: string } };
}

/** A published version in `PAYLOAD_GENERATION`. It never changes. */
export interface Snapshot {
  flowVersionId: string;
  flowId: string;
  payloadGeneration: string;
  kind: "survey" | "form" | "message";
  number: number;
  publishedAt: string;
  title: string;
  description?: string;
  defaultLocale: string;
  locales: string[];
  respondentAnalytics: "ask" | "never";
  /** Absent means true. */
  autoAdvance?: boolean;
  welcome?: Welcome;
  questions: Question[];
  sections?: Section[];
  ending: Ending;
  endings?: Ending[];
  translations?: { [locale: string]: Translation };
}

/** A flow and its latest published version. */
export interface ResolvedFlow {
  flowId: string;
  flowVersionId: string;
  kind: "survey" | "form" | "message";
  name: string;
  number: number;
  publishedAt: string;
  payloadGenerations: string[];
  status: "scheduled" | "open" | "closed";
  liveWindow: { startsAt: string | null; endsAt: string | null };
  graceWindowSeconds: number;
}

export interface Identity {
  /** `userId` and `traits.email` link a response to a respondent; other types are stored. */
  type: "userId" | "traits.email" | (string & {});
  value: string;
}

/** Whether the respondent agreed to be linked to the response. */
export type Admission = "collection_only" | "admitted";

export interface Context {
  page?: { path?: string; referrer?: string; search?: string };
  locale?: string;
  userAgent?: string;
}

export interface Submission<A extends Answers = Answers> {
  flowVersionId: string;
  flowVersionPayloadGeneration: PayloadGeneration;
  respondentAnalyticsAdmission: Admission;
  answers?: A | null;
  identities?: readonly Identity[] | null;
  metadata?: { tags?: { readonly [name: string]: Answer } | null } | null;
  context?: Context | null;
  flowAssignmentId?: string | null;
  /** Makes it safe to send the same submission again. */
  idempotencyKey?: string | null;
}

export type IssueCode =
  | "field_required" | "invalid_type" | "invalid_value" | "too_long" | "nul_character" | "nested_tag"
  | "duplicate_user_id" | "payload_generation_mismatch" | "flow_version_not_found" | "not_open_yet"
  | "no_longer_accepting" | "quota_full" | "identity_mismatch" | "idempotency_key_reused" | "invitation_used"
  | "invitation_expired" | "invitation_revoked" | "unknown_question" | "wrong_answer_kind" | "unknown_option"
  | "invalid_selection" | "invalid_format" | "out_of_range" | "answer_required" | "not_answerable";

/** One reason why a submission is refused. */
export interface Issue {
  code: IssueCode;
  /** The field that it is about, such as `["answers", "nps"]`. */
  path: (string | number)[];
  message: string;
  /** With `no_longer_accepting`: the version that accepts responses now, if there is one. */
  latestFlowVersionId?: string;
}

export interface Refused {
  success: false;
  errors: { formErrors: string[]; issues: Issue[] };
}

export interface Accepted {
  success: true;
  responseId: string;
  /**
   * An earlier call, whose outcome was unknown, had stored the answers of then. They are what is
   * stored, not those that have changed since.
   */
  earlier?: true;
  /** The sum of the scores, if the version has scores. */
  score?: number;
  /** In the grace window of a superseded version. */
  supersededBy?: string;
  acceptsUntil?: string;
}

export type SubmitResult = Accepted | Refused;

/** The result of a validation, which stores nothing. */
export type ValidateResult = Omit<Accepted, "responseId" | "earlier"> | Refused;

/** Whether a type has several alternatives. */
type IsUnion<T, All = T> = T extends All ? ([All] extends [T] ? false : true) : never;

/**
 * The answer to a question whose id is known when the program is compiled; to one of several, such
 * as in a loop over all questions, any answer.
 */
export type AnswerTo<A extends Answers, Q extends keyof A & string> = true extends IsUnion<Q> ? Answer : A[Q];

export const refused = (issues: Issue[]): Refused => ({
  success: false,
  errors: { formErrors: issues.map(({ message }) => message), issues },
});
