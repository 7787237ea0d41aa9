// What there is to say about hubness in a collection, on one page to print or to send.
import { html } from "../vendor/preact-htm.js";
import { get, of, useLoad } from "../api.js";
import { Histogram } from "../histogram.js";
import { byChance, Change, count, Figure, fixed, Loaded, name, percent, signed, Uncorrected } from "../parts.js";
import { titlesOf } from "./hubs.js";

const HUBS = 10;

export default function Report({ address }) {
  const at = address.collection;
  const seen = useLoad(
    async (signal) => {
      const about = await get("read the collection", of(at), { signal });
      const [built, version] = await Promise.all([
        get("read how often targets are found", `${of(at, "occurrence")}?limit=${HUBS}`, { signal }),
        get("read the version", of(at, "versions", about.version), { signal }),
      ]);
      return { about, built, version, titles: await titlesOf(about, (built.raw?.hubs ?? []).map((hub) => hub.id), signal) };
    },
    [at],
  );
  return html`<${Loaded} of=${seen}>${(found) => html`<${Page} ...${found} />`}<//>`;
}

/** What changes, in searches that one can picture. */
function headline({ raw, corrected, chance, never, queries }, targets) {
  const before = raw.most / queries, after = corrected.most / queries;
  return `Without correction one target is among the first ten of ${percent(before)} of the searches; corrected, the most frequent one is among those of ${percent(after, after < 0.1 ? 1 : 0)}. ${count(never.raw)} targets were found by no search, now ${count(never.corrected)}; ${count(queries)} searches that found random targets would leave ${count(chance.antihub_share * targets)}.`;
}

function Page({ about, built, version, titles }) {
  const { raw, corrected, chance, never } = built;
  const random = built.source === "build" ? about.measured?.hubness_chance : null;
  return html`<article class="report">
    <div class="bar-row"><h1>Hubness in ${about.name}</h1><button type="button" class="no-print" onClick=${() => print()}>Print</button></div>
    <p class="quiet small">Version <code>${about.version}</code>, built ${about.created}; ${count(version.count)} targets of ${count(about.dim)} dimensions, ${about.metric}; correction ${about.correction.name}, index ${about.index.type}.</p>
    ${raw
      ? html`<p class="lead">${headline(built, version.count)}</p>
        <dl class="figures">
          <${Figure} term="skewness" label="Skewness of N₁₀" note=${byChance(random?.skewness, fixed)}><${Change} from=${raw.skewness} to=${corrected.skewness} /><//>
          <${Figure} term="n10" label="Largest hub" note=${`of ${count(built.queries)} queries${random ? `; ${byChance(random.most)}` : ""}`}><${Change} from=${raw.most} to=${corrected.most} digits=${0} /><//>
          <${Figure} term="antihub" label="Never found" note=${`${count(chance.antihub_share * version.count)} by chance, with ${count(built.queries)} queries`}><${Change} from=${never.raw} to=${never.corrected} digits=${0} /><//>
          <${Figure} term="recall" label="Recall of the index">${percent(about.measured?.recall_at_10, 1)}<//>
        </dl>
        <div class="columns"><section><h2>How many targets are found how often</h2>
        <${Histogram} raw=${raw.histogram} corrected=${corrected.histogram} /></section>
        <section><h2>The largest hubs</h2>
        <div class="scroll"><table><thead><tr><th scope="col">Target</th><th scope="col" class="number">N₁₀ raw</th><th scope="col" class="number">now</th><th scope="col" class="number">Offset</th></tr></thead>
          <tbody>${raw.hubs.map((hub) => html`<tr key=${`${typeof hub.id} ${hub.id}`}><th scope="row" class="clip">${titles.get(hub.id) ?? name(hub.id)}</th><td class="number">${count(hub.raw)}</td><td class="number corrected">${count(hub.corrected)}</td><td class="number">${signed(hub.offset)}</td></tr>`)}</tbody></table></div></section></div>`
      : html`<p class="notice">It was built without a query bank, so nothing was measured.</p>`}
    <${Uncorrected} about=${about} />
    ${version.notes.length > 0 && html`<h2>What to look at</h2><ul>${version.notes.map((note, i) => html`<li key=${i}>${note}</li>`)}</ul>`}
    <h2>How it was measured</h2>
    <p>${about.measured ? `With ${count(about.measured.queries)} bank queries${about.measured.held_out ? ", which the measured correction had not seen" : ""}. ` : ""}${about.bank ? `The bank has ${count(about.bank.queries)} queries${about.bank.coverage != null ? ` and covers ${percent(about.bank.coverage)} of the targets` : ""}.` : ""} What a correction gains in right answers needs labels: <code>hubless report --catalog catalog --collection ${about.name} --set queries=queries.npy --set relevant=relevant.npy --output report.html</code>.</p>
    <p class="quiet small">Built from ${Object.values(version.inputs).map((input) => input.name).join(", ") || "arrays"}, seed ${version.seed}, hubless ${version.versions.hubless}.</p>
  </article>`;
}
