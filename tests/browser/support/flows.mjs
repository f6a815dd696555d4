// The flows of the tests.

const options = (...ids) => ids.map((id) => ({ id, label: `Option ${id}` }));

/** One question of each type, with an answer to each as it is stored. */
export const EVERY_TYPE = [
  [{ id: "intro", type: "statement", prompt: "Welcome", help: "This takes two minutes." }, null],
  [{ id: "nps", type: "nps", prompt: "Would you recommend us?", required: true, lowLabel: "No", highLabel: "Yes" }, "10"],
  [{ id: "name", type: "shortText", prompt: "Your name", maxLength: 100 }, "Ada Łovelace 🙂"],
  [{ id: "story", type: "longText", prompt: "What happened?", minLength: 5, maxLength: 2000 }, "First line\nsecond line"],
  [{ id: "mail", type: "email", prompt: "Your address", required: true }, "ada@example.com"],
  [{ id: "site", type: "url", prompt: "Your website" }, "https://example.com/ada"],
  [{ id: "tel", type: "phone", prompt: "Your number" }, "+49 (30) 123-456"],
  [{ id: "team", type: "number", prompt: "How many are you?", min: -1, max: 500.5 }, "12.50"],
  [{ id: "since", type: "date", prompt: "Since when?", min: "2020-01-01", max: "2026-12-31" }, "2024-03-03"],
  [{ id: "plan", type: "singleChoice", prompt: "Which plan?", options: options("free", "pro"), allowOther: true }, "other:My own"],
  [{ id: "land", type: "dropdown", prompt: "Where are you?", options: options("de", "fr") }, "fr"],
  [{ id: "use", type: "multipleChoice", prompt: "What do you use?", options: options("api", "web", "app"), allowOther: true, maxSelected: 3 },
    ["api", "app", "other:By hand"]],
  [{ id: "order", type: "ranking", prompt: "What matters most?", options: options("price", "speed", "care"), required: true },
    ["care", "price", "speed"]],
  [{ id: "grid", type: "matrix", prompt: "How good is …", rows: options("food", "room"), columns: options("bad", "good"), required: true },
    ["food:good", "room:bad"]],
  [{ id: "stars", type: "rating", prompt: "How many stars?" }, "4"],
  [{ id: "face", type: "rating", shape: "emoji", prompt: "How do you feel?" }, "5"],
  [{ id: "mark", type: "rating", shape: "number", max: 10, prompt: "Of ten?" }, "10"],
  [{ id: "again", type: "yesNo", prompt: "Once more?" }, "yes"],
  [{ id: "terms", type: "consent", prompt: "I accept the house rules.", required: true }, "accepted"],
];

/** Two questions and a conditional third; no consent. */
export const SHORT = {
  title: "Short",
  respondentAnalytics: "never",
  questions: [
    { id: "nps", type: "nps", prompt: "Would you recommend us?", required: true },
    { id: "why", type: "longText", prompt: "Why?", visibleIf: { question: "nps", lessThan: 7 } },
    { id: "name", type: "shortText", prompt: "Your name" },
  ],
  ending: { title: "Thank you", body: "We read every answer." },
};

/** One question, and the consent question. */
export const ASKING = {
  title: "Asking",
  respondentAnalytics: "ask",
  questions: [{ id: "nps", type: "nps", prompt: "Would you recommend us?" }],
};

/** A logo: a bar in a colour set by its own style. */
export function logo(colour = "#c2185b") {
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" width="96" height="32">
    <style>rect { fill: ${colour} }</style><rect width="96" height="32"/></svg>`;
  return `data:image/svg+xml;base64,${Buffer.from(drawing).toString("base64")}`;
}
