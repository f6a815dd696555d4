// One field for every question type.

import type { Answer, Choice, Issue, QuestionView } from "sluice";

interface FieldProps {
  question: QuestionView;
  value: Answer | undefined;
  issue: Issue | undefined;
  onChange: (value: Answer) => void;
}

/**
 * An issue in words for respondents; its own message is for developers, and names the question by
 * its id.
 */
function problemOf({ code, message }: Issue, { type }: QuestionView): string {
  if (code !== "answer_required") return message.replace(/^Question "[^"]*" takes /, "Enter ");
  return type === "matrix" ? "Please choose one in every row." : "Please answer this question.";
}

export function Field({ question, value, issue, onChange }: FieldProps) {
  const { id, prompt, promptHtml = prompt, helpHtml, required } = question;
  return (
    <fieldset id={`q-${id}`} aria-describedby={issue ? `e-${id}` : undefined}>
      <legend>
        <span dangerouslySetInnerHTML={{ __html: promptHtml }} />
        {required && <abbr title="required"> *</abbr>}
      </legend>
      {helpHtml && <div className="text muted" dangerouslySetInnerHTML={{ __html: helpHtml }} />}
      <Control question={question} value={value} onChange={onChange} />
      {issue && <p className="error" id={`e-${id}`} role="alert">{problemOf(issue, question)}</p>}
    </fieldset>
  );
}

type ControlProps = Omit<FieldProps, "issue">;

const textOf = (value: Answer | undefined): string => [value ?? ""].flat()[0] ?? "";
const listOf = (value: Answer | undefined): readonly string[] => [value ?? []].flat();

function Control(props: ControlProps) {
  const { question, value, onChange } = props;
  const { id, type, min, max, maxLength, prompt } = question;
  const INPUTS: { [type: string]: string } = { shortText: "text", email: "email", url: "url", phone: "tel", date: "date", number: "text" };
  switch (type) {
    case "statement":
      return null;
    case "longText":
      return <textarea name={id} rows={4} aria-label={prompt} maxLength={maxLength} value={textOf(value)} onChange={({ target }) => onChange(target.value)} />;
    case "singleChoice": case "dropdown": case "multipleChoice":
      return <Choices {...props} />;
    case "ranking":
      return <Ranking {...props} />;
    case "matrix":
      return <Matrix {...props} />;
    case "yesNo":
      return <Words words={[["yes", "Yes"], ["no", "No"]]} {...props} />;
    case "consent":
      return (
        <label className="choice">
          <input type="checkbox" name={id} checked={textOf(value) === "accepted"} onChange={({ target }) => onChange(target.checked ? "accepted" : "")} />
          I agree
        </label>
      );
    case "rating": case "nps": {
      const [low, high] = type === "nps" ? [0, 10] : [1, Number(max ?? 5)];
      const marks = Array.from({ length: high - low + 1 }, (_, at) => String(low + at));
      return (
        <>
          <Words words={marks.map((mark) => [mark, mark])} {...props} />
          <p className="ends muted"><span>{question.lowLabel}</span><span>{question.highLabel}</span></p>
        </>
      );
    }
    default:
      return (
        <input type={INPUTS[type] ?? "text"} name={id} aria-label={prompt} inputMode={type === "number" ? "decimal" : undefined}
          min={min} max={max} maxLength={maxLength} value={textOf(value)} onChange={({ target }) => onChange(target.value)} />
      );
  }
}

function Words({ question: { id }, words, value, onChange }: ControlProps & { words: string[][] }) {
  return (
    <div className="words">
      {words.map(([word = "", label]) => (
        <label key={word} className="word">
          <input type="radio" name={id} value={word} checked={textOf(value) === word} onChange={() => onChange(word)} />
          <span>{label}</span>
        </label>
      ))}
    </div>
  );
}

function Choices({ question, value, onChange }: ControlProps) {
  const { id, type, options = [], allowOther } = question;
  const isMultiple = type === "multipleChoice";
  const chosen = listOf(value);
  const other = chosen.find((text) => text.startsWith("other:"));
  const toggle = (text: string, isOn: boolean, isSame = (it: string) => it === text) => {
    if (!isMultiple) return onChange(isOn ? text : "");
    const rest = chosen.filter((it) => !isSame(it));
    onChange(isOn ? [...rest, text] : rest);
  };
  const isOther = (text: string) => text.startsWith("other:");
  if (type === "dropdown") {
    return (
      <>
        <select name={id} aria-label={question.prompt} value={other === undefined ? chosen[0] ?? "" : "other:"} onChange={({ target }) => onChange(target.value)}>
          <option value="">Choose…</option>
          {options.map((option: Choice) => <option key={option.id} value={option.id}>{option.label}</option>)}
          {allowOther && <option value="other:">Other</option>}
        </select>
        {other !== undefined && <input type="text" aria-label="Other" value={other.slice(6)} onChange={({ target }) => onChange(`other:${target.value}`)} />}
      </>
    );
  }
  return (
    <>
      {options.map(({ id: option, label }: Choice) => (
        <label key={option} className="choice">
          <input type={isMultiple ? "checkbox" : "radio"} name={id} value={option} checked={chosen.includes(option)}
            onChange={({ target }) => toggle(option, target.checked)} />
          {label}
        </label>
      ))}
      {allowOther && (
        <label className="choice">
          <input type={isMultiple ? "checkbox" : "radio"} name={id} value="other:" checked={other !== undefined}
            onChange={({ target }) => toggle("other:", target.checked, isOther)} />
          Other
          <input type="text" aria-label="Other" value={other?.slice(6) ?? ""} onChange={({ target }) => toggle(`other:${target.value}`, true, isOther)} />
        </label>
      )}
    </>
  );
}

function Ranking({ question: { id, options = [] }, value, onChange }: ControlProps) {
  const order = listOf(value).length ? listOf(value) : options.map((option) => option.id);
  const labels = new Map(options.map((option) => [option.id, option.label]));
  const up = (at: number) => {
    const moved = [...order];
    [moved[at - 1], moved[at]] = [moved[at]!, moved[at - 1]!];
    onChange(moved);
  };
  return (
    <ol className="ranking">
      {order.map((option, at) => (
        <li key={option}>
          {labels.get(option)}
          {at > 0 && <button type="button" name={`${id}.${option}`} aria-label={`Move ${labels.get(option)} up`} onClick={() => up(at)}>↑</button>}
        </li>
      ))}
      {listOf(value).length === 0 && <button type="button" onClick={() => onChange(order)}>Keep this order</button>}
    </ol>
  );
}

function Matrix({ question: { id, rows = [], columns = [] }, value, onChange }: ControlProps) {
  const cells = listOf(value);
  const choose = (row: string, column: string) => onChange([...cells.filter((cell) => !cell.startsWith(`${row}:`)), `${row}:${column}`]);
  return (
    <table>
      <thead><tr><td />{columns.map((column) => <th key={column.id} scope="col">{column.label}</th>)}</tr></thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <th scope="row">{row.label}</th>
            {columns.map((column) => (
              <td key={column.id}>
                <input type="radio" name={`${id}.${row.id}`} value={column.id} aria-label={`${row.label}: ${column.label}`}
                  checked={cells.includes(`${row.id}:${column.id}`)} onChange={() => choose(row.id, column.id)} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
