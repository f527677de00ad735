import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { apiKeys } from '@sluice/core/api-keys'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { sent } from '../../core/api-keys/support.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { createOperator, jsonOf, type Operator } from '../operator.ts'
import { envOf, removeProjects } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

let operator: Operator
beforeEach(() => {
  operator = createOperator(redis.local)
})

/** Runs a command that succeeds. */
async function say(command: string): Promise<string[]> {
  const { out, err, exitCode } = await operator.app.sluice(command.split(' '))
  expect({ command, err, exitCode }).toEqual({ command, err: '', exitCode: 0 })
  return out.split('\n')
}

const accepts = async (key: string) => (await apiKeys(operator.running)(sent(key))) ?? null

const OWNER = 'tenant=acme plan=growth'
const NOTHING = 'Nothing is changed. Add --yes to change it.'
const CHANGED = 'Changed. It applies in every isolate within 5 seconds.'

async function made(args = ''): Promise<{ key: string; id: string }> {
  const [key = '', facts = ''] = await say(`keys create --tenant acme --plan growth --yes${args}`)
  return { key, id: facts.split(' ')[0] ?? '' }
}

describe('sluice keys', () => {
  it('makes a key that the app accepts, and shows it once', async () => {
    expect(await say('keys create --tenant acme --plan growth')).toEqual([
      `A key of ${OWNER}`,
      'Nothing is made. Add --yes to make it.',
    ])
    const lines = await say('keys create --tenant acme --plan growth --expires 90d --yes')
    expect(lines).toEqual([
      expect.stringMatching(/^sk_[\w-]{43}$/),
      expect.stringMatching(/^key_[0-9a-f]{16} \(tenant=acme plan=growth\), until \d{4}-/),
      'Copy the key now: only its SHA-256 is kept.',
    ])
    const [key = '', facts = ''] = lines
    const id = facts.split(' ')[0] ?? ''
    expect(await accepts(key)).toEqual({ tenant: 'acme', plan: 'growth', key: id })
    const listed = (await say('keys --tenant acme')).map((line) => line.split(/ {2,}/))
    const day = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?Z$/)
    expect(listed).toEqual([
      ['key', 'subject', 'created', 'expires', 'last used'],
      [id, OWNER, day, day, day],
    ])
    expect(listed.flat().join()).not.toContain(key)
    expect(jsonOf(await operator.app.sluice(['keys', '--tenant', 'acme', '--json']))).toMatchObject(
      {
        keys: [{ id, subject: { tenant: 'acme', plan: 'growth' }, lastUsedAt: expect.any(Number) }],
      },
    )
  })

  it('replaces a key, and lets the old one expire', async () => {
    const { key, id } = await made()
    const line = `${id} (${OWNER}): replaced; the old one expires in 2h`
    expect(await say(`keys rotate ${id} --overlap 2h`)).toEqual([line, NOTHING])
    const [said, another = ''] = await say(`keys rotate ${id} --overlap 2h --yes`)
    expect(said).toBe(line)
    expect([await accepts(key), await accepts(another)]).toMatchObject([
      { key: id, plan: 'growth' },
      { tenant: 'acme', plan: 'growth' },
    ])
    const keys = jsonOf(await operator.app.sluice(['keys', '--tenant', 'acme', '--json']))['keys']
    expect(keys).toMatchObject([{ id, expiresAt: expect.any(Number) }, {}])
  })

  it('says when the old key expires before the overlap is over', async () => {
    const { id } = await made(' --expires 90d')
    await say(`keys expire ${id} --in 1h --yes`)
    const line = new RegExp(
      `^${id} .*: replaced; the old one expires at \\d{4}-\\d\\d-\\d\\d [\\d:]+Z, before 1d is over$`,
    )
    expect(await say(`keys rotate ${id}`)).toEqual([expect.stringMatching(line), NOTHING])
    const [said, , facts = ''] = await say(`keys rotate ${id} --yes`)
    expect(said).toMatch(line)
    // As long as the first was made for.
    expect(facts).toContain('until')
  })

  it('says that a key may have been replaced when the store fails just then', async () => {
    const { id } = await made()
    // Passes everything on, until it has passed on the replacement: nobody gets its reply, or any further.
    let isGone = false
    const proxy = createServer((request, response) => {
      const pass = async (): Promise<void> => {
        const body = await text(request)
        const headers = { authorization: request.headers.authorization ?? '' }
        const answer = await fetch(redis.local.url + request.url, { method: 'POST', headers, body })
        isGone ||= body.includes('replacedBy')
        if (isGone) response.destroy()
        else response.end(await answer.text())
      }
      void pass().catch(() => response.destroy())
    })
    await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void proxy.close())
    const { port } = proxy.address() as AddressInfo
    operator.app.write('.env.local', envOf({ ...redis.local, url: `http://127.0.0.1:${port}` }))
    const { err, exitCode } = await operator.app.sluice(['keys', 'rotate', id, '--yes'])
    operator.app.write('.env.local', envOf(redis.local))
    expect([exitCode, err]).toEqual([
      1,
      expect.stringContaining(
        `the store failed, and ${id} may have been replaced. List the keys: sluice keys --tenant acme.`,
      ),
    ])
    expect(await say('keys --tenant acme')).toHaveLength(3)
  })

  it('replaces a key at once', async () => {
    const { key, id } = await made()
    const [said, another = ''] = await say(`keys rotate ${id} --overlap 0 --yes`)
    expect(said).toBe(`${id} (${OWNER}): replaced; the old one expires at once`)
    expect([await accepts(key), await accepts(another)]).toMatchObject([null, { plan: 'growth' }])
  })

  it('replaces no key twice, and none that has expired', async () => {
    const { id } = await made()
    const [, , facts = ''] = await say(`keys rotate ${id} --yes`)
    const expired = await made()
    await say(`keys expire ${expired.id} --in 0 --yes`)
    const next = facts.split(' ')[0]
    for (const yes of [[], ['--yes']]) {
      const again = await operator.app.sluice(['keys', 'rotate', id, ...yes])
      expect(again).toMatchObject({ out: '', exitCode: 1 })
      expect(again.err).toContain(`${id} was rotated: rotate ${next}, which has replaced it`)
      const late = await operator.app.sluice(['keys', 'rotate', expired.id, ...yes])
      expect(late).toMatchObject({ out: '', exitCode: 1 })
      expect(late.err).toContain(`${expired.id} has expired: create another`)
    }
  })

  it('lets a key expire, and revokes one', async () => {
    const { key, id } = await made()
    const line = `${id} (${OWNER}): expires in 12h`
    expect(await say(`keys expire ${id} --in 12h`)).toEqual([line, NOTHING])
    expect(await say(`keys expire ${id} --in 12h --yes`)).toEqual([line, CHANGED])
    expect(await say(`keys expire ${id} --in 3d --yes`)).toEqual([
      expect.stringMatching(new RegExp(`^${id} already expires sooner: \\d{4}-`)),
    ])
    expect((await say(`keys expire ${id} --in 0`))[0]).toBe(`${id} (${OWNER}): expires at once`)
    const gone = `${id} (${OWNER}): revoked; never used`
    expect(await say(`keys revoke ${id}`)).toEqual([gone, NOTHING])
    expect(await accepts(key)).toMatchObject({ key: id })
    await say(`keys revoke ${id} --yes`)
    expect(await accepts(key)).toBeNull()
    expect(await say('keys --tenant acme')).toHaveLength(1)
  })

  it.each([
    ['', /name whose keys, such as --tenant acme/],
    ['create', /name whose keys, such as --tenant acme/],
    ['create --tenant acme --subject tenant=b', /the dimension "tenant" is given twice/],
    ['create --tenant acme --plan gold', /there is no plan "gold"; there are starter, growth/],
    ['create --tenant acme --expires soon', /--expires soon must be a duration/],
    ['create --tenant acme --expires 900d', /--expires 900d must be .* at most 366 days/],
    [
      'rotate key_0123456789abcdef --overlap 99999d',
      /--overlap 99999d must be .* at most 366 days/,
    ],
    ['create --tenant acme --overlap 1h', /--overlap is not for sluice keys create/],
    ['create acme', /sluice keys create takes no name of a key/],
    ['rotate', /sluice keys rotate needs the name of one key/],
    ['rotate key_0123456789abcdef', /there is no key key_0123456789abcdef\. List them/],
    ['revoke acme', /needs the name of a key, such as key_0123456789abcdef, and no other text/],
    ['revoke key_0123456789abcdef key_0123456789abcdef', /needs the name of one key/],
    ['expire key_0123456789abcdef', /name when it expires, such as --in 1h/],
    ['expire key_0123456789abcdef --in never', /--in never must be a duration/],
    ['list --tenant acme --yes', /--yes is not for sluice keys list/],
    [
      'delete x',
      /there is no action "delete" of sluice keys; there are list, create, rotate, expire, revoke/,
    ],
  ])('refuses: keys %s', async (args, says) => {
    const { out, err, exitCode } = await operator.app.sluice([
      'keys',
      ...args.split(' ').filter(Boolean),
    ])
    expect({ out, exitCode }).toEqual({ out: '', exitCode: 1 })
    expect(err).toMatch(says)
  })
})
