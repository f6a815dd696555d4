// A session: one respondent answers one flow.
//
// It keeps the answers, evaluates the logic of the version, validates locally by the server's
// rules, and submits. If a newer version was published meanwhile, answers that still fit are
// carried over to it: the same question, the same type, valid.

import type { Calls } from "./calls.js";
import { ifMissing, SluiceError } from "./errors.js";
import { PAYLOAD_GENERATION } from "./generation.js";
import { judgeKnown, judgeQuestion } from "./judge.js";
import { arrange, follow, isAbsent, pagesOf } from "./logic.js";
import { bestLocale, fill, plainText, translate, type Renderer, type Values } from "./texts.js";
import { randomId, type CallOptions } from "./transport.js";
import { refused } from "./types.js";
import type {
  Accepted, Admission, Answer, Answers, AnswerTo, Choice, Context, Identity, Issue, Question, Refused, ResolvedFlow, Snapshot,
  Submission, SubmitResult,
} from "./types.js";

const VERSIONS_MAX = 3;

export interface StartOptions<A extends Answers = Answers> extends CallOptions {
  /** The languages of the reader, in order of preference. */
  locale?: string | readonly string[];
  /** Answers that are known already; those to unknown questions are `dropped`. */
  answers?: Partial<A>;
  /** To continue with a version that was begun; the newest if it no longer belongs to this flow. */
  flowVersionId?: string | undefined;
  /** That of the session that was begun, so that its answers are stored at most once. */
  idempotencyKey?: string | undefined;
  tags?: { readonly [name: string]: Answer };
  identities?: readonly Identity[];
  /** `admitted` only if the respondent agreed to be linked to the response. */
  admission?: Admission;
  context?: Context;
  /** The id of an invitation (`fa_…`), or one of your own. */
  flowAssignmentId?: string;
  /** `html` of `sluice/ui`, for the fields of a session whose names end in `Html`. */
  html?: Renderer;
  /** The same visit shows options in the same random order. */
  visit?: string;
  /** How answers to yes-no questions and consents read in texts that repeat them. */
  words?: Partial<Values["words"]>;
}

/** A visible question in the language of the session, ready to show. */
export interface QuestionView<A extends Answers = any> extends Omit<Question, "help" | "id"> {
  id: Extract<keyof A, string>;
  /** Without markup; placeholders are filled in. */
  prompt: string;
  help: string | undefined;
  /** The same with links and emphasis, safe to insert into a page. */
  promptHtml: string | undefined;
  helpHtml: string | undefined;
  /** In the order to show them. */
  options?: Choice[];
}

export interface PageView<A extends Answers = any> {
  /** The title of the section, if the page is one. */
  title: string | undefined;
  questions: QuestionView<A>[];
}

export interface WelcomeView {
  title: string | undefined;
  bodyHtml: string | undefined;
  buttonText?: string;
}

export interface EndingView {
  id?: string;
  title: string | undefined;
  body: string | undefined;
  bodyHtml: string | undefined;
  redirectUrl?: string | null;
}

/** What happened when a newer version took the place of the one that was answered. */
export interface CarriedOver<A extends Answers = Answers> {
  from: string;
  to: string;
  /** Answers that do not fit the newer version. They are not submitted. */
  dropped: Partial<A>;
}

/**
 * With `carriedOver`, a refusal means: show the questions again, the session is at the newer
 * version.
 */
export type SessionResult<A extends Answers = Answers> = (Accepted | Refused) & { carriedOver?: CarriedOver<A> };

export class Session<A extends Answers = Answers> {
  /** The last change of version, if there was one. */
  carriedOver: CarriedOver<A> | undefined;
  /** The result that ended the session. */
  result: Accepted | undefined;
  /** Answers that were known already, to questions that the version does not have. */
  dropped: Partial<A> = {};
  /** Names this submission. Keep it with the answers to continue after a reload. */
  readonly idempotencyKey: string;
  /** Grows with every change. All fields below follow from the answers so far. */
  revision = 0;
  /** The language of the texts. */
  locale!: string;
  title!: string;
  descriptionHtml: string | undefined;
  /** The screen before the first question. */
  welcome: WelcomeView | undefined;
  /** The visible questions, in order. */
  questions!: QuestionView<A>[];
  /** The visible questions by page: those of a section share one. */
  pages!: PageView<A>[];
  /** The answers that count: those to visible questions. */
  answers!: Partial<A>;
  /** The score so far, if the version has scores. */
  score: number | undefined;
  /** The ending that the answers lead to. */
  ending!: EndingView;

  #given: { [question: string]: Answer } = {};
  #identities: readonly Identity[];
  #admission: Admission;
  /** What was sent, as JSON; its outcome may be unknown. */
  readonly #sent = new Set<string>();
  #submitting: Promise<SessionResult<A>> | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #calls: Calls;
  readonly #options: StartOptions<A> & { visit: string; tags: Answers };

  constructor(
    calls: Calls,
    /** The flow as it was resolved. */
    public flow: ResolvedFlow,
    /** The version that is answered, as it was fetched. */
    public snapshot: Snapshot,
    options: StartOptions<A> = {},
  ) {
    const { flowVersionId, answers = {} as Partial<A>, identities = [], admission = "collection_only", idempotencyKey = randomId() } = options;
    this.#calls = calls;
    this.#options = { visit: randomId(), tags: {}, ...options };
    this.#identities = identities;
    this.#admission = admission;
    this.idempotencyKey = idempotencyKey;
    const isMoved = flowVersionId && flowVersionId !== snapshot.flowVersionId;
    // What was agreed to in another version is asked again.
    const known = snapshot.questions.filter(({ type }) => !isMoved || type !== "consent").map(({ id }) => id);
    for (const id in answers) {
      if (known.includes(id)) this.#give(id, answers[id]);
      else this.dropped[id] = answers[id];
    }
    this.#changed();
  }

  /** Identities and consent may be set until the answers are submitted. */
  get identities(): readonly Identity[] {
    return this.#identities;
  }

  set identities(identities: readonly Identity[]) {
    this.#identities = identities;
    this.#changed();
  }

  get admission(): Admission {
    return this.#admission;
  }

  set admission(admission: Admission) {
    this.#admission = admission;
    this.#changed();
  }

  /** The admission that is sent: a flow that never asks for consent never links a response. */
  get effectiveAdmission(): Admission {
    return this.snapshot.respondentAnalytics === "never" ? "collection_only" : this.admission;
  }

  /**
   * Whether to ask the respondent for consent to be linked to the response: the flow asks, and an
   * identity, a token or an invitation says who answers.
   */
  get asksConsent(): boolean {
    const { flowAssignmentId = "" } = this.#options;
    const isKnown = this.identities.length > 0 || this.#calls.hasToken || flowAssignmentId.startsWith("fa_");
    return this.snapshot.respondentAnalytics === "ask" && isKnown;
  }

  /** Sets the answer to a question; `undefined`, an empty text and an empty list remove it. */
  answer<Q extends keyof A & string>(question: Q, value: AnswerTo<A, Q> | null | undefined): this {
    this.#give(question, value);
    return this.#changed();
  }

  #give(id: string, value: unknown): void {
    if (!this.snapshot.questions.some((question) => question.id === id)) {
      throw new SluiceError(`No question "${id}"; see session.questions.`, { code: "unknown_question" });
    }
    const texts = [value ?? []].flat();
    if (!texts.every((text) => typeof text === "string")) {
      throw new SluiceError(`Question "${id}" takes a text or a list of texts.`, { code: "wrong_answer_kind" });
    }
    if (isAbsent(texts)) delete this.#given[id];
    else this.#given[id] = value as Answer;
  }

  /** Every issue of the answers so far, or of those to one question. */
  issues(question?: keyof A & string): Issue[] {
    const { snapshot, answers } = this;
    // Unicode tables differ: a web or e-mail address beyond ASCII is left to the server.
    const all = judgeKnown(snapshot, answers as Answers).filter(({ code, path: [, id], message }) =>
      code !== "invalid_format" || !message.includes(" address ") || !/[^\0-\x7f]/.test(String(answers[id!])));
    return question ? all.filter(({ path }) => path[1] === question) : all;
  }

  /** What `submit` sends. */
  submission(): Submission {
    const { identities, answers, effectiveAdmission, snapshot: { flowVersionId } } = this;
    const { tags, context, flowAssignmentId } = this.#options;
    return {
      flowVersionId,
      flowVersionPayloadGeneration: PAYLOAD_GENERATION,
      respondentAnalyticsAdmission: effectiveAdmission,
      answers: answers as Answers,
      identities,
      metadata: { tags },
      context,
      flowAssignmentId,
    } as Submission;
  }

  /**
   * Validates the answers locally, and submits them. If the version no longer accepts responses,
   * the session continues with the newer one: at once if all answers fit and no other question is
   * to be answered, otherwise after the respondent has seen it (`carriedOver`). After an error,
   * call it again: a session stores at most one response. If that turns out to be the one of an
   * earlier call, with other answers, the result has `earlier`.
   */
  submit(options?: CallOptions): Promise<SessionResult<A>> {
    // A second click while the first is under way is the same call.
    const submitting = (this.#submitting ??= this.#submit(options).finally(() => {
      this.#submitting = undefined;
      this.#changed();
    }));
    this.#changed();
    return submitting;
  }

  get isSubmitting(): boolean {
    return !!this.#submitting;
  }

  /** Calls the listener after every change; returns how to stop that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async #submit(options?: CallOptions): Promise<SessionResult<A>> {
    if (this.result) return this.result;
    let carriedOver: CarriedOver<A> | undefined;
    for (let version = 1; ; version++) {
      const result = await this.#send(options);
      if (result.success) this.result = result;
      const seen = this.questions.map(({ id }) => id);
      const change = !result.success && version < VERSIONS_MAX && (await this.#moveOn(result.errors.issues, carriedOver, options));
      if (change) carriedOver = change;
      // Whatever the respondent has not seen yet, they are asked.
      const isOpen = ({ id, type }: QuestionView<A>) => type !== "statement" && !seen.includes(id) && !this.answers[id];
      if (!change || Object.keys(change.dropped).length || this.questions.some(isOpen)) {
        return carriedOver ? { ...result, carriedOver } : result;
      }
    }
  }

  /** Submits to the version of now. All submissions of a session have the same key. */
  async #send(options?: CallOptions): Promise<SubmitResult> {
    const { idempotencyKey } = this;
    const submit = (json: string) => this.#calls.submit({ ...JSON.parse(json), idempotencyKey }, options);
    const issues = this.issues();
    if (issues.length) return refused(issues);
    const json = JSON.stringify(this.submission());
    const earlier = [...this.#sent];
    this.#sent.add(json);
    const result = await submit(json);
    if (!result.success && result.errors.issues[0]?.code === "idempotency_key_reused") {
      // An earlier call, whose outcome was unknown, was stored: sent again, it is answered.
      for (const before of earlier) {
        const stored = await submit(before);
        if (stored.success) return { ...stored, earlier: true };
      }
    }
    return result;
  }

  /** Changes to the version that accepts responses now, if it is another one. */
  async #moveOn(issues: readonly Issue[], before?: CarriedOver<A>, options?: CallOptions): Promise<CarriedOver<A> | undefined> {
    const issue = issues.find(({ code, latestFlowVersionId }) => latestFlowVersionId || code === "flow_version_not_found");
    const flow = issue && (await this.#calls.resolve(this.flow.flowId, options).catch(ifMissing));
    // A cached reply may be older than the refusal.
    const to = flow && (issue!.latestFlowVersionId ?? flow.flowVersionId);
    const from = this.snapshot.flowVersionId;
    if (!to || to === from) return undefined;
    const snapshot = await this.#calls.fetch(to, options);
    const dropped: { [question: string]: Answer | undefined } = { ...before?.dropped };
    const given = this.#given;
    const versions = [this.#shown(), this.#shown(snapshot)];
    this.#given = {};
    for (const id in given) {
      const [was, now] = versions.map(({ questions }) => questions.find((question) => question.id === id));
      // A consent is to what was shown. A part that is missing, such as a new row, is asked for.
      const isSame = (field: keyof Question) => was![field] === now![field];
      const isSameQuestion = now && isSame("type") && (now.type !== "consent" || (isSame("prompt") && isSame("help")));
      (isSameQuestion && !judgeQuestion(now, given, false).length ? this.#given : dropped)[id] = given[id]!;
    }
    const carriedOver = { from, to, dropped: dropped as Partial<A> };
    Object.assign(this, { flow, snapshot, carriedOver });
    this.#changed();
    return carriedOver;
  }

  /** A version with its texts in the best language that it has for the reader. */
  #shown(snapshot = this.snapshot): Snapshot {
    this.locale = bestLocale(snapshot, [this.#options.locale ?? []].flat());
    return translate(snapshot, this.locale);
  }

  /** Computes what follows from the answers, and calls the listeners. */
  #changed(): this {
    const { tags, visit, words, html } = this.#options;
    const shown = this.#shown();
    const { questions, answers, score, ending = shown.ending } = follow(shown, this.#given);
    const values: Values = {
      questions: shown.questions, answers, score, tags, words: { yes: "Yes", no: "No", agree: "I agree", ...words },
    };
    const { welcome, description } = shown;
    const plain = (text?: string) => text && plainText(text, values);
    const block = (text?: string) => text && html?.block(text, values);
    const views = questions.map((question) => viewOf(question, values, visit, html));
    Object.assign(this, {
      revision: this.revision + 1,
      answers,
      score,
      title: plain(shown.title),
      descriptionHtml: block(description),
      welcome: welcome && { ...welcome, title: plain(welcome.title), bodyHtml: block(welcome.body) },
      questions: views,
      pages: pagesOf(shown, views).map(({ section, questions }) => ({ title: plain(section?.title), questions })),
      ending: { ...ending, title: plain(ending.title), body: plain(ending.body), bodyHtml: block(ending.body) },
    });
    this.#listeners.forEach((listener) => listener());
    return this;
  }
}

function viewOf(question: Question, values: Values, visit: string, html?: Renderer): QuestionView<any> {
  const view: any = { ...question, options: question.options && arrange(question, visit) };
  for (const field of ["options", "rows", "columns"]) {
    view[field] &&= view[field].map((choice: Choice) => ({ ...choice, label: fill(choice.label, values) }));
  }
  for (const field of ["lowLabel", "highLabel"]) view[field] &&= fill(view[field], values);
  const { prompt, help } = question;
  return {
    ...view,
    prompt: plainText(prompt, values),
    promptHtml: html?.inline(prompt, values),
    help: help && plainText(help, values),
    helpHtml: help && html?.block(help, values),
  };
}
