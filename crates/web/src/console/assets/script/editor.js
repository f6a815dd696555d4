/*
 * The editor. The definition of the draft, which stands in the page as JSON, is the one truth; everything here shows
 * it or changes it. Without a script the JSON itself is the form.
 */

import { Bar } from "./editor/bar.js";
import { Draft } from "./editor/draft.js";
import { Faults } from "./editor/faults.js";
import { Json, wrongWith } from "./editor/json.js";
import { Languages } from "./editor/languages.js";
import { List } from "./editor/list.js";
import { Look } from "./editor/look.js";
import { newQuestion, Palette } from "./editor/palette.js";
import { Saving } from "./editor/saving.js";
import { schedule } from "./editor/schedule.js";
import { Sections } from "./editor/sections.js";
import { Texts } from "./editor/texts.js";
import { know } from "./editor/types.js";

function start(root) {
  const area = document.getElementById("definition");
  // What the server gave, not what a browser has kept in the field. What cannot be read is mended as JSON first.
  if (wrongWith(area.defaultValue)) return;
  const draft = new Draft(JSON.parse(area.defaultValue));
  const { types, published } = JSON.parse(root.dataset.about);
  know(types);
  const saving = new Saving(draft, { address: root.dataset.save, tag: root.dataset.tag });
  const faults = new Faults(document.getElementById("faults"), draft, root);
  const sections = new Sections(root);
  const context = {
    published, faults, sections,
    palette: new Palette(draft),
    beginningOf: (type) => newQuestion(type, draft.questions),
    isFaulty: (path) => faults.countIn(path) > 0,
  };
  saving.addEventListener("stored", ({ detail }) => faults.set(detail.faults));
  faults.addEventListener("go", ({ detail }) => goTo(detail.path, draft, sections));
  const place = (name) => document.getElementById(`section-${name}`);
  new List(place("questions"), draft, context);
  new Texts(place("texts"), draft, context);
  new Languages(place("languages"), draft, context);
  new Json(area, draft, document.getElementById("json-wrong"), sections);
  new Look(document.getElementById("look"), draft, saving);
  new Bar(document.getElementById("bar"), saving, faults);
  sections.start();
  root.dataset.ready = "";
  faults.set(JSON.parse(root.dataset.faults));
}

/** Shows the part of the editor where something is. */
function goTo(path, draft, sections) {
  const [first, second] = path;
  sections.pane("write");
  if (first === "questions" && second !== undefined) {
    sections.show("questions");
    if (draft.selected !== Number(second)) draft.select(Number(second));
  } else {
    sections.show(first === "translations" ? "languages" : first === "questions" ? "json" : "texts");
  }
}

const root = document.getElementById("editor");
if (root) start(root);
// It also has a page of its own, where something in it is to be corrected.
schedule(document.getElementById("schedule"));
