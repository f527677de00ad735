/* Small mistakes that can be made in Lua. */
import type { Mutation } from './mutants.ts'

const WORDS =
  /\b(local|then|end|nil|return|reply\.|redis\.call|math\.|string\.|tonumber|tostring|cost|now)\b/
const SIGNS = /[=<>(]| [-+*] /

/** Tells whether a text of a module is Lua, and not a name or a sentence. */
export const isLua = (text: string): boolean => WORDS.test(text) && SIGNS.test(text)

// Comments and quoted texts first, as they are left alone.
const TOKENS =
  /--[^\n]*|'[^'\n]*'|<=|>=|==|~=|[<>]| [-+*/] |-(?=\d)|\b(?:and|or|not|true|false)\b|\b\d+\b/g

const OTHERS: Readonly<Record<string, readonly Pick<Mutation, 'operator' | 'instead'>[]>> = {
  '<': both('>=', '<='),
  '<=': both('>', '<'),
  '>': both('<=', '>='),
  '>=': both('<', '>'),
  '==': [{ operator: 'comparison', instead: '~=' }],
  '~=': [{ operator: 'comparison', instead: '==' }],
  ' + ': [{ operator: 'sign', instead: ' - ' }],
  ' - ': [{ operator: 'sign', instead: ' + ' }],
  ' * ': [{ operator: 'sign', instead: ' / ' }],
  ' / ': [{ operator: 'sign', instead: ' * ' }],
  '-': [{ operator: 'sign', instead: '' }],
  and: [{ operator: 'logic', instead: 'or' }],
  or: [{ operator: 'logic', instead: 'and' }],
  not: [{ operator: 'logic', instead: '' }],
  true: [{ operator: 'constant', instead: 'false' }],
  false: [{ operator: 'constant', instead: 'true' }],
}

function both(comparison: string, boundary: string): Pick<Mutation, 'operator' | 'instead'>[] {
  return [
    { operator: 'comparison', instead: comparison },
    { operator: 'boundary', instead: boundary },
  ]
}

/** Returns the mutations of a piece of Lua, but for those that drop a call. */
export function luaMutations(lua: string): Mutation[] {
  const found: Mutation[] = []
  for (const { 0: token, index: start } of lua.matchAll(TOKENS)) {
    const end = start + token.length
    for (const other of OTHERS[token] ?? []) found.push({ ...other, start, end })
    if (/^\d+$/.test(token)) {
      const instead = token === '1' ? '0' : `${Number(token) + 1}`
      found.push({ operator: 'constant', start, end, instead })
    }
  }
  return found
}
