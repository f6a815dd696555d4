// The formats of answers: e-mail and web addresses, telephone numbers, decimal numbers and dates.
//
// The same rules as crates/flow/src/{email,date}.rs and question/{decimal,types};
// tests/golden/judge holds both to them.

const URL_CHARS_MAX = 2_048;

/** The number of characters, not of UTF-16 units. */
export const chars = (text: string): number => [...text].length;

const bytes = (text: string) => new TextEncoder().encode(text).length;

const LOCAL = /^[\p{Alphabetic}\p{N}!#$%&'*+/=?^_`{|}~-]+$/u;
const LABEL = /^(?!-)[\p{Alphabetic}\p{N}-]+$/u;

export function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  const local = text.slice(0, at);
  const labels = text.slice(at + 1).split(".");
  return (
    at > 0 && bytes(text) <= 254 && bytes(local) <= 64 && labels.length > 1 &&
    local.split(".").every((atom) => LOCAL.test(atom)) &&
    labels.every((label) => LABEL.test(label) && !label.endsWith("-") && bytes(label) <= 63)
  );
}

export function isUrl(text: string): boolean {
  if (!/^https?:\/\/[^\p{White_Space}\p{Cc}]*$/iu.test(text) || chars(text) > URL_CHARS_MAX) return false;
  try {
    return new URL(text).host !== "";
  } catch {
    return false;
  }
}

export const isPhone = (text: string): boolean => /^(?=(\D*\d){3})[\d +().-]{1,32}$/.test(text);

export const isDecimal = (text: string): boolean => text.length <= 64 && /^-?(\d+(\.\d+)?|\.\d+)$/.test(text);

/** 30 February is parsed as a day in March, which has another text. */
export const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && text > "0001" && !!new Date(text).toJSON()?.startsWith(text);

/** A number without an exponent. */
export function plain(number: number): string {
  const [digits = "", exponent] = String(number).split("e-");
  if (!exponent) return digits;
  const [sign, whole] = digits.startsWith("-") ? ["-", digits.slice(1)] : ["", digits];
  return `${sign}0.${"0".repeat(Number(exponent) - 1)}${whole.replace(".", "")}`;
}

/** Negative, zero or positive. Exact, because an answer may have more digits than a number. */
export function compareDecimals(one: string, other: string): number {
  const places = Math.max(...[one, other].map((text) => text.split(".")[1]?.length ?? 0));
  const scaled = (text: string) => {
    const [whole, fraction = ""] = text.split(".");
    return BigInt(whole + fraction.padEnd(places, "0"));
  };
  const difference = scaled(one) - scaled(other);
  return difference < 0n ? -1 : Number(difference > 0n);
}
