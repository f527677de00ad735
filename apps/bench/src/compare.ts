const ROUNDS = 11
const CALLS = 300

interface Pair {
  readonly sluice: () => Promise<unknown>
  readonly peer: () => Promise<unknown>
}

/**
 * Times both in turn, round by round, so that a machine that drifts drifts for both, and prints each
 * one's median milliseconds per call and the median of the rounds' ratios.
 */
export async function compare(title: string, { sluice, peer }: Pair): Promise<void> {
  await round(sluice)
  await round(peer)
  const ours: number[] = []
  const theirs: number[] = []
  for (let index = 0; index < ROUNDS; index += 1) {
    ours.push(await round(sluice))
    theirs.push(await round(peer))
  }
  const ratios = ours.map((ms, index) => ms / (theirs[index] ?? Number.NaN))
  console.log(
    `${title}\n  sluice ${median(ours).toFixed(3)} ms, peer ${median(theirs).toFixed(3)} ms, ` +
      `ratio ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
  )
}

/** Milliseconds per call, one call after the other. */
async function round(call: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  for (let index = 0; index < CALLS; index += 1) await call()
  return (performance.now() - start) / CALLS
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
