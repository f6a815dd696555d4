// 4 of 10: the form, one question at a time.

const RETRY_MS = [1000, 2000, 4000, 8000, 15_000, 30_000];
/** Number of server errors that are retried silently before the reader sees a message. */
const SERVER_FAILURES_MAX = 4;
/** Inputs with a single choice, after which the page advances. */
const SINGLE = ["one", "scale", "yesNo"];
/** A moment in which the choice is seen. */
const ADVANCE_MS = 250;

/** The current survey, or null. */
let survey = null;

class Survey {
  constructor(main, form) {
    for (const rest of form.querySelectorAll("template")) rest.replaceWith(rest.content);
    this.main = main;
    this.form = form;
    this.words = JSON.parse(form.dataset.words);
    this.welcome = form.querySelector(".welcome");
    this.sections = [...form.querySelectorAll(".question[data-id]")];
    this.questions = this.sections.map((section) => questionOf(section));
    this.consent = form.querySelector(".consent");
    this.actions = form.querySelector(".actions");
    this.primary = form.querySelector(".primary");
    this.quiet = this.actions.querySelector("[value=back]") ?? this.makeBackButton();
    this.sending = false;
    this.allowsOther = (id) => Boolean(form.elements[`other.${id}`]);
    for (const section of this.sections) if (section.dataset.input === "order") rank(section, this.words);
    form.addEventListener("input", (event) => this.onInput(event.target.closest(".question")));
    form.addEventListener("change", (event) => completeAddress(event.target));
    form.addEventListener("click", (event) => this.onClick(event));
    // A press on a button advances by itself; it must not hit the next question.
    form.addEventListener("pointerdown", ({ target }) => target.closest("button") && clearTimeout(this.timer));
    form.addEventListener("submit", (event) => this.onSubmit(event));
  }

  makeBackButton() {
    const button = element("button", { className: "quiet", name: "go", value: "back" }, this.words.back);
    this.primary.after(button);
    return button;
  }

  section(id) {
    return [this.welcome, ...this.sections].find((section) => section?.dataset.id === id);
  }

  /**
   * The visible questions in pages. Hidden questions do not affect later ones. The questions of a
   * section share a page.
   */
  way() {
    const way = follow(this.questions, this.allowsOther, this.main.dataset.preview);
    const route = way.route.map(({ section }) => section);
    const pages = this.welcome ? [[this.welcome]] : [];
    for (const section of route) {
      const { part } = section.dataset;
      if (part && pages.at(-1)?.[0].dataset.part === part) pages.at(-1).push(section);
      else pages.push([section]);
    }
    const at = Math.max(pages.findIndex((page) => page.includes(this.current)), 0);
    return { ...way, route, pages, at, page: pages[at] ?? [] };
  }

  /**
   * Updates everything that depends on the answers: visible questions, texts, progress, buttons.
   */
  refresh() {
    const way = this.way();
    const { route, pages, at, page } = way;
    if (!page.includes(this.current)) this.current = page[0];
    const isWelcome = this.welcome && this.current === this.welcome;
    for (const section of this.sections) {
      section.hidden = !page.includes(section);
      // Disabled fields are not sent: answers to hidden questions.
      section.querySelector("fieldset")?.toggleAttribute("disabled", !route.includes(section));
    }
    for (const part of this.form.querySelectorAll(".part")) part.hidden = part.dataset.part !== this.current?.dataset.part;
    if (this.welcome) this.welcome.hidden = !isWelcome;
    for (const rest of this.form.querySelectorAll(".intro, .progress")) rest.hidden = isWelcome;
    pipe(this.main, way);
    const isLast = at >= pages.length - 1;
    if (this.consent) this.consent.hidden = !isLast;
    this.primary.value = isLast ? "send" : "next";
    this.primary.textContent =
      (isWelcome && this.welcome.dataset.button) || this.words[this.sending ? "sending" : this.primary.value];
    this.primary.setAttribute("aria-disabled", this.sending);
    this.quiet.hidden = at === 0;
    this.main.toggleAttribute("data-later", at > 0);
    const first = this.questions.findIndex(({ section }) => section === page[0]);
    if (first >= 0) this.showProgress(...placeOf(this.questions, first, this.allowsOther));
  }

  showProgress(n, all) {
    const bar = this.form.querySelector("progress");
    if (!bar) return;
    bar.max = all;
    bar.value = n;
    this.form.querySelector(".progress p").textContent = fill(this.words.of, { n, all });
  }

  /** Shows a question; `move` sets the focus, `push` adds a step to the browser history. */
  show(section, { move = true, push = move } = {}) {
    this.current = section;
    this.refresh();
    const { route, page } = this.way();
    reach(route, page.at(-1));
    const id = this.current?.dataset.id;
    if (id) this.form.elements.step.value = id;
    remember(id, push);
    if (!move || !id) return;
    this.hush();
    this.current.classList.remove("enter");
    void this.current.offsetWidth; // restarts the animation
    this.current.classList.add("enter");
    scrollTo(0, 0);
    focusOn(this.current);
  }

  onInput(section) {
    startVisit();
    this.refresh();
    if (section?.querySelector(".error") && !faultOf(section, this.words)) clearFaults(section);
    countLeft(section, this.words);
    keepDraft(this);
  }

  /**
   * Advances after a click on a single choice. Keys have no `detail`: they only move between the
   * choices.
   */
  onClick({ target, detail }) {
    const section = this.current;
    const choice = target.closest("label")?.querySelector("[type=radio]");
    const isAlone = this.sections.filter(({ hidden }) => !hidden).length === 1;
    clearTimeout(this.timer);
    if (!detail || !choice || choice.value === "other:" || !isAlone) return;
    if (!("advance" in this.form.dataset) || !SINGLE.includes(section.dataset.input)) return;
    const goOn = () => this.current === section && this.primary.value === "next" && !this.sending && this.form.requestSubmit(this.primary);
    this.timer = setTimeout(goOn, ADVANCE_MS);
  }

  onSubmit(event) {
    event.preventDefault();
    if (this.sending) return;
    const go = event.submitter?.value ?? this.primary.value;
    const { route, pages, at, page } = this.way();
    if (go === "back") return goBack(this, pages[Math.max(at - 1, 0)][0]);
    const asked = go === "send" ? route : page;
    if (this.current === this.welcome) startVisit();
    const faults = asked.map((section) => [section, faultOf(section, this.words)]).filter(([, text]) => text);
    if (faults.length > 0) return this.complain(faults);
    clearFaults(this.main);
    if (go === "send") this.send();
    else this.show(pages[at + 1][0]);
    keepDraft(this);
  }

  /** Shows the problems next to their questions, and goes to the first. */
  complain(faults) {
    clearFaults(this.main);
    for (const [section, text] of faults) {
      const field = section.querySelector("fieldset > .text:not(.other)");
      // A field has the focus and is described by its error; a group is not always read aloud.
      const error = element("p", { className: "error", id: `e-${section.dataset.id}`, role: field ? null : "alert" }, text);
      field?.setAttribute("aria-invalid", "true");
      describe(field ?? section.querySelector("fieldset"), error.id);
      (section.querySelector(".hint") ?? section.querySelector("legend")).after(error);
    }
    const first = faults[0][0];
    this.show(first, { move: false, push: first !== this.current });
    focusField(first);
  }

  /** Sends the form until the server replies; its key makes one response of many attempts. */
  async send() {
    this.sending = true;
    this.refresh();
    // The form is sent as it is now; a later change would be silently lost.
    for (const section of this.sections) section.inert = true;
    const body = new URLSearchParams(new FormData(this.form));
    body.set("go", "send");
    for (let tries = 0, failures = 0; ; tries++) {
      const reply = await ask(this.form.action, { method: "POST", body }).catch(() => null);
      if (!reply) {
        const wait = pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]);
        await this.notice(this.actions, this.words.offline, this.words.retry, wait);
      } else if (reply.status === 401) {
        // The form and its answers stay until there is a valid token.
        await this.notice(this.actions, await textOf(reply), this.words.retry, newToken());
      } else if (reply.status >= 500 && failures < SERVER_FAILURES_MAX) {
        await pause(RETRY_MS[failures++]);
      } else {
        return this.received(reply);
      }
    }
  }

  async received(reply) {
    this.sending = false;
    this.refresh();
    this.hush();
    for (const section of this.sections) section.inert = false;
    // Too long: the form stays, so that it can be shortened.
    const isTooLong = reply.status === 413;
    if (!isTooLong && reply.status < 500 && (await swap(reply))) return;
    const isLimited = reply.status === 429;
    const text = isTooLong ? await textOf(reply) : isLimited ? limitedText(reply, this.words) : this.words.failed;
    await this.notice(this.actions, text, this.words.retry);
    this.hush();
    this.form.requestSubmit(this.primary);
  }

  /**
   * Shows a notice above `place`; resolves when its button is pressed or `over` resolves. Repeated
   * notices are shown once.
   */
  async notice(place, text, label, over = new Promise(() => {})) {
    let notice = this.main.querySelector(".notice.live");
    if (notice?.firstChild.textContent !== text) {
      this.hush();
      const button = element("button", { type: "button" }, label);
      notice = element("div", { className: "notice live", role: "status" }, element("p", {}, text), button);
      place.before(notice);
      notice.scrollIntoView({ block: "nearest" });
    }
    await Promise.race([over, new Promise((done) => notice.lastChild.addEventListener("click", done))]);
  }

  hush() {
    this.main.querySelector(".notice.live")?.remove();
  }
}

/** A question for `follow`. */
function questionOf(section) {
  const { id, visibleIf = null, next = "[]" } = section.dataset;
  return { section, id, visibleIf: JSON.parse(visibleIf), next: JSON.parse(next), given: () => givenTo(section) };
}

function describe(field, id) {
  const ids = new Set(field.getAttribute("aria-describedby")?.split(" "));
  field.setAttribute("aria-describedby", [...ids.add(id)].join(" "));
}

/** Removes the errors within an element. */
function clearFaults(place) {
  for (const error of place.querySelectorAll(".error")) error.remove();
  for (const field of place.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}
