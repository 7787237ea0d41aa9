// The versions of a collection: what each is, what changed, which one is served, and its other names.
import { html, useRef, useState } from "../vendor/preact-htm.js";
import { call, get, of, post, useLoad } from "../api.js";
import { useParams } from "../address.js";
import { ago, bytes, Change, count, Loaded, name, percent, Problem, Term } from "../parts.js";
import { titlesOf } from "./hubs.js";

export default function Versions({ address, access }) {
  const at = address.collection;
  const [params, setParams] = useParams(address);
  const [done, setDone] = useState("");
  const listed = useLoad(
    async (signal) => {
      const { versions, collection } = await get("list the versions", of(at, "versions"), { signal });
      const read = (one) => (one.state === "damaged" ? null : get("read the version", of(collection, "versions", one.version), { signal }).catch(() => null));
      const about = await Promise.all(versions.map(read));
      return { collection, versions: versions.map((one, i) => ({ ...one, about: about[i] })).reverse() };
    },
    [at],
    10,
  );
  return html`<h1>Versions of ${at}</h1>
    ${done && html`<p class="notice" role="status">${done}</p>`}
    <${Loaded} of=${listed}>
      ${({ versions, collection }) => html`
        <${Table} ...${{ versions, collection, access, params, setParams }} onDone=${(text) => { setDone(text); listed.again(); }} />
        <${Diff} ...${{ versions, collection, params, setParams }} />
        <${Aliases} collection=${collection} access=${access} />
      `}
    <//>`;
}

function Table({ versions, collection, access, params, setParams, onDone }) {
  const [asked, setAsked] = useState(null);
  const now = versions.find((one) => one.current);
  return html`<div class="scroll"><table class="stack">
      <thead><tr>
        <th scope="col">Version</th><th scope="col">State</th><th scope="col" class="number">Built</th><th scope="col" class="number">Targets</th>
        <th scope="col">Correction</th><th scope="col" class="number"><${Term} of="recall">Recall<//></th>
        <th scope="col" class="number"><${Term} of="skewness">Skewness<//></th><th scope="col" class="number">Size</th><th scope="col">From</th><th scope="col"><span class="sr">Actions</span></th>
      </tr></thead>
      <tbody>${versions.map(
        (one) => html`<tr key=${one.version}>
          <th scope="row"><code>${one.version}</code></th>
          <td data-label="State"><span class=${`tag ${one.state === "served" ? "on" : one.state === "stored" ? "" : "bad"}`} title=${one.detail ?? undefined}>${one.state}</span>${one.detail && html` <span class="small warn">${one.detail}</span>`}</td>
          <td data-label="Built" class="number" title=${one.created}>${ago(one.created)}</td>
          <td data-label="Targets" class="number">${count(one.count)}</td>
          <td data-label="Correction">${one.about?.correction.name ?? "–"}</td>
          <td data-label="Recall" class="number">${percent(one.about?.measured?.recall_at_10, 1)}</td>
          <td data-label="Skewness" class="number">${one.about?.measured ? html`<${Change} from=${one.about.measured.hubness_raw.skewness} to=${one.about.measured.hubness_corrected.skewness} />` : "–"}</td>
          <td data-label="Size" class="number">${bytes(one.about?.bytes)}</td>
          <td data-label="From" class="small">${Object.values(one.about?.inputs ?? {}).map((input) => input.name).join(", ")}</td>
          <td class="number">
            ${!one.current && one.state !== "damaged" &&
            html`<button type="button" disabled=${access.role !== "admin"} title=${access.role === "admin" ? undefined : "needs a key of role admin"} onClick=${() => setAsked(one)}>${now && one.version < now.version ? "Roll back" : "Activate"}</button>`}
          </td>
        </tr>`,
      )}</tbody>
    </table></div>
    ${asked && html`<${Confirm} ...${{ one: asked, now, collection }} onClose=${(text) => { setAsked(null); if (text) onDone(text); }} />`}`;
}

/** Asks before another version is served. */
function Confirm({ one, now, collection, onClose }) {
  const [failure, setFailure] = useState(null);
  const [busy, setBusy] = useState(false);
  const shown = useRef(false);
  const open = (dialog) => {
    if (dialog && !shown.current) {
      shown.current = true;
      dialog.showModal();
    }
  };
  const act = async () => {
    setBusy(true);
    setFailure(null);
    try {
      await post("activate the version", of(collection, "versions", one.version, "activate"));
      onClose(`${one.version} is current. It is served as soon as it is open; the old one answers until then.`);
    } catch (problem) {
      setFailure(problem);
      setBusy(false);
    }
  };
  return html`<dialog ref=${open} aria-labelledby="confirm-title" onCancel=${() => onClose()}>
    <h2 id="confirm-title">Serve another version?</h2>
    <p>Queries of <strong>${collection}</strong> will be answered by <code>${one.version}</code> (${count(one.count)} targets)${now ? html` instead of <code>${now.version}</code> (${count(now.count)} targets)` : ""}.</p>
    <${Problem} failure=${failure} />
    <p class="actions"><button type="button" onClick=${() => onClose()}>Cancel</button><button type="button" class="main" disabled=${busy} onClick=${act}>${busy ? "Checking its files …" : "Serve it"}</button></p>
  </dialog>`;
}

function Diff({ versions, collection, params, setParams }) {
  const usable = versions.filter((one) => one.state !== "damaged");
  if (usable.length < 2) return html`<section><h2>What changed</h2><p class="quiet">There is one version. After the next build this compares them.</p></section>`;
  const to = usable.find((one) => one.version === params.to)?.version ?? usable[0].version;
  const since = usable.find((one) => one.version === params.since)?.version ?? usable.find((one) => one.version < to)?.version ?? usable.at(-1).version;
  const pick = (label, value, field) => html`<label>${label} <select value=${value} onChange=${(event) => setParams({ [field]: event.target.value })}>${usable.map((one) => html`<option key=${one.version} value=${one.version} selected=${one.version === value}>${one.version}</option>`)}</select></label>`;
  return html`<section>
    <h2>What changed</h2>
    <p class="controls">${pick("from", since, "since")} ${pick("to", to, "to")}</p>
    <${Differences} key=${`${since} ${to}`} ...${{ collection, since, to }} />
  </section>`;
}

function Differences({ collection, since, to }) {
  const found = useLoad(
    async (signal) => {
      const diff = await get("compare the versions", `${of(collection, "versions", to, "diff")}?${new URLSearchParams({ since })}`, { signal });
      const about = await get("read the collection", of(collection), { signal });
      const ids = diff.canaries.flatMap((one) => [...one.before, ...one.after]);
      const titles = await titlesOf(about, [...new Set(ids)].slice(0, 500), signal).catch(() => new Map());
      return { diff, titles };
    },
    [collection, since, to],
  );
  const text = (value) => (value === undefined || value === null ? "–" : typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(4))) : typeof value === "object" ? JSON.stringify(value) : String(value));
  return html`<${Loaded} of=${found}>${({ diff, titles }) => {
    const title = (id) => titles.get(id) ?? name(id);
    const ids = ({ count: n, ids }, word) => html`<p><strong>${count(n)}</strong> ${word}${ids.length ? `: ${ids.slice(0, 8).map(name).join(", ")}${n > 8 ? " …" : ""}` : "."}</p>`;
    const changed = diff.canaries.filter((one) => one.kept < one.before.length || one.kept < one.after.length);
    return html`<div class="columns">
      <section><h3>Parameters and measurements</h3>
        ${diff.fields.length === 0 ? html`<p class="quiet">None differs.</p>` : html`<div class="scroll"><table><thead><tr><th scope="col">Field</th><th scope="col" class="number">Before</th><th scope="col" class="number">After</th></tr></thead>
        <tbody>${diff.fields.map((field) => html`<tr key=${field.field}><th scope="row"><code>${field.field}</code></th><td class="wrap right">${text(field.before)}</td><td class="wrap right">${text(field.after)}</td></tr>`)}</tbody></table></div>`}
      </section>
      <section><h3>Targets</h3>${ids(diff.added, "were added")}${ids(diff.removed, "are gone")}
        <h3><${Term} of="canary">Canary queries<//></h3>
        ${diff.canaries.length === 0 ? html`<p class="quiet">None can be compared.</p>` : html`<p>${changed.length} of ${diff.canaries.length} have other first tens.</p>
        ${changed.map((one, i) => html`<details key=${i}><summary>${one.kept} of ${one.after.length} kept: ${title(one.after[0])}</summary>
          <p class="small">In: ${one.after.filter((id) => !one.before.includes(id)).map(title).join(", ") || "none"}</p><p class="small">Out: ${one.before.filter((id) => !one.after.includes(id)).map(title).join(", ") || "none"}</p></details>`)}`}
      </section></div>`;
  }}<//>`;
}

function Aliases({ collection, access }) {
  const [failure, setFailure] = useState(null);
  const [removing, setRemoving] = useState(null);
  const listed = useLoad(async (signal) => (await get("list the aliases", "v1/aliases", { signal })).aliases, [collection]);
  const act = async (what, method, alias, options) => {
    setFailure(null);
    try {
      await call(what, method, `v1/aliases/${encodeURIComponent(alias)}`, options);
    } catch (problem) {
      setFailure(problem);
    }
    listed.again(); // after a refusal, too: what is listed may be older than what refused
  };
  const may = access.role === "admin";
  const add = (event) => {
    event.preventDefault();
    const alias = new FormData(event.target).get("alias").trim();
    const known = listed.data.find((one) => one.alias === alias);
    act("set the alias", "PUT", alias, { body: { collection }, headers: known ? { "If-Match": known.etag } : { "If-None-Match": "*" } });
    event.target.reset();
  };
  return html`<section><h2>Aliases</h2>
    <${Problem} failure=${failure} />
    <${Loaded} of=${listed}>${(all) => {
      const mine = all.filter((one) => one.collection === collection);
      return html`<ul class="plain">${mine.map((one) => html`<li key=${one.alias}><strong>${one.alias}</strong>
          ${may && (removing === one.alias
            ? html` <button type="button" onClick=${() => { setRemoving(null); act("remove the alias", "DELETE", one.alias, { headers: { "If-Match": one.etag } }); }}>Yes, remove it</button> <button type="button" class="plain" onClick=${() => setRemoving(null)}>Keep it</button>`
            : html` <button type="button" class="plain" onClick=${() => setRemoving(one.alias)}>Remove</button>`)}</li>`)}</ul>
        ${mine.length === 0 && html`<p class="quiet">It has no other name.</p>`}
        ${may ? html`<form class="actions" onSubmit=${add}><label>Alias <input name="alias" required pattern="[A-Za-z0-9][A-Za-z0-9_\\-]*" maxlength="64" /></label><button>Set it</button></form>` : html`<p class="quiet small">Changing aliases needs a key of role admin.</p>`}`;
    }}<//>
  </section>`;
}
