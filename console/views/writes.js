// What was written since the build, and how well the query bank fits the targets.
import { html } from "../vendor/preact-htm.js";
import { get, of, useLoad } from "../api.js";
import { ago, bytes, count, Figure, fixed, Loaded, percent, Term } from "../parts.js";

const CELLS = 8; // a side of the map
const FEWEST = 5; // targets in a cell that says something

export default function Writes({ address }) {
  const at = address.collection;
  const seen = useLoad((signal) => get("read the collection", of(at), { signal }), [at], 5);
  return html`<h1>Writes and bank of ${at}</h1><${Loaded} of=${seen}>${(about) => html`<${Written} about=${about} /><${Bank} about=${about} />`}<//>`;
}

function Written({ about }) {
  const { seq, added, removed, log_bytes: size } = about.writes;
  return html`<section><h2>Writes since the build</h2>
    <dl class="figures">
      <${Figure} label="Targets beside the index" note="every query is compared with all of them">${count(added)}<//>
      <${Figure} label="Gone or replaced">${count(removed)}<//>
      <${Figure} term="frozen" label="Share with frozen offsets">${percent(about.count ? added / about.count : 0, 1)}<//>
      <${Figure} term="seq" label="Last write">${count(seq)}<//>
      <${Figure} term="log" label="Size of the log">${bytes(size)}<//>
      <${Figure} label="Version built">${ago(about.created)}<//>
    </dl>
    ${added + removed > 0
      ? html`<p><code>hubless merge --catalog catalog --collection ${about.name}</code> builds the next version with them.</p>`
      : html`<p class="quiet">All targets lie in the index.</p>`}
  </section>`;
}

function Bank({ about }) {
  const { bank } = about;
  return html`<section><h2><${Term} of="bank">Query bank<//></h2>
    ${bank === null
      ? html`<p class="notice">There is no query bank, or the version is older than its record. Without a bank nothing is corrected.</p>`
      : html`<dl class="figures">
          <${Figure} label="Queries">${count(bank.queries)}<//>
          <${Figure} term="coverage" label="Coverage" note=${bank.coverage != null && bank.coverage < 0.75 ? "narrow: add queries about the other targets" : ""}>${percent(bank.coverage)}<//>
          <${Figure} label="Repeat others">${percent(bank.repeated)}<//>
          <${Figure} label="Are targets" note=${bank.among_targets > 0.02 ? "a target finds itself first, which no query does" : ""}>${percent(bank.among_targets)}<//>
          <${Figure} term="apart" label="Told apart from targets" note="0.5 is one cloud">${fixed(bank.apart_from_targets)}<//>
          <${Figure} term="related" label="Related to targets" note="below 0.65 it is another model's">${fixed(bank.related_to_targets)}<//>
        </dl>`}
    <${Waiting} about=${about} />
    <${Regions} about=${about} />
  </section>`;
}

/** That the collection corrects itself later, or why it did not. The report has the day it did. */
function Waiting({ about }) {
  const seen = useLoad((signal) => get("read the bank", of(about.name, "bank"), { signal }), [about.name, about.version], 5);
  return html`<${Loaded} of=${seen}>${({ waiting, work }) => html`
    ${waiting?.sampled && html`<p class="notice">The correction is fitted as soon as ${count(waiting.sampled)} live queries count, a tenth at most of one client. ${waiting.counted && `So far ${count(waiting.counted.queries)} do, of ${count(waiting.counted.clients)} clients; ${count(waiting.counted.clients_needed)} are needed at least.`}</p>`}
    ${work?.work === "bank" && work.state === "failed" && html`<p class="notice">The last bank was refused: ${work.problem?.detail}</p>`}`}<//>`;
}

/** Where on the map the bank finds targets, and where it does not. */
function Regions({ about }) {
  const seen = useLoad((signal) => get("read the map", of(about.name, "projection"), { signal }), [about.name, about.version]);
  return html`<h3>Coverage by region of the map</h3><${Loaded} of=${seen}>${(found) => html`<${Grid} ...${found} />`}<//>`;
}

function Grid({ targets, queries }) {
  if (!targets.corrected || !targets.id.length) return html`<p class="quiet">Nobody has counted what the bank finds.</p>`;
  const cells = cellsOf(targets, queries);
  const text = (cell) => `${count(cell.targets)} targets, ${count(cell.queries)} bank queries, found ${fixed(cell.share)} times as often as the mean`;
  return html`<p class="quiet small">Each square is a region of the <a href=${`#/${encodeURIComponent(location.hash.split("/")[1] ?? "")}/map`}>map</a>. The fuller, the more of the bank's finds fall on its targets; a red frame marks regions that get less than a quarter of their share.</p>
    <div class="regions" role="img" aria-label="Regions of the map, by how often the bank finds their targets">
      ${cells.map((cell, i) => (cell.targets < FEWEST ? html`<span key=${i} class="empty"></span>` : html`<span key=${i} class=${cell.share < 0.25 ? "poor" : ""} data-tip=${text(cell)}><i style=${{ opacity: Math.min(1, cell.share / 2).toFixed(2) }}></i></span>`))}
    </div>`;
}

function cellsOf(targets, queries) {
  const low = [Math.min(...targets.x), Math.min(...targets.y)], high = [Math.max(...targets.x), Math.max(...targets.y)];
  const at = (value, axis) => Math.min(CELLS - 1, Math.max(0, Math.floor((CELLS * (value - low[axis])) / (high[axis] - low[axis] || 1))));
  const cells = Array.from({ length: CELLS * CELLS }, () => ({ targets: 0, finds: 0, queries: 0 }));
  const cell = (x, y) => cells[(CELLS - 1 - at(y, 1)) * CELLS + at(x, 0)];
  targets.x.forEach((x, i) => {
    const here = cell(x, targets.y[i]);
    here.targets += 1;
    here.finds += targets.corrected[i];
  });
  queries.x.forEach((x, i) => (cell(x, queries.y[i]).queries += 1));
  const mean = cells.reduce((sum, one) => sum + one.finds, 0) / targets.x.length || 1;
  return cells.map((one) => ({ ...one, share: one.targets ? one.finds / one.targets / mean : 0 }));
}
