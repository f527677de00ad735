/* Changes of a balance. */
import type { Limiter } from '@sluice/core'
import { adjust, grant, revoke, settleHold, type CreditsChange } from '@sluice/core/credits'
import { subjectText } from '@sluice/core/internal/text'
import { unitsOf } from '../amount.ts'
import { textOf } from '../command.ts'
import { ifInstalled, refuse } from '../errors.ts'
import { option } from '../wording.ts'
import {
  amountOf,
  confirmed,
  neededOf,
  timeOf,
  type CreditsAction,
  type CreditsTask,
} from './task.ts'

/** Returns what was done, or that it was done before, and what is available now. */
function changeText(
  task: CreditsTask,
  { applied, ...change }: CreditsChange,
  verb: string,
): string {
  const amounts = { held: change.held, owed: change.debt }
  const more = Object.entries(amounts)
    .filter(([, units]) => units > 0)
    .map(([name, units]) => `, ${amountOf(units, task)} is ${name}`)
  const units = amountOf(Math.abs(change.units), task)
  const done = applied
    ? `${units} ${verb}.`
    : `${units} was ${verb} before, and nothing is changed.`
  return `${done} ${amountOf(change.available, task)} is available${more.join('')}.`
}

export const grantAction: CreditsAction = {
  operands: ['AMOUNT'],
  takes: ['id', 'kind', 'at', 'effective', 'expires', 'priority', 'reason', 'yes'],
  run(task, [text = '']) {
    const { limiter, subject, choice, values } = task
    const amount = unitsOf(text, task, 'AMOUNT')
    const id = neededOf(task, 'id', 'payment-17')
    const kind = neededOf(task, 'kind', 'paid')
    if (kind !== 'paid' && kind !== 'promotional') {
      refuse(`${option('kind')} ${kind} must be paid or promotional`)
    }
    const priority = textOf(values, 'priority')
    const options = {
      ...choice,
      amount,
      id,
      kind,
      at: timeOf(values, 'at') ?? new Date(),
      effectiveAt: timeOf(values, 'effective'),
      expiresAt: timeOf(values, 'expires'),
      priority: priority === undefined ? undefined : Number(priority),
      reason: textOf(values, 'reason'),
    } as const
    const plan = `${subjectText(subject)} would be granted ${amountOf(amount, task)} (${kind}), as ${id}.`
    return confirmed(task, plan, async () => {
      const change = await grant(limiter, subject, options)
      return { text: changeText(task, change, 'granted'), json: change }
    })
  },
}

export const revokeAction: CreditsAction = {
  operands: ['ID'],
  takes: ['debt', 'reason', 'yes'],
  run(task, [id = '']) {
    const { limiter, subject, choice, values } = task
    const reason = textOf(values, 'reason')
    const isDebt = values['debt'] === true
    const options = { ...choice, debt: isDebt, ...(reason !== undefined && { reason }) }
    const rest = isDebt ? ', and a debt for the rest' : ''
    const plan = `The grant ${id} of ${subjectText(subject)} would be taken back: what is left of it${rest}.`
    return confirmed(task, plan, async () => {
      const change = await revoke(limiter, subject, id, options)
      return { text: changeText(task, change, 'taken back'), json: change }
    })
  },
}

export const adjustAction: CreditsAction = {
  operands: [],
  takes: ['add', 'take', 'id', 'at', 'reason', 'yes'],
  run(task) {
    const { limiter, subject, choice, values } = task
    const [add, take] = [textOf(values, 'add'), textOf(values, 'take')]
    if ((add === undefined) === (take === undefined)) {
      refuse(`name one amount: ${option('add', '2')} or ${option('take', '2')}`)
    }
    const name = add === undefined ? 'take' : 'add'
    const units = unitsOf(add ?? take ?? '', task, option(name))
    const amount = add === undefined ? -units : units
    const id = neededOf(task, 'id', 'case-17')
    const reason = neededOf(task, 'reason', "'Counted twice'")
    const at = timeOf(values, 'at') ?? new Date()
    const plan = `${subjectText(subject)} would be corrected by ${amountOf(amount, task)}, as ${id}.`
    return confirmed(task, plan, async () => {
      const change = await adjust(limiter, subject, { ...choice, amount, id, at, reason })
      return { text: changeText(task, change, amount < 0 ? 'taken' : 'added'), json: change }
    })
  },
}

export const settleAction: CreditsAction = {
  operands: ['ID', 'AMOUNT'],
  takes: ['unrecorded', 'yes'],
  run(task, [id = '', text = '']) {
    const { limiter, subject, choice, values } = task
    const options = { ...choice, recorded: values['unrecorded'] !== true }
    const units = unitsOf(text, task, 'AMOUNT')
    const plan = `The reservation ${id} of ${subjectText(subject)} would be settled at ${amountOf(units, task)}.`
    return confirmed(task, plan, async () => {
      const change = await settleHold(limiter, subject, id, units, options)
      if (!change.applied) refuse(`${subjectText(subject)} has no open reservation ${id}`)
      const done = changeText(task, change, 'settled')
      if (await isUsageSaved(limiter)) return { text: done, json: change }
      const json = { ...change, usageSaved: false }
      return { text: `${done} The usage could not be corrected.`, json }
    })
  },
}

/** Saves the correction of usage, if the limiter records it: this process ends now. Returns false if the store fails. */
async function isUsageSaved(limiter: Limiter): Promise<boolean> {
  const usage = await ifInstalled(() => import('@sluice/usage'))
  try {
    await usage?.flushUsage(limiter)
    return true
  } catch (error) {
    // Without recordUsage, there is nothing to correct.
    return (error as Error).name === 'ConfigError'
  }
}
