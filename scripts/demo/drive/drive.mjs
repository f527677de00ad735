import { randomBytes } from 'node:crypto'
import { checkScenario } from './checks.mjs'
import { overspend } from './overspend.mjs'
import { latencies, progress, table } from './report.mjs'
import { request, tokensFor } from './route-client.mjs'
import { runawayAgent } from './runaway-agent.mjs'
import { scenarios } from './scenarios.mjs'
import { sharedGpu } from './shared-gpu.mjs'

/** The time after which all requests are aborted, so that the checks report what is missing. */
const DRIVE_TIMEOUT_MS = 180_000
const MAX_REQUESTS = 1_000

/** Runs every scenario against the demo and prints the results. Resolves to true if all checks hold. */
export async function drive(stack) {
  const deadline = AbortSignal.timeout(DRIVE_TIMEOUT_MS)
  const { results, checks } = await runScenarios(stack, deadline)
  const gpu = await sharedGpu(stack, deadline)
  const agent = await withinOneDay(() => runawayAgent(stack, deadline))
  const comparison = await overspend(stack, deadline)
  const others = [gpu, agent, comparison]
  printResults(results, others)
  return printChecks([...checks, ...others.flatMap((other) => other.checks)])
}

/** Runs the scenarios. Returns their records, and the checks of them and of the store's requests. */
async function runScenarios({ url, secret, storeRequests }, deadline) {
  const send = (route, token) => request(url, route, token, deadline)
  await warmUp(send, secret)
  const requestsBefore = storeRequests()
  const results = new Map()
  let sent = 0
  let allowed = 0
  for (const scenario of scenarios) {
    const run = async () => {
      const records = await runScenario(scenario, send, secret)
      sent += records.length
      allowed += records.filter(({ status }) => status === 200).length
      return records
    }
    const canRepeat = () => scenario.countsDays && sent < MAX_REQUESTS
    results.set(scenario, await withinOneDay(run, canRepeat))
  }
  const storeCount = storeRequests() - requestsBefore
  const checks = [...results].flatMap(([scenario, records]) => checkScenario(scenario, records))
  // Requests to Upstash cannot be counted from here.
  if (!Number.isNaN(storeCount)) {
    // Denials are cached: most of a flood never reaches the store.
    const holds = storeCount >= allowed && storeCount <= sent
    const counts = `${storeCount} requests for ${allowed} allowed of ${sent}`
    const claim = 'an allowed request is one request to the store, and a denied one at most one'
    checks.push({ claim, problem: holds ? undefined : counts })
  }
  return { results, checks }
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

/** Sends a first request, which compiles the middleware and loads the script into Redis. */
async function warmUp(send, secret) {
  const tenants = { 'enterprise-first': 'enterprise' }
  const tokens = tokensFor(tenants, secret, randomBytes(4).toString('hex'))
  await send('evaluate', tokens.get('enterprise-first'))
}

/** Runs `work` again if midnight, which renews daily quotas, came in between. */
async function withinOneDay(work, canRepeat = () => true) {
  for (;;) {
    const startDay = today()
    const result = await work()
    if (today() === startDay || !canRepeat()) return result
  }
}

const today = () => new Date().toISOString().slice(0, 10)

function printResults(results, others) {
  const [, stormRecords] = [...results].find(([{ name }]) => name === 'retry storm')
  const storm = latencies(stormRecords)
  console.log(`\n${table(results)}\n`)
  console.log(
    `In the retry storm a denial took ${storm.denied} ms (median), ` +
      `an allowed request ${storm.allowed} ms.\n`,
  )
  for (const { summary } of others) console.log(`${summary}\n`)
}

/** Prints each check. Returns true if all hold. */
function printChecks(checks) {
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
