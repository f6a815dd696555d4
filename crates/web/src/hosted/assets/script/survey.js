// 4 of 9: the form, one question at a time.

const RETRY_MS = [1000, 2000, 4000, 8000, 15_000, 30_000];
/** So many failures of a server that answers are met in silence; then the reader is told. */
const SERVER_FAILURES_MAX = 4;

/** The survey that is being answered, or null. */
let survey = null;

class Survey {
  constructor(main, form) {
    const rest = form.querySelector("#rest");
    rest?.replaceWith(rest.content);
    this.main = main;
    this.form = form;
    this.words = JSON.parse(form.dataset.words);
    this.sections = [...form.querySelectorAll(".question[data-id]")];
    this.consent = form.querySelector(".consent");
    this.actions = form.querySelector(".actions");
    this.primary = form.querySelector(".primary");
    this.quiet = this.actions.querySelector("[value=back]") ?? this.makeBackButton();
    this.sending = false;
    for (const section of this.sections) if (section.dataset.input === "order") rank(section, this.words);
    form.addEventListener("input", (event) => this.onInput(event.target.closest(".question")));
    form.addEventListener("change", (event) => completeAddress(event.target));
    form.addEventListener("submit", (event) => this.onSubmit(event));
  }

  makeBackButton() {
    const button = element("button", { className: "quiet", name: "go", value: "back" }, this.words.back);
    this.primary.after(button);
    return button;
  }

  section(id) {
    return this.sections.find((section) => section.dataset.id === id);
  }

  /** The questions that the answers lead to. What is hidden has no say in what comes after it. */
  route() {
    const answers = {};
    const allowsOther = (id) => Boolean(this.form.elements[`other.${id}`]);
    return this.sections.filter((section) => {
      const { id, visibleIf } = section.dataset;
      const isAsked = !visibleIf || id === this.main.dataset.preview || holds(JSON.parse(visibleIf), answers, allowsOther);
      if (isAsked) answers[id] = answerOf(section);
      return isAsked;
    });
  }

  /** Brings up to date what follows from the answers: the way, the progress, the buttons. */
  refresh() {
    const route = this.route();
    if (!route.includes(this.current)) this.current = route[0];
    for (const section of this.sections) {
      section.hidden = section !== this.current;
      // What is disabled is not sent: an answer to a question that is not asked any more.
      section.querySelector("fieldset")?.toggleAttribute("disabled", !route.includes(section));
    }
    const at = Math.max(route.indexOf(this.current), 0);
    const isLast = at >= route.length - 1;
    if (this.consent) this.consent.hidden = !isLast;
    this.primary.value = isLast ? "send" : "next";
    this.primary.textContent = this.words[this.sending ? "sending" : this.primary.value];
    this.primary.setAttribute("aria-disabled", this.sending);
    this.quiet.hidden = at === 0;
    this.main.toggleAttribute("data-later", at > 0);
    this.showProgress(at + 1, route.length);
  }

  showProgress(n, all) {
    const bar = this.form.querySelector("progress");
    if (!bar) return;
    bar.max = all;
    bar.value = n;
    this.form.querySelector(".progress p").textContent = fill(this.words.of, { n, all });
  }

  /** Shows a question; `move` takes the reader there, `push` makes it a step of the browser's Back. */
  show(section, { move = true, push = move } = {}) {
    this.current = section;
    this.refresh();
    const id = this.current?.dataset.id;
    if (id) this.form.elements.step.value = id;
    remember(id, push);
    if (!move || !id) return;
    this.hush();
    this.current.classList.remove("enter");
    void this.current.offsetWidth; // so that the animation starts anew
    this.current.classList.add("enter");
    scrollTo(0, 0);
    focusOn(this.current);
  }

  onInput(section) {
    this.refresh();
    if (section?.querySelector(".error") && !faultOf(section, this.words)) clearFaults(this.main, section);
    countLeft(section, this.words);
    keepDraft(this);
  }

  onSubmit(event) {
    event.preventDefault();
    if (this.sending) return;
    const go = event.submitter?.value ?? this.primary.value;
    const route = this.route();
    const at = route.indexOf(this.current);
    if (go === "back") return goBack(this, route[Math.max(at - 1, 0)]);
    const asked = go === "send" ? route : route.slice(at, at + 1);
    const faults = asked.map((section) => [section, faultOf(section, this.words)]).filter(([, text]) => text);
    if (faults.length > 0) return this.complain(faults);
    clearFaults(this.main);
    if (go === "send") this.send();
    else this.show(route[at + 1]);
    keepDraft(this);
  }

  /** Says what is wrong beside the questions and above them, and shows the first of these. */
  complain(faults) {
    clearFaults(this.main);
    const list = element("ul");
    for (const [section, text] of faults) {
      const error = element("p", { className: "error", id: `e-${section.dataset.id}` }, text);
      const field = section.querySelector("fieldset > .text:not(.other)");
      field?.setAttribute("aria-invalid", "true");
      describe(field ?? section.querySelector("fieldset"), error.id);
      (section.querySelector(".hint") ?? section.querySelector("legend")).after(error);
      list.append(element("li", {}, element("a", { href: `#${section.id}` }, text)));
    }
    const heading = element("h2", {}, this.words.problem);
    const errors = element("div", { className: "errors", id: "errors", role: "alert", tabIndex: -1 }, heading, list);
    this.form.before(errors);
    const first = faults[0][0];
    this.show(first, { move: false, push: first !== this.current });
    errors.focus();
  }

  /** Sends the form until the server has answered; the key in it makes one response of many tries. */
  async send() {
    this.sending = true;
    this.refresh();
    // What is sent is what stands here now; a change would be lost without a word.
    for (const section of this.sections) section.inert = true;
    const body = new URLSearchParams(new FormData(this.form));
    body.set("go", "send");
    for (let tries = 0, failures = 0; ; tries++) {
      const reply = await ask(this.form.action, { method: "POST", body }).catch(() => null);
      if (!reply) {
        const wait = pause(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]);
        await this.notice(this.actions, this.words.offline, this.words.retry, wait);
      } else if (reply.status === 401) {
        // The form stays, and its answers with it, until there is a token that is valid.
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
    const text = isTooLong ? await textOf(reply) : this.words.failed;
    await this.notice(this.actions, text, this.words.retry);
    this.hush();
    this.form.requestSubmit(this.primary);
  }

  /** Says something above `place`; over when its button is pressed, or `over` is. Said twice, it stands once. */
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

function describe(field, id) {
  const ids = new Set(field.getAttribute("aria-describedby")?.split(" "));
  field.setAttribute("aria-describedby", [...ids.add(id)].join(" "));
}

/** Takes complaints away: those about one question, or all. */
function clearFaults(main, section) {
  const errors = main.querySelector("#errors");
  for (const error of (section ?? main).querySelectorAll(".error")) error.remove();
  for (const field of (section ?? main).querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  if (section) errors?.querySelector(`[href="#${section.id}"]`)?.parentElement.remove();
  if (!section || !errors?.querySelector("li")) errors?.remove();
}
