import { randomBytes } from 'node:crypto'
import { checkScenario, isAllowed } from './checks.mjs'
import { clientOf } from './client.mjs'
import { fallingBudget } from './falling-budget.mjs'
import { runawayAgent } from './runaway-agent.mjs'
import { scenarios } from './scenarios.mjs'

/** The time after which all requests are aborted, so that the checks report what is missing. */
const DRIVE_TIMEOUT_MS = 180_000

/** Runs every scenario against the demo and prints the results. Resolves to true if all checks hold. */
export async function drive(stack) {
  const deadline = AbortSignal.timeout(DRIVE_TIMEOUT_MS)
  const runScenarios = () => driveRoutes({ ...stack, deadline, run: newRun() })
  const checks = await withinOneDay(runScenarios)
  const agent = await withinOneDay(() => runawayAgent({ ...stack, deadline, run: newRun() }))
  const falling = await withinOneDay(() => fallingBudget({ ...stack, deadline, run: newRun() }))
  console.log(`\n${agent.summary}\n${falling.summary}\n`)
  return printChecks([...checks, ...agent.checks, ...falling.checks])
}

/** Returns a suffix for tenants that no other run uses. */
const newRun = () => randomBytes(4).toString('hex')

/** Runs the scenarios. Resolves to the checks of their answers, and of the store's requests. */
async function driveRoutes(stack) {
  // A first request compiles the middleware and loads the script into Redis.
  await clientOf(stack, 'enterprise-first', 'enterprise').ask('evaluate')
  const before = stack.storeRequests()
  const [checks, all] = [[], []]
  for (const scenario of scenarios) {
    const records = await runScenario(stack, scenario)
    checks.push(...checkScenario(scenario, records))
    all.push(...records)
  }
  const storeCount = stack.storeRequests() - before
  // Requests to Upstash cannot be counted from here.
  if (!Number.isNaN(storeCount)) {
    const allowed = all.filter(isAllowed).length
    // Denials are cached: most of a flood never reaches the store.
    const holds = storeCount >= allowed && storeCount <= all.length
    const counts = `${storeCount} requests for ${allowed} allowed of ${all.length}`
    const claim = 'an allowed request is one request to the store, and a denied one at most one'
    checks.push({ claim, problem: holds ? undefined : counts })
  }
  return checks
}

async function runScenario(stack, { name, title, tenants, run }) {
  console.log(`${name}: ${title}`)
  const clients = new Map(
    Object.entries(tenants).map(([tenant, plan]) => [tenant, clientOf(stack, tenant, plan)]),
  )
  const records = []
  await run(async (tenant, route) => {
    const record = await clients.get(tenant).ask(route)
    records.push(record)
    return record
  })
  return records.toSorted((a, b) => a.startedAt - b.startedAt)
}

/** Runs `work` once more if midnight, which renews daily quotas, came in between. */
async function withinOneDay(work) {
  const day = today()
  const result = await work()
  return today() === day ? result : work()
}

const today = () => new Date().toISOString().slice(0, 10)

/** Prints each check. Returns true if all hold. */
function printChecks(checks) {
  for (const { claim, problem } of checks) {
    console.log(problem ? `✗ ${claim}\n  but: ${problem}` : `✓ ${claim}`)
  }
  const failed = checks.filter(({ problem }) => problem).length
  const held =
    failed === 0
      ? `All ${checks.length} checks held.`
      : `${failed} of ${checks.length} checks failed.`
  console.log(`\n${held}`)
  return failed === 0
}
