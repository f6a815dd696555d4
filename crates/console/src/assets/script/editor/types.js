/*
 * The table of question types, as the server wrote it into the page: labels, fields, and the
 * comparisons that conditions can use. Nothing in these scripts lists the types.
 */

let types = [];

/** Takes the table; called once, before anything is drawn. */
export function registerTypes(table) {
  types = table;
}

export const allTypes = () => types;
export const typeNamed = (name) => types.find((type) => type.name === name);
export const typeOf = (question) => typeNamed(question?.type);
export const isAnswerable = (question) => typeOf(question)?.isAnswerable ?? true;
