// Colours of the map: shades of the accent for numbers, a few hues for words.
const SHADES = 24;
const NAMED = 7;
const HUES = [175, 25, 265, 90, 330, 55, 215];

/** The places of each shade, and its radius; bigger values are drawn later, and larger. */
export function coloursOf(values) {
  const numbers = values.every((value) => value === null || typeof value === "number" || typeof value === "bigint");
  return numbers ? byNumber(values.map((value) => (value === null ? null : Number(value)))) : byName(values.map((value) => (value === null ? "none" : String(value))));
}

function byNumber(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) if (value !== null) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low > high) low = high = 0;
  const groups = Array.from({ length: SHADES }, () => []);
  values.forEach((value, i) => {
    // by the root, as most targets are found seldom
    const share = value === null || high === low ? 0 : Math.sqrt((value - low) / (high - low));
    groups[Math.min(SHADES - 1, Math.floor(share * SHADES))].push(i);
  });
  return { groups, radius: groups.map((_, shade) => 1.8 + 5 * (shade / (SHADES - 1)) ** 2), low, high };
}

function byName(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const names = [...counts].sort((a, b) => b[1] - a[1]).slice(0, NAMED).map(([value]) => value);
  if (counts.size > NAMED) names.push("other");
  const groups = names.map(() => []);
  values.forEach((value, i) => {
    const at = names.indexOf(value);
    groups[at < 0 ? groups.length - 1 : at].push(i);
  });
  return { groups, radius: names.map(() => 2.4), names: names.map((each) => each.slice(0, 40)) };
}

/** The colours of the groups in the scheme that holds now, and those of the lines. */
export function shades(colours) {
  const style = getComputedStyle(document.documentElement);
  const [ink, raw] = ["--ink", "--raw"].map((each) => style.getPropertyValue(each).trim());
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  if (colours.names) return { ink, raw, palette: colours.names.map((each, i) => (i < NAMED ? `hsl(${HUES[i]} 60% ${dark ? 62 : 38}%)` : raw)) };
  const palette = colours.groups.map((_, i) => {
    const share = i / (SHADES - 1);
    return dark ? `hsl(180 ${20 + 45 * share}% ${30 + 45 * share}%)` : `hsl(180 ${18 + 65 * share}% ${78 - 58 * share}%)`;
  });
  return { ink, raw, palette };
}
