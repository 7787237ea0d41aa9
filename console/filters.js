// Builds the JSON of a filter from rows of column, operator and value: docs/filters.md.
import { html, useEffect, useState } from "./vendor/preact-htm.js";
import { parse, stringify } from "./api.js";
import { OPERATORS } from "./operators.js";
import { Choice } from "./parts.js";

const SAID = Object.fromEntries(OPERATORS.map(({ name, sign }) => [name, sign]));

/** The operators of a column, by Arrow's name of its type. */
function operatorsOf(type) {
  const family = familyOf(type);
  return OPERATORS.filter(({ families }) => families.includes(family)).map(({ name }) => name);
}

function familyOf(type) {
  if (/^(list|large_list|fixed_size_list)/.test(type)) return "list";
  if (/^(struct|map|binary|large_binary|duration)/.test(type)) return "other";
  if (type === "bool") return "boolean";
  return /string|dictionary/.test(type) ? "text" : "ordered";
}

/** What was typed, as the JSON that the column takes. */
function valueOf(text, type, operator) {
  if (operator === "exists") return text !== "false";
  if (operator === "in") return text.split(",").map((part) => valueOf(part.trim(), type, "eq"));
  const inner = /^(?:large_)?list<.*?: (.*)>$/.exec(type)?.[1] ?? type;
  if (/^(u?int\d|float|double|halffloat|bool)/.test(inner)) {
    try {
      return parse(text);
    } catch {
      return text; // the server says what it expected
    }
  }
  return text;
}

/** Rows of the builder as a filter; null for none. */
export function filterOf({ rows, any }, types) {
  const made = rows
    .filter((row) => row.operator === "exists" || row.text !== "")
    .map((row) => ({ field: row.field, [row.operator]: valueOf(row.text, types[row.field] ?? "string", row.operator) }));
  return made.length === 0 ? null : made.length === 1 ? made[0] : { [any ? "or" : "and"]: made };
}

/** A filter as rows of the builder; null if it is more than the builder makes. */
export function rowsOf(filter) {
  if (!filter) return { rows: [], any: false };
  const any = Array.isArray(filter.or);
  const parts = filter.and ?? filter.or ?? [filter];
  const rows = (Array.isArray(parts) ? parts : []).map((part) => {
    const [operator, ...more] = Object.keys(part).filter((name) => name !== "field");
    if (typeof part.field !== "string" || !(operator in SAID) || more.length) return null;
    const value = part[operator];
    const text = Array.isArray(value) ? value.join(", ") : String(value);
    return { field: part.field, operator, text };
  });
  return rows.length && !rows.includes(null) ? { rows, any } : null;
}

/** The builder and the JSON that it writes, which can be written by hand as well. */
export function FilterBuilder({ types, text, onText }) {
  const columns = Object.keys(types);
  let filter, wrong;
  try {
    filter = text ? parse(text) : null;
  } catch {
    wrong = "This is not JSON yet.";
  }
  const built = wrong ? null : rowsOf(filter);
  const write = (changed) => {
    const made = filterOf({ ...built, ...changed }, types);
    onText(made ? stringify(made) : "");
  };
  if (!columns.length) return html`<p class="quiet">This collection has no payload to filter by.</p>`;
  return html`
    ${built
      ? html`<${Rows} built=${built} columns=${columns} types=${types} write=${write} />`
      : html`<p class="quiet">${wrong ?? "This filter is more than the rows can show."} Edit its JSON.</p>`}
    <label class="block">JSON
      <textarea class="code" rows="2" spellcheck=${false} value=${text} onInput=${(event) => onText(event.target.value)} />
    </label>
  `;
}

/** A value. What is being typed stays, whatever else changes on the page meanwhile. */
function Typed({ text, hint, onText }) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  return html`<input
    aria-label="Value"
    value=${typed}
    placeholder=${hint}
    onInput=${(event) => setTyped(event.target.value)}
    onChange=${(event) => onText(event.target.value)}
  />`;
}

function Rows({ built, columns, types, write }) {
  const { rows, any } = built;
  const change = (at, changed) => write({ rows: rows.map((row, i) => (i === at ? { ...row, ...changed } : row)) });
  const add = () => {
    const field = columns[0];
    // a row without a value is no condition yet, so it begins with one that is true or false
    write({ rows: [...rows, { field, operator: "exists", text: "true" }] });
  };
  return html`
    ${rows.length > 1 && html`<${Choice} label="Join" value=${any ? "or" : "and"} options=${[["and", "all of"], ["or", "any of"]]} onChange=${(to) => write({ any: to === "or" })} />`}
    ${rows.map((row, at) => {
      const operators = operatorsOf(types[row.field] ?? "string");
      const set = (field) => {
        const fitting = operatorsOf(types[field]);
        const operator = fitting.includes(row.operator) ? row.operator : fitting[0];
        change(at, { field, operator, text: operator === "exists" ? "true" : row.text });
      };
      return html`<div class="condition" key=${at}>
        <select aria-label="Column" value=${row.field} onChange=${(event) => set(event.target.value)}>
          ${columns.map((column) => html`<option key=${column} value=${column} selected=${column === row.field}>${column}</option>`)}
        </select>
        <select aria-label="Operator" value=${row.operator} onChange=${(event) => change(at, { operator: event.target.value, text: event.target.value === "exists" ? "true" : row.operator === "exists" ? "0" : row.text })}>
          ${operators.map((each) => html`<option key=${each} value=${each} selected=${each === row.operator}>${SAID[each]}</option>`)}
        </select>
        ${row.operator === "exists"
          ? html`<select aria-label="Value" value=${row.text} onChange=${(event) => change(at, { text: event.target.value })}>
              <option value="true" selected=${row.text !== "false"}>yes</option><option value="false" selected=${row.text === "false"}>no</option>
            </select>`
          : html`<${Typed} text=${row.text} hint=${types[row.field]} onText=${(text) => change(at, { text: text || "0" })} />`}
        <button type="button" class="plain" aria-label="Remove the condition" onClick=${() => write({ rows: rows.filter((_, i) => i !== at) })}>×</button>
      </div>`;
    })}
    <button type="button" onClick=${add}>Add a condition</button>
  `;
}
