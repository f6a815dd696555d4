/*
 * The faults that prevent publishing, as reported by the server: a list at the top with links to the fields, and a
 * message next to each field. A fault without a field is shown at the nearest enclosing element.
 */

import { el, pathOf, pointer } from "./dom.js";
import { quoted } from "./words.js";

export class Faults extends EventTarget {
  constructor(place, draft, root) {
    super();
    Object.assign(this, { place, draft, root, all: [] });
  }

  set(all) {
    this.all = all;
    this.draw();
    this.mark();
    this.dispatchEvent(new CustomEvent("change"));
  }

  /** The number of faults below a path. */
  countIn(path) {
    const start = pointer(path);
    return this.all.filter((fault) => fault.pointer === start || fault.pointer.startsWith(`${start}/`)).length;
  }

  draw() {
    const count = this.all.length;
    this.place.hidden = count === 0;
    const title = count === 1 ? "One problem needs fixing before you can publish" : `${count} problems need fixing before you can publish`;
    const items = this.all.map((fault) => el("li", {},
      el("a", { href: "#", onclick: (event) => { event.preventDefault(); this.goTo(fault.pointer) } }, `${this.where(fault.pointer)}: ${faultMessage(fault)}`)));
    const wasOpen = this.place.querySelector("details")?.open ?? true;
    this.place.replaceChildren(el("details", { open: wasOpen }, el("summary", {}, title), el("ul", {}, items)));
  }

  goTo(text) {
    this.dispatchEvent(new CustomEvent("go", { detail: { path: pathOf(text) } }));
    const control = this.controlOf(text);
    const target = control?.matches("fieldset") ? (control.querySelector("input, select, textarea, button") ?? control) : control;
    for (const fold of ancestors(target)) if (fold.matches("details")) fold.open = true;
    target?.focus();
    target?.scrollIntoView({ block: "center" });
  }

  /** The control for a pointer, or the nearest enclosing one. */
  controlOf(text) {
    const path = pathOf(text);
    const controls = [...this.root.querySelectorAll("[data-pointer]")].filter((each) => !each.closest("[hidden]"));
    for (let length = path.length; length > 0; length--) {
      const wanted = pointer(path.slice(0, length));
      const found = controls.find(({ dataset }) => dataset.pointer === wanted);
      if (found) return found;
    }
    return null;
  }

  /** Shows the faults next to the visible fields. */
  mark() {
    for (const old of this.root.querySelectorAll(".fault")) old.remove();
    for (const old of this.root.querySelectorAll("[data-faulty]")) {
      delete old.dataset.faulty;
      old.removeAttribute("aria-invalid");
    }
    for (const [at, fault] of this.all.entries()) {
      const control = this.controlOf(fault.pointer);
      if (!control) continue;
      const beside = el("p", { className: "error fault", id: `fault-${at}` }, sentence(faultMessage(fault)));
      if (control.matches("fieldset")) control.append(beside);
      else if (control.type === "checkbox") control.closest("label").after(beside);
      else control.after(beside);
      control.dataset.faulty = "";
      if (!control.matches("fieldset, td")) control.setAttribute("aria-invalid", "true");
    }
  }

  /** The location of a fault in the author's terms. */
  where(text) {
    const [first, second, ...rest] = pathOf(text);
    const names = { questions: "Questions", title: "Title", description: "Description", ending: "Ending", endings: "Ending", sections: "Section", welcome: "Welcome screen", defaultLocale: "Language", redirectUrl: "Redirect URL", body: "Text", prompt: "text", label: "label", visibleIf: "condition", next: "jump" };
    const named = (part) => names[part] ?? part;
    if (first === "questions" && second !== undefined) {
      const question = this.draft.questions[second];
      const about = question?.prompt ? ` ${quoted(question.prompt)}` : "";
      const part = rest.filter((step) => !/^\d+$/.test(step)).map((step) => (step === "id" ? "ID" : named(step).toLowerCase())).join(", ");
      const number = rest.find((step) => /^\d+$/.test(step));
      return `Question ${Number(second) + 1}${about}${part && `, ${part}`}${number === undefined ? "" : ` ${Number(number) + 1}`}`;
    }
    if (first === "translations") return `Language ${second ?? ""}${rest.length > 0 ? `, ${rest.join(" ")}` : ""}`;
    return [first, second, ...rest].filter((part) => part !== undefined).map(named).join(", ") || "Flow";
  }
}

/** The message of a fault, without JSON field names. */
const faultMessage = ({ message }) => (/^\w+ is required$/.test(message) ? "is missing" : message.replace(/^must not be empty: /, ""));

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

function* ancestors(element) {
  for (let each = element?.parentElement; each; each = each.parentElement) yield each;
}
