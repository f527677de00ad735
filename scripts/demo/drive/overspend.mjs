import { randomBytes } from 'node:crypto'
import { chart } from './report.mjs'
import { tokensFor } from './route-client.mjs'

const TITLES = {
  'check-then-count': 'check, then count',
  'reserve-maximum': 'reserve the maximum',
  'reserve-and-fit': 'reserve what fits',
}

/**
 * Compares three ways to hold 200 streams to a dollar, as the button of the page does. Resolves to the
 * checks, as `checkScenario` does, and a summary.
 */
export async function overspend({ url, secret }, deadline) {
  console.log('overspend: 200 streams at once on $1.00, held in three ways')
  const tokens = tokensFor({ comparer: 'starter' }, secret, randomBytes(4).toString('hex'))
  const startedAt = performance.now()
  const answer = await fetch(`${url}/api/demo/overspend`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.get('comparer')}` },
    signal: deadline,
  })
  if (!answer.ok) throw new Error(`The comparison was answered with status ${answer.status}`)
  const { ways } = await answer.json()
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`  ${ways.length} times 200 streams in ${seconds} s`)
  return { checks: checksOf(ways), summary: summaryOf(ways) }
}

const dollars = (micro) => `$${(micro / 1_000_000).toFixed(2)}`

function checksOf(ways) {
  const [counted, maximum, fitted] = Object.keys(TITLES).map((id) =>
    ways.find((way) => way.id === id),
  )
  const isFull = fitted.leastRefused === null || fitted.remaining < fitted.leastRefused
  return [
    {
      claim: 'overspend: a check that counts afterwards overspends, and a reservation does not',
      problem:
        counted.overspend > 0 && maximum.overspend === 0 && fitted.overspend === 0
          ? undefined
          : ways.map((way) => dollars(way.overspend)).join(', '),
    },
    {
      claim: 'overspend: reserving what fits refuses nobody while the least fits',
      problem: isFull ? undefined : `${dollars(fitted.remaining)} were left`,
    },
    {
      claim: 'overspend: reserving what fits refuses fewer calls falsely than the maximum',
      problem:
        fitted.falselyRefused < maximum.falselyRefused
          ? undefined
          : `${fitted.falselyRefused} and ${maximum.falselyRefused}`,
    },
  ]
}

/** Formats a line with two bars for each way. */
function summaryOf(ways) {
  const largest = (key) => Math.max(1, ...ways.map((way) => way[key]))
  const [mostDollars, mostRefusals] = [largest('overspend'), largest('falselyRefused')]
  const rows = ways.map((way) => [
    TITLES[way.id],
    { share: way.overspend / mostDollars, text: dollars(way.overspend) },
    { share: way.falselyRefused / mostRefusals, text: `${way.falselyRefused}` },
  ])
  return chart(['overspend', 'false refusals'], rows)
}
