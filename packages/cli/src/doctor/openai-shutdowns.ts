import { refuse } from '../errors.ts'
import type { PriceFinding } from './bill.ts'
import { CALL_ANOTHER, DAY_MS, NOTICE_DAYS } from './prices.ts'
import type { UsedModel } from './prices-in-use.ts'

type Listed = { data?: { id: string; shutdown_date?: string | null }[] } | null | undefined

/**
 * Returns the used models that OpenAI shuts down soon, on a day that their prices do not name.
 *
 * @throws CommandError Without `OPENAI_API_KEY`, or when OpenAI does not list its models.
 */
export async function openaiShutdowns(used: readonly UsedModel[]): Promise<PriceFinding[]> {
  const { OPENAI_API_KEY: key, OPENAI_BASE_URL: base = 'https://api.openai.com/v1' } = process.env
  if (!key) refuse('--openai needs OPENAI_API_KEY in the environment')
  const headers = { authorization: `Bearer ${key}` }
  const signal = AbortSignal.timeout(10_000)
  const response = await fetch(`${base}/models`, { headers, signal }).catch(() => undefined)
  const listed = (await response?.json().catch(() => null)) as Listed
  if (!Array.isArray(listed?.data))
    refuse(`OpenAI does not list its models: ${response?.status ?? 'no answer'}`)
  const days = new Map(listed.data.map(({ id, shutdown_date: day }) => [id, day ?? '']))
  return used.flatMap(({ model, from, price }): PriceFinding | [] => {
    const day = days.get(model) ?? ''
    const isNear = Date.parse(day) - Date.now() < NOTICE_DAYS * DAY_MS
    if (!isNear || day === price?.endsOn) return []
    const text = `OpenAI shuts down ${model} (${from}) on ${day}`
    return { code: 'model_ends', text, remedy: CALL_ANOTHER }
  })
}
