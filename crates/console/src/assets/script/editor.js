/*
 * The editor. The definition of the draft, embedded in the page as JSON, is the single source of
 * truth; everything here shows or changes it. Without JavaScript the JSON itself is the form.
 */

import { Bar } from "./editor/bar.js";
import { Draft } from "./editor/draft.js";
import { Faults } from "./editor/faults.js";
import { History } from "./editor/history.js";
import { Json, jsonError } from "./editor/json.js";
import { Languages } from "./editor/languages.js";
import { List } from "./editor/list.js";
import { Preview } from "./editor/preview.js";
import { newQuestion, Palette } from "./editor/palette.js";
import { Saving } from "./editor/saving.js";
import { Schedule } from "./editor/schedule.js";
import { Sections } from "./editor/sections.js";
import { Texts } from "./editor/texts.js";
import { Title } from "./editor/title.js";
import { registerTypes } from "./editor/types.js";

function start(root) {
  const area = document.getElementById("definition");
  // Use the server's value, not one that the browser restored. Invalid JSON must be fixed first.
  if (jsonError(area.defaultValue)) return;
  const draft = new Draft(JSON.parse(area.defaultValue));
  const { types, published } = JSON.parse(root.dataset.about);
  registerTypes(types);
  const saving = new Saving(draft, { address: root.dataset.save, tag: root.dataset.tag });
  const faults = new Faults(document.getElementById("faults"), draft, root);
  const sections = new Sections(root);
  const context = {
    published, faults, sections,
    palette: new Palette(draft),
    images: root.dataset.images,
    beginningOf: (type) => newQuestion(type, draft.questions),
    isFaulty: (path) => faults.countIn(path) > 0,
  };
  saving.addEventListener("stored", ({ detail }) => faults.set(detail.faults));
  faults.addEventListener("go", ({ detail }) => goTo(detail.path, draft, sections));
  const place = (name) => document.getElementById(`section-${name}`);
  const history = new History(draft, root);
  context.undoable = (text) => bar.undoable(text);
  new Title(document.getElementById("title-row"), draft);
  new List(place("questions"), draft, context);
  new Texts(place("texts"), draft, context);
  new Languages(place("languages"), draft, context);
  new Json(area, draft, document.getElementById("json-wrong"), sections);
  new Preview(document.getElementById("preview-pane"), draft, saving, sections);
  const schedule = new Schedule(document.getElementById("schedule"));
  schedule.start();
  const bar = new Bar({
    place: document.getElementById("bar"), saving, faults, history, draft, schedule, sections,
    published: root.dataset.published ? JSON.parse(root.dataset.published) : null,
  });
  // The review before publishing links to fields, by their pointers.
  const linked = () => (location.hash.startsWith("#/") ? decodeURIComponent(location.hash.slice(1)) : null);
  const wanted = linked();
  sections.start();
  root.dataset.ready = "";
  faults.set(JSON.parse(root.dataset.faults));
  if (wanted) {
    faults.insist();
    faults.goTo(wanted);
  }
  addEventListener("hashchange", () => linked() && faults.goTo(linked()));
}

/** Shows the section of the editor that contains a pointer. */
function goTo(path, draft, sections) {
  const [first, second] = path;
  sections.pane("write");
  if (first === "sections" || (first === "questions" && draft.isShapely && second === undefined)) {
    sections.show("questions");
  } else if (first === "questions" && second !== undefined) {
    sections.show("questions");
    if (draft.selected !== Number(second)) draft.select(Number(second));
  } else {
    sections.show(first === "translations" ? "languages" : first === "questions" ? "json" : "texts");
  }
}

const root = document.getElementById("editor");
if (root) start(root);
// The settings are also a separate page, if they have errors.
else if (document.getElementById("schedule")) new Schedule(document.getElementById("schedule"));
