/*
 * The form that adds a filter by an answer: offers only the choices and the comparisons of the
 * selected question. The server checks both.
 */

const question = document.getElementById("question");
const operator = document.getElementById("operator");
const value = document.getElementById("value");
const choices = document.getElementById("choices");

if (question && operator && value && choices) {
  const all = [...choices.children];
  const offer = () => {
    choices.replaceChildren(...all.filter((option) => option.dataset.question === question.value));
    const fitting = question.selectedOptions[0]?.dataset.operators?.split(",");
    for (const option of operator.options) option.hidden = option.disabled = Boolean(fitting && !fitting.includes(option.value));
    if (operator.selectedOptions[0]?.disabled) operator.value = "";
    value.disabled = ["answered", "unanswered"].includes(operator.value);
  };
  question.addEventListener("change", offer);
  operator.addEventListener("change", offer);
  offer();
}
