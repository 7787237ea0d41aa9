// The hubs of a collection: how often targets are found, raw and corrected, by whom, and now.
import { html } from "../vendor/preact-htm.js";
import { get, of, post, useLoad } from "../api.js";
import { link, useParams } from "../address.js";
import { ago, byChance, Change, Choice, count, Figure, fixed, Loaded, name, percent, plural, signed, Term, titleOf, Uncorrected } from "../parts.js";
import { Histogram } from "../histogram.js";
import { Picture } from "../pictures.js";

const LIMIT = 20;
const TILES = 10;
const EVIDENCE = { too_few: ", too few to go by", few: ", few to go by", enough: "" };
const ENOUGH = 100; // queries: the skewness of fewer is that of chance

export default function Hubs({ address, access }) {
  const at = address.collection;
  const seen = useLoad(
    async (signal) => {
      const [about, built] = await Promise.all([
        get("read the collection", of(at), { signal }),
        get("read how often targets are found", `${of(at, "occurrence")}?limit=${LIMIT}`, { signal }),
      ]);
      return { about, built, titles: await titlesOf(about, idsOf(built), signal) };
    },
    [at],
  );
  return html`<h1>Hubs of ${at}</h1>
    <${Loaded} of=${seen}>${(found) => html`<${Built} ...${{ address, access }} ...${found} />`}<//>
    <${Live} collection=${at} />
    <${Planted} collection=${at} />`;
}

const idsOf = ({ raw, corrected, never }) => [...(raw?.hubs ?? []), ...(corrected?.hubs ?? [])].map((hub) => hub.id).concat(never?.ids ?? []);

/** What some targets are called, by id. Targets that are gone keep their id as name. */
export async function titlesOf(about, ids, signal) {
  const wanted = [...new Set(ids)];
  if (!wanted.length) return new Map();
  const { points } = await post("read the payload", of(about.name, "points"), { ids: wanted }, { signal });
  return new Map(points.map((point) => [point.id, titleOf(point.id, point.payload, about.payload_columns)]));
}

function Built({ address, access, about, built, titles }) {
  const [params, setParams] = useParams(address);
  const by = params.by === "corrected" ? "corrected" : "raw";
  const { raw, corrected, chance, never } = built;
  if (!raw) return html`<p class="notice">Nobody has counted: version ${about.version} was built without a query bank.</p><${Uncorrected} about=${about} />`;
  const places = built.queries * built.k;
  const random = built.source === "build" ? about.measured?.hubness_chance : null;
  return html`
    <${Uncorrected} about=${about} />
    <dl class="figures">
      <${Figure} term="skewness" label="Skewness of N₁₀" note=${byChance(random?.skewness, fixed)}><${Change} from=${raw.skewness} to=${corrected.skewness} /><//>
      <${Figure} term="n10" label="Largest hub" note=${`of ${count(built.queries)} queries${random ? `; ${byChance(random.most)}` : ""}`}><${Change} from=${raw.most} to=${corrected.most} digits=${0} /><//>
      <${Figure} term="antihub" label="Never found" note=${`of ${count(about.count)} targets; ${count(chance.antihub_share * about.count)} by chance`}><${Change} from=${never.raw} to=${never.corrected} digits=${0} /><//>
      <${Figure} label="Places that the first hub takes"><${Change} from=${raw.most / places} to=${corrected.most / places} as=${(share) => percent(share, 1)} /><//>
    </dl>
    <p class="quiet small">${built.source === "build" ? `Measured by the build, with ${count(built.queries)} bank queries${built.held_out ? " that the measured correction had not seen" : ""}.` : `Counted over ${count(built.queries)} stored bank queries.`}</p>
    ${about.pictures && html`<${HubPictures} hubs=${raw.hubs.slice(0, TILES)} titles=${titles} about=${about} onOpen=${(id) => setParams({ id })} />`}
    <div class="columns">
      <section>
        <div class="bar-row">
          <h2>Largest hubs</h2>
          <${Choice} label="Largest in" value=${by} options=${[["raw", "raw"], ["corrected", "corrected"]]} onChange=${(to) => setParams({ by: to })} />
        </div>
        <${HubTable} hubs=${built[by].hubs} titles=${titles} collection=${about.name} open=${params.id} onOpen=${(id) => setParams({ id })} />
      </section>
      <section aria-label="Histogram">
        ${params.id !== undefined && html`<${FoundBy} about=${about} may=${access.bank_queries} id=${params.id} title=${[...titles].find(([id]) => String(id) === params.id)?.[1] ?? params.id} />`}
        <h2>How many targets are found how often</h2>
        <${Histogram} raw=${raw.histogram} corrected=${corrected.histogram} />
        <h2>Never found</h2>
        <p>No query finds ${plural(never.both, "target")} in either ranking. The correction brings in <strong class="corrected">${count(Math.max(0, never.raw - never.both))}</strong> that were not found before. ${count(built.queries)} queries that found random targets would leave ${count(chance.antihub_share * about.count)} unfound.</p>
        <ul class="plain">${never.ids.map((id) => html`<li key=${`${typeof id} ${id}`}>${titles.get(id) ?? name(id)}</li>`)}</ul>
      </section>
    </div>`;
}

const HubPictures = ({ hubs, titles, about, onOpen }) =>
  html`<section aria-label="The largest hubs as pictures">
    <h2>These ${count(hubs.length)} are found by far too many</h2>
    <ol class="hub-tiles">${hubs.map(
      (hub) => html`<li key=${`${typeof hub.id} ${hub.id}`}><button type="button" title="Which queries find it" onClick=${() => onOpen(String(hub.id))}>
        <${Picture} collection=${about.name} id=${hub.id} title=${titles.get(hub.id) ?? name(hub.id)} />
        <span class="small">found by <${Change} from=${hub.raw} to=${hub.corrected} digits=${0} /></span>
      </button></li>`,
    )}</ol>
  </section>`;

function HubTable({ hubs, titles, collection, open, onOpen }) {
  const widest = Math.max(1, ...hubs.flatMap((hub) => [hub.raw, hub.corrected]));
  return html`<div class="scroll"><table>
    <thead><tr>
      <th scope="col">Target</th>
      <th scope="col" class="number"><${Term} of="n10">N₁₀ raw<//></th>
      <th scope="col" class="number">now</th>
      <th scope="col" class="bars-of"><span class="legend"><span><i class="of-raw"></i>raw</span> <span><i class="of-corrected"></i>now</span></span></th>
      <th scope="col" class="number"><${Term} of="offset">Offset<//></th>
    </tr></thead>
    <tbody>${hubs.map(
      (hub) => html`<tr key=${`${typeof hub.id} ${hub.id}`} class=${String(hub.id) === open ? "chosen" : ""}>
        <th scope="row" class="clip"><button type="button" class="plain" title="Which queries find it" onClick=${() => onOpen(String(hub.id))}>${titles.get(hub.id) ?? name(hub.id)}</button></th>
        <td class="number">${count(hub.raw)}</td>
        <td class="number corrected"><strong>${count(hub.corrected)}</strong></td>
        <td class="pair"><${Pair} raw=${hub.raw} corrected=${hub.corrected} widest=${widest} /></td>
        <td class="number">${signed(hub.offset)}</td>
      </tr>`,
    )}</tbody>
  </table></div>`;
}

const Pair = ({ raw, corrected, widest }) =>
  html`<span class="bars" aria-hidden="true"><span class="of-raw" style=${{ width: `${(100 * raw) / widest}%` }}></span><span class="of-corrected" style=${{ width: `${(100 * corrected) / widest}%` }}></span></span>`;

/** The bank queries that find a target. Each opens side by side, so that one sees the hub go. */
function FoundBy({ about, may, id, title }) {
  const found = useLoad(
    async (signal) => {
      const path = `${of(about.name, "occurrence", "queries")}?${new URLSearchParams({ id })}`;
      const answer = await get("read which queries find it", path, { signal });
      const shown = [...answer.raw.slice(0, LIMIT), ...answer.corrected.slice(0, LIMIT)];
      return { ...answer, titles: await titlesOf(about, shown.map((one) => one.first), signal) };
    },
    [about.name, about.version, id],
  );
  return html`<section class="found-by" aria-label="Queries that find it">
    <h2>Who finds ${title}</h2>
    <${Loaded} of=${found}>
      ${({ queries, raw, corrected, titles }) => {
        const kept = new Map(corrected.map((one) => [one.query, one.rank]));
        return html`<p>Of ${count(queries)} stored bank queries <strong>${count(raw.length)}</strong> find it raw, <strong class="corrected">${count(corrected.length)}</strong> corrected.${may ? " Click one to see both rankings." : ""}</p>
          <div class="scroll"><table>
            <thead><tr><th scope="col">Query about</th><th scope="col" class="number">Rank raw</th><th scope="col" class="number">now</th></tr></thead>
            <tbody>${raw.slice(0, LIMIT).map(
              (one) => html`<tr key=${one.query}>
                <td class="clip">${may ? html`<a href=${link(about.name, "search", { kind: "bank", q: one.query })}>${titles.get(one.first) ?? name(one.first)}</a>` : titles.get(one.first) ?? name(one.first)}</td>
                <td class="number">${one.rank}</td>
                <td class="number corrected">${kept.get(one.query) ?? "out"}</td>
              </tr>`,
            )}</tbody>
          </table></div>`;
      }}
    <//>
  </section>`;
}

/** What live queries find, against what the build measured. */
function Live({ collection }) {
  const live = useLoad((signal) => get("read the live hubness", of(collection, "hubness"), { signal }), [collection], 10);
  return html`<section>
    <h2>Live queries</h2>
    <${Loaded} of=${live}>
      ${(found) =>
        found.served === null
          ? html`<p class="quiet">No query was asked since this version is served.</p>`
          : html`<dl class="figures">
              <${Figure} label="Queries">${count(found.served.queries)}<//>
              ${found.raw?.queries >= ENOUGH && html`<${Figure} term="skewness" label="Skewness" note=${`of ${count(found.raw.queries)} queries, raw and corrected`}><${Change} from=${found.raw.skewness} to=${found.corrected.skewness} /><//>`}
              ${found.live && html`<${Figure} label="Spread most evenly at strength" note=${`by ${plural(found.live.queries, "different query", "different queries")}${EVIDENCE[found.live.state]}`}>${fixed(found.live.recommended_strength)}<//>`}
              <${Figure} term="skewness" label="Skewness as served" note=${`${fixed(found.served.chance.skewness)} by chance`}>${fixed(found.served.skewness)}<//>
              <${Figure} label="Share of the largest hub">${percent(found.served.top_hub_share, 1)}<//>
              <${Figure} term="drift" label="Drift" note=${found.drift?.advice ?? ""}>${found.drift ? fixed(found.drift.drift, 1) : "–"}<//>
            </dl>
            ${found.live && html`<p class="quiet small">Where popular targets are right, evenness harms: clicks or labels tell.</p>`}
            <p class="small">Found most often: ${found.served.hubs.slice(0, 5).map((hub, i) => html`${i ? ", " : ""}<b>${name(hub.id)}</b> ${percent(hub.share, 1)}`)}</p>`}
    <//>
  </section>`;
}

/** What `hubless scan --set keep=true` found last. */
function Planted({ collection }) {
  const kept = useLoad(
    async (signal) => {
      const { scan } = await get("read the scan", of(collection, "scan"), { signal });
      if (!scan?.findings.length) return { scan };
      const about = await get("read the collection", of(collection), { signal });
      return { scan, about, titles: await titlesOf(about, scan.findings.map((one) => one.id), signal) };
    },
    [collection],
  );
  return html`<section aria-label="Planted hubs">
    <h2><${Term} of="scan">Planted hubs<//></h2>
    <${Loaded} of=${kept}>${({ scan, about, titles }) => (scan ? html`<${Scan} scan=${scan} about=${about} titles=${titles} />` : html`<p class="quiet">No scan was kept. <code>hubless scan --catalog catalog --collection ${collection} --queries logged.npy --set keep=true</code> looks for targets that someone made to be found by every query.</p>`)}<//>
  </section>`;
}

function Scan({ scan, about, titles }) {
  const other = about && about.version !== scan.version ? `, of version ${scan.version}` : "";
  return html`<p>Scanned ${ago(scan.made)} with ${count(scan.queries)} queries${other}. ${scan.threshold == null ? "" : html`<strong class=${scan.alerts ? "warn" : ""}>${plural(scan.alerts, "target")}</strong> at ${fixed(scan.threshold)} or above.`} Popular targets are found often, too: look yourself.</p>
    <div class="scroll"><table>
      <thead><tr>
        <th scope="col">Target</th>
        <th scope="col" class="number"><${Term} of="score_of_scan">Score<//></th>
        <th scope="col" class="number"><${Term} of="n10">N₁₀<//></th>
        <th scope="col" class="number"><${Term} of="stability">Stable<//></th>
        <th scope="col">Why</th>
      </tr></thead>
      <tbody>${scan.findings.map(
        (one) => html`<tr key=${one.place}>
          <th scope="row" class="clip"><a href=${link(about.name, "search", { kind: "id", q: one.id })}>${titles.get(one.id) ?? name(one.id)}</a></th>
          <td class=${`number ${scan.threshold != null && one.score >= scan.threshold ? "warn" : ""}`}>${fixed(one.score)}</td>
          <td class="number">${count(one.occurrence)}</td>
          <td class="number">${percent(one.stability)}</td>
          <td>${one.why}</td>
        </tr>`,
      )}</tbody>
    </table></div>
    ${scan.notes.map((note) => html`<p class="quiet small" key=${note}>${note}.</p>`)}`;
}
