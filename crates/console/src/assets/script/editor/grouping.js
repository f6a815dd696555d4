/*
 * Sections: questions that share a page. Their questions follow one another, so a section is a run
 * of the list. What moves into a run joins it; what moves away from it leaves.
 */

import { free } from "./ids.js";

const listOf = (definition, name) => (Array.isArray(definition[name]) ? definition[name] : []);
const isSection = (section) => Array.isArray(section?.questions);

/** The section of a question, by its id. */
export const sectionOf = (definition, id) => listOf(definition, "sections").find((section) => isSection(section) && section.questions.includes(id));

const at = (definition, index) => listOf(definition, "questions")[index]?.id;

/** Whether a question is on the same page as the one before it. */
export function isJoined(definition, index) {
  const section = sectionOf(definition, at(definition, index));
  return index > 0 && section !== undefined && section === sectionOf(definition, at(definition, index - 1));
}

/** Puts a question, with those on its page, on the page of the one before it. */
export function join(definition, index) {
  const [before, own] = [index - 1, index].map((each) => sectionOf(definition, at(definition, each)));
  if (before && own) {
    before.questions.push(...own.questions);
    before.title ??= own.title;
    definition.sections = definition.sections.filter((section) => section !== own);
  } else if (before || own) {
    (before ?? own).questions.push(at(definition, before ? index : index - 1));
  } else {
    create(definition, [at(definition, index - 1), at(definition, index)]);
  }
  tidy(definition);
}

/** Starts a new page with a question. */
export function split(definition, index) {
  const section = sectionOf(definition, at(definition, index));
  if (!section) return;
  const place = section.questions.indexOf(at(definition, index));
  const rest = section.questions.splice(place);
  if (rest.length > 1) create(definition, rest);
  tidy(definition);
}

/** Asks the questions of a section one by one again. */
export function dissolve(definition, section) {
  definition.sections = definition.sections.filter((each) => each !== section);
  tidy(definition);
}

/**
 * After a question was added or moved: it belongs to the page that it is in, or stays in its own at
 * the edge of it.
 */
export function settle(definition, index, original) {
  const id = at(definition, index);
  const own = sectionOf(definition, original ?? id);
  const [before, after] = [index - 1, index + 1].map((each) => sectionOf(definition, at(definition, each)));
  const wanted = before && before === after ? before : [before, after].includes(own) ? own : undefined;
  for (const section of listOf(definition, "sections").filter(isSection)) section.questions = section.questions.filter((each) => each !== id);
  wanted?.questions.push(id);
  tidy(definition);
}

/**
 * After a question was removed, and after every other change: in order, and none that has no
 * effect.
 */
export function tidy(definition) {
  // What has another form came from the JSON, where it is a fault to be fixed.
  if (!Array.isArray(definition.sections) || !definition.sections.every(isSection)) return;
  const order = new Map(listOf(definition, "questions").map(({ id }, index) => [id, index]));
  const { sections } = definition;
  for (const section of sections) {
    section.questions = section.questions.filter((id) => order.has(id)).sort((one, other) => order.get(one) - order.get(other));
  }
  const first = ({ questions }) => order.get(questions[0]);
  definition.sections = sections
    .filter(({ questions, title }) => questions.length > 1 || (questions.length === 1 && title))
    .sort((one, other) => first(one) - first(other));
  if (definition.sections.length === 0) delete definition.sections;
}

function create(definition, questions) {
  const taken = listOf(definition, "sections").map((section) => section?.id);
  definition.sections = [...listOf(definition, "sections"), { id: free("section", taken), questions }];
}
