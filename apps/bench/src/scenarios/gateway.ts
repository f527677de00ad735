import { durableObjects, remoteObjects } from '@sluice/cloudflare/operator'
import { createApiKey } from '@sluice/core/api-keys'
import { createLimiter, type Store } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { hourly } from '../limits.ts'
import { redisCpu } from '../measure/lanes.ts'
import { interleave, type Sample } from '../measure/rounds.ts'
import type { Figure, Row } from '../measure/row.ts'
import { startGateway, startModelProvider, type ModelProvider } from '../servers/gateways.ts'
import type { Servers } from '../servers/servers.ts'
import type { Bench, Scenario } from './scenario.ts'

const CALLS = 200
const LANES = 8
const PROMPT = 'Summarise this text in forty words. '.repeat(55)

/** The most CPU without a store, beside Portkey's. */
const BAR = 1.5
const OPERATOR = 'the-token-of-the-operator-of-this-bench'
const STORE_TIMEOUT_MS = 10_000

/** A gateway, and the headers of its calls in turn. */
interface Side {
  readonly url: string
  readonly headers: () => Record<string, string>
  cpu(): number
  /** Returns the requests to its store so far. */
  storeTrips(): Promise<number>
}

/** The cost of a call: microseconds of CPU, and trips. */
interface Taken {
  readonly cpu: number
  readonly storeCpu: number
  readonly trips: number
}

/** A call through a gateway in workerd: ours with either store, a plain proxy, and Portkey's. */
export const gatewayScenario: Scenario = {
  name: 'gateway',
  title: 'CPU and trips of a call through a gateway in workerd',

  run: (bench) => measureGateways(bench, CALLS),
}

/** @param calls The calls of each gateway in a measurement: a multiple of the lanes. */
export async function measureGateways(bench: Bench, calls: number): Promise<Row[]> {
  await using stack = new AsyncDisposableStack()
  const provider = stack.use(await startModelProvider())
  const tenants = calls / LANES
  const sides = await startSides(stack, bench.servers, provider, tenants)
  const rows: Row[] = []
  for (const stream of [false, true]) {
    const taken = await measure(bench, sides, { provider, calls, stream })
    rows.push(...rowsOf(stream ? 'stream' : 'JSON', taken))
  }
  return rows
}

/** The calls of a measurement. */
interface Job {
  readonly provider: ModelProvider
  readonly calls: number
  readonly stream: boolean
}

type Sides = Awaited<ReturnType<typeof startSides>>

async function startSides(
  stack: AsyncDisposableStack,
  servers: Servers,
  provider: ModelProvider,
  tenants: number,
) {
  const { url, token } = servers
  const upstream = { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'sk-operator' }
  // Of the others, none writes a line for each call.
  const ours = { ...upstream, STORE_TIMEOUT_MS: String(STORE_TIMEOUT_MS), LOG_CALLS: 'off' }
  const start = async (...args: Parameters<typeof startGateway>) =>
    stack.use(await startGateway(...args))
  const proxy = await start('proxy', upstream)
  const portkey = await start('portkey', {})
  const redis = { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token }
  const alone = await start('alone', { ...ours, ...redis })
  const logging = await start('alone', { ...ours, ...redis, LOG_CALLS: 'on' })
  const overRedis = await start('sluice', { ...ours, ...redis })
  const objects = await start('sluice', { ...ours, SLUICE_OBJECTS_TOKEN: OPERATOR })
  const remote = remoteObjects({ url: `${objects.url}/sluice`, token: OPERATOR })
  const timeoutMs = STORE_TIMEOUT_MS
  const headers = await keysIn(upstash({ url, token, timeoutMs }), tenants)
  const operatorKey = () => ({ authorization: `Bearer ${upstream.OPENAI_API_KEY}` })
  return {
    proxy: { ...proxy, headers: operatorKey, storeTrips: none },
    portkey: {
      ...portkey,
      headers: () => ({
        ...operatorKey(),
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': provider.url,
      }),
      storeTrips: none,
    },
    objects: {
      ...objects,
      headers: await keysIn(durableObjects(remote, { timeoutMs }), tenants),
      storeTrips: async () => Number(await (await fetch(`${objects.url}/trips`)).text()),
    },
    alone: { ...alone, headers, storeTrips: none },
    logging: { ...logging, headers, storeTrips: none },
    redis: {
      ...overRedis,
      headers,
      storeTrips: async () => (await servers.restWork()).requests,
    },
  } satisfies Record<string, Side>
}

const none = async (): Promise<number> => 0

/** Makes a key for each tenant, and returns the headers with them in turn. No tenant comes near a limit of its plan. */
async function keysIn(store: Store, tenants: number): Promise<Side['headers']> {
  const limiter = createLimiter({ store, policies: [hourly()] })
  const keys: string[] = []
  for (let index = 0; index < tenants; index += 1) {
    const { key } = await createApiKey(limiter, { tenant: `t${index}`, plan: 'enterprise' })
    keys.push(key)
  }
  let next = 0
  return () => ({ authorization: `Bearer ${keys[(next += 1) % tenants]}` })
}

type AllTaken = ReadonlyMap<keyof Sides, readonly Taken[]>

/** Measures all sides in turn, and returns what a call has taken of each, one per round. */
async function measure(bench: Bench, sides: Sides, job: Job): Promise<AllTaken> {
  const taken = new Map<keyof Sides, Taken[]>()
  const sample =
    (name: keyof Sides): Sample =>
    async () => {
      const one = await takenBy(sides[name], bench.servers, job)
      // Without the rounds of warming up.
      taken.set(name, [...(taken.get(name) ?? []), one].slice(-bench.rounds))
      return one.cpu
    }
  const names = Object.keys(sides) as (keyof Sides)[]
  await interleave(bench, Object.fromEntries(names.map((name) => [name, sample(name)])))
  return taken
}

async function takenBy(
  side: Side,
  servers: Servers,
  { provider, calls, stream }: Job,
): Promise<Taken> {
  const facts = async () => ({
    trips: (await provider.calls()) + (await side.storeTrips()),
    storeCpu: (await servers.restWork()).cpu + (await redisCpu(servers.redis)),
    cpu: side.cpu(),
  })
  const before = await facts()
  const lane = async (): Promise<void> => {
    for (let index = 0; index < calls / LANES; index += 1) await call(side, stream)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  await settled(side)
  const after = await facts()
  const per = (name: keyof Taken): number => (after[name] - before[name]) / calls
  return { cpu: per('cpu'), storeCpu: per('storeCpu'), trips: per('trips') }
}

async function call({ url, headers }: Side, stream: boolean): Promise<void> {
  const messages = [{ role: 'user', content: PROMPT }]
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    // So that no gateway compresses.
    headers: { ...headers(), 'content-type': 'application/json', 'accept-encoding': 'identity' },
    body: JSON.stringify({ model: 'gpt-6-luna', messages, max_completion_tokens: 64, stream }),
  })
  const text = await response.text()
  if (response.status !== 200 || !text.includes(' word')) {
    throw new Error(`A gateway answered ${response.status}: ${text}`)
  }
}

/** Waits until nothing more is written after the answers. */
async function settled(side: Side): Promise<void> {
  let last = -1
  for (let trips = await side.storeTrips(); trips !== last; trips = await side.storeTrips()) {
    last = trips
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
}

function rowsOf(kind: string, taken: AllTaken): Row[] {
  const figure = (side: keyof Sides, part: keyof Taken): Figure => ({
    values: (taken.get(side) ?? []).map((one) => one[part]),
  })
  const portkey = (part: keyof Taken): Row['others'] => ({
    '@portkey-ai/gateway': figure('portkey', part),
  })
  const beside = (part: keyof Taken): Row['others'] => ({
    'a plain proxy': figure('proxy', part),
    ...portkey(part),
  })
  const row = (title: string, unit: Row['unit'], ours: Figure, others?: Row['others']): Row => ({
    title: `${kind}: ${title}`,
    unit,
    ours,
    ...(others && { others }),
  })
  return [
    row('CPU without a store', 'µs', figure('alone', 'cpu'), {
      'a plain proxy': figure('proxy', 'cpu'),
      '@portkey-ai/gateway': { ...figure('portkey', 'cpu'), bar: BAR },
    }),
    row('CPU without a store, with the log', 'µs', figure('logging', 'cpu'), portkey('cpu')),
    row('CPU over Upstash', 'µs', figure('redis', 'cpu'), beside('cpu')),
    row('CPU of Redis and its REST server', 'µs', figure('redis', 'storeCpu')),
    row('CPU with the objects', 'µs', figure('objects', 'cpu'), beside('cpu')),
    row('trips over Upstash', 'trips', figure('redis', 'trips'), beside('trips')),
    row('trips with objects', 'trips', figure('objects', 'trips'), beside('trips')),
  ]
}
