/* Calls over HTTP: the guard in front of a route, and model calls through two doors. */
import { MODEL, PRICE, answer, type Bill } from './provider.ts'
import type { Scene } from './callers.ts'

/** Sends a request through the guard of `core/http`. */
export async function viaGuard(scene: Scene): Promise<void> {
  const { world, process, limiter, call, subject, random } = scene
  const { rateLimit } = process.product.http
  const handle = rateLimit(
    limiter,
    {
      routes: [{ id: subject.route, path: `/api/${subject.route}` }],
      subject: () => ({ tenant: subject.tenant, plan: subject.plan }),
      cost: scene.cost,
    },
    () => new Response('ok'),
  )
  const hangUp = new AbortController()
  if (random.chance(0.05)) world.scheduler.after(random.gap(20), () => hangUp.abort())
  const request = new Request(`https://app.world/api/${subject.route}`, { signal: hangUp.signal })
  const response = await handle(request)
  world.answered(call, response, await response.text(), hangUp.signal.aborted)
}

/** Sends a model call through one of the doors, and reads its answer. */
export async function viaModel(scene: Scene): Promise<void> {
  const { world, process, limiter, call, subject, random } = scene
  const { ai } = process.product
  const isCalm = world.setting.weather.trouble === 0
  const bills: Bill[] = []
  const prices = ai.definePrices({ [MODEL]: PRICE })
  const send = async (body: string, signal: AbortSignal | undefined): Promise<Response> => {
    const sent = await answer(body, signal, { scheduler: world.scheduler, random, isCalm })
    bills.push(sent.bill)
    return sent.response
  }
  const common = {
    prices,
    settleWithin: `${world.setting.settleWithinMs}ms`,
    onError: (error: unknown) => world.callers.text(String(error)),
    ...(world.setting.releases && { unsettled: process.product.reservations.release() }),
    ...(random.chance(0.5) && { minOutput: 1 }),
  }
  const body = JSON.stringify({
    model: MODEL,
    stream: random.chance(0.5),
    max_tokens: random.whole(1, 200),
    messages: [{ role: 'user', content: 'word '.repeat(random.whole(1, 40)).trim() }],
  })
  const hangUp = new AbortController()
  const hangsUpAt = random.chance(0.1) ? random.gap(60) : 20_000
  const timer = world.scheduler.after(hangsUpAt, () => hangUp.abort())
  const url = 'https://api.openai.com/v1/chat/completions'
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    signal: hangUp.signal,
  }
  const isHandler = random.chance(0.5)
  const door = isHandler
    ? ai.modelHandler(
        limiter,
        { ...common, subject: () => subject, api: 'openai-chat' } as never,
        ({ body: text, signal }) => send(text, signal),
      )
    : undefined
  const fetching = ai.limitedFetch(limiter, {
    ...common,
    subject,
    fetch: (_: unknown, sent: RequestInit) => send(sent.body as string, sent.signal ?? undefined),
  } as never)
  let [text, status] = ['', 0]
  try {
    const response = door ? await door(new Request(url, init)) : await fetching(url, init)
    status = response.status
    text = await read(response)
    world.answered(call, response, text, hangUp.signal.aborted)
  } catch (error) {
    // The provider or the client has broken it off.
    world.note(`${call.number} broke off: ${String(error)}`)
    world.callers.text(String(error))
  }
  world.scheduler.cancel(timer)
  world.billed(call, bills, status, hangUp.signal.aborted)
}

async function read(response: Response): Promise<string> {
  if (response.body === null) return ''
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text
    text += decoder.decode(value, { stream: true })
  }
}
