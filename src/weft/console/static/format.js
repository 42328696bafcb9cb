/* Figures as people read them.  What is not known is a dash. */

export const NONE = "–";
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const one = new Intl.NumberFormat("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 });
const known = (value) => typeof value === "number" && Number.isFinite(value);

export const count = (value) => (known(value) ? whole.format(value) : NONE);

export function rate(value) {
  if (!known(value)) return NONE;
  if (value === 0) return "0";
  if (value < 0.05) return "< 0.1";
  return value < 10 ? one.format(value) : whole.format(value);
}

export function bytes(value) {
  if (!known(value)) return NONE;
  if (value < 999.5) return `${whole.format(value)} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let at = 0;
  for (value /= 1000; value >= 999.5 && at < units.length - 1; at++) value /= 1000;
  return `${value < 9.95 ? one.format(value) : whole.format(value)} ${units[at]}`;
}

/** With so many digits, as far as it has them. */
export const number = (value, digits = 4) => (known(value) ? String(Number(value.toPrecision(digits))) : NONE);

/** How long: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min, 3 d 4 h. */
export function seconds(value) {
  if (!known(value)) return NONE;
  if (value < 0.001) return "0 s";
  if (value < 0.1) return `${Math.round(value * 1000)} ms`;
  if (value < 9.95) return `${value.toFixed(1)} s`;
  const all = Math.round(value);
  if (all < 60) return `${all} s`;
  if (all < 3600) return `${Math.floor(all / 60)} min ${all % 60} s`;
  if (all < 86400) return `${Math.floor(all / 3600)} h ${Math.floor((all % 3600) / 60)} min`;
  return `${Math.floor(all / 86400)} d ${Math.floor((all % 86400) / 3600)} h`;
}

/** Logical time: as exact as it is, without the noise of binary fractions. */
export function logical(value) {
  if (value === undefined || value === null) return NONE;
  if (!known(value)) return String(value);
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(10)));
}

export const share = (value) => (known(value) ? `${Math.round(value * 100)} %` : NONE);

/** Epoch seconds, or a text of ISO 8601, as local date and time. */
export function moment(value) {
  if (value === undefined) return NONE;
  const at = new Date(known(value) ? value * 1000 : value);
  if (Number.isNaN(at.getTime())) return String(value);
  const two = (part) => String(part).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export const plural = (number, single, several = `${single}s`) =>
  `${whole.format(number)} ${number === 1 ? single : several}`;

/** a, b and 3 others */
export function names(list, most = 3) {
  if (list.length <= most)
    return list.length < 2 ? (list[0] ?? "") : `${list.slice(0, -1).join(", ")} and ${list.at(-1)}`;
  return `${list.slice(0, most).join(", ")} and ${list.length - most} more`;
}

export const shorten = (words, most) => (words.length > most ? `${words.slice(0, most - 1)}…` : words);
