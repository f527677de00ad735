/* Faults of a database, as `sluice doctor` finds them over each store. */
import { startLocal, startRedisServer, type LocalServer, type RedisServer } from '@sluice/local'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../support/redis.ts'
import { startRedisCluster, type RedisCluster } from '../../support/redis-cluster.ts'
import { envOf, project, removeProjects } from '../project.ts'

let server: RedisServer
let other: RedisServer
let rest: LocalServer
let cluster: RedisCluster
const admins: Redis[] = []

beforeAll(async () => {
  ;[server, other, cluster] = await Promise.all([
    startRedisServer(),
    startRedisServer(),
    startRedisCluster({ masters: 3 }),
  ])
  rest = await startLocal({ redisUrl: server.url })
})
afterAll(async () => {
  removeProjects()
  for (const redis of admins) redis.disconnect()
  await rest.close()
  await Promise.all([server.stop(), other.stop(), cluster.stop()])
})

function admin(url: string): Redis {
  const redis = connect(url)
  admins.push(redis)
  return redis
}

/** A slot in each third of a cluster. */
const SLOTS = [0, 8_000, 16_000]

const IOREDIS = "import { Redis, Cluster } from 'ioredis'\nvoid Cluster"
const OWN = '{ maxRetriesPerRequest: 0, retryStrategy: () => null }'

interface Way {
  readonly name: string
  /** The start of a file of limits: imports, and `store`. */
  readonly source: string
  readonly variables: () => string
  /** The database that fails. */
  readonly failing: () => string
  /** The part of the text that names it. */
  readonly names?: RegExp
  /** The faults that it cannot have. */
  readonly without?: readonly string[]
}

const WAYS: readonly Way[] = [
  {
    name: 'REST',
    source:
      "import { upstash } from '@sluice/core/upstash'\nconst store = upstash({ timeoutMs: 30_000 })",
    variables: () => envOf(rest),
    failing: () => server.url,
  },
  {
    name: 'ioredis',
    source: `${IOREDIS}\nconst store = redis({ client: new Redis(process.env.ONE, ${OWN}), timeoutMs: 30_000 })`,
    variables: () => `ONE=${server.url}\n`,
    failing: () => server.url,
  },
  {
    name: 'node-redis',
    source: `import { createClient } from 'redis'
const client = createClient({ url: process.env.ONE, socket: { reconnectStrategy: false } })
client.on('error', () => {})
void client.connect()
const store = redis({ client, timeoutMs: 30_000 })`,
    variables: () => `ONE=${server.url}\n`,
    failing: () => server.url,
  },
  {
    name: 'a cluster, one node of three',
    source: `${IOREDIS}\nconst client = new Cluster([Number(process.env.PORT)], { redisOptions: { maxRetriesPerRequest: 0 }, clusterRetryStrategy: () => null })
const store = redis({ client, timeoutMs: 30_000 })`,
    variables: () => `PORT=${cluster.nodes[0]?.port}\n`,
    failing: () => `redis://127.0.0.1:${cluster.nodes[1]?.port}`,
    names: /database where \d+ of 256 tenants are counted refuses/,
    without: ['READONLY'],
  },
  {
    name: 'sharded, one of two',
    source: `import { sharded } from '@sluice/core/sharded'
${IOREDIS}
const eu1 = redis({ client: new Redis(process.env.ONE, ${OWN}), timeoutMs: 30_000 })
const eu2 = redis({ client: new Redis(process.env.TWO, ${OWN}), timeoutMs: 30_000 })
const store = sharded({ eu1, eu2 }, { home: 'eu2' })`,
    variables: () => `ONE=${server.url}\nTWO=${other.url}\n`,
    failing: () => server.url,
    names: /database eu1 refuses/,
  },
]

const limitsOver = ({ source }: Way): string => `
import { createLimiter, slidingWindow } from '@sluice/core'
import { redis } from '@sluice/core/redis'
${source}
void redis
export const limiter = createLimiter({
  store,
  policies: [slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })],
})
`

type Command = readonly [name: string, ...args: string[]]

interface Fault {
  readonly word: string
  readonly code: string
  readonly cause: readonly Command[]
  readonly undo: readonly Command[]
}

const FAULTS: readonly Fault[] = [
  {
    word: 'OOM',
    code: 'store_read_only',
    cause: [['CONFIG', 'SET', 'maxmemory', '1']],
    undo: [['CONFIG', 'SET', 'maxmemory', '0']],
  },
  {
    word: 'READONLY',
    code: 'store_read_only',
    cause: [['REPLICAOF', '127.0.0.1', '1']],
    undo: [['REPLICAOF', 'NO', 'ONE']],
  },
  {
    word: 'NOREPLICAS',
    code: 'store_read_only',
    cause: [['CONFIG', 'SET', 'min-replicas-to-write', '1']],
    undo: [['CONFIG', 'SET', 'min-replicas-to-write', '0']],
  },
  {
    word: 'NOPERM',
    code: 'store_read_only',
    cause: [['ACL', 'SETUSER', 'default', '-hset']],
    undo: [['ACL', 'SETUSER', 'default', '+hset']],
  },
  {
    word: 'allkeys-lru',
    code: 'eviction_on',
    cause: [['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru']],
    undo: [['CONFIG', 'SET', 'maxmemory-policy', 'noeviction']],
  },
]

/** With two databases, one of them refuses. */
const TENANTS = ['acme', 'globex', 'initech', 'umbrella', 'hooli', 'stark']

async function diagnose(way: Way): Promise<object> {
  const app = project({ 'limits.ts': limitsOver(way), '.env': way.variables() })
  const { out, err, exitCode } = await app.sluice(['doctor', '--json'])
  const { findings, unknown } = JSON.parse(out || '{}') as { findings: object[]; unknown: string[] }
  return { findings, unknown, err, exitCode }
}

describe.each(WAYS)('over $name, sluice doctor', (way) => {
  it('finds nothing where nothing is wrong', async () => {
    expect(await diagnose(way)).toEqual({ findings: [], unknown: [], err: '', exitCode: 0 })
  })

  const faults = FAULTS.filter(({ word }) => !way.without?.includes(word))
  it.each(faults)('finds $code ($word), and nothing else', async ({ word, code, cause, undo }) => {
    // A process has made its first writes before the fault.
    await diagnose(way)
    const redis = admin(way.failing())
    onTestFinished(async () => {
      for (const [name, ...args] of undo) await redis.call(name, ...args)
    })
    for (const [name, ...args] of cause) await redis.call(name, ...args)
    const text = new RegExp(
      code === 'eviction_on' ? word : `${way.names?.source ?? ''}.*\\(${word}\\)`,
    )
    const app = project({ 'limits.ts': limitsOver(way), '.env': way.variables() })
    const whys = await Promise.all(TENANTS.map((name) => app.sluice(['why', '--tenant', name])))
    const said = `The store refuses to write (${word}), so onStoreError decides each call.`
    const isSaid = whys.some(({ out, exitCode }) => out.includes(said) && exitCode === 1)
    expect(isSaid).toBe(code === 'store_read_only')
    expect(await diagnose(way)).toEqual({
      findings: [
        {
          code,
          text: expect.stringMatching(text) as string,
          remedy: expect.stringMatching(/^.{10}/) as string,
        },
      ],
      unknown: [],
      err: '',
      exitCode: 1,
    })
  })

  it('says what a user without the right to INFO cannot know', async () => {
    const redis = admin(way.failing())
    await redis.call('ACL', 'SETUSER', 'default', '-info')
    onTestFinished(async () => void (await redis.call('ACL', 'SETUSER', 'default', '+info')))
    expect(await diagnose(way)).toMatchObject({
      findings: [],
      unknown: [expect.stringContaining('(+info)') as string],
      exitCode: 0,
    })
  })
})

/** A cluster client of node-redis, which waits for its connections or does not. */
const nodeRedisCluster = (waiting: string): string => `
import { createLimiter, slidingWindow } from '@sluice/core'
import { redis } from '@sluice/core/redis'
import { createCluster } from 'redis'
const client = createCluster({ rootNodes: [{ url: \`redis://127.0.0.1:\${process.env.PORT}\` }] })
client.on('error', () => {})
${waiting}
export const limiter = createLimiter({
  store: redis({ client, timeoutMs: 2_000 }),
  policies: [slidingWindow({ name: 'rpm', limit: 5, window: '1m', per: ['tenant'] })],
})
`

it('finds a node of a cluster that is dead, and says so if its client waits for it', async () => {
  const way = WAYS.find(({ name }) => name.startsWith('a cluster'))
  const own = await startRedisCluster({ masters: 3 })
  try {
    const dying = own.nodes[2]?.port
    const masters = await Promise.all(SLOTS.map((slot) => own.masterOf(slot)))
    const slot = SLOTS[masters.indexOf(dying ?? 0)] ?? 0
    ;(await own.killMasterOf(slot)).failedOver.catch(() => {})
    const app = project({
      'limits.ts': limitsOver(way as Way).replace('timeoutMs: 30_000', 'timeoutMs: 2_000'),
      '.env': `PORT=${own.nodes[0]?.port}\n`,
    })
    const { out, exitCode } = await app.sluice(['doctor', '--json'])
    const { findings } = JSON.parse(out) as { findings: { code: string }[] }
    expect({ codes: findings.map(({ code }) => code), exitCode }).toEqual({
      codes: ['store_unreachable'],
      exitCode: 1,
    })
    // Each in a process of its own, which ends the client.
    app.write('limits.ts', nodeRedisCluster('await client.connect()'))
    const waiting = await app.terminal(['show', '--tenant', 'acme'])
    expect(waiting).toMatchObject({ out: '', exitCode: 1 })
    expect(waiting.err).toContain('connect without waiting, as in client.connect().catch(() => {})')
    app.write('limits.ts', nodeRedisCluster('client.connect().catch(() => {})'))
    const found = await app.terminal(['doctor'])
    expect(found).toMatchObject({ out: expect.stringMatching(/^store_unreachable/), exitCode: 1 })
  } finally {
    await own.stop()
  }
})
