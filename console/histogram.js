// How many targets are found how often, raw and corrected, drawn by uPlot, which is loaded when it is needed first.
import { html, useEffect, useRef } from "./vendor/preact-htm.js";
import { count } from "./parts.js";

let loading = null;

function uPlot() {
  loading ??= new Promise((resolve, reject) => {
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: "vendor/uPlot.css" }));
    const script = Object.assign(document.createElement("script"), { src: "vendor/uPlot.js" });
    script.onload = () => resolve(globalThis.uPlot);
    script.onerror = () => {
      loading = null;
      reject(new Error("vendor/uPlot.js"));
    };
    document.head.append(script);
  });
  return loading;
}

/** Counts in bins that double: 0, 1, 2–3, 4–7, … as [first, last, targets]. */
export function bins(histogram, most) {
  const made = [[0, 0, 0]];
  for (let first = 1; first <= most; first *= 2) made.push([first, 2 * first - 1, 0]);
  for (const { occurrence, targets } of histogram) made[occurrence ? Math.floor(Math.log2(occurrence)) + 1 : 0][2] += targets;
  return made;
}

// like a logarithm from 10 on, but with a zero, where bars stand and empty bins lie
const TENS = [0, ...Array.from({ length: 10 }, (_, power) => 10 ** power)];
const label = ([first, last]) => (first === last ? `${first}` : `${first}–${last}`);
const shorter = ([first, last]) => (first === last ? `${first}` : `${first}…`);
const ROOM = 56; // pixels of a bin that all of its label takes

export function Histogram({ raw, corrected }) {
  const box = useRef(null);
  const most = Math.max(...raw.concat(corrected).map((one) => one.occurrence));
  const [before, after] = [bins(raw, most), bins(corrected, most)];
  useEffect(() => {
    let plot, gone = false;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const draw = async () => {
      const Plot = await uPlot().catch(() => null);
      if (gone || !Plot) return; // the table below has the same numbers
      plot?.destroy();
      plot = new Plot(optionsOf(Plot, before, box.current), [before.map((_, i) => i), before.map((bin) => bin[2]), after.map((bin) => bin[2])], box.current);
    };
    draw();
    dark.addEventListener("change", draw);
    const watch = new ResizeObserver(() => plot?.setSize({ width: box.current.clientWidth, height: 240 }));
    watch.observe(box.current);
    return () => {
      gone = true;
      dark.removeEventListener("change", draw);
      watch.disconnect();
      plot?.destroy();
    };
  }, [raw, corrected]);
  return html`<div class="histogram" ref=${box} aria-hidden="true"></div>
    <details class="numbers"><summary>The same in numbers</summary>
      <div class="scroll"><table>
        <thead><tr><th scope="col">Found by … queries</th><th scope="col" class="number">Targets, raw</th><th scope="col" class="number">Targets, corrected</th></tr></thead>
        <tbody>${before.map((bin, i) => html`<tr key=${i}><th scope="row">${label(bin)}</th><td class="number">${count(bin[2])}</td><td class="number">${count(after[i][2])}</td></tr>`)}</tbody>
      </table></div>
    </details>`;
}

export function optionsOf(Plot, before, box) {
  const style = getComputedStyle(document.documentElement);
  const [ink, line, raw, accent] = ["--quiet", "--line", "--raw", "--accent"].map((name) => style.getPropertyValue(name).trim());
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const bars = (align) => Plot.paths.bars({ size: [0.4, 60], align });
  return {
    width: box.clientWidth,
    height: 240,
    scales: { x: { time: false, range: [-0.6, before.length - 0.4] }, y: { distr: 4, asinh: 1, range: (plot, low, high) => [0, Math.max(10, high) * 1.3] } },
    axes: [
      { ...axis, grid: { show: false }, splits: () => before.map((_, i) => i), values: (plot, at) => at.map((i) => (before[i] ? (plot.width < ROOM * before.length ? shorter : label)(before[i]) : "")), label: "queries that find the target (N₁₀)", labelSize: 22, labelFont: axis.font, size: 28 },
      { ...axis, splits: (plot, axis, low, high) => TENS.filter((n) => n < high * 0.8), values: (plot, at) => at.map(count), label: "targets", labelSize: 22, labelFont: axis.font, size: 56 },
    ],
    cursor: { show: false },
    legend: { show: true, live: false },
    series: [
      {},
      { label: "raw", fill: raw, stroke: raw, width: 0, paths: bars(-1), points: { show: false } },
      { label: "corrected", fill: accent, stroke: accent, width: 0, paths: bars(1), points: { show: false } },
    ],
  };
}
