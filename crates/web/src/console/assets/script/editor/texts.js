/*
 * What a flow has besides its questions: its title, what stands first, who is asked for consent, how it ends.
 */

import { el, field, redraw, select } from "./dom.js";
import { languageField } from "./languages.js";

export class Texts {
  constructor(place, draft, context) {
    Object.assign(this, { place, draft, context });
    draft.addEventListener("change", ({ detail }) => detail.shape && this.draw());
    this.draw();
  }

  draw() {
    const { definition } = this.draft;
    const ending = definition.ending && typeof definition.ending === "object" ? definition.ending : {};
    const line = (label, path, value, more = {}) => this.control("input", label, path, value, more);
    const text = (label, path, value, more = {}) => this.control("textarea", label, path, value, { rows: 3, ...more });
    redraw(this.place, el("div", { className: "form" },
      line("Title", ["title"], definition.title, { hint: "Stands above the questions." }),
      text("Description", ["description"], definition.description, { hint: "What respondents read first." }),
      field("Consent", select([["ask", "Ask whether answers may be linked to the person"], ["never", "Never ask; answers are linked to nobody"]],
        definition.respondentAnalytics ?? "never", (value) => this.draft.set(["respondentAnalytics"], value)), { path: ["respondentAnalytics"] }),
      languageField(this.draft),
      el("h2", {}, "After the last question"),
      line("Title of the ending", ["ending", "title"], ending.title, { hint: "“Thank you” where there is none." }),
      text("Text of the ending", ["ending", "body"], ending.body),
      line("Address to go on to", ["ending", "redirectUrl"], ending.redirectUrl, { hint: "Where the page leads after the answers are stored; none is fine.", type: "url" })));
    this.context.faults.mark();
  }

  control(name, label, path, value, { hint, ...properties }) {
    const input = el(name, { className: "input", value: value ?? "", ...properties, oninput: () => this.draft.set(path, input.value) });
    return field(label, input, { path, hint });
  }
}
