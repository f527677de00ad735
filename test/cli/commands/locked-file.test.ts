/* Commands over a store in a file that the running app has locked. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, expect, it } from 'vitest'
import { project, removeProjects } from '../project.ts'

afterAll(removeProjects)

const app = project({
  'package.json': '{ "type": "module" }',
  'limits.js': `
import { createLimiter, slidingWindow } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { file } from '@sluice/core/file'
import { recordUsage } from '@sluice/usage'
export const limiter = createLimiter({
  store: file('.sluice'),
  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant'] })],
  extensions: [runtimeConfiguration({ allow: { rpm: ['limit'] } }), recordUsage()],
})
export const configuration = [{ policy: 'rpm', settings: { limit: 30 } }]
`,
  'app.js': `
import { limiter } from './limits.js'
await limiter.check({ tenant: 'acme' })
console.error('ready')
process.stdin.resume()
`,
  'log.csv': 'time,tenant\n2026-11-26T10:00:00Z,acme',
})

const COMMANDS = [
  'show',
  'show --tenant acme',
  'why --tenant acme',
  'set rpm limit=5',
  'raise rpm 50 --until 1h --yes',
  'reset --tenant acme',
  'preview log.csv',
  'apply',
  'undo',
  'log',
  'usage',
  'keys --tenant acme',
  'keys create --tenant acme --yes',
  'keys revoke key_0123456789abcdef',
  'doctor',
]

it('each command says to stop the app that has locked its file', async () => {
  const running = spawn(process.execPath, ['app.js'], {
    cwd: app.folder,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  await once(running.stderr, 'data')
  try {
    const answers = []
    for (const command of COMMANDS) {
      const { out, err, exitCode } = await app.sluice(command.split(' '))
      // A line of the limiter itself begins with "Sluice:".
      const [own = ''] = /^sluice: .*$/m.exec(err) ?? []
      answers.push([command, exitCode, /For a command, stop the app first/.test(out + own)])
    }
    expect(answers).toEqual(COMMANDS.map((command) => [command, 1, true]))
  } finally {
    running.kill()
    await once(running, 'close')
  }
  const { out, exitCode } = await app.terminal(['show', '--tenant', 'acme'])
  expect({ exitCode, out }).toEqual({ exitCode: 0, out: expect.stringMatching(/^rpm +1 +20/m) })
})
