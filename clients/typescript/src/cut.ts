/** Whether to answer, by scores alone: the numbers of a cut, as `hubless.Cut.as_json` of Python writes them. */
export interface CutNumbers {
  readonly temperature: number;
  readonly second: number;
  readonly depth: number;
  readonly slope: number;
  readonly intercept: number;
  readonly pairs: number;
  readonly sure: number;
  readonly distance: boolean;
  /** The least confidence by promised accuracy; null where no confidence keeps it. */
  readonly cuts: Readonly<Record<string, number | null>>;
}

const COPIES = 1e-4;
const LARGEST = 80;

/** How likely the first hit is right, 0 to 1, by the scores of a query's best hits, best first; 0 without hits. */
export function confidence(cut: CutNumbers, scores: readonly number[]): number {
  const best = scores.slice(0, cut.depth).map((score) => (cut.distance ? -score : score));
  const first = best[0];
  if (first === undefined) {
    return 0;
  }
  let others = 0;
  for (const score of best) {
    const ahead = (score - first) / cut.temperature;
    if (Math.abs(ahead) > COPIES) {
      others += Math.exp(Math.min(ahead, LARGEST));
    }
  }
  const usual = Math.exp(Math.min((cut.second - first) / cut.temperature, LARGEST));
  others += ((cut.depth - best.length) / (cut.depth - 1)) * usual;
  return 1 / (1 + Math.exp(Math.min(cut.slope * Math.log(Math.max(others, 1e-6)) - cut.intercept, 40)));
}

/**
 * Whether to answer a query, so that this share of the answers is right.
 *
 * Throws a RangeError for an accuracy that the labels of the cut cannot promise.
 */
export function accept(cut: CutNumbers, scores: readonly number[], accuracy = 0.9): boolean {
  const [promise] = Object.keys(cut.cuts)
    .map(Number)
    .sort((one, other) => one - other)
    .filter((each) => each >= accuracy);
  const least = promise === undefined ? undefined : cut.cuts[String(promise)];
  if (typeof least !== "number") {
    throw new RangeError(`accuracy: expected one that ${cut.pairs} labelled queries can promise, got ${accuracy}`);
  }
  return confidence(cut, scores) >= least;
}
