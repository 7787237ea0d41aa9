// Targets and bank queries on a plane, on a canvas: colour, hover, zoom, lasso, search, and the ids of a selection.
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { get, of, stringify, useLoad } from "../api.js";
import { link, useParams } from "../address.js";
import { Choice, Copy, count, fixed, Loaded, name, percent, signed, Term } from "../parts.js";
import { coloursOf, shades } from "../colours.js";

const NEAR = 12; // pixels from the pointer
const RING = 6; // around what is selected
const LISTED = 100;
const MOST_ZOOM = 200;

export default function Map_({ address }) {
  const at = address.collection;
  const [params, setParams] = useParams(address);
  const column = params.column ?? "";
  const about = useLoad((signal) => get("read the collection", of(at), { signal }), [at]);
  const seen = useLoad(
    (signal) => get("read the map", `${of(at, "projection")}${column ? `?${new URLSearchParams({ column })}` : ""}`, { signal }),
    [at, column],
  );
  return html`<h1>Map of ${at}</h1>
    <${Loaded} of=${about}>${(collection) => html`<${Loaded} of=${seen}>
      ${(found) => (found.targets.id.length ? html`<${Mapped} ...${{ collection, found, params, setParams, column }} />` : html`<p class="quiet">There are no targets to draw.</p>`)}
    <//>`}<//>`;
}

function Mapped({ collection, found, params, setParams, column }) {
  const { targets, queries, method, explained } = found;
  const by = column ? "value" : params.by === "offset" || !targets.raw ? "offset" : params.by === "corrected" ? "corrected" : "raw";
  const [chosen, setChosen] = useState([]); // places of the selection
  const [lasso, setLasso] = useState(false);
  const [words, setWords] = useState("");
  const [withQueries, setWithQueries] = useState(true);
  const matches = useMemo(() => search(targets, words), [targets, words]);
  const selected = words ? matches : chosen;
  const colours = useMemo(() => coloursOf(targets[by] ?? targets.offset), [targets, by]);
  const choices = [...(targets.raw ? [["raw", "N₁₀ raw"], ["corrected", "N₁₀ now"]] : []), ["offset", "Offset"]];
  return html`
    <div class="controls">
      <span class="actions">Colour <${Choice} label="Colour by" value=${by} options=${choices} onChange=${(to) => setParams({ by: to, column: "" })} /></span>
      ${collection.payload_columns.length > 0 && html`<label>or a field <select value=${column} onChange=${(event) => setParams({ column: event.target.value })}>
        <option value="" selected=${!column}>–</option>${collection.payload_columns.map((each) => html`<option key=${each} value=${each} selected=${each === column}>${each}</option>`)}
      </select></label>`}
      <label class="check"><input type="checkbox" checked=${withQueries} onChange=${(event) => setWithQueries(event.target.checked)} /> <${Term} of="gap">Bank queries<//></label>
      <label>Find <input type="search" value=${words} placeholder=${column ? `in ids and ${column}` : "in ids"} onInput=${(event) => setWords(event.target.value)} /></label>
    </div>
    <${Canvas} ...${{ targets, queries: withQueries ? queries : { x: [], y: [] }, colours, selected, lasso, setLasso, onLasso: (places) => { setWords(""); setChosen(places); } }} />
    <p class="quiet small">${count(targets.id.length)} of ${count(found.count)} targets${targets.id.length < found.count ? ", the largest hubs among them" : ""}${withQueries ? `, ${count(queries.x.length)} bank queries as crosses` : ""}. ${method === "umap" ? html`Drawn by <${Term} of="umap">UMAP<//>.` : html`<${Term} of="pca">Principal components<//>: they show ${percent(explained[0] + explained[1])} of the <${Term} of="variance">spread<//>.`}</p>
    <${Legend} colours=${colours} by=${by} column=${column} />
    <${Selection} ...${{ collection, targets, selected, words, column, onClear: () => { setWords(""); setChosen([]); } }} />
  `;
}

function search(targets, words) {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return [];
  const text = (place) => `${targets.id[place]} ${targets.value ? targets.value[place] : ""}`.toLowerCase();
  return targets.id.map((_, place) => place).filter((place) => text(place).includes(wanted));
}

function Canvas({ targets, queries, colours, selected, lasso, setLasso, onLasso }) {
  const canvas = useRef(null);
  const view = useRef({ zoom: 1, x: 0, y: 0 });
  const path = useRef(null);
  const [over, setOver] = useState(null);
  const box = useMemo(() => boundsOf([targets, queries]), [targets]);
  const asked = useRef(0);

  // from the plane to the canvas: x · scale + left, top − y · scale
  const frame = useCallback(() => {
    const { width, height } = size(canvas.current);
    const scale = Math.min(width / box.width, height / box.height) * 0.94 * view.current.zoom;
    return { width, height, scale, left: width / 2 - box.x * scale + view.current.x, top: height / 2 + box.y * scale + view.current.y };
  }, [box]);

  const draw = useCallback(() => {
    cancelAnimationFrame(asked.current);
    asked.current = requestAnimationFrame(() => canvas.current && paint(canvas.current, { targets, queries, colours, selected, frame: frame(), path: path.current }));
  }, [targets, queries, colours, selected, frame]);

  useEffect(() => {
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(canvas.current);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => {
      watch.disconnect();
      dark.removeEventListener("change", draw);
      cancelAnimationFrame(asked.current);
    };
  }, [draw]);

  const zoom = useCallback((factor, at) => {
    const { width, height } = size(canvas.current);
    const [px, py] = at ?? [width / 2, height / 2];
    const before = view.current;
    const zoomed = Math.min(MOST_ZOOM, Math.max(1, before.zoom * factor));
    const real = zoomed / before.zoom;
    view.current = zoomed === 1 ? { zoom: 1, x: 0, y: 0 } : { zoom: zoomed, x: px - width / 2 - (px - width / 2 - before.x) * real, y: py - height / 2 - (py - height / 2 - before.y) * real };
    draw();
  }, [draw]);

  useEffect(() => {
    const wheel = (event) => {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), [event.offsetX, event.offsetY]);
    };
    const node = canvas.current;
    node.addEventListener("wheel", wheel, { passive: false });
    return () => node.removeEventListener("wheel", wheel);
  }, [zoom]);

  const down = (event) => {
    canvas.current.setPointerCapture(event.pointerId);
    path.current = { lasso: lasso || event.shiftKey, points: [[event.offsetX, event.offsetY]], from: { ...view.current } };
    setOver(null);
  };
  const move = (event) => {
    const at = [event.offsetX, event.offsetY];
    const now = path.current;
    if (!now) {
      setOver(nearest(targets, frame(), at));
      return;
    }
    if (now.lasso) now.points.push(at);
    else view.current = { ...now.from, x: now.from.x + at[0] - now.points[0][0], y: now.from.y + at[1] - now.points[0][1] };
    draw();
  };
  const up = () => {
    const now = path.current;
    path.current = null;
    if (now?.lasso) {
      onLasso(inside(targets, frame(), now.points));
      setLasso(false);
    }
    draw();
  };
  const keys = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 };
  const pressed = (event) => {
    const arrows = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
    if (event.key in keys) zoom(keys[event.key]);
    else if (event.key in arrows) {
      view.current = { ...view.current, x: view.current.x + arrows[event.key][0], y: view.current.y + arrows[event.key][1] };
      draw();
    } else return;
    event.preventDefault();
  };
  return html`<div class="map">
    <canvas ref=${canvas} class=${lasso ? "lasso" : ""} tabindex="0" role="application" aria-label="Map of targets. Plus and minus zoom, arrow keys move it."
      onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${up} onPointerLeave=${() => setOver(null)} onKeyDown=${pressed}></canvas>
    <div class="tools">
      <button type="button" aria-pressed=${lasso} onClick=${() => setLasso(!lasso)}>Lasso</button>
      <button type="button" aria-label="Zoom in" onClick=${() => zoom(1.6)}>+</button>
      <button type="button" aria-label="Zoom out" onClick=${() => zoom(1 / 1.6)}>−</button>
      <button type="button" onClick=${() => zoom(0)}>All</button>
    </div>
    ${over !== null && html`<${Card} targets=${targets} place=${over.place} at=${over.at} />`}
  </div>`;
}

const Card = ({ targets, place, at }) =>
  html`<div class="card" style=${{ left: `${at[0]}px`, top: `${at[1]}px` }}>
    <strong>${name(targets.id[place])}</strong>
    ${targets.value && html`<span>${String(targets.value[place] ?? "–").slice(0, 200)}</span>`}
    <span>${targets.raw ? `N₁₀ raw ${targets.raw[place]}, now ${targets.corrected[place]} · ` : ""}offset ${signed(targets.offset[place])}</span>
  </div>`;

function boundsOf(parts) {
  const xs = parts.flatMap((part) => part.x), ys = parts.flatMap((part) => part.y);
  const span = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  const [left, right] = span(xs), [low, high] = span(ys);
  return { x: (left + right) / 2, y: (low + high) / 2, width: right - left || 1, height: high - low || 1 };
}

const size = (canvas) => ({ width: canvas.clientWidth, height: canvas.clientHeight });

/** A disc of a colour, to be copied: a tenth of the time of filling 5,000 arcs. */
function disc(radius, colour, ratio) {
  const side = 2 * Math.ceil((radius + 1) * ratio);
  const made = Object.assign(document.createElement("canvas"), { width: side, height: side });
  const pen = made.getContext("2d");
  pen.fillStyle = colour;
  pen.beginPath();
  pen.arc(side / 2, side / 2, radius * ratio, 0, 7);
  pen.fill();
  return made;
}

let discs = { of: "", made: [] };

/** The discs of a palette. They are kept from frame to frame. */
function discsOf(palette, radius, ratio) {
  const wanted = [ratio, ...radius, ...palette].join();
  if (discs.of !== wanted) discs = { of: wanted, made: palette.map((colour, shade) => disc(radius[shade], colour, ratio)) };
  return discs.made;
}

/** Draws everything, hubs above the others. */
function paint(canvas, { targets, queries, colours, selected, frame, path }) {
  const { width, height, scale, left, top } = frame;
  const ratio = devicePixelRatio;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(1, 0, 0, 1, 0, 0); // discs are copied pixel by pixel
  pen.clearRect(0, 0, canvas.width, canvas.height);
  const { palette, ink, raw } = shades(colours);
  const stamps = discsOf(palette, colours.radius, ratio);
  const dim = selected.length > 0;
  pen.globalAlpha = dim ? 0.25 : 0.85;
  for (let shade = 0; shade < palette.length; shade++) {
    const stamp = stamps[shade];
    const half = stamp.width / 2;
    for (const i of colours.groups[shade]) {
      const x = targets.x[i] * scale + left, y = top - targets.y[i] * scale;
      if (x < -9 || y < -9 || x > width + 9 || y > height + 9) continue;
      pen.drawImage(stamp, Math.round(x * ratio) - half, Math.round(y * ratio) - half);
    }
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.globalAlpha = 0.5;
  pen.beginPath();
  for (let i = 0; i < queries.x.length; i++) {
    const x = queries.x[i] * scale + left, y = top - queries.y[i] * scale;
    pen.moveTo(x - 3, y); pen.lineTo(x + 3, y); pen.moveTo(x, y - 3); pen.lineTo(x, y + 3);
  }
  pen.strokeStyle = raw;
  pen.stroke();
  pen.globalAlpha = 1;
  pen.lineWidth = 1.5;
  pen.strokeStyle = ink;
  pen.beginPath();
  for (const i of selected) {
    const x = targets.x[i] * scale + left, y = top - targets.y[i] * scale;
    pen.moveTo(x + RING, y);
    pen.arc(x, y, RING, 0, 7);
  }
  pen.stroke();
  if (path?.lasso) {
    pen.beginPath();
    path.points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    pen.stroke();
  }
}

function nearest(targets, { scale, left, top }, at) {
  let best = null, least = NEAR ** 2;
  for (let i = 0; i < targets.x.length; i++) {
    const x = targets.x[i] * scale + left - at[0], y = top - targets.y[i] * scale - at[1];
    if (x * x + y * y < least) [best, least] = [i, x * x + y * y];
  }
  return best === null ? null : { place: best, at: [targets.x[best] * scale + left, top - targets.y[best] * scale] };
}

/** The places of the targets inside a polygon, by counting crossings. */
function inside(targets, { scale, left, top }, polygon) {
  return targets.id.map((_, i) => i).filter((i) => {
    const x = targets.x[i] * scale + left, y = top - targets.y[i] * scale;
    let within = false;
    for (let a = 0, b = polygon.length - 1; a < polygon.length; b = a++) {
      const [[ax, ay], [bx, by]] = [polygon[a], polygon[b]];
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
    }
    return within;
  });
}

function Legend({ colours, by, column }) {
  const { palette } = shades(colours);
  const title = { raw: "N₁₀ raw", corrected: "N₁₀ now", offset: "offset", value: column }[by];
  if (colours.names) return html`<p class="legend">${colours.names.map((each, i) => html`<span key=${i}><i style=${{ background: palette[i] }}></i>${each}</span>`)}</p>`;
  return html`<p class="legend"><span>${title} ${fixed(colours.low, by === "offset" ? 2 : 0)}</span>${palette.filter((_, i) => i % 4 === 0).map((shade) => html`<i key=${shade} style=${{ background: shade }}></i>`)}<span>${fixed(colours.high, by === "offset" ? 2 : 0)}</span></p>`;
}

function Selection({ collection, targets, selected, words, column, onClear }) {
  if (!selected.length) return html`<p class="quiet" role="status">${words ? "Nothing on the map has these words." : "Draw a lasso (or drag with Shift) to select targets."}</p>`;
  const ids = selected.map((i) => targets.id[i]);
  const download = () => {
    const url = URL.createObjectURL(new Blob([stringify(ids, 1)], { type: "application/json" }));
    Object.assign(document.createElement("a"), { href: url, download: `${collection.name}-selection.json` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  return html`<section aria-label="Selection">
    <div class="bar-row"><h2 aria-live="polite">${count(ids.length)} selected</h2>
      <span class="actions"><${Copy} text=${stringify(ids)}>Copy the ids<//><button type="button" class="small" onClick=${download}>Save the ids</button><button type="button" class="plain" onClick=${onClear}>Clear</button></span></div>
    <div class="scroll"><table><thead><tr><th scope="col">Target</th>${column && html`<th scope="col">${column}</th>`}<th scope="col" class="number">N₁₀ raw</th><th scope="col" class="number">now</th><th scope="col" class="number">Offset</th></tr></thead>
      <tbody>${selected.slice(0, LISTED).map((i) => html`<tr key=${i}>
        <td class="clip"><a href=${link(collection.name, "search", { kind: "id", q: String(targets.id[i]) })}>${name(targets.id[i])}</a></td>${column && html`<td class="clip">${String(targets.value?.[i] ?? "–").slice(0, 200)}</td>`}
        <td class="number">${count(targets.raw?.[i])}</td><td class="number corrected">${count(targets.corrected?.[i])}</td><td class="number">${signed(targets.offset[i])}</td></tr>`)}</tbody></table></div>
    ${ids.length > LISTED && html`<p class="quiet">The first ${LISTED} are listed.</p>`}
  </section>`;
}
