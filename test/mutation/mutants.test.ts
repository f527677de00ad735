import { describe, expect, it } from 'vitest'
import { drawMutants, idOf, ROOMS, roomOf } from './draw.ts'
import { mutationsOf } from './mutants.ts'

const root = new URL('../../', import.meta.url).pathname

/** Every text that a mutation of this one gives. */
const mutantsOf = (text: string): string[] =>
  mutationsOf('module.js', text).map(
    ({ start, end, instead }) => text.slice(0, start) + instead + text.slice(end),
  )

describe('the mutations of a module', () => {
  it.each<[of: string, text: string, mutants: readonly string[]]>([
    ['comparisons and boundaries', 'x = y < z', ['x = y <= z', 'x = y >= z']],
    ['comparisons', 'x = y === z', ['x = y !== z']],
    ['signs', 'x = y - z', ['x = y + z']],
    ['signs of assignments', 'x += y', ['x -= y']],
    ['signs of one', 'x = -y', ['x = y']],
    [
      'constants',
      'x = [1, 60, true]',
      ['x = [0, 60, true]', 'x = [1, (60 + 1), true]', 'x = [1, 60, false]'],
    ],
    ['logic', 'x = !y && z', ['x = y && z', 'x = !y || z']],
    ['calls', 'go(x)', [';']],
    ['calls that are waited for', 'await go(x)', [';']],
    ['calls whose result is used', 'y = go(x)', []],
    ['texts', "x = 'a' + y", []],
    ['names of properties', 'x = { 1: y }', []],
    ['errors', "throw new InputError('one and 2 (of them)')", []],
    ['sentences', "x = 'one and two'", []],
    ['Lua', 'x = `local a = now - 2`', ['x = `local a = now + 2`', 'x = `local a = now - 3`']],
    [
      'Lua between expressions',
      'x = `if ${a} < cost then ${b} end`',
      ['x = `if ${a} <= cost then ${b} end`', 'x = `if ${a} >= cost then ${b} end`'],
    ],
    ['texts in Lua', "x = `local a = f('1 and 2')`", []],
    ['comments in Lua', 'x = `local a = b -- 1 and 2`', []],
    ['calls of Redis', "x = `\n  redis.call('DEL', ${a})\n`", ['x = `\n  \n`']],
  ])('are those of %s', (_of, text, mutants) => {
    expect(mutantsOf(text).toSorted()).toEqual(mutants.toSorted())
  })
})

describe('the mutants that are drawn', () => {
  it('are the same for a seed, all different, and of every room', () => {
    const [drawn, again] = [drawMutants(root, 7, 150), drawMutants(root, 7, 150)]
    expect(again).toEqual(drawn)
    expect(new Set(drawn.map(idOf)).size).toBeGreaterThan(145)
    expect(new Set(drawn.map(({ path }) => roomOf(path)))).toEqual(new Set(Object.keys(ROOMS)))
    expect(drawMutants(root, 8, 150)).not.toEqual(drawn)
  })
})
