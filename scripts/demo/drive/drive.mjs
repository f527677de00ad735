import { randomBytes } from 'node:crypto'
import { runawayAgent } from './runaway-agent.mjs'
import { check } from './checks.mjs'
import { request, tokensFor } from './route-client.mjs'
import { latencies, progress, table } from './report.mjs'
import { scenarios } from './scenarios.mjs'

/** By then every request is given up, and the checks tell what is missing. */
const DRIVE_TIMEOUT_MS = 180_000

/** Runs every scenario against the demo, prints what came out, and tells whether all checks held. */
export async function drive(stack) {
  const { url, secret, storeRequests } = stack
  const deadline = AbortSignal.timeout(DRIVE_TIMEOUT_MS)
  const send = (route, token) => request(url, route, token, deadline)
  await warmUp(send, secret)
  const before = storeRequests()
  const results = new Map()
  let sent = 0
  for (const scenario of scenarios) {
    let records
    const startDay = today()
    do {
      records = await runScenario(scenario, send, secret)
      sent += records.length
      // Midnight gives a new quota: then the scenario is run again, in the new day.
    } while (scenario.countsDays && today() !== startDay && sent < 1_000)
    results.set(scenario, records)
  }
  const asked = storeRequests() - before
  let agent
  let startDay
  do {
    startDay = today()
    agent = await runawayAgent(stack, deadline)
  } while (today() !== startDay)
  console.log(`\n${table(results)}\n`)

  const storm = latencies([...results].find(([{ name }]) => name === 'retry storm')[1])
  console.log(
    `In the retry storm a denial took ${storm.denied} ms (median), ` +
      `an allowed request ${storm.allowed} ms.\n\n${agent.summary}\n`,
  )

  const checks = [...results].flatMap(([scenario, records]) => check(scenario, records))
  if (!Number.isNaN(asked)) {
    const problem = asked === sent ? undefined : `${asked} requests to the store for ${sent}`
    checks.push({ claim: 'each decision is one request to the store', problem })
  }
  checks.push(...agent.checks)
  for (const { claim, problem } of checks) {
    console.log(problem ? `✗ ${claim}\n  but: ${problem}` : `✓ ${claim}`)
  }
  const failed = checks.filter(({ problem }) => problem).length
  console.log(
    failed === 0
      ? `\nAll ${checks.length} checks held.`
      : `\n${failed} of ${checks.length} checks failed.`,
  )
  return failed === 0
}

async function runScenario({ name, title, tenants, total, run }, send, secret) {
  const tokens = tokensFor(tenants, secret, randomBytes(4).toString('hex'))
  const records = []
  const bar = progress(`${name}: ${title}`, total)
  await run(async (tenant, route) => {
    const record = { tenant, ...(await send(route, tokens.get(tenant))) }
    records.push(record)
    bar.step()
    return record
  })
  bar.end()
  return records.toSorted((a, b) => a.startedAt - b.startedAt)
}

/** The first request compiles the middleware and loads the script into Redis. */
async function warmUp(send, secret) {
  const tenants = { 'enterprise-first': 'enterprise' }
  const tokens = tokensFor(tenants, secret, randomBytes(4).toString('hex'))
  await send('evaluate', tokens.get('enterprise-first'))
}

const today = () => new Date().toISOString().slice(0, 10)
