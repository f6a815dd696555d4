/*
 * Removes translations together with their originals, because stale translations are faults. Also
 * removes empty values, so that the definition contains only what the author wrote.
 */

import { typeOf } from "./types.js";

/** The translatable texts of a question: single fields, or lists with a label per id. */
export function textsOf(question) {
  // For an unknown type, keep all fields.
  const fields = typeOf(question)?.fields ?? Object.entries(question).map(([name, value]) => ({ name, kind: Array.isArray(value) ? "choices" : "text" }));
  const own = (wanted) => fields.filter(({ kind }) => kind === wanted).map(({ name }) => name);
  const plain = ["prompt", "help", ...own("text")].filter((name) => question[name]);
  const lists = own("choices").filter((name) => Array.isArray(question[name]));
  return { plain, lists };
}

export function prune(definition) {
  const translations = definition.translations;
  if (!translations || typeof translations !== "object") return;
  const questions = Array.isArray(definition.questions) ? definition.questions : [];
  for (const texts of Object.values(translations)) {
    if (!texts || typeof texts !== "object") continue;
    if (!definition.description) delete texts.description;
    for (const name of ["title", "body"]) if (!definition.ending?.[name]) delete texts.ending?.[name];
    for (const name of ["title", "body", "buttonText"]) if (!definition.welcome?.[name]) delete texts.welcome?.[name];
    for (const list of ["endings", "sections"]) pruneNamed(texts, definition, list);
    for (const [id, own] of Object.entries(texts.questions ?? {})) pruneQuestion(texts.questions, id, own, questions);
    dropEmpty(texts, "ending");
    dropEmpty(texts, "welcome");
    dropEmpty(texts, "questions");
  }
}

/** Endings or sections: those that are gone, and texts that are. */
function pruneNamed(texts, definition, list) {
  const originals = Array.isArray(definition[list]) ? definition[list] : [];
  for (const [id, own] of Object.entries(texts[list] ?? {})) {
    const original = originals.find((each) => each?.id === id);
    for (const name of Object.keys(own ?? {})) if (!original?.[name]) delete own[name];
    if (!original) delete texts[list][id];
    else dropEmpty(texts[list], id);
  }
  dropEmpty(texts, list);
}

function pruneQuestion(all, id, own, questions) {
  const question = questions.find((each) => each?.id === id);
  if (!question || !own) return delete all[id];
  const { plain, lists } = textsOf(question);
  for (const name of Object.keys(own)) {
    if (lists.includes(name)) {
      const ids = question[name].map((choice) => choice?.id);
      for (const key of Object.keys(own[name] ?? {})) if (!ids.includes(key)) delete own[name][key];
      dropEmpty(own, name);
    } else if (name === "optionAlts" && lists.includes("options")) {
      const ids = question.options.filter((choice) => choice?.image?.alt).map(({ id }) => id);
      for (const key of Object.keys(own[name] ?? {})) if (!ids.includes(key)) delete own[name][key];
      dropEmpty(own, name);
    } else if (!plain.includes(name) && !(name === "imageAlt" && question.image?.alt)) {
      delete own[name];
    }
  }
  dropEmpty(all, id);
}

function dropEmpty(parent, name) {
  const value = parent[name];
  if (value && typeof value === "object" && Object.keys(value).length === 0) delete parent[name];
}
