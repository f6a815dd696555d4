/*
 * Ids: what answers are stored under. An author need not think of them: they are made of the words, until the
 * flow is published with them; from then on they stay, because results are kept together by them.
 */

const ID_CHARS = 32;

/** A free id made of a text. A question's starts with a letter. */
export function idFrom(text, taken, { fallback = "question" } = {}) {
  const plain = String(text ?? "").normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  const words = plain.replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  let base = words.length > ID_CHARS ? words.slice(0, ID_CHARS + 1).replace(/-[^-]*$/, "") : words;
  base = base.slice(0, ID_CHARS) || fallback;
  if (fallback === "question" && !/^[a-z]/.test(base)) base = `q-${base}`;
  return free(base, taken);
}

export function free(base, taken) {
  if (!taken.includes(base)) return base;
  for (let n = 2; ; n++) if (!taken.includes(`${base}-${n}`)) return `${base}-${n}`;
}

/** Whether an id was made up for something that had no words yet. */
export const isMadeUp = (id) => /^(question|option|row|column)(-\d+)?$/.test(id ?? "");
