// One query, raw and corrected side by side: what moved, by how much, and why.
import { html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { call, get, of, parse, post, stringify, useLoad } from "../api.js";
import { useParams } from "../address.js";
import { FilterBuilder } from "../filters.js";
import { givenPicture, keepPicture, Picture, pictureOf } from "../pictures.js";
import { Choice, Copy, count, fixed, imageIn, Loaded, name, percent, Problem, signed, Term, titleOf, Uncorrected, Value } from "../parts.js";
import { curl, pythonCall } from "../snippets.js";

const KINDS = { text: "Text", image: "Picture", id: "Id", vector: "Vector", bank: "Bank query" };
const LIMITS = [5, 10, 20, 50];
const WAIT = 60; // milliseconds that the slider must rest
const SHOWN = 3; // payload columns at first

export default function Search({ address, access }) {
  const about = useLoad((signal) => get("read the collection", of(address.collection), { signal }), [address.collection]);
  return html`<${Loaded} of=${about}>${(collection) => html`<${Searching} ...${{ address, access, collection }} />`}<//>`;
}

/** What the address says, with what it leaves out filled in. */
function optionsOf(params, collection) {
  const kind = params.kind in KINDS ? params.kind : collection.text ? "text" : "bank";
  const strength = Number(params.strength);
  const columns = collection.payload_columns;
  const sure = Number(params.sure);
  return {
    kind,
    q: params.q ?? "",
    strength: params.strength && strength >= 0 && strength <= 2 ? strength : collection.strength || 1,
    tiles: collection.pictures && params.as !== "list",
    limit: LIMITS.includes(Number(params.limit)) ? Number(params.limit) : 10,
    filter: params.filter ?? "",
    fields: params.fields === undefined ? columns.slice(0, SHOWN) : parseList(params.fields).filter((each) => columns.includes(each)),
    exact: params.exact === "1",
    sure: collection.confidence && sure > 0 && sure <= 1 ? sure : 0,
  };
}

// as JSON, since a column may have a comma in its name
function parseList(text) {
  try {
    const list = JSON.parse(text);
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** The body of a request for what the options say; null if there is nothing to search for yet. */
async function subject({ kind, q }, collection, signal) {
  if (kind === "bank") return q === "" ? null : { vector: (await get("read the bank query", of(collection.name, "bank", q), { signal })).vector };
  if (kind === "image") return givenPicture(q) ? { image: givenPicture(q).base64 } : null;
  if (kind === "text") return q.trim() ? { text: q } : null;
  if (kind === "id") {
    if (q === "" && collection.id_type === "int64") return null;
    return { id: collection.id_type === "int64" && /^\s*-?\d+\s*$/.test(q) ? parse(q.trim()) : q };
  }
  if (!q.trim()) return null;
  try {
    return { vector: parse(q) };
  } catch {
    return { vector: q.trim() }; // base64, or the server says what it expected
  }
}

function Searching({ address, access, collection }) {
  const [params, setParams] = useParams(address);
  const options = optionsOf(params, collection);
  const { kind, q, strength, limit, filter, fields, exact, sure, tiles } = options;
  const filterJson = useMemo(() => readFilter(filter), [filter]);
  const [shown, draw] = useExample(collection, (kind === "bank" || kind === "text") && !q.trim() && access.bank_queries);
  const example = shown?.query ?? null;

  const found = useLoad(
    async (signal) => {
      if (filterJson === undefined) return null;
      await new Promise((resume) => setTimeout(resume, WAIT));
      if (signal.aborted) return null;
      const what = await subject(example === null ? { kind, q } : { kind: "bank", q: String(example) }, collection, signal);
      if (!what) return null;
      const body = { ...what, limit };
      if (collection.payload_columns.length) body.with = ["payload"];
      if (filterJson) body.filter = filterJson;
      if (sure) body.min_confidence = sure;
      const ask = (more) => call("search", "POST", of(collection.name, "query"), { signal, body: { ...body, ...more } });
      const [raw, corrected, all] = await Promise.all([
        ask({ strength: 0, ...(exact && { params: { exact: true } }) }),
        ask({ strength }),
        exact ? ask({ strength, params: { exact: true } }) : null,
      ]);
      return {
        body: { ...body, strength, ...(exact && { params: { exact: true } }) },
        raw: raw.data.hits,
        corrected: (all ?? corrected).data.hits,
        certainty: { raw: raw.data, corrected: (all ?? corrected).data },
        recall: all && overlap(corrected.data.hits, all.data.hits),
        gate: corrected.data.corrected,
        timing: corrected.timing,
        requestId: corrected.requestId,
        strength,
      };
    },
    [collection.name, kind, q, example, strength, limit, filterJson, exact, sure],
  );

  const [trouble, setTrouble] = useState(null); // why nothing could be asked: it stands in the place of the old answer
  useEffect(() => setTrouble(null), [address]);
  const askWith = useCallback(
    async (file) => {
      try {
        setParams({ kind: "image", q: await keepPicture(file) }, true);
      } catch {
        setTrouble(html`<p class="warn" role="alert">The browser cannot read ${file.name || "the file"} as a picture.</p>`);
      }
    },
    [setParams],
  );
  useDropped(collection.image, askWith);

  const more = useCallback((id) => setParams({ kind: "id", q: String(id) }, true), [setParams]);
  return html`
    <h1 class="sr">Search ${collection.name}</h1>
    <${Uncorrected} about=${collection} />
    <${Asking} ...${{ options, collection, access, setParams, askWith, setTrouble }} />
    ${trouble}
    <div class="controls">
      <label class="slider">
        <span><${Term} of="strength">Strength<//> <output>${fixed(strength)}</output></span>
        <input type="range" min="0" max="2" step="0.05" value=${strength} aria-label="Strength" onInput=${(event) => setParams({ strength: event.target.value })} />
        <span class="ends"><span>0 raw</span><span>1 full</span><span>2</span></span>
      </label>
      ${collection.confidence &&
      html`<label class="slider">
        <span><${Term} of="sure">Confidence from<//> <output>${fixed(sure)}</output></span>
        <input type="range" min="0" max="1" step="0.05" value=${sure} aria-label="Least confidence" onInput=${(event) => setParams({ sure: event.target.value === "0" ? "" : event.target.value })} />
        <span class="ends"><span>0 all answers</span><span>1 none</span></span>
      </label>`}
      <label>Hits
        <select value=${limit} onChange=${(event) => setParams({ limit: event.target.value })}>
          ${LIMITS.map((each) => html`<option key=${each} value=${each} selected=${each === limit}>${each}</option>`)}
        </select>
      </label>
      <label class="check"><input type="checkbox" checked=${exact} onChange=${(event) => setParams({ exact: event.target.checked ? "1" : "" })} /> <${Term} of="exact">Exact<//></label>
      ${collection.pictures && html`<${Choice} label="Show hits as" value=${tiles ? "tiles" : "list"} options=${[["tiles", "Pictures"], ["list", "List"]]} onChange=${(to) => setParams({ as: to === "list" ? to : "" })} />`}
      <${More} ...${{ collection, filter, fields, setParams, wrong: filterJson === undefined }} />
    </div>
    <${Problem} failure=${found.failure} again=${found.again} />
    ${shown && !trouble && !found.failure && html`<${Example} ...${{ shown, draw, columns: collection.payload_columns }} />`}
    ${!trouble && found.data
      ? html`<${Results} ...${{ found: found.data, collection, fields, more, busy: found.busy, access, hub: shown?.hub?.id, tiles }} />`
      : !trouble && !found.failure && html`<p class="quiet">${found.busy ? "Searching …" : nothingYet(kind)}</p>`}
  `;
}

/** Takes a picture that is dropped on the page, or pasted into it. */
function useDropped(wanted, take) {
  useEffect(() => {
    if (!wanted) return;
    const allow = (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault();
    const given = (transfer) => (event) => {
      const file = pictureOf(event[transfer]);
      if (!file) return;
      event.preventDefault();
      take(file);
    };
    const [dropped, pasted] = [given("dataTransfer"), given("clipboardData")];
    addEventListener("dragover", allow);
    addEventListener("drop", dropped);
    addEventListener("paste", pasted);
    return () => {
      removeEventListener("dragover", allow);
      removeEventListener("drop", dropped);
      removeEventListener("paste", pasted);
    };
  }, [wanted, take]);
}

/** A bank query to show until something is asked, and a function that takes another; null for none. */
function useExample(collection, wanted) {
  const [found, setFound] = useState(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!wanted) return;
    const mine = new AbortController();
    // without a bank there is no example, and the page says what to type
    examplesOf(collection, mine.signal).then(setFound, () => {});
    return () => mine.abort();
  }, [collection.name, wanted]);
  const shown = useMemo(() => found && { ...found, query: found.queries[turn % found.queries.length] }, [found, turn]);
  return [wanted ? shown : null, useCallback(() => setTurn((n) => n + 1), [])];
}

/** Stored bank queries whose raw hits hold the largest hub, those first that lose it; any where no query finds a hub. */
async function examplesOf({ name, payload_columns }, signal) {
  const built = await get("read the hubs", `${of(name, "occurrence")}?limit=1`, { signal });
  const hub = built.raw?.hubs[0];
  if (hub) {
    const [{ raw, corrected }, { points }] = await Promise.all([
      get("read which queries find it", `${of(name, "occurrence", "queries")}?${new URLSearchParams({ id: String(hub.id) })}`, { signal }),
      payload_columns.length ? post("read the payload", of(name, "points"), { ids: [hub.id] }, { signal }) : { points: [] },
    ]);
    const kept = new Set(corrected.map((one) => one.query));
    const finds = raw.toSorted((one, other) => kept.has(one.query) - kept.has(other.query) || one.rank - other.rank);
    if (finds.length) return { queries: finds.map((one) => one.query), asked: built.queries, hub: { ...hub, payload: points[0]?.payload } };
  }
  const { stored } = await get("read the bank queries", of(name, "bank", "0"), { signal });
  return stored ? { queries: Array.from({ length: stored }, (_, number) => number) } : null;
}

/** Which query is shown, and the hub that it finds. */
function Example({ shown: { query, hub, asked }, draw, columns }) {
  const image = columns.map((column) => imageIn(column, hub?.payload?.[column])).find(Boolean);
  return html`<p class="example">An example: query ${count(query)} of the <${Term} of="bank">bank<//>.
    ${hub && html` Raw, it finds the largest hub, ${image && html`<${Value} column="" value=${image} /> `}<b>${titleOf(hub.id, hub.payload, columns)}</b>, as ${count(hub.raw)} of ${count(asked)} bank queries do. Corrected, ${count(hub.corrected)} find it.`}
    ${" "}<button type="button" class="plain" onClick=${draw}>Another one</button></p>`;
}

const nothingYet = (kind) =>
  ({ text: "Type what to search for.", image: "Choose a picture, drop it on the page, or paste it.", id: "Give the id of a target, to find more like it.", vector: "Paste a vector: a list of numbers, or base64 of little-endian float32.", bank: "Take a random query of the bank." })[kind];

/** null for none, undefined for one that is not JSON yet. */
function readFilter(text) {
  if (!text) return null;
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

function overlap(found, exact) {
  const ids = new Set(found.map((hit) => hit.id));
  return exact.length ? exact.filter((hit) => ids.has(hit.id)).length / exact.length : null;
}

function Asking({ options, collection, access, setParams, askWith, setTrouble }) {
  const { kind, q } = options;
  const [typed, setTyped] = useState(q);
  useEffect(() => setTyped(q), [q, kind]);
  const kinds = Object.entries(KINDS).filter(([each]) => (each !== "text" || collection.text) && (each !== "image" || collection.image) && (each !== "bank" || each === kind || access.bank_queries));
  const submit = (event) => {
    event.preventDefault();
    setParams({ kind, q: typed }, true);
  };
  const draw = async () => {
    try {
      const { stored } = await get("read the bank queries", of(collection.name, "bank", "0"));
      setParams({ kind: "bank", q: String(Math.floor(Math.random() * stored)) });
    } catch (problem) {
      setTrouble(html`<${Problem} failure=${problem} again=${draw} />`);
    }
  };
  const inputs = {
    text: html`<input type="search" name="q" aria-label="Text to search for" placeholder="Search in words" value=${typed} onInput=${(event) => setTyped(event.target.value)} autocomplete="off" />`,
    image: html`<span class="given">
      ${givenPicture(q) && html`<img class="thumb" src=${givenPicture(q).url} alt="The picture that is asked with" />`}
      <input type="file" accept="image/*" aria-label="Picture to ask with" onChange=${(event) => event.target.files[0] && askWith(event.target.files[0])} />
      <span class="quiet small">or drop one on the page, or paste it</span>
    </span>`,
    id: html`<input name="q" aria-label="Id of a target" placeholder="Id of a target" value=${typed} onInput=${(event) => setTyped(event.target.value)} autocomplete="off" />`,
    vector: html`<textarea name="q" class="code" rows="2" aria-label="Vector" placeholder=${`${collection.dim} numbers: [0.1, −0.5, …]`} value=${typed} onInput=${(event) => setTyped(event.target.value)} />`,
    bank: html`<button type="button" disabled=${!access.bank_queries} title=${access.bank_queries ? undefined : "this key may not read bank queries"} onClick=${draw}>${q === "" ? "Draw a bank query" : `Bank query ${q} · draw another`}</button>`,
  };
  return html`<form class="asking" role="search" onSubmit=${submit}>
      <${Choice} label="Search by" value=${kind} options=${kinds} onChange=${(to) => setParams({ kind: to, q: "" })} />
      ${inputs[kind]}
      ${kind !== "bank" && kind !== "image" && html`<button class="main">Search</button>`}
    </form>`;
}

function More({ collection, filter, fields, setParams, wrong }) {
  const toggle = (column) => {
    const kept = fields.includes(column) ? fields.filter((each) => each !== column) : [...fields, column];
    setParams({ fields: JSON.stringify(collection.payload_columns.filter((each) => kept.includes(each))) });
  };
  return html`
    <details class="menu" name="more">
      <summary>Filter${filter ? html` <span class="tag on">on</span>` : ""}</summary>
      <div class="panel">
        <${FilterBuilder} types=${collection.payload_types} text=${filter} onText=${(text) => setParams({ filter: text })} />
        ${filter && html`<button type="button" class="plain" onClick=${() => setParams({ filter: "" })}>Remove the filter</button>`}
        ${wrong && html`<p class="warn small">The filter is not JSON, so nothing is searched.</p>`}
      </div>
    </details>
    ${collection.payload_columns.length > 0 &&
    html`<details class="menu" name="more">
      <summary>Fields</summary>
      <fieldset class="panel">
        <legend class="sr">Payload to show</legend>
        ${collection.payload_columns.map(
          (column) =>
            html`<label class="check" key=${column}><input type="checkbox" checked=${fields.includes(column)} onChange=${() => toggle(column)} /> ${column} <span class="quiet">${collection.payload_types[column]}</span></label>`,
        )}
      </fieldset>
    </details>`}
  `;
}

function Results({ found, collection, fields, more, busy, access, hub, tiles }) {
  const { raw, corrected, strength } = found;
  const lists = useRef(null);
  const [over, setOver] = useState(null); // the hit that the pointer is on
  const [open, setOpen] = useState(null); // the hit that is explained
  const before = useMemo(() => new Map(raw.map((hit, rank) => [hit.id, rank])), [raw]);
  const after = useMemo(() => new Map(corrected.map((hit, rank) => [hit.id, rank])), [corrected]);
  const widest = Math.max(1e-9, ...raw.concat(corrected).map((hit) => Math.abs(hit.offset)));
  const kept = corrected.filter((hit) => before.has(hit.id)).length;
  const cut = (data) => data.answered === false;
  if (!raw.length && !corrected.length && !cut(found.certainty.raw) && !cut(found.certainty.corrected)) {
    return html`<p class="quiet" role="status">No target meets the filter.</p>`;
  }
  const side = (hits, other, title, term) => html`
    <section class=${`side ${term}`} aria-label=${title}>
      <h2><${Term} of=${term}>${title}<//> <span class="quiet">${term === "raw" ? "similarity" : `similarity − ${fixed(strength)} · offset`}</span></h2>
      <${Certainty} of=${found.certainty[term]} />
      <ol>
        ${hits.map(
          (hit, rank) =>
            html`<${Hit} key=${`${typeof hit.id} ${hit.id}`} ...${{ hit, rank, other, fields, collection, widest, more, term, over, setOver, open, setOpen, found, hub, tiles }} />`,
        )}
      </ol>
    </section>`;
  return html`
    <p class="summary" role="status" aria-live="polite">
      <span>${kept} of ${corrected.length} hits are in both rankings.</span>
      ${found.recall != null && html`<span><${Term} of="recall">Recall of this query<//> <strong>${percent(found.recall)}</strong></span>`}
      ${found.gate !== undefined && html`<span>The gate is <strong>${found.gate ? "on" : "off"}</strong> for this query.</span>`}
      <${Timing} timing=${found.timing} />
      <span class="quiet">${busy ? "searching …" : ""}</span>
    </p>
    <p class="legend quiet"><span>Bars are <${Term} of="offset">offsets<//>:</span> <span class="bar" aria-hidden="true"><span class="right"></span></span> a hub, which loses score <span class="bar" aria-hidden="true"><span class="left"></span></span> found too rarely, which gains</p>
    <div class=${`lists ${tiles ? "tiles" : ""}`} ref=${lists}>
      ${side(raw, after, "Raw", "raw")}
      ${tiles ? html`<span></span>` : html`<${Lines} ...${{ lists, raw, after, over, open }} />`}
      ${side(corrected, before, "Corrected", "corrected")}
    </div>
    <${Calls} ...${{ collection, body: found.body, keys: access.keys }} />
  `;
}

/** How sure an answer is; nothing for a version without a model of confidence. */
const Certainty = ({ of: { confidence, presence, calibrated, answered } }) =>
  confidence !== undefined &&
  html`<p class="certainty">
    <${Term} of="confidence">Confidence<//> <b>${fixed(confidence)}</b>, <${Term} of="presence">presence<//> <b>${fixed(presence)}</b>
    ${!calibrated && html`<span class="quiet"> · not calibrated</span>`}
    ${!answered && html`<span class="warn"> · left out, as it is less sure than asked for</span>`}
  </p>`;

const STAGES = ["encode", "filter", "search", "rescore", "payload", "total"];
const Timing = ({ timing }) =>
  html`<span class="timing" title="Server-Timing of the corrected query, in milliseconds">
    ${STAGES.filter((stage) => stage in timing).map((stage) => html`<span key=${stage}>${stage} <b>${fixed(timing[stage], 2)}</b>${" "}</span>`)} ms
  </span>`;

/** How far a hit has moved, as text. */
function moved(rank, other) {
  if (other === undefined) return ["new", "new"];
  if (other === rank) return ["=", "same"];
  return other > rank ? [`▲${other - rank}`, "up"] : [`▼${rank - other}`, "down"];
}

function Hit({ hit, rank, other, fields, collection, widest, more, term, over, setOver, open, setOpen, found, hub, tiles }) {
  const there = other.get(hit.id);
  const [text, kind] = term === "corrected" ? moved(rank, there) : there === undefined ? ["out", "out"] : ["", ""];
  const title = titleOf(hit.id, hit.payload, fields.length ? fields : collection.payload_columns);
  const image = collection.payload_columns.map((column) => imageIn(column, hit.payload?.[column])).find(Boolean);
  const isOpen = open?.id === hit.id && open.term === term;
  const toggle = () => setOpen(isOpen ? null : { id: hit.id, term });
  const shown = fields.filter((column) => hit.payload?.[column] !== title && !imageIn(column, hit.payload?.[column]));
  return html`<li
    class=${`hit ${over === hit.id ? "over" : ""} ${hub === hit.id ? "largest" : ""}`}
    data-id=${name(hit.id)}
    onMouseEnter=${() => setOver(hit.id)}
    onMouseLeave=${() => setOver(null)}
  >
    <button type="button" class="row" aria-expanded=${isOpen} onClick=${toggle}>
      <span class="rank">${rank + 1}</span>
      ${collection.pictures ? html`<${Picture} collection=${collection.name} id=${hit.id} title=${title} pixels=${tiles ? 256 : 64} />` : image && html`<${Value} column="" value=${image} />`}
      <span class="title">${title}</span>
      <span class=${`moved ${kind}`} title=${kind === "out" ? "not among the corrected hits" : kind === "new" ? "not among the raw hits" : undefined}>${text}</span>
      <span class="score">${fixed(hit.score, 3)}</span>
      <${Bar} value=${hit.offset} widest=${widest} />
    </button>
    ${shown.length > 0 &&
    !tiles &&
    html`<dl class="fields">${shown.map((column) => html`<div key=${column}><dt>${column}</dt><dd><${Value} column=${column} value=${hit.payload?.[column]} /></dd></div>`)}</dl>`}
    ${isOpen && html`<${Why} ...${{ hit, collection, found, more }} />`}
  </li>`;
}

/** An offset: to the right it takes off the score of a hub, to the left it adds. */
const Bar = ({ value, widest }) =>
  html`<span class="bar" title=${`offset ${signed(value)}`}>
    <span class=${value > 0 ? "right" : "left"} style=${{ width: `${(50 * Math.min(1, Math.abs(value) / widest)).toFixed(1)}%` }}></span>
    <span class="sr">offset ${signed(value)}</span>
  </span>
  <span class="offset" aria-hidden="true">${signed(value)}</span>`;

/** Why a hit stands where it does: asked for when it is opened. */
function Why({ hit, collection, found, more }) {
  const explained = useLoad(
    async (signal) => {
      const body = { ...found.body, explain: true, with: [] };
      if (!collection.payload_columns.length) delete body.with;
      const { data } = await call("explain the hit", "POST", of(collection.name, "query"), { signal, body });
      return data.hits.find((one) => one.id === hit.id)?.explanation ?? {};
    },
    [hit.id, found],
  );
  return html`<div class="why">
    <p class="sum">
      <b>${fixed(hit.similarity - found.strength * hit.offset, 4)}</b> = similarity ${fixed(hit.similarity, 4)} − ${fixed(found.strength)} · offset ${signed(hit.offset, 4)}
    </p>
    <${Loaded} of=${explained}>
      ${(why) =>
        why.rank
          ? html`<p>
              Raw rank <b>${why.raw_rank == null ? "beyond 1,000" : count(why.raw_rank)}</b>, corrected <b>${count(why.rank)}</b>.
              ${why.occurrence != null && html` <${Term} of="n10">N₁₀<//> when it was built: raw <b>${count(why.raw_occurrence)}</b>, corrected <b>${count(why.occurrence)}</b>.`}
            </p>`
          : html`<p>It is not among the corrected hits.</p>`}
    <//>
    <dl class="fields all">
      <div><dt>id</dt><dd><${Value} column="" value=${name(hit.id)} /></dd></div>
      ${Object.entries(hit.payload ?? {}).map(([column, value]) => html`<div key=${column}><dt>${column}</dt><dd><${Value} column=${column} value=${value} long=${600} /></dd></div>`)}
    </dl>
    <p class="actions"><button type="button" onClick=${() => more(hit.id)}>More like this</button></p>
  </div>`;
}

/** Lines between where a hit stands in one list and in the other. */
function Lines({ lists, raw, after, over, open }) {
  const svg = useRef(null);
  const [drawn, setDrawn] = useState([]);
  useLayoutEffect(() => {
    const middle = (side, rank) => {
      const row = lists.current?.querySelectorAll(`.${side} .hit > .row`)[rank];
      if (!row) return null;
      const box = row.getBoundingClientRect();
      return box.top + box.height / 2 - svg.current.getBoundingClientRect().top;
    };
    const draw = () =>
      setDrawn(
        raw.flatMap((hit, rank) => {
          const [from, to] = [middle("raw", rank), after.has(hit.id) ? middle("corrected", after.get(hit.id)) : null];
          return from === null || to === null ? [] : [{ id: hit.id, from, to, same: rank === after.get(hit.id) }];
        }),
      );
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(lists.current);
    return () => watch.disconnect();
  }, [raw, after, open]);
  const width = svg.current?.clientWidth ?? 0;
  return html`<svg class="lines" ref=${svg} aria-hidden="true">
    ${drawn.map(
      ({ id, from, to, same }) =>
        html`<path
          key=${`${typeof id} ${id}`}
          class=${`${same ? "same" : ""} ${over === id ? "over" : ""}`}
          d=${`M0 ${from} C${width / 2} ${from} ${width / 2} ${to} ${width} ${to}`}
        />`,
    )}
  </svg>`;
}

function Calls({ collection, body, keys }) {
  const [language, setLanguage] = useState("curl");
  const text = language === "curl" ? curl(collection.name, body, keys) : pythonCall(collection.name, body, keys);
  const long = stringify(body).length > 4000;
  return html`<section class="calls" aria-label="The same query elsewhere">
    <div class="bar-row">
      <${Choice} label="Language" value=${language} options=${[["curl", "curl"], ["python", "Python"]]} onChange=${setLanguage} />
      <${Copy} text=${text} />
    </div>
    <pre class="code" tabindex="0">${long ? `${text.slice(0, 1500)} …` : text}</pre>
  </section>`;
}
