/*
 * The faults that prevent publishing, in the words of the server: a list at the top with links to
 * the fields, and a message next to each field. A fault without a field is shown at the nearest
 * enclosing element. A new flow shows none until something was written or publishing was tried.
 */

import { el, pathOf, pointer } from "./dom.js";

/** How the server words a text that is not there. */
const UNWRITTEN = ["is missing", "must not be empty"];

export class Faults extends EventTarget {
  constructor(place, draft, root) {
    super();
    Object.assign(this, { place, draft, root, all: [], isTried: false });
    // The author has left a question that was being written.
    draft.addEventListener("select", () => this.redraw());
  }

  set(all) {
    this.all = all;
    this.redraw();
  }

  /** The number of faults below a path. */
  countIn(path) {
    const start = pointer(path);
    return this.shown.filter((fault) => fault.pointer === start || fault.pointer.startsWith(`${start}/`)).length;
  }

  /** Publishing was tried: an empty flow shows what it needs. */
  insist() {
    this.isTried = true;
    this.redraw();
  }

  redraw() {
    this.draw();
    this.mark();
    this.dispatchEvent(new CustomEvent("change"));
  }

  /**
   * The faults to show. What is still empty in a question that is being written for the first time
   * is not shown.
   */
  get shown() {
    if (this.isTried) return this.all;
    const { questions, definition, fresh, isShapely } = this.draft;
    if (isShapely && questions.length === 0 && !definition.description) return [];
    const writing = questions.indexOf(fresh);
    const isAwaited = ({ pointer: at, problem }) => at.startsWith(`/questions/${writing}/`) && UNWRITTEN.includes(problem);
    return writing < 0 ? this.all : this.all.filter((fault) => !isAwaited(fault));
  }

  draw() {
    const count = this.shown.length;
    this.place.hidden = count === 0;
    const title = count === 1 ? "One problem needs fixing before you can publish" : `${count} problems need fixing before you can publish`;
    const items = this.shown.map((fault) => el("li", {},
      el("a", { href: "#", onclick: (event) => { event.preventDefault(); this.goTo(fault.pointer) } }, `${fault.place}: ${fault.problem}`)));
    const wasOpen = this.place.querySelector("details")?.open ?? true;
    this.place.replaceChildren(el("details", { open: wasOpen }, el("summary", {}, title), el("ul", {}, items)));
  }

  goTo(text) {
    this.dispatchEvent(new CustomEvent("go", { detail: { path: pathOf(text) } }));
    const control = this.controlOf(text);
    const target = control?.matches("fieldset, section") ? (control.querySelector("input, select, textarea, button") ?? control) : control;
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
    for (const [at, fault] of this.shown.entries()) {
      const control = this.controlOf(fault.pointer);
      if (!control) continue;
      const beside = el("p", { className: "error fault", id: `fault-${at}` }, sentence(fault.problem));
      if (control.matches("fieldset, section")) control.append(beside);
      else if (control.type === "checkbox") control.closest("label").after(beside);
      else control.after(beside);
      control.dataset.faulty = "";
      if (!control.matches("fieldset, section, td")) control.setAttribute("aria-invalid", "true");
    }
  }
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

function* ancestors(element) {
  for (let each = element?.parentElement; each; each = each.parentElement) yield each;
}
