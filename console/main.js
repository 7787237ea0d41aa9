// The frame of the page: the bar on top, the view that the address names, and the question for a key.
import { html, render, useCallback, useEffect, useErrorBoundary, useRef, useState } from "./vendor/preact-htm.js";
import { Failure, get, key, useLoad } from "./api.js";
import { link, useAddress } from "./address.js";
import { installTips, Loaded, Problem } from "./parts.js";

const VIEWS = [
  ["search", "Search"],
  ["hubs", "Hubs"],
  ["map", "Map"],
  ["versions", "Versions"],
  ["writes", "Writes & bank"],
  ["report", "Report"],
];

const UNKNOWN = { keys: false, role: "read", collections: null }; // until the server says it: views do not wait

function App() {
  const address = useAddress();
  const [wanted, setWanted] = useState(null); // why a key is asked for
  const [session, setSession] = useState(0); // counts keys: everything is loaded anew with another one
  useEffect(() => key.onWanted(setWanted), []);
  const access = useLoad((signal) => get("ask what the key may do", "v1/access", { signal }), [session]);
  const known = useLoad(
    // for the switch between them, which the list of all has no use for
    async (signal) => (address.collection ? (await get("list the collections", "v1/collections", { signal })).collections.map((one) => one.name) : []),
    [session, address.collection],
  );
  const enter = (given) => {
    key.set(given);
    setWanted(null);
    setSession((n) => n + 1);
  };
  const view = address.collection ? (address.view ?? "search") : "collections";
  useEffect(() => {
    const title = VIEWS.find(([id]) => id === view)?.[1] ?? "Collections";
    document.title = `${address.collection ? `${address.collection} · ` : ""}${title} · hubless`;
  }, [address.collection, view]);
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>Skip to the content</a>
    <header>
      <a class="brand" href=${link()} aria-label="hubless: all collections">hubless</a>
      ${address.collection && html`<${Switch} names=${known.data ?? []} now=${address.collection} view=${view} />`}
      ${address.collection &&
      html`<nav aria-label="Views of the collection">
        ${VIEWS.map(
          ([id, title]) =>
            html`<a key=${id} href=${link(address.collection, id)} aria-current=${id === view ? "page" : undefined}>${title}</a>`,
        )}
      </nav>`}
      <span class="grow"></span>
      <${KeyButton} access=${access.data} onChange=${() => setWanted(new Failure("", {}))} onForget=${() => enter(null)} />
      <a class="docs" href="../docs">API</a>
    </header>
    <main id="main" tabindex="-1">
      ${!wanted &&
      html`<${Shown} key=${`${session} ${address.collection} ${view}`} view=${view} address=${address} access=${access.data ?? UNKNOWN} />`}
    </main>
    ${wanted && html`<${AskForKey} why=${wanted} onKey=${enter} onCancel=${() => setWanted(null)} />`}
  `;
}

function Switch({ names, now, view }) {
  const all = names.includes(now) ? names : [now, ...names];
  return html`<select
    class="switch"
    aria-label="Collection"
    value=${now}
    onChange=${(event) => (location.hash = link(event.target.value, view))}
  >
    ${all.map((name) => html`<option key=${name} value=${name} selected=${name === now}>${name}</option>`)}
  </select>`;
}

function KeyButton({ access, onChange, onForget }) {
  if (!access?.keys) return null;
  return html`<span class="keys">
    <span class="tag" title=${access.collections ? `only ${access.collections.join(", ")}` : "all collections"}>${access.role}</span>
    <button type="button" class="plain" onClick=${onChange}>Key</button>
    ${key.get() && html`<button type="button" class="plain" onClick=${onForget}>Forget it</button>`}
  </span>`;
}

/** Asks for a key. It stays in this tab. */
function AskForKey({ why, onKey, onCancel }) {
  const dialog = useRef(null);
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  const submit = (event) => {
    event.preventDefault();
    onKey(new FormData(event.target).get("key").trim());
  };
  const had = Boolean(key.get());
  return html`<dialog ref=${dialog} class="ask" aria-labelledby="ask-title" onCancel=${(event) => (why.status ? event.preventDefault() : onCancel())}>
    <form onSubmit=${submit}>
      <h2 id="ask-title">${why.status && had ? "This key does not open the server" : "API key"}</h2>
      ${why.status === 429 && html`<p class="problem" role="alert">${why.detail}</p>`}
      ${why.status === 401 &&
      html`<p>${had ? "It is wrong, or it was taken back." : "The server asks for an API key."} It stays in this tab, until you close it.</p>`}
      <label>Key <input name="key" type="password" autocomplete="off" spellcheck=${false} required autofocus /></label>
      <p class="actions">
        ${!why.status && html`<button type="button" onClick=${onCancel}>Cancel</button>`}
        <button class="main">Use this key</button>
      </p>
      ${why.requestId && html`<p class="quiet small">request id <code>${why.requestId}</code></p>`}
    </form>
  </dialog>`;
}

/** The view. Its module is loaded when it is needed first. */
function Shown({ view, address, access }) {
  const file = VIEWS.some(([id]) => id === view) || view === "collections" ? view : null;
  const [broken, reset] = useErrorBoundary();
  const module = useLoad(async () => {
    if (!file) throw new Failure("show this view", { title: "There is no such view", detail: view });
    return load(file);
  }, [file]);
  const again = useCallback(() => (broken ? reset() : module.again()), [broken, module.again]);
  if (broken) return html`<${Problem} failure=${broken} again=${again} />`;
  return html`<${Loaded} of=${module}>${(found) => html`<${found.default} address=${address} access=${access} />`}<//>`;
}

async function load(file, attempt = 0) {
  try {
    // a module that could not be loaded stays so under its address: try another one
    return await import(`./views/${file}.js${attempt ? `?again=${Date.now()}` : ""}`);
  } catch (error) {
    if (attempt) throw new Failure("load the view", { title: "The server cannot be reached", detail: error.message });
    return load(file, 1);
  }
}

installTips();
render(html`<${App} />`, document.getElementById("app"));
