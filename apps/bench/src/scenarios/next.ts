import type { Bench, Scenario } from './scenario.ts'
import { tenants } from '../limits.ts'
import { interleave, sequential, type Sample } from '../measure/rounds.ts'
import { startNextApp, type NextApp, type Proxy } from '../servers/next-apps.ts'

const CALLS = 50
const TURNS = 6

const PROXIES = ['none', 'empty', 'sluice', 'upstash'] as const satisfies readonly Proxy[]

/** The time that a `proxy.ts` adds to a request of a Next.js app in production. */
export const nextScenario: Scenario = {
  name: 'next',
  title: 'milliseconds that proxy.ts adds to a request of Next.js',

  async run(bench) {
    await using stack = new AsyncDisposableStack()
    const samples = new Map<Proxy, Sample>()
    for (const proxy of PROXIES) {
      samples.set(proxy, requests(stack.use(await startNextApp(proxy, bench.servers))))
    }
    const ms = await measure(bench, samples)
    const added = (proxy: Proxy): number[] =>
      ms[proxy].map((value, round) => value - (ms.none[round] ?? Number.NaN))
    return [
      {
        title: 'added to a request',
        unit: 'ms',
        ours: { values: added('sluice'), note: 'one window' },
        others: {
          '@upstash/ratelimit': { values: added('upstash'), note: 'one window' },
        },
      },
      {
        title: 'a whole request',
        unit: 'ms',
        ours: { values: ms.sluice },
        others: {
          '@upstash/ratelimit': { values: ms.upstash },
          'an empty proxy.ts': { values: ms.empty },
          'no proxy.ts': { values: ms.none },
        },
      },
    ]
  },
}

const measure = (bench: Bench, samples: ReadonlyMap<Proxy, Sample>) =>
  interleave(bench, Object.fromEntries(samples) as Record<Proxy, Sample>, TURNS)

/** Measures one request after the other, of many tenants. */
function requests({ url }: NextApp): Sample {
  const tenant = tenants()
  const call = async (): Promise<void> => {
    const headers = { 'x-tenant': tenant() }
    const response = await fetch(`${url}/api/ai`, { method: 'POST', headers })
    await response.text()
    if (response.status !== 200) throw new Error(`Next.js answered ${response.status}`)
  }
  return () => sequential(CALLS, call)
}
