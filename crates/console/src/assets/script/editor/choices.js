/*
 * Options, rows and columns: their labels, their order, and, collapsed, their scores and the ids
 * under which answers are stored. Several pasted lines become several choices.
 */

import { announce, button, el, pointer, redraw, tick } from "./dom.js";
import { draggable } from "./dragging.js";
import { idFrom, isMadeUp } from "./ids.js";
import { imageEditor } from "./images.js";

export function choicesEditor(draft, at, { name: list, label: title, score, fixed, image }, context) {
  const place = el("fieldset", { className: "choicelist", data: { pointer: pointer(["questions", at, list]), list }, tabIndex: -1 });
  const choices = () => (Array.isArray(draft.questions[at][list]) ? draft.questions[at][list] : (draft.questions[at][list] = []));
  const word = list.slice(0, -1);
  let areIdsShown = false;
  let areScoresShown = score && choices().some((choice) => typeof choice?.score === "number");
  const isRandom = fixed && draft.questions[at].optionOrder === "random";

  const draw = () => redraw(place,
    el("legend", { className: "label" }, title),
    el("ol", {}, choices().map(row)),
    el("div", { className: "buttons" },
      button(`+ Add ${word === "option" ? "an" : "a"} ${word}`, add, { data: { key: `add-${list}` } }),
      el("span", { className: "hint" }, `Paste several lines to add several ${list}`),
      score && button(areScoresShown ? "Hide scores" : "Show scores", () => { areScoresShown = !areScoresShown; draw() }, { className: "button small quiet", data: { key: `scores-${list}` } }),
      button(areIdsShown ? "Hide IDs" : "Show IDs", () => { areIdsShown = !areIdsShown; draw() }, { className: "button small quiet", data: { key: `ids-${list}` } })));

  const changed = () => { draw(); draft.changed(false); context.faults.mark() };

  function row(choice, place) {
    const path = ["questions", at, list, place];
    const label = el("input", {
      className: "input", value: choice?.label ?? "", placeholder: `${word[0].toUpperCase()}${word.slice(1)} ${place + 1}`, aria: { label: `${title}: ${place + 1}` }, data: { pointer: pointer([...path, "label"]) },
      oninput: () => { choice.label = label.value; draft.changed(false, { key: pointer([...path, "label"]) }) },
      onpaste: (event) => paste(event, place),
      onchange: settle,
      onkeydown: (event) => onKey(event, place),
    });
    const id = areIdsShown && el("input", {
      className: "input mono", value: choice?.id ?? "", aria: { label: `ID of ${word} ${place + 1}` }, data: { pointer: pointer([...path, "id"]) },
      onchange: () => draft.renameChoice(at, list, place, id.value.trim()),
    });
    const points = areScoresShown && el("input", {
      className: "input score", type: "number", step: "any", value: choice?.score ?? "", placeholder: "Score", aria: { label: `Score of ${word} ${place + 1}` },
      data: { pointer: pointer([...path, "score"]) },
      oninput: () => draft.set([...path, "score"], points.value === "" ? undefined : Number(points.value)),
    });
    const keeps = isRandom && tick("Keep place", choice?.fixed === true, (on) => draft.set([...path, "fixed"], on), [...path, "fixed"]);
    const wasPublished = context.published[draft.questions[at].id]?.choices?.includes(choice?.id);
    const mover = (sign, wordOf, by) => button(sign, () => move(place, place + by), {
      className: "button small quiet", aria: { label: `Move ${word} ${place + 1} ${wordOf}` }, data: { key: `${list}${by}-${place}` },
      disabled: place + by < 0 || place + by >= choices().length,
    });
    const grip = el("span", { className: "grip small", aria: { hidden: "true" }, title: "Drag to move" }, "⠿");
    const item = el("li", {}, grip, label, points, id, keeps,
      id && wasPublished && el("span", { className: "hint" }, "Published: answers are stored under this ID"),
      el("span", { className: "movers" }, mover("↑", "up", -1), mover("↓", "down", 1),
        button("✕", () => remove(place), { className: "button small quiet", aria: { label: `Remove ${word} ${place + 1}` } })));
    if (image) item.insertBefore(imageEditor(draft, path, { area: item, of: `${word} ${place + 1}`, isSmall: true, context }), item.lastElementChild);
    draggable(item, grip, (to) => move(place, to));
    return item;
  }

  /** Several lines become several choices, from the one that they are pasted into. */
  function paste(event, index) {
    const lines = (event.clipboardData?.getData("text/plain") ?? "").split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
    if (lines.length < 2) return;
    event.preventDefault();
    const input = event.target;
    const first = input.value.slice(0, input.selectionStart) + lines[0] + input.value.slice(input.selectionEnd);
    choices()[index].label = first;
    const taken = choices().map((choice) => choice?.id);
    const more = lines.slice(1).map((label) => {
      const id = idFrom(label, [...taken, "other"], { fallback: word });
      taken.push(id);
      return { id, label };
    });
    choices().splice(index + 1, 0, ...more);
    // A pasted list replaces the empty choices of a new question.
    draft.questions[at][list] = choices().filter((choice) => choice?.label || !isMadeUp(choice?.id));
    changed();
    settle();
    const last = choices().indexOf(more.at(-1));
    place.querySelector(`[data-pointer="${pointer(["questions", at, list, last, "label"])}"]`)?.focus();
    announce(`${lines.length} ${list} pasted.`);
  }

  /** Generates an id from the label, unless it was chosen or published. */
  function settle() {
    const published = context.published[draft.questions[at].id]?.choices ?? [];
    for (const [index, choice] of choices().entries()) {
      if (!isMadeUp(choice?.id) || !choice.label || published.includes(choice.id)) continue;
      const taken = choices().filter((other) => other !== choice).map((other) => other?.id);
      draft.renameChoice(at, list, index, idFrom(choice.label, [...taken, "other"], { fallback: word }), { follows: true });
      const shown = place.querySelector(`[data-pointer="${pointer(["questions", at, list, index, "id"])}"]`);
      if (shown) shown.value = choice.id;
    }
  }

  function add() {
    settle();
    const taken = choices().map((choice) => choice?.id);
    let n = choices().length + 1;
    while (taken.includes(`${word}-${n}`)) n++;
    choices().push({ id: `${word}-${n}`, label: "" });
    changed();
    place.querySelector(`[data-pointer="${pointer(["questions", at, list, choices().length - 1, "label"])}"]`).focus();
  }

  function remove(index) {
    settle();
    const [gone] = choices().splice(index, 1);
    changed();
    place.querySelectorAll("li > input:not(.mono)")[Math.min(index, choices().length - 1)]?.focus();
    announce(`${word} ${gone?.label ?? ""} removed.`);
  }

  function move(from, to) {
    if (to < 0 || to >= choices().length) return;
    settle();
    choices().splice(to, 0, ...choices().splice(from, 1));
    changed();
    announce(`${choices()[to].label} is now ${word} ${to + 1} of ${choices().length}.`);
    place.querySelector(`[data-pointer="${pointer(["questions", at, list, to, "label"])}"]`)?.focus();
  }

  /** Enter moves to the next, and adds one at the end; Alt and the arrow keys move. */
  function onKey(event, index) {
    if (event.altKey && ["ArrowUp", "ArrowDown"].includes(event.key)) {
      event.preventDefault();
      event.stopPropagation();
      move(index, index + (event.key === "ArrowUp" ? -1 : 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      const next = place.querySelectorAll("li > input:not(.mono)")[index + 1];
      if (next) next.focus();
      else add();
    }
  }

  draw();
  return place;
}
