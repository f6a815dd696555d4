/*
 * The sections of the editor, one of which is visible: questions, texts, languages, schedule, JSON.
 * On a narrow screen the preview is another one. The address contains the current section, so that
 * a reload shows it again.
 */

export class Sections extends EventTarget {
  constructor(root) {
    super();
    this.root = root;
    this.switches = [...root.querySelectorAll("[data-shows-section]")];
    for (const each of this.switches) each.addEventListener("click", () => this.show(each.dataset.showsSection));
    for (const each of root.querySelectorAll("[data-shows-pane]")) each.addEventListener("click", () => this.pane(each.dataset.showsPane));
    this.pane("write");
  }

  start() {
    const wanted = location.hash.slice(1);
    this.show(this.switches.some(({ dataset }) => dataset.showsSection === wanted) ? wanted : "questions");
  }

  show(name) {
    for (const each of this.switches) {
      const isIt = each.dataset.showsSection === name;
      each.setAttribute("aria-pressed", String(isIt));
      document.getElementById(`section-${each.dataset.showsSection}`).hidden = !isIt;
    }
    history.replaceState(history.state, "", name === "questions" ? location.pathname + location.search : `#${name}`);
    this.dispatchEvent(new CustomEvent("shown", { detail: { name } }));
  }

  /** On a narrow screen: the editor or the preview. */
  pane(name) {
    this.root.dataset.pane = name;
    for (const each of this.root.querySelectorAll("[data-shows-pane]")) each.setAttribute("aria-pressed", String(each.dataset.showsPane === name));
  }
}
