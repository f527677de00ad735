import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startLocal, type LocalServer } from '@sluice/local'
import { SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { freePort } from '../e2e/support/ports.ts'
import { answersOn, expectShown } from './shown-answers.ts'
import { filesOf, START_PAGES, startPage } from '../../scripts/start-pages.ts'
import { patient } from '../support/docs-block.ts'

const { PATH } = process.env
const SECRET = 'a secret of at least thirty-two bytes'

const pages = START_PAGES.map((name) => ({ name, page: startPage(name) })).filter(({ page }) =>
  page.includes('// server.ts\n'),
)

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('start-calls-', import.meta.url)))
let local: LocalServer
let server: ChildProcess | undefined
beforeAll(async () => {
  local = await startLocal({ redisUrl: inject('redisUrl') })
})
afterEach(() => void server?.kill())
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await local.close()
})

/** Runs a command of a page, and returns its output. */
type Run = (command: string) => Promise<string>

/** Starts the server of a page, as the page says. Its commands run with a token. */
async function start(name: string, page: string): Promise<Run> {
  const port = await freePort()
  const app = join(folder, name)
  mkdirSync(app)
  for (const [file, code] of filesOf(page)) {
    writeFileSync(join(app, file), patient(code).replaceAll('3000', String(port)))
  }
  const settings = {
    PATH,
    NODE_ENV: 'production',
    JWT_SECRET: SECRET,
    UPSTASH_REDIS_REST_URL: local.url,
    UPSTASH_REDIS_REST_TOKEN: local.token,
  }
  server = spawn(process.execPath, ['server.ts'], { cwd: app, env: settings, stdio: 'inherit' })
  const url = `http://localhost:${port}`
  await expect
    .poll(() =>
      fetch(url).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBeGreaterThan(0)
  const JWT = await new SignJWT({ tenant: `start-${crypto.randomUUID()}` })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(SECRET))
  const env = { PATH, JWT }
  return async (command) => {
    const line = command.replaceAll('3000', String(port))
    const { stdout } = await promisify(execFile)('bash', ['-c', line], {
      cwd: app,
      env,
      timeout: 60_000,
    })
    return stdout
  }
}

/** The commands of a page that call its server, and nothing else that a page tells to run. */
function callsOn(page: string): string[] {
  const blocks = Array.from(page.matchAll(/```sh\n([^`]*)```/g), ([, text = '']) => text)
  // The test has made the token.
  const commands = blocks.map((text) => text.replace(/^JWT=.*\n/, ''))
  return commands.filter((text) => /^(curl|for i in \$\(seq 24\); do\n  curl) /.test(text))
}

/** The answer that `curl -i` has printed. */
function printed(output: string): Response {
  const [head = '', body = ''] = output.split('\r\n\r\n')
  const [status = '', ...lines] = head.split('\r\n')
  const headers = lines.map((line) => line.split(/: (.*)/).slice(0, 2) as [string, string])
  return new Response(body, { status: Number(status.split(' ')[1]), headers })
}

describe('the commands on the page to start with', () => {
  it('are run for each page whose server Node runs as it is written', () => {
    expect(pages.length).toBe(7)
  })

  it.each(pages)('$name print what the page shows', async ({ name, page }) => {
    const run = await start(name, page)
    // The test has made the token.
    const [first = '', ...others] = callsOn(page)
    // A denial is the same in each framework, unless the page shows its own.
    const [allowed, denied = answersOn(startPage('README'))[1]] = answersOn(page)
    await expectShown(printed(await run(first)), allowed)
    const shown = Array.from(page.matchAll(/```text\n([^]*?)\n```/g), ([, text]) => text)
    const outputs = []
    for (const command of others) outputs.push((await run(command)).trim())
    expect(outputs).toEqual(shown)

    let answer = printed(await run(first))
    for (let sent = 2; sent < 21 && answer.ok; sent += 1) answer = printed(await run(first))
    await expectShown(answer, denied)
  })
})
