import { readFileSync } from 'node:fs'

/** One request of the trace. */
export interface Row {
  /** Epoch ms. */
  readonly at: number
  readonly tenant: string
  /** LLM tokens in. */
  readonly input: number
  /** LLM tokens out. */
  readonly output: number
  /** LLM tokens in and out. */
  readonly tokens: number
}

const FIRST_AT = Date.UTC(2023, 10, 16, 18, 15, 46, 680)
const SEED = 20_231_116
const TENANTS = 200
/** The busiest tenants, and their share of the calls. */
export const HEAVY = { tenants: 6, share: 0.61 }

/**
 * An hour of real traffic (see the README beside this). It names no tenants: they are dealt out, the
 * same ones every time, so that 3 % of them make 61 % of the calls.
 */
export function readTrace(): Row[] {
  const text = readFileSync(new URL('azure-conv-2023.csv', import.meta.url), 'utf8')
  let seed = SEED
  const random = (): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  const lines = text.trim().split('\n').slice(1)
  return lines.map((line) => {
    const [ms = 0, input = 0, output = 0] = line.split(',').map(Number)
    const isHeavy = random() < HEAVY.share
    const [from, to] = isHeavy ? [0, HEAVY.tenants] : [HEAVY.tenants, TENANTS]
    const tenant = `t${from + Math.floor(random() * (to - from))}`
    return { at: FIRST_AT + ms, tenant, input, output, tokens: input + output }
  })
}

/** The share of calls that the busiest `count` tenants make. */
export function shareOfBusiest(rows: readonly Row[], count: number): number {
  const calls = new Map<string, number>()
  for (const { tenant } of rows) calls.set(tenant, (calls.get(tenant) ?? 0) + 1)
  const busiest = [...calls.values()].toSorted((a, b) => b - a).slice(0, count)
  return busiest.reduce((sum, some) => sum + some, 0) / rows.length
}
