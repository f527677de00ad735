import { randomBytes } from 'node:crypto'
import { tokensFor } from './route-client.mjs'

const BAR_WIDTH = 20
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
  return { checks: checksOf(ways), summary: chart(ways) }
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
function chart(ways) {
  const largest = (key) => Math.max(1, ...ways.map((way) => way[key]))
  const [mostDollars, mostRefusals] = [largest('overspend'), largest('falselyRefused')]
  const rows = ways.map((way) => {
    const overspent = bar(way.overspend / mostDollars, dollars(way.overspend))
    const refused = bar(way.falselyRefused / mostRefusals, `${way.falselyRefused}`)
    return `${TITLES[way.id].padEnd(BAR_WIDTH)} ${overspent}  ${refused}`.trimEnd()
  })
  const width = BAR_WIDTH + 6
  const head = `${' '.repeat(BAR_WIDTH)} ${'overspend'.padEnd(width)}  false refusals`
  return [head, ...rows].join('\n')
}

const bar = (share, text) =>
  `${'█'.repeat(Math.round(share * BAR_WIDTH))} ${text}`.trimStart().padEnd(BAR_WIDTH + 6)
