import { usd } from '@sluice/ai'
import { ConfigError, durationMs } from '@sluice/core'
import { assertInteger, assertOneOf } from '@sluice/core/internal'
import { call, type Expression } from './expression.ts'

/** A field of the page. Its value is kept as text, in the page and in links, and read when a scenario runs. */
export interface Field<Value = unknown> {
  readonly label: string
  readonly initial: string
  readonly input: 'number' | 'text' | 'choice' | 'lines'
  /** The labels of a choice, by value. */
  readonly choices?: Readonly<Record<string, string>>
  /** @throws ConfigError When the text is no value. `option` names the field. */
  readonly read: (option: string, text: string) => Value
}

export type Fields = Readonly<Record<string, Field>>
export type Texts = Readonly<Record<string, string>>
export type Values<Own extends Fields> = {
  readonly [Name in keyof Own]: ReturnType<Own[Name]['read']>
}

/** A text that is no number stays one, so that the error shows it. */
export const toNumber = (text: string): number | string =>
  text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)

/** A number that the product checks. */
export const number = (label: string, initial: string): Field<number> => ({
  label,
  initial,
  input: 'number',
  read: (_, text) => toNumber(text) as number,
})

/** A number that may be left out. */
export const optionalNumber = (label: string, initial = ''): Field<number | undefined> => ({
  ...number(label, initial),
  read: (option, text) =>
    text.trim() === '' ? undefined : number(label, initial).read(option, text),
})

/** A whole number is one of milliseconds. */
const toDuration = (text: string): string | number =>
  /^\d+$/.test(text.trim()) ? Number(text) : text.trim()

/** A duration that the product checks. */
export const duration = (label: string, initial: string): Field<string | number> => ({
  label,
  initial,
  input: 'text',
  read: (_, text) => toDuration(text),
})

const isNone = (text: string): boolean => /^0 ?(?:ms|s|m|h|d)?$/.test(text.trim())

/** A duration that the product checks, or none at all. */
export const optionalDuration = (
  label: string,
  initial: string,
): Field<string | number | false> => ({
  ...duration(label, initial),
  read: (_, text) => (isNone(text) ? false : toDuration(text)),
})

export const choice = <Value extends string>(
  label: string,
  choices: Readonly<Record<Value, string>>,
): Field<Value> => {
  const values = Object.keys(choices) as Value[]
  return {
    label,
    initial: values[0] ?? '',
    input: 'choice',
    choices,
    read: (option, text) => assertOneOf(option, text as Value, values),
  }
}

/** An amount of money, as `usd(…)`. */
const dollars = (label: string, initial: string): Field<Expression> => ({
  label,
  initial,
  input: 'number',
  read: (option, text) => call('usd', amountOf(option, text)),
})

/** An amount of money above 0. */
export const someDollars = (label: string, initial: string): Field<Expression> => ({
  ...dollars(label, initial),
  read(option, text) {
    if (usd(amountOf(option, text)) > 0) return dollars(label, initial).read(option, text)
    throw new ConfigError('invalid_option', option, 'must be at least 0.000001 dollars', text)
  },
})

/** An amount of money that may be left out. */
export const optionalDollars = (label: string, initial = ''): Field<Expression | undefined> => ({
  ...dollars(label, initial),
  read: (option, text) =>
    text.trim() === '' ? undefined : dollars(label, initial).read(option, text),
})

/** Micro-dollars, for traffic. */
export const money = (label: string, initial: string): Field<number> => ({
  label,
  initial,
  input: 'number',
  read: (option, text) => usd(amountOf(option, text)),
})

export const whole = (
  label: string,
  initial: string,
  least: number,
  most: number,
): Field<number> => ({
  label,
  initial,
  input: 'number',
  read: (option, text) => assertInteger(option, toNumber(text), least, most),
})

/** A duration in milliseconds, for traffic. */
export const time = (label: string, initial: string): Field<number> => ({
  label,
  initial,
  input: 'text',
  read: (option, text) => durationMs(option, toDuration(text)),
})

/** The same, or 0. */
export const timeOrNone = (label: string, initial: string): Field<number> => ({
  ...time(label, initial),
  read: (option, text) => (isNone(text) ? 0 : durationMs(option, toDuration(text))),
})

export const lines = (label: string, initial: string): Field<string> => ({
  label,
  initial,
  input: 'lines',
  read: (_, text) => text,
})

/** Returns the texts that a form begins with. */
export const initialTexts = (fields: Fields): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).map(([name, { initial }]) => [name, initial]))

/** Reads the texts of a form. @throws ConfigError Names the field: `${option}.${name}`. */
export const readTexts = <Own extends Fields>(
  option: string,
  fields: Own,
  texts: Texts,
): Values<Own> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, { read, initial }]) => [
      name,
      read(`${option}.${name}`, texts[name] ?? initial),
    ]),
  ) as Values<Own>

function amountOf(option: string, text: string): number {
  try {
    const amount = text.trim() === '' ? Number.NaN : Number(text)
    usd(amount)
    return amount
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError('invalid_option', option, error.reason, text)
  }
}
