/* Calls of an app that sells credits: the webhook of a payment, and the page of a customer. */
import type { Scene } from './callers.ts'

const DAY_MS = 86_400_000

/** How often a webhook comes that was answered with an error. */
const MOST_WEBHOOKS = 3

/** Grants what was paid, also again. */
export async function pay(scene: Omit<Scene, 'cost'>): Promise<void> {
  const { world, process, limiter, rules, random, call, subject } = scene
  const rule = rules.find(({ kind }) => kind === 'credits')
  if (rule === undefined) return
  const payment = world.payments.draw(random, subject, rule.burst, world.scheduler.now)
  const { id, at, units } = payment
  // Now and then an app says another amount.
  const amount = random.chance(0.03) ? 2 * units : units
  for (let time = 1; ; time += 1) {
    const { losses } = world
    try {
      const asked = { amount, id, at, kind: 'paid' as const }
      const told = await process.product.credits.grant(limiter, payment.subject, asked)
      world.note(`${call.number} granted ${id}: ${JSON.stringify(told)}`)
      world.payments.told(payment, amount, told, losses, world.losses)
      return
    } catch (error) {
      const { name, code = '' } = error as Error & { code?: string }
      if (name === 'InputError') {
        world.note(`${call.number} ${id} was refused: ${code}`)
        // A process whose clock is a day behind takes it for one of the future.
        const isFuture = code === 'invalid_grant' && at > process.clock + DAY_MS
        if (!isFuture) world.payments.refused(payment, amount, code, losses, world.losses)
        return
      }
      if (time === MOST_WEBHOOKS) throw error
      await world.wait(process, random.gap(1_000))
    }
  }
}

/** Reads the balance of a customer, which must be lawful, and that of the judge if nobody has changed it meanwhile. */
export async function lookAtBalance(scene: Omit<Scene, 'cost'>): Promise<void> {
  const { world, process, limiter, random, call } = scene
  const payment = world.payments.pick(random)
  if (payment === undefined) return
  const before = world.judge.balanceWith(payment.id)?.version
  const told = await process.product.credits.balance(limiter, payment.subject)
  const after = world.judge.balanceWith(payment.id)
  const { balance, available, held, abandoned, debt, totals, at } = told
  const { granted, adjusted, revoked, expired, settled } = totals
  world.note(`${call.number} has ${JSON.stringify(told)}`)
  if (granted + adjusted - revoked - expired - settled - held - abandoned !== balance) {
    world.accuse(`a balance breaks its law: ${JSON.stringify(told)}`)
  }
  if (after === undefined || before !== after.version) return
  world.judge.tally.looks += 1
  const left = after.leftAt(at)
  const seen = [available, debt, held + abandoned, granted, settled]
  const units = [
    Math.max(0, left),
    Math.max(0, -left),
    after.heldAt(at),
    after.granted,
    after.settled,
  ]
  const texts = [seen, units].map((one) => JSON.stringify(one))
  if (texts[0] !== texts[1]) world.accuse(`a balance was told ${texts.join(', not ')}`)
}
