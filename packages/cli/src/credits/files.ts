/* Balances as files: kept elsewhere, restored, or deleted for good. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { InputError } from '@sluice/core'
import { attempt } from '@sluice/core/internal/limiter'
import { deleteCredits, exportCredits, exportedJournal, importCredits } from '@sluice/core/credits'
import { durationText, subjectText, timeText } from '@sluice/core/internal/text'
import { textOf } from '../command.ts'
import { refuse } from '../errors.ts'
import { dimensionOption, option } from '../wording.ts'
import { balanceOf } from './balance-of.ts'
import { amountOf, confirmed, neededOf, type CreditsAction, type CreditsTask } from './task.ts'

/** Reads a file of the project. @throws CommandError When there is none. */
export const readText = ({ folder }: CreditsTask, file: string): string =>
  attempt(() => readFileSync(resolve(folder, file), 'utf8'), undefined) ??
  refuse(`there is no file ${file} that can be read`)

/** Writes a file that does not exist yet, for its owner alone. @throws CommandError When it exists. */
function writeNew({ folder }: CreditsTask, file: string, text: string): void {
  const write = (): boolean => {
    writeFileSync(resolve(folder, file), `${text}\n`, { flag: 'wx', mode: 0o600 })
    return true
  }
  if (!attempt(write, false)) refuse(`${file} exists already, or cannot be written: name another`)
}

export const exportAction: CreditsAction = {
  operands: [],
  takes: ['file'],
  async run(task) {
    const { limiter, subject, choice, values } = task
    const text = await exportCredits(limiter, subject, choice)
    const file = textOf(values, 'file')
    const json: unknown = JSON.parse(text)
    if (file === undefined) return { text, json }
    writeNew(task, file, text)
    return { text: `The balance of ${subjectText(subject)} is in ${file}.`, json }
  },
}

export const importAction: CreditsAction = {
  operands: ['FILE'],
  takes: ['yes'],
  run(task, [file = '']) {
    const { limiter, subject, choice } = task
    const text = readText(task, file)
    const last = exportedJournal(text).at(-1)?.seq ?? 0
    const plan = `${subjectText(subject)} would have again the balance that is in ${file}, up to entry ${last} of its journal.`
    return confirmed(task, plan, async () => {
      const { exportedAt } = await importCredits(limiter, subject, text, choice)
      const found = await balanceOf(task)
      const ago = durationText(Math.max(0, found.at - exportedAt))
      return {
        text: `the balance is as it was at ${timeText(exportedAt)}, ${ago} ago: ${amountOf(found.available, task)} is available. Grants since then are missing: repeat them with their ids. Spending since then was not taken.`,
        json: { exportedAt, ...found },
      }
    })
  },
}

export const deleteAction: CreditsAction = {
  operands: [],
  takes: ['file', 'confirm', 'yes'],
  async run(task) {
    const { limiter, subject, choice } = task
    const file = neededOf(task, 'file', 'deleted.json')
    const { balance } = await balanceOf(task)
    const amount = amountOf(balance, task)
    const plan = `${subjectText(subject)} has ${amount}, which would be deleted for good.`
    return confirmed(task, plan, async () => {
      assertRepeated(task, amount, file)
      const text = await exportCredits(limiter, subject, choice)
      writeNew(task, file, text)
      try {
        await deleteCredits(limiter, subject, { ...choice, confirm: text })
      } catch (error) {
        // After a failure of the store, nobody knows whether the balance is gone.
        if (error instanceof InputError) rmSync(resolve(task.folder, file))
        throw error
      }
      return {
        text: `${amount} is deleted, with its journal. ${file} has both.`,
        json: { balance, file },
      }
    })
  },
}

/** Asks a second time: an amount that was read is not repeated by habit. @throws CommandError */
function assertRepeated({ values, subject }: CreditsTask, amount: string, file: string): void {
  const given = textOf(values, 'confirm')
  const own = amount.replace('$', '')
  if (given?.replace('$', '') === own) return
  const whose = Object.entries(subject).map((one) => dimensionOption(...one))
  const options = [option('file', file), option('yes', true), option('confirm', own)]
  const wrong = given === undefined ? '' : `${option('confirm')} ${given} is not the balance. `
  refuse(
    `nothing is deleted. ${wrong}${subjectText(subject)} has ${amount}: to delete it for good, repeat that: ${[...whose, ...options].join(' ')}`,
  )
}
