import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isAllowed } from './checks.mjs'
import { chart } from './report.mjs'
import { request, tokensFor } from './route-client.mjs'

/** The limit of all tenants together, on each of the two routes. */
const LIMIT = 40
const WINDOW_MS = 10_000
const WAYS = [
  { route: 'summarize-unshared', title: 'without shares', policies: ['gpu-unshared'] },
  { route: 'summarize', title: 'with shares', policies: ['gpu', 'gpu.share'] },
]

const IMPORTER = 'gpu-import'
const NEIGHBOURS = ['gpu-near-1', 'gpu-near-2']
/** Plans whose own limits are not reached. */
const TENANTS = { [IMPORTER]: 'enterprise', 'gpu-near-1': 'growth', 'gpu-near-2': 'professional' }

const IMPORT_WORKERS = 12
const IMPORT_PAUSE_MS = 500
/** At most 5 requests in a window, where a third of the limit is 13. */
const NEIGHBOUR_PAUSE_MS = 2_000
/** The first window, in which the importer gives back what it was lent, and another one to count. */
const TOGETHER_MS = 2.2 * WINDOW_MS

/**
 * Sends the same traffic to two routes at once: a tenant imports as fast as it can, and two others join it. Both routes
 * have one limit of all tenants, one of them with shares. Resolves to the checks, as `checkScenario` does, and a summary.
 */
export async function sharedGpu({ url, secret }, deadline) {
  console.log(
    'bulk import on one GPU: 40 requests in 10 s for three tenants, without and with shares',
  )
  const tokens = tokensFor(TENANTS, secret, randomBytes(4).toString('hex'))
  const startedAt = performance.now()
  const results = await Promise.all(
    WAYS.map(async (way) => {
      const send = (tenant) => request(url, way.route, tokens.get(tenant), deadline)
      return Object.assign(await run(send), way)
    }),
  )
  const sent = results.reduce((sum, { records }) => sum + records.length, 0)
  console.log(`  ${sent} requests in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  return { checks: checksOf(results), summary: summaryOf(results) }
}

/** Runs the importer, first alone until it is refused. Resolves to all records, and the time when the neighbours came. */
async function run(send) {
  const records = []
  const askUntil = async (isOver, tenant, pauseMs) => {
    while (!isOver()) {
      records.push({ tenant, ...(await send(tenant)) })
      await delay(pauseMs)
    }
  }
  let isOver = false
  const importing = Array.from({ length: IMPORT_WORKERS }, () =>
    askUntil(() => isOver, IMPORTER, IMPORT_PAUSE_MS),
  )
  const aloneUntil = performance.now() + WINDOW_MS
  while (records.every(isAllowed) && performance.now() < aloneUntil) await delay(20)
  const joinedAt = performance.now()
  const isPast = () => performance.now() > joinedAt + TOGETHER_MS
  await Promise.all(NEIGHBOURS.map((tenant) => askUntil(isPast, tenant, NEIGHBOUR_PAUSE_MS)))
  isOver = true
  await Promise.all(importing)
  return { records, joinedAt }
}

function checksOf(results) {
  const without = results[0].records.filter(({ tenant }) => tenant !== IMPORTER)
  const within = afterFirstWindow(results[1]).near
  const alone = aloneIn(results.at(-1))
  return [
    checkAnswers(results),
    checkWindows(results),
    {
      claim: 'one GPU: without shares, the neighbours get less than half of what they ask for',
      problem:
        without.length > 0 && countAllowed(without) < without.length / 2
          ? undefined
          : allowedOf(without),
    },
    {
      claim: 'one GPU: with shares, the neighbours get 90 % or more after one window',
      problem:
        within.length > 0 && countAllowed(within) >= 0.9 * within.length
          ? undefined
          : allowedOf(within),
    },
    {
      claim: 'one GPU: with shares, the importer gets 80 % of the limit or more while it is alone',
      problem:
        countAllowed(alone) >= 0.8 * LIMIT ? undefined : `${countAllowed(alone)} of ${LIMIT}`,
    },
  ]
}

function checkAnswers(results) {
  const invalid = results.flatMap(({ policies, records }) =>
    records.filter(
      ({ status, policy, retryAfter }) =>
        status !== 200 &&
        !(status === 429 && policies.includes(policy) && /^[1-9]\d*$/.test(retryAfter ?? '')),
    ),
  )
  return {
    claim: 'one GPU: every answer is 200, or a 429 by its limit or its shares',
    problem: invalid[0] && JSON.stringify(invalid[0]),
  }
}

/** Compares the requests that certainly were allowed within one window with the limit. */
function checkWindows(results) {
  const most = Math.max(...results.map(({ records }) => mostInWindow(records.filter(isAllowed))))
  return {
    claim: 'one GPU: no window holds more than the limit, without and with shares',
    problem: most <= LIMIT ? undefined : `${most} allowed at a limit of ${LIMIT}`,
  }
}

const mostInWindow = (allowed) =>
  Math.max(
    0,
    ...allowed.map(
      (first) =>
        allowed.filter(
          ({ startedAt, endedAt }) =>
            startedAt >= first.startedAt && endedAt < first.startedAt + WINDOW_MS,
        ).length,
    ),
  )

const countAllowed = (records) => records.filter(isAllowed).length
const allowedOf = (records) => `${countAllowed(records)} of ${records.length}`

/** Returns the records of the importer before the neighbours came. */
const aloneIn = ({ records, joinedAt }) => records.filter(({ startedAt }) => startedAt < joinedAt)

/** Returns the records after the neighbours' first window: theirs, and those of the importer. */
function afterFirstWindow({ records, joinedAt }) {
  const counted = records.filter(({ startedAt }) => startedAt >= joinedAt + WINDOW_MS)
  return {
    near: counted.filter(({ tenant }) => tenant !== IMPORTER),
    imported: counted.filter(({ tenant }) => tenant === IMPORTER),
  }
}

function summaryOf(results) {
  const after = results.map(afterFirstWindow)
  const mostImported = Math.max(1, ...after.map(({ imported }) => countAllowed(imported)))
  const rows = after.map(({ near, imported }, index) => [
    results[index].title,
    { share: countAllowed(near) / Math.max(1, near.length), text: allowedOf(near) },
    { share: countAllowed(imported) / mostImported, text: `${countAllowed(imported)}` },
  ])
  return chart(['neighbours, after one window', 'import'], rows)
}
