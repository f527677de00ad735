import { configure } from '@sluice/core/configuration'
import { flushUsage } from '@sluice/usage'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ACME, createOperator, type Operator } from '../cli/operator.ts'
import { removeProjects, runIn } from '../cli/project.ts'
import { startDatabase, type Database } from './operate/databases.ts'
import { commandsOn, runShown } from './shown-commands.ts'

const page = readFileSync(new URL('../../docs/leaving.md', import.meta.url), 'utf8')
const commands = commandsOn(page).map(({ command }) => command)

let database: Database
let operator: Operator
beforeAll(async () => {
  database = await startDatabase()
  operator = createOperator(database.local, { prefix: 'sluice' })
  const { running } = operator
  // A quote in a name must not end a word of a command.
  for (const tenant of ['acme', 'o\'neill "2"']) {
    await running.check({ ...ACME, tenant }, { cost: { request: 1, usd: 1_250_000 } })
  }
  await configure(running, { rpm: { limit: 7 } }, { tenant: 'acme' })
  await flushUsage(running)
})
afterAll(async () => {
  removeProjects()
  await database.stop()
})

it('exports usage and the changes of settings', async () => {
  const [usage, log] = await Promise.all(
    commands.slice(0, 2).map((command) => runShown(operator.app, command)),
  )
  expect(usage?.out).toContain('acme')
  expect(JSON.parse(log?.out ?? '')).toMatchObject({ changes: [{ changes: [{ policy: 'rpm' }] }] })
})

it('leaves no key of its own, and all others', async () => {
  await database.send('SET', 'another:app', '1')
  expect(await database.send('DBSIZE')).toBeGreaterThan(5)
  expect(commands).toHaveLength(3)
  const variables = { REDIS_URL: database.redisUrl }
  const { exitCode, err } = await runIn(
    operator.app.folder,
    'sh',
    ['-c', commands[2] ?? ''],
    variables,
  )
  expect({ exitCode, err }).toEqual({ exitCode: 0, err: '' })
  expect(await database.send('KEYS', '*')).toEqual(['another:app'])
})
