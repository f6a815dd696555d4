/*
 * Ids under which answers are stored. They are generated from the texts until the flow is
 * published. After that they stay the same, because results are combined by id.
 */

const ID_CHARS = 32;

/** An unused id generated from a text. A question id starts with a letter. */
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

/** Whether an id was generated before there was a text. */
export const isMadeUp = (id) => /^(question|option|row|column)(-\d+)?$/.test(id ?? "");
