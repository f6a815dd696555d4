/*
 * The other texts of a flow: title, description, consent, welcome screen, endings.
 */

import { el, field, redraw, select } from "./dom.js";
import { endingsEditor } from "./jumps.js";
import { languageField } from "./languages.js";

export class Texts {
  constructor(place, draft, context) {
    Object.assign(this, { place, draft, context });
    draft.addEventListener("change", ({ detail }) => (detail.shape ? this.draw() : this.follow()));
    this.draw();
  }

  draw() {
    const { definition } = this.draft;
    const ending = definition.ending && typeof definition.ending === "object" ? definition.ending : {};
    const welcome = definition.welcome && typeof definition.welcome === "object" ? definition.welcome : {};
    const line = (label, path, value, more = {}) => this.control("input", label, path, value, more);
    const text = (label, path, value, more = {}) => this.control("textarea", label, path, value, { rows: 3, ...more });
    redraw(this.place, el("div", { className: "form" },
      line("Title", ["title"], definition.title, { hint: "Shown above the questions" }),
      text("Description", ["description"], definition.description, { hint: "Shown before the first question" }),
      field("Consent", select([["ask", "Ask identified people whether their response may be linked to them"], ["never", "Never ask; responses are not linked"]],
        definition.respondentAnalytics ?? "never", (value) => this.draft.set(["respondentAnalytics"], value)), { path: ["respondentAnalytics"] }),
      field("After a single choice", select([["true", "Go to the next question automatically"], ["false", "Wait for the Next button"]],
        String(definition.autoAdvance ?? true), (value) => this.draft.set(["autoAdvance"], value === "true")), { path: ["autoAdvance"], hint: "Only for clicks and taps; the keyboard always waits for Enter" }),
      languageField(this.draft),
      el("h2", {}, "Welcome screen"),
      line("Welcome title", ["welcome", "title"], welcome.title, { hint: "Leave all three empty for no welcome screen" }),
      text("Welcome text", ["welcome", "body"], welcome.body),
      line("Button", ["welcome", "buttonText"], welcome.buttonText, { hint: "Default: “Next”" }),
      el("h2", {}, "Ending"),
      line("Ending title", ["ending", "title"], ending.title, { hint: "Default: “Thank you”" }),
      text("Ending text", ["ending", "body"], ending.body),
      line("Redirect URL", ["ending", "redirectUrl"], ending.redirectUrl, { hint: "Respondents are sent here after their answers are saved (optional)", type: "url" }),
      endingsEditor(this.draft, this.context)));
    this.context.faults.mark();
  }

  /** The title is also a field of the header. */
  follow() {
    const field = this.place.querySelector('[data-pointer="/title"]');
    const title = String(this.draft.definition.title ?? "");
    if (field && field.value !== title) field.value = title;
  }

  control(name, label, path, value, { hint, ...properties }) {
    const input = el(name, { className: "input", value: value ?? "", ...properties, oninput: () => this.draft.set(path, input.value) });
    return field(label, input, { path, hint });
  }
}
