import { describe, expect, it } from 'vitest'
import { allPrograms, commandsInModules } from './programs.ts'
import { faultsIn } from './rules.ts'

const programs = await allPrograms()

describe('every Lua program', () => {
  it('is looked at: each command of every module is in one of them', () => {
    const all = programs.join('\n')
    expect(commandsInModules().filter((command) => !all.includes(command))).toEqual([])
  })

  it('is valid, assigns no global, reads its variables, names its fields and returns few values', () => {
    expect(faultsIn(programs)).toEqual([])
  })
})

describe('the rules for Lua find', () => {
  it.each([
    ['a global that is set', 'count = 1', 'assigns a global: count = 1'],
    ['a function that is global', 'function add() end', 'assigns a global: add'],
    [
      'a variable that is never read',
      'local a, b = 1, 2\nreturn b',
      'never reads a of local a, b = N, N',
    ],
    ['one that is only written', 'local a = 1\na = 2', 'never reads a of local a = N'],
    [
      'a field by its position',
      'local head = {}\nreturn head[5]',
      'names a field by its position: head[5]',
    ],
    [
      'a part by its offset',
      'local head = {}\nreturn head[7 + #head]',
      'names a field by its position: head[7 + #head]',
    ],
    [
      'a long list of results',
      'return 1, 2, 3, 4',
      'returns more than 3 values: return 1, 2, 3, 4',
    ],
  ])('%s', (_, lua, fault) => {
    expect(faultsIn([lua])).toEqual([fault])
  })

  it('no fault in a variable that one of several programs reads', () => {
    const shared = "local now = redis.call('TIME')\n"
    expect(faultsIn([shared, `${shared}return now[1]`])).toEqual([])
  })

  it('a program that is no Lua', () => {
    expect(() => faultsIn(['local end'])).toThrow(SyntaxError)
  })
})
