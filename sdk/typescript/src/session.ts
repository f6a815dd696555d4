// A session: one respondent answers one flow.
//
// It keeps the answers, evaluates the logic of the version, validates locally by the server's
// rules, and submits. If a newer version was published meanwhile, answers that still fit are
// carried over to it: the same question, the same type, valid.

import { PAYLOAD_GENERATION, type Calls } from "./calls.js";
import { judge, judgeQuestion } from "./judge.js";
import { arrange, follow, isAbsent, own, pagesOf, progressAt } from "./logic.js";
import { bestLocale, fill, html, inlineHtml, plainText, translate, type Values } from "./texts.js";
import { randomId, type CallOptions } from "./transport.js";
import { refused } from "./types.js";
import type {
  Accepted, Admission, Answer, Answers, Choice, Context, Identity, Issue, Question, Refused, ResolvedFlow, Snapshot, Submission,
} from "./types.js";

const VERSIONS_MAX = 3;

export interface StartOptions<A extends Answers = Answers> extends CallOptions {
  /** The languages of the reader, in order of preference. */
  locale?: string | readonly string[];
  /** Answers that are known already. */
  answers?: Partial<A>;
  tags?: { readonly [name: string]: Answer };
  identities?: readonly Identity[];
  /** `admitted` only if the respondent agreed to be linked to the response. */
  admission?: Admission;
  context?: Context;
  /** The id of an invitation, or one of your own. */
  flowAssignmentId?: string;
  /** The same visit shows options in the same random order. */
  visit?: string;
  /** How answers to yes-no questions and consents read in texts that repeat them. */
  words?: Partial<Values["words"]>;
}

/** A visible question in the language of the session, ready to show. */
export interface QuestionView extends Omit<Question, "help"> {
  /** Without markup; placeholders are filled in. */
  prompt: string;
  help: string | undefined;
  /** The same with links and emphasis, safe to insert into a page. */
  promptHtml: string;
  helpHtml: string | undefined;
  /** In the order to show them. */
  options?: Choice[];
}

export interface PageView {
  /** The title of the section, if the page is one. */
  title: string | undefined;
  questions: QuestionView[];
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
  /** Identities and consent may be set until the answers are submitted. */
  identities: readonly Identity[];
  admission: Admission;
  /** The last change of version, if there was one. */
  carriedOver: CarriedOver<A> | undefined;
  /** The result that ended the session. */
  result: Accepted | undefined;
  /** Grows with every change. All fields below follow from the answers so far. */
  revision = 0;
  /** The language of the texts. */
  locale!: string;
  title!: string;
  descriptionHtml: string | undefined;
  /** The screen before the first question. */
  welcome: WelcomeView | undefined;
  /** The visible questions, in order. */
  questions!: QuestionView[];
  /** The visible questions by page: those of a section share one. */
  pages!: PageView[];
  /** The answers that count: those to visible questions. */
  answers!: Partial<A>;
  /** The score so far, if the version has scores. */
  score: number | undefined;
  /** The ending that the answers lead to. */
  ending!: EndingView;

  #given: { [question: string]: Answer } = {};
  #values!: Values;
  #sent: { content: string; key: string } | undefined;
  #submitting: Promise<SessionResult<A>> | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #calls: Calls;
  readonly #options: StartOptions<A>;

  constructor(
    calls: Calls,
    /** The flow as it was resolved. */
    public flow: ResolvedFlow,
    /** The version that is answered, as it was fetched. */
    public snapshot: Snapshot,
    options: StartOptions<A> = {},
  ) {
    this.#calls = calls;
    this.#options = { visit: randomId(), tags: {}, ...options };
    this.identities = options.identities ?? [];
    this.admission = options.admission ?? "collection_only";
    Object.assign(this.#given, options.answers);
    this.#changed();
  }

  /** Whether to ask the respondent for consent to be linked to the response. */
  get asksConsent(): boolean {
    return this.snapshot.respondentAnalytics === "ask" && this.identities.length > 0;
  }

  /** Sets the answer to a question; `undefined`, an empty text and an empty list remove it. */
  answer<Q extends keyof A & string>(question: Q, value: A[Q] | null | undefined): this {
    this.#given[question] = value ?? "";
    if (isAbsent(own(this.#given, question))) delete this.#given[question];
    return this.#changed();
  }

  /** Every issue of the answers so far, or of those to one question. */
  issues(question?: keyof A & string): Issue[] {
    const all = judge(this.snapshot, this.answers as Answers);
    return question ? all.filter(({ path }) => path[1] === question) : all;
  }

  /** The number of a visible question, and of all questions on the longest way from there. */
  progress(question: keyof A & string): { number: number; of: number } {
    return progressAt(this.snapshot, this.#given, question);
  }

  /** A text of the snapshot without markup. */
  plain(text: string): string {
    return plainText(text, this.#values);
  }

  /**
   * A text of the snapshot as HTML with paragraphs, lists, emphasis and links; everything else is
   * escaped.
   */
  html(text: string): string {
    return html(text, this.#values);
  }

  /** What `submit` sends. */
  submission(): Submission {
    const { identities, answers, snapshot: { flowVersionId, respondentAnalytics } } = this;
    const { tags, context, flowAssignmentId } = this.#options;
    return {
      flowVersionId,
      flowVersionPayloadGeneration: PAYLOAD_GENERATION,
      // A flow that never asks for consent never links a response.
      respondentAnalyticsAdmission: respondentAnalytics === "never" ? "collection_only" : this.admission,
      answers: answers as Answers,
      identities,
      metadata: { tags: tags ?? null },
      context: context ?? null,
      flowAssignmentId: flowAssignmentId ?? null,
    };
  }

  /**
   * Validates the answers locally, and submits them. If the version no longer accepts responses,
   * the session continues with the newer one: at once if all answers fit and no other question is
   * to be answered, otherwise after the respondent has seen it (`carriedOver`). After an error,
   * call it again: the same answers are stored at most once.
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
    let key: string | undefined;
    for (let version = 1; ; version++) {
      const submission = this.submission();
      const content = JSON.stringify(submission);
      // The outcome of the last call may be unknown: the same answers keep their key. So do all
      // versions of one call.
      if (this.#sent?.content !== content) this.#sent = { content, key: key ?? randomId() };
      ({ key } = this.#sent);
      const issues = this.issues();
      const result = issues.length ? refused(issues) : await this.#calls.submit({ ...submission, idempotencyKey: key }, options);
      if (result.success) this.result = result;
      const seen = new Set(this.questions.map(({ id }) => id));
      const change = !result.success && version < VERSIONS_MAX && (await this.#moveOn(result.errors.issues, carriedOver, options));
      if (change) carriedOver = change;
      // Whatever the respondent has not seen yet, they are asked.
      const isOpen = ({ id, type }: QuestionView) => type !== "statement" && !seen.has(id) && !this.answers[id];
      if (!change || Object.keys(change.dropped).length || this.questions.some(isOpen)) {
        return carriedOver ? { ...result, carriedOver } : result;
      }
    }
  }

  /** Changes to the version that accepts responses now, if it is another one. */
  async #moveOn(issues: readonly Issue[], before?: CarriedOver<A>, options?: CallOptions): Promise<CarriedOver<A> | undefined> {
    const issue = issues.find(({ code, latestFlowVersionId }) => latestFlowVersionId || code === "flow_version_not_found");
    if (!issue) return undefined;
    const flow = await this.#calls.resolve(this.flow.flowId, options);
    // A cached reply may be older than the refusal.
    const to = issue.latestFlowVersionId ?? flow.flowVersionId;
    const { flowVersionId: from, questions } = this.snapshot;
    if (to === from) return undefined;
    const snapshot = await this.#calls.fetch(to, options);
    const dropped: { [question: string]: Answer | undefined } = { ...before?.dropped };
    const given = this.#given;
    this.#given = {};
    for (const [id, answer] of Object.entries(given)) {
      const [was, now] = [questions, snapshot.questions].map((all) => all.find((question) => question.id === id));
      const fits = was && was.type === now?.type && !judgeQuestion(now, given).length;
      (fits ? this.#given : dropped)[id] = answer;
    }
    const carriedOver = { from, to, dropped: dropped as Partial<A> };
    Object.assign(this, { flow, snapshot, carriedOver });
    this.#changed();
    return carriedOver;
  }

  /** Computes what follows from the answers, and calls the listeners. */
  #changed(): this {
    const { locale: wanted = [], tags = {}, visit = "", words } = this.#options;
    const locale = bestLocale(this.snapshot, [wanted].flat());
    const shown = translate(this.snapshot, locale);
    const { questions, answers, score, ending = shown.ending } = follow(shown, this.#given);
    const values: Values = {
      questions: shown.questions, answers, score, tags, words: { yes: "Yes", no: "No", agree: "I agree", ...words },
    };
    this.#values = values;
    const { welcome, description } = shown;
    const plain = (text?: string) => text && plainText(text, values);
    const block = (text?: string) => text && html(text, values);
    const views = questions.map((question) => viewOf(question, values, visit));
    Object.assign(this, {
      revision: this.revision + 1,
      locale,
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

function viewOf(question: Question, values: Values, visit: string): QuestionView {
  const view: any = { ...question, options: question.options && arrange(question, visit) };
  for (const field of ["options", "rows", "columns"]) {
    view[field] &&= view[field].map((choice: Choice) => ({ ...choice, label: fill(choice.label, values) }));
  }
  for (const field of ["lowLabel", "highLabel"]) view[field] &&= fill(view[field], values);
  const { prompt, help } = question;
  return {
    ...view,
    prompt: plainText(prompt, values),
    promptHtml: inlineHtml(prompt, values),
    help: help && plainText(help, values),
    helpHtml: help && html(help, values),
  };
}
