/* The store in which a gateway counts, and the change to another one. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { refuse } from '@sluice/core/http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { inKnownStore } from '../../apps/worker/src/store.ts'
import {
  clientsOf,
  keysOf,
  message,
  OPERATED,
  post,
  settingsOf,
  startGateway,
  startKeys,
  startProvider,
  upstreamsAt,
  type GatewayProvider,
} from './support/gateway.ts'
import type { WorkerApp } from './support/workerd.ts'

let first: Awaited<ReturnType<typeof startKeys>>
let second: typeof first
let provider: GatewayProvider
const folders: string[] = []

beforeAll(async () => {
  ;[first, second, provider] = await Promise.all([startKeys(), startKeys(), startProvider()])
})
afterAll(async () => {
  await provider[Symbol.asyncDispose]()
  await Promise.all([first, second].map(({ store }) => store[Symbol.asyncDispose]()))
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true })))
})

/** A gateway that is deployed again and again: its objects stay. */
async function deployment() {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-gateway-'))
  folders.push(folder)
  return async function deployed<Result>(
    settings: Record<string, string>,
    use: (app: WorkerApp) => Promise<Result>,
  ): Promise<Result> {
    const app = await startGateway(
      { ...upstreamsAt(provider), ...OPERATED, ...settings },
      undefined,
      folder,
    )
    try {
      return await use(app)
    } finally {
      await app.stop()
    }
  }
}

/** Calls three doors with a key, and returns the status that they all answer. */
async function answerTo({ url }: WorkerApp, key: string) {
  const headers = { 'x-api-key': key }
  const answers = await Promise.all([
    post(`${url}/v1/messages`, message, headers),
    post(`${url}/v1/messages/count_tokens`, message, headers),
    fetch(`${url}/v1/models`, { headers }),
  ])
  expect(new Set(answers.map(({ status }) => status)).size).toBe(1)
  const texts = await Promise.all(answers.map(async (answer) => answer.text()))
  return { status: answers[0]?.status, text: texts.join('\n') }
}

const hostOf = ({ store }: typeof first): string => new URL(store.url).host

describe('a deployment that has counted in objects', () => {
  it('is refused in a Redis until STORE names it, and the way back until STORE names the objects', async () => {
    const deployed = await deployment()
    const redis = settingsOf(first.store)
    const own = await deployed({}, async (app) => {
      const { key } = await keysOf(app).create()
      expect(await answerTo(app, key)).toMatchObject({ status: 200 })
      expect(app.logs).toContain('Keys and budgets are in objects.')
      return key
    })
    const { key: other } = await first.create()

    const before = provider.requests.length
    await deployed(redis, async (app) => {
      for (const key of [own, other, 'sk_none']) {
        const { status, text } = await answerTo(app, key)
        expect(status).toBe(503)
        expect(text).toContain('not_configured')
        expect(text).toContain('set STORE to the host of UPSTASH_REDIS_REST_URL')
        expect(text).not.toContain(hostOf(first))
      }
      expect(app.logs.join()).toContain(`in objects, and would begin afresh in ${hostOf(first)}`)
    })
    expect(provider.requests.length).toBe(before)

    const named = { ...redis, STORE: hostOf(first) }
    await deployed(named, async (app) => {
      expect(await answerTo(app, own)).toMatchObject({ status: 401 })
      expect(await answerTo(app, other)).toMatchObject({ status: 200 })
      expect(app.logs).toContain(`Keys and budgets are in ${hostOf(first)}.`)
    })
    await deployed(redis, async (app) => {
      expect(await answerTo(app, other)).toMatchObject({ status: 200 })
    })
    await deployed({}, async (app) => {
      expect((await answerTo(app, own)).text).toContain('set STORE to \\"objects\\"')
    })
    await deployed({ ...redis, STORE: 'objects' }, async (app) => {
      expect(await answerTo(app, own)).toMatchObject({ status: 200 })
    })
  })

  it('is refused in a Redis, too, while its keys have made no call', async () => {
    const deployed = await deployment()
    await deployed({}, (app) => keysOf(app).create())
    await deployed(settingsOf(first.store), async (app) => {
      expect(await answerTo(app, 'sk_none')).toMatchObject({ status: 503 })
    })
  })
})

it('a deployment that has counted in a Redis is refused in another', async () => {
  const deployed = await deployment()
  const { key } = await first.create()
  await deployed(settingsOf(first.store), async (app) => {
    expect(await answerTo(app, key)).toMatchObject({ status: 200 })
  })
  for (const settings of [settingsOf(second.store), {}]) {
    await deployed(settings, async (app) => {
      expect(await answerTo(app, key)).toMatchObject({ status: 503 })
    })
  }
})

it('strangers choose no store: a deployment without keys may still have another', async () => {
  const deployed = await deployment()
  const stranger = `sk_${'n'.repeat(43)}`
  await deployed({}, async (app) => {
    expect(await answerTo(app, stranger)).toMatchObject({ status: 401 })
  })
  const { key } = await first.create()
  await deployed(settingsOf(first.store), async (app) => {
    const { anthropic } = clientsOf(app.url, key)
    expect((await anthropic.messages.create(message)).type).toBe('message')
  })
})

describe('an isolate', () => {
  beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => {}))
  afterEach(() => void vi.restoreAllMocks())

  const request = new Request('https://gateway.example')
  const SUBJECT = { tenant: 'acme' }
  const UNKNOWN = refuse({ status: 401, code: 'invalid_api_key', message: 'Unknown.' })

  /** An isolate before an object `home` that knows a store; `null` is down. */
  function isolate(known: string | null | undefined, isNamed = false) {
    const asked: string[] = []
    let stored = known
    const countedIn = async (name: string, change: string) => {
      asked.push(change)
      if (stored === null) throw new Error('down')
      if (change === 'always' || (change === 'first' && stored === undefined)) stored = name
      return stored
    }
    const objects = { idFromName: (name: string) => name, get: () => ({ countedIn }) }
    let subject: typeof SUBJECT | typeof UNKNOWN = SUBJECT
    const verify = inKnownStore(async () => subject, { name: 'objects', isNamed }, objects as never)
    return {
      asked,
      verify: () => verify(request),
      stranger: async () => {
        subject = UNKNOWN
        const found = await verify(request)
        subject = SUBJECT
        return found
      },
      recover: () => void (stored = 'objects'),
    }
  }

  it('asks once for the store in which its deployment has counted', async () => {
    const { asked, verify } = isolate('objects')
    for (let time = 0; time < 20; time += 1) expect(await verify()).toBe(SUBJECT)
    expect(asked).toEqual(['never'])
  })

  it('has its store remembered from the first valid key on', async () => {
    const { asked, verify, stranger } = isolate(undefined)
    for (let time = 0; time < 20; time += 1) expect(await stranger()).toBe(UNKNOWN)
    for (let time = 0; time < 20; time += 1) expect(await verify()).toBe(SUBJECT)
    expect(asked).toEqual(['never', 'first'])
  })

  it('asks no more once it is refused', async () => {
    const { asked, verify } = isolate('redis.example')
    for (let time = 0; time < 20; time += 1) {
      expect(await verify()).toMatchObject({ options: { code: 'not_configured' } })
    }
    expect(asked).toEqual(['never'])
  })

  it('lets nobody in while nobody tells in which store its deployment has counted', async () => {
    const { verify, recover } = isolate(null)
    expect(await verify()).toMatchObject({ options: { status: 503, code: 'store_unavailable' } })
    recover()
    expect(await verify()).toBe(SUBJECT)
  })

  it('depends on no object if STORE names its store', async () => {
    const { asked, verify, recover } = isolate(null, true)
    expect(await verify()).toBe(SUBJECT)
    recover()
    for (let time = 0; time < 20; time += 1) expect(await verify()).toBe(SUBJECT)
    expect(asked).toEqual(['always', 'always'])
  })
})

it('wrangler deploys it with its objects, and no other service', async () => {
  const cwd = fileURLToPath(new URL('../../apps/worker/', import.meta.url))
  const outdir = await mkdtemp(join(tmpdir(), 'sluice-deploy-'))
  folders.push(outdir)
  const { stdout } = await promisify(execFile)(
    'wrangler',
    ['deploy', '--dry-run', '--outdir', outdir],
    { cwd, env: { ...process.env, WRANGLER_SEND_METRICS: 'false' } },
  )
  const bindings = Array.from(stdout.matchAll(/^env\.(\w+) \((\w+)\) +(\S.*\S)/gm), (line) =>
    line.slice(1),
  )
  expect(bindings).toEqual([['LIMITS', 'Limits', 'Durable Object']])
})
