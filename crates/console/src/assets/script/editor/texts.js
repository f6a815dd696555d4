/*
 * The other texts of a flow: title, description, consent, ending.
 */

import { el, field, redraw, select } from "./dom.js";
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
    const line = (label, path, value, more = {}) => this.control("input", label, path, value, more);
    const text = (label, path, value, more = {}) => this.control("textarea", label, path, value, { rows: 3, ...more });
    redraw(this.place, el("div", { className: "form" },
      line("Title", ["title"], definition.title, { hint: "Shown above the questions" }),
      text("Description", ["description"], definition.description, { hint: "Shown before the first question" }),
      field("Consent", select([["ask", "Ask whether the response may be linked to the respondent"], ["never", "Never ask; responses are anonymous"]],
        definition.respondentAnalytics ?? "never", (value) => this.draft.set(["respondentAnalytics"], value)), { path: ["respondentAnalytics"] }),
      languageField(this.draft),
      el("h2", {}, "Ending"),
      line("Ending title", ["ending", "title"], ending.title, { hint: "Default: “Thank you”" }),
      text("Ending text", ["ending", "body"], ending.body),
      line("Redirect URL", ["ending", "redirectUrl"], ending.redirectUrl, { hint: "Respondents are sent here after their answers are saved (optional)", type: "url" })));
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
