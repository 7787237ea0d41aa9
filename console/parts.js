// Small pieces that several views are made of.
import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { WORDS } from "./words.js";

const grouped = new Intl.NumberFormat("en");
/** Numbers as people read them. null and undefined are a dash. */
export const count = (n) => (n == null ? "–" : grouped.format(typeof n === "number" ? Math.round(n) : n));
export const fixed = (x, digits = 2) => (x == null ? "–" : x.toFixed(digits).replace("-", "−"));
export const signed = (x, digits = 3) => (x == null ? "–" : (x > 0 ? "+" : "") + fixed(x, digits));
export const percent = (x, digits = 0) => (x == null ? "–" : `${fixed(100 * x, digits)} %`);
/** A figure that random finds would give, as a note beside the measured one. */
export const byChance = (x, as = count) => (x == null ? "" : `${as(x)} by chance`);
export const plural = (n, noun, nouns = `${noun}s`) => `${count(n)} ${n === 1 ? noun : nouns}`;
export const name = (id) => (id === "" ? "(empty id)" : String(id));

export function bytes(n) {
  if (n == null) return "–";
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(n, 1)) / 10)));
  return `${power ? fixed(n / 1024 ** power, 1) : n} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

/** How long ago an ISO 8601 time was, in one unit. */
export function ago(time) {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  if (!Number.isFinite(seconds)) return "–";
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]])
    if (seconds >= size) return `${plural(Math.floor(seconds / size), unit)} ago`;
  return "just now";
}

/** A word with its meaning in a tooltip, which `installTips` shows on hover and focus. */
export const Term = ({ of, children }) =>
  html`<span class="term" tabindex="0" role="term" aria-description=${WORDS[of]} data-tip=${WORDS[of]}>${children}</span>`;

/** One tooltip for the page: it stands above everything, so no table cuts it off. */
export function installTips() {
  const tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);
  const show = (event) => {
    const on = event.target.closest?.("[data-tip]");
    tip.hidden = !on;
    if (!on) return;
    tip.textContent = on.dataset.tip;
    const box = on.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8));
    const below = box.bottom + 6 + tip.offsetHeight < innerHeight;
    tip.style.left = `${left}px`;
    tip.style.top = `${below ? box.bottom + 6 : box.top - tip.offsetHeight - 6}px`;
  };
  const hide = () => (tip.hidden = true);
  addEventListener("mouseover", show);
  addEventListener("focusin", show);
  addEventListener("scroll", hide, true);
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
}

/** What failed, why, under which request id; and another try. */
export function Problem({ failure, again }) {
  if (!failure) return null;
  const what = failure.what ? `Could not ${failure.what}. ` : "";
  const known = failure.status !== undefined; // otherwise it is a bug of this page
  return html`<div class="problem" role="alert">
    <p><strong>${what}${known ? failure.title : "The page has failed."}</strong> ${failure.detail || failure.message}</p>
    <p class="small">
      ${failure.code && html`<code>${failure.code}</code> `}
      ${failure.requestId && html`request id <code>${failure.requestId}</code> `}
      ${again && html`<button type="button" onClick=${again}>Try again</button>`}
    </p>
  </div>`;
}

/** What was loaded, or that it is being loaded, or why it could not be. */
export function Loaded({ of: { data, failure, busy, again }, children }) {
  // an element of its own: neighbours keep their places, whatever appears inside
  return html`<div class="loaded">
    <${Problem} failure=${failure} again=${again} />
    ${data == null ? !failure && html`<p class="quiet" role="status">Loading …</p>` : children(data, busy)}
  </div>`;
}

/** Copies a text. Says so for a moment. */
export function Copy({ text, children = "Copy" }) {
  const [done, setDone] = useState("");
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone("Copied");
    } catch {
      setDone("Select and copy it by hand"); // no clipboard without TLS
    }
    timer.current = setTimeout(() => setDone(""), 2000);
  };
  return html`<button type="button" class="small" onClick=${copy} aria-live="polite">${done || children}</button>`;
}

/** A figure with its name below a word that explains it. */
export const Figure = ({ term, label, note, children }) =>
  html`<div class="figure">
    <dt>${term ? html`<${Term} of=${term}>${label}<//>` : label}</dt>
    <dd>${children}${note && html`<span class="note">${note}</span>`}</dd>
  </div>`;

/** Raw → corrected, the second in the accent colour. */
export const Change = ({ from, to, digits = 2, as = digits ? fixed : count }) =>
  html`<span class="change"><span class="raw">${as(from, digits)}</span><span aria-hidden="true"> → </span
    ><span class="sr"> raw, corrected </span><strong class="corrected">${as(to, digits)}</strong></span>`;

/** What to do about a collection that nothing is corrected in; nothing for others. */
export const Uncorrected = ({ about }) =>
  about.correction.name === "none" &&
  html`<div class="notice">
    <p>Nothing is corrected in ${about.name}: both rankings are the raw one. Build it again with example queries, as people ask them:</p>
    <pre class="code" tabindex="0">hubless build --catalog catalog --collection ${about.name} --targets targets.npy --query-bank queries.npy</pre>
  </div>`;

/** Which of a few: buttons of which one is pressed. */
export const Choice = ({ label, value, options, onChange }) =>
  html`<div class="choice" role="group" aria-label=${label}>
    ${options.map(
      ([each, text]) =>
        html`<button type="button" key=${each} aria-pressed=${each === value} onClick=${() => onChange(each)}>${text}</button>`,
    )}
  </div>`;

const IMAGE = /^https:\/\/[^\s]+\.(?:png|jpe?g|gif|webp|avif|svg)(?:[?#][^\s]*)?$/i;
const IMAGE_DATA = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=]+$/;
const IMAGE_COLUMN = /image|img|photo|picture|thumb|poster|cover/i;
const LINK = /^https?:\/\/[^\s]+$/i;
const LONGEST_DATA = 200_000;

/** The address of an image if a payload value is one. Only https and data: the page loads nothing else. */
export function imageIn(column, value) {
  if (typeof value !== "string") return null;
  if (IMAGE_DATA.test(value)) return value.length <= LONGEST_DATA ? value : null;
  return IMAGE.test(value) || (IMAGE_COLUMN.test(column) && /^https:\/\/[^\s]+$/i.test(value)) ? value : null;
}

/** A payload value: text and nothing else, clipped; images and links by their address. */
export function Value({ column, value, long = 160 }) {
  const image = imageIn(column, value);
  const [broken, setBroken] = useState(false);
  if (image && !broken)
    return html`<img class="thumb" src=${image} alt=${column} loading="lazy" referrerpolicy="no-referrer" onError=${() => setBroken(true)} />`;
  const text = value == null ? "–" : typeof value === "object" ? JSON.stringify(value, (k, v) => (typeof v === "bigint" ? String(v) : v)) : String(value);
  const clipped = text.length > long ? `${text.slice(0, long)}…` : text;
  if (LINK.test(text)) return html`<a href=${text} target="_blank" rel="noreferrer noopener">${clipped}</a>`;
  return html`<span title=${text.length > long ? text.slice(0, 2000) : undefined}>${clipped}</span>`;
}

/** What a target is called: the first text of its payload, or its id. */
export function titleOf(id, payload, columns) {
  for (const column of columns ?? []) {
    const value = payload?.[column];
    if (typeof value === "string" && value && !imageIn(column, value) && !LINK.test(value)) return value;
  }
  return name(id);
}
