// All collections: what they are, what was measured, and what happens to them now.
import { html, useRef } from "../vendor/preact-htm.js";
import { Failure, get, of, useLoad } from "../api.js";
import { link } from "../address.js";
import { ago, Change, count, fixed, Loaded, percent, Term } from "../parts.js";

const SECONDS = 5;

export default function Collections() {
  const state = useLoad(
    async (signal) => {
      const [served, ready] = await Promise.all([list(signal), readiness(signal)]);
      return { served, others: others(ready, served), note: ready.note };
    },
    [],
    SECONDS,
  );
  return html`<h1>Collections</h1>
    <${Loaded} of=${state}>
      ${({ served, others, note }) => html`
        <${Intro} first=${largest(served)?.name} />
        ${note && html`<p class="quiet">${note}</p>`}
        ${others.map((one) => html`<${Unserved} key=${one.name} ...${one} />`)}
        ${served.length > 0 && html`<${Table} served=${served} />`}
      `}
    <//>`;
}

const largest = (served) => served.reduce((best, one) => (best && best.count >= one.count ? best : one), null);

/** What hubs are, and what to do next. */
const Intro = ({ first }) =>
  html`<div class="intro">
    <p class="lead">In vector search a few targets, the <strong>hubs</strong>, are found by far too many queries, and many targets by none. hubless measures how far each target is a hub, and takes that off its score.</p>
    ${first
      ? html`<p>Next: <a href=${link(first, "search")}>search ${first}</a> and see both rankings side by side, raw and corrected. <a href=${link(first, "hubs")}>Hubs</a> shows which targets are found too often, <a href=${link(first, "report")}>Report</a> what the correction changes.</p>`
      : html`<p>Next: build a collection in the catalog of this server, from vectors and example queries. It is served as soon as it is there.</p>
          <pre class="code" tabindex="0">hubless build --catalog catalog --collection photos --targets images.npy --query-bank captions.npy</pre>`}
  </div>`;

// while collections are being loaded there is no list of them yet, but /readyz names them
async function list(signal) {
  try {
    return (await get("list the collections", "v1/collections", { signal })).collections;
  } catch (failure) {
    if (failure.code === "not_ready") return [];
    throw failure;
  }
}

async function readiness(signal) {
  try {
    return await get("ask whether the server is ready", "readyz", { signal });
  } catch (failure) {
    if (failure instanceof Failure && failure.status === 503 && failure.body) return failure.body;
    throw failure;
  }
}

async function hubness({ name }, signal) {
  try {
    return { ...(await get("read the live hubness", of(name, "hubness"), { signal })), at: performance.now() };
  } catch (failure) {
    if (signal.aborted || failure.status === 0 || failure.status === 401) throw failure;
    return null; // the table is worth showing without it
  }
}

/** Queries a second between two looks; null where another worker answered, or the version is new. */
function rate(before, now) {
  if (!before || !now || before.version !== now.version) return null;
  return now.seen < before.seen ? null : (now.seen - before.seen) / ((now.at - before.at) / 1000);
}

function others(ready, served) {
  const states = Object.entries(ready.collections ?? {});
  const shown = new Set(served.map((one) => one.name));
  return states
    .filter(([name, state]) => !shown.has(name) || state.refused || state.log)
    .map(([name, state]) => ({ name, ...state, served: shown.has(name) }));
}

function Unserved({ name, status, code, detail, refused, log, served }) {
  if (status === "loading") return html`<p class="notice"><strong>${name}</strong> is being loaded.</p>`;
  const why = refused ?? log ?? { code, detail };
  const text = typeof why === "string" ? why : why.detail;
  return html`<div class="problem">
    <p><strong>${name}</strong> ${refused ? "has a newer version that cannot be served" : served ? "is served without its last writes" : "cannot be served"}. ${text}</p>
    ${why.code && html`<p class="small"><code>${why.code}</code> <a href=${link(name, "versions")}>Its versions</a></p>`}
  </div>`;
}

/** The table comes at once; what happens live is asked for afterwards, and whenever the list was loaded anew. */
function Table({ served }) {
  const before = useRef({}); // name -> what /hubness said, and when, for the rate
  const live = useLoad(async (signal) => {
    const said = await Promise.all(served.map((one) => hubness(one, signal)));
    const rows = Object.fromEntries(served.map(({ name }, i) => [name, { live: said[i], rate: rate(before.current[name], said[i]) }]));
    before.current = Object.fromEntries(served.map(({ name }, i) => [name, said[i]]));
    return rows;
  }, [served]);
  const rows = served.map((one) => ({ ...one, ...live.data?.[one.name] }));
  return html`<div class="scroll">
    <table class="stack">
      <thead>
        <tr>
          <th scope="col">Collection</th>
          <th scope="col">State</th>
          <th scope="col" class="number">Targets</th>
          <th scope="col" class="number">Dimensions</th>
          <th scope="col"><${Term} of="correction">Correction<//></th>
          <th scope="col"><${Term} of="index">Index, recall<//></th>
          <th scope="col" class="number"><${Term} of="skewness">Skewness, raw → now<//></th>
          <th scope="col" class="number"><${Term} of="live">Queries/s<//></th>
          <th scope="col" class="number"><${Term} of="drift">Drift<//></th>
          <th scope="col" class="number">Version</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => html`<${Row} key=${row.name} row=${row} />`)}
      </tbody>
    </table>
  </div>`;
}

function Row({ row }) {
  const { measured, correction, index, live } = row;
  const chosen = correction.details.chosen ?? correction.details.correction;
  const drift = live?.drift;
  return html`<tr>
    <th scope="row"><a href=${link(row.name, "search")}>${row.name}</a></th>
    <td data-label="State"><span class="tag on">served</span></td>
    <td data-label="Targets" class="number">${count(row.count)}</td>
    <td data-label="Dimensions" class="number">${count(row.dim)}${row.dims ? html` <span class="quiet">(${count(row.dims)} ${row.index.candidates ? "in the index" : "kept"})</span>` : ""}</td>
    <td data-label="Correction">${correction.name}${chosen && chosen !== correction.name ? html` <span class="quiet">(${chosen})</span>` : ""}</td>
    <td data-label="Index, recall">${index.type} <span class="quiet">${percent(measured?.recall_at_10, 1)}</span></td>
    <td data-label="Skewness, raw → now" class="number">
      <${Change} from=${measured?.hubness_raw.skewness} to=${measured?.hubness_corrected.skewness} />
    </td>
    <td data-label="Queries/s" class="number">${row.rate == null ? "–" : fixed(row.rate, 1)}</td>
    <td data-label="Drift" class="number" title=${drift?.advice ?? undefined}>
      ${drift ? html`<span class=${drift.drift > 3 ? "warn" : ""}>${fixed(drift.drift, 1)}</span>` : "–"}
    </td>
    <td data-label="Version" class="number"><span title=${`${row.version}, built ${row.created}`}>${ago(row.created)}</span></td>
  </tr>`;
}
