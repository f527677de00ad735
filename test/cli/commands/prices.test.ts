import { createLimiter } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { budget, limitedFetch, LIST_PRICES, type ModelPrice } from '@sluice/ai'
import { livePrices } from '@sluice/ai/live-prices'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { answer } from '../../ai/live/support.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { envOf, project, removeProjects, type Project } from '../project.ts'

const redis = sharedRedisOverHttp()
afterAll(removeProjects)

const OLD: ModelPrice = {
  input: 1_000_000,
  output: 2_000_000,
  asOf: '2020-01-01',
  source: 'https://a.example',
}
const ENDING: ModelPrice = { input: 1_000_000, output: 2_000_000, endsOn: '2020-01-01' }

const FINE: ModelPrice = { input: 2_500_000, output: 10_000_000 }

let app: Project
let prefix: string
const limitsText = (own: Readonly<Record<string, ModelPrice>>): string => `
import { createLimiter } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { budget, definePrices, LIST_PRICES } from '@sluice/ai'
import { livePrices } from '@sluice/ai/live-prices'

const own = ${JSON.stringify(own)}
export const prices = livePrices({ base: definePrices(own, { base: LIST_PRICES }) })
export const limiter = createLimiter({
  store: upstash({ prefix: '${prefix}', timeoutMs: 30_000 }),
  policies: [budget({ name: 'budget', daily: 5_000_000, per: ['tenant'] })],
  extensions: [prices],
})`

beforeEach(() => {
  prefix = freshPrefix()
  app = project({
    'src/limits.ts': limitsText({ 'fine-model': FINE, 'old-model': OLD, 'ending-model': ENDING }),
    'src/chat.ts': `
import OpenAI from 'openai'
const openai = new OpenAI()
export const ask = (input: string) => openai.responses.create({ model: 'new-model', input })
export const others = ['fine-model', 'old-model', 'ending-model', 'no model']`,
    '.env.local': envOf(redis.local),
  })
})

/** Sends a call in an isolate of the app, and returns its status. */
async function statusOf(model: string): Promise<number> {
  const { url, token } = redis.local
  const prices = livePrices({ base: LIST_PRICES })
  const limiter = createLimiter({
    store: upstash({ url, token, prefix, timeoutMs: 30_000 }),
    policies: [budget({ name: 'budget', daily: 5_000_000, per: ['tenant'] })],
    extensions: [prices],
  })
  const send = limitedFetch(limiter, { subject: { tenant: 'acme' }, prices, fetch: answer })
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Why?' }] })
  const response = await send('https://llm.example/v1/chat/completions', { method: 'POST', body })
  await response.text()
  return response.status
}

const sluice = (line: string) => app.sluice(['prices', ...line.split(' ').filter(Boolean)])

describe('sluice prices set', () => {
  it('shows a price, sets it with --yes, and takes it back', async () => {
    expect(await statusOf('new-model')).toBe(400)
    const line =
      'set new-model input=$2 cachedInput=$0.20 output=$12 asOf=2026-11-28 --by ann --note launch'
    const shown = `new-model: as in the code -> input $2.00, cachedInput $0.20, output $12.00 (2026-11-28)`
    expect((await sluice(line)).out).toBe(`${shown}\nNothing is changed. Add --yes to change it.`)
    expect(await statusOf('new-model')).toBe(400)
    expect(await sluice(`${line} --yes`)).toMatchObject({
      out: `${shown}\nChanged. It applies in every isolate within a minute. To take it back: sluice prices undo`,
      err: '',
      exitCode: 0,
    })
    expect(await statusOf('new-model')).toBe(200)
    expect((await sluice('log')).out).toMatch(
      / ann: launch\n {2}new-model: as in the code -> input \$2\.00/,
    )
    expect((await sluice('undo')).out).toContain(
      'output $12.00 (2026-11-28) -> as in the code\nNothing',
    )
    await sluice('undo --yes')
    expect(await statusOf('new-model')).toBe(400)
    expect((await sluice('undo --yes')).out).toBe('There is no change to take back.')
    expect((await sluice('log')).out).toContain('takes a change back')
  })

  it('takes the price of a long input, and removes a price', async () => {
    const line =
      'set new-model input=$2 output=$12 above=200000 long.input=$4 long.output=$18 --yes'
    expect((await sluice(line)).out).toContain('; above 200000 tokens input $4.00, output $18.00')
    expect((await sluice('set new-model null --yes')).out).toContain('-> as in the code')
    expect((await sluice('set new-model null --yes')).out).toBe('The price is that already.')
  })

  it.each([
    ['set new-model', "takes a model and its price, such as gpt-7 input='$2' output='$12'"],
    [
      'set new-model input=2 output=$12',
      "input counts dollars per million tokens: write input='$2'",
    ],
    ['set new-model inputs=$2', 'inputs=$2 must be a price'],
    ['set new-model input=$2', 'livePrices.new-model.output'],
    ['set new-model input=$2 input=$3', 'input is given twice'],
    ['set gpt-4o input=$0.01 output=$0.01', 'is lower than in the code: set allowLower'],
    [
      'show',
      'there is no action "show" of sluice prices; there are list, check, set, pull, log, undo',
    ],
    ['log new-model', 'takes no names'],
    ['pull none.json', 'there is no file none.json'],
    ['pull http://prices.example/a.json', 'must be an address that begins with https:'],
  ])('%s is refused: %s', async (line, says) => {
    expect(await sluice(line)).toMatchObject({ err: expect.stringContaining(says), exitCode: 1 })
  })
})

const feed = (models: object): void =>
  writeFileSync(join(app.folder, 'feed.json'), JSON.stringify({ openai: { models } }))

describe('sluice prices pull', () => {
  it('shows what a file would change, and pulls it with --yes', async () => {
    feed({
      'new-model': { cost: { input: 2, output: 12 } },
      'gpt-4o': { cost: { input: 0.01, output: 0.01 } },
    })
    const { out } = await sluice('pull feed.json')
    expect(out).toMatch(/^new-model: as in the code -> input \$2\.00, output \$12\.00 .*\nNothing/)
    expect(await statusOf('new-model')).toBe(400)
    await sluice('pull feed.json --yes')
    expect(await statusOf('new-model')).toBe(200)
    expect((await sluice('pull feed.json')).out).toBe('The list has nothing that your prices lack.')
  })

  it('names what is wrong with a file, and changes nothing', async () => {
    feed({ 'new-model': { cost: { input: 2 } } })
    expect(await sluice('pull feed.json --yes')).toMatchObject({
      err: expect.stringContaining(
        'feed.json has no price of "new-model": input and output must be given. Nothing is changed',
      ),
      exitCode: 1,
    })
    expect((await sluice('log')).out).toBe('Nothing has been changed.')
  })
})

describe('sluice prices', () => {
  it('lists the models in use, each with its price, its day and its page', async () => {
    await sluice('set set-model input=$2 output=$12 --yes')
    const log = 'time,tenant,model,input,output\n2026-11-26T10:00:00Z,acme,logged-model,1,1\n'
    writeFileSync(join(app.folder, 'calls.csv'), log)
    const { out } = await sluice('list --log calls.csv')
    expect(out).toMatch(/logged-model +none +calls\.csv/)
    expect(out).toMatch(/^model +dollars per million tokens +named in +page\n/)
    expect(out).toMatch(/new-model +none +src\/chat\.ts/)
    expect(out).toMatch(/fine-model +input \$2\.50, output \$10\.00/)
    expect(out).toMatch(
      /old-model +input \$1\.00, output \$2\.00 \(2020-01-01\) .*https:\/\/a\.example/,
    )
    expect(out).toMatch(/set-model .* the store/)
    expect(out).not.toContain('no model')
  })

  it('checks them: missing, old, lower than a bill, and of models that end', async () => {
    writeFileSync(
      join(app.folder, 'bill.csv'),
      'Model,Input,Output,Cost\nfine-model,1000000,0,2.50\n"old-model",1000000,1000000,"$3.01"\nother,1,1,1\n',
    )
    await sluice('set set-model input=$2 output=$12 asOf=2020-01-01 endsOn=2020-06-01 --yes')
    const { out, exitCode } = await sluice('check --bill bill.csv')
    expect(exitCode).toBe(1)
    expect(out.split('\n').filter((line) => !line.startsWith(' '))).toEqual([
      'price_missing: new-model (src/chat.ts) has no price',
      expect.stringContaining('old-model of 2020-01-01 (src/limits.ts)'),
      expect.stringContaining('ending-model on 2020-01-01'),
      'prices_old: the live price of set-model is older than 60 days: it is of 2020-01-01',
      'model_ends: the vendor shuts down set-model on 2020-06-01',
      'price_low: old-model is billed at $3.01, and priced at $3.00',
      'price_missing: other (the bill) has no price',
    ])
    writeFileSync(join(app.folder, 'bill.csv'), 'model,cost\n')
    expect((await sluice('check --bill bill.csv')).err).toContain('the bill has no column "input"')
  })

  it('checks when OpenAI shuts them down, if it is asked, unless their prices say that day', async () => {
    const soon = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
    const days = {
      'new-model': soon,
      'fine-model': null,
      'ending-model': '2020-01-01',
      other: soon,
    }
    const data = Object.entries(days).map(([id, shutdown_date]) => ({ id, shutdown_date }))
    let body = JSON.stringify({ data: [...data, { id: 'old-model', shutdown_date: '2999-01-01' }] })
    const keys: unknown[] = []
    const server = createServer(({ url, headers }, response) => {
      keys.push([url, headers.authorization])
      response.end(body)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const without = await sluice('check --openai')
    app.write(
      '.env.local',
      `${envOf(redis.local)}\nOPENAI_API_KEY=sk-1\nOPENAI_BASE_URL=http://127.0.0.1:${port}/v1`,
    )
    const { out } = await sluice('check --openai')
    body = '{}'
    const malformed = await sluice('check --openai')
    server.close()
    expect(without.err).toContain('--openai needs OPENAI_API_KEY')
    expect(out.match(/^model_ends: OpenAI .*/gm)).toEqual([
      `model_ends: OpenAI shuts down new-model (src/chat.ts) on ${soon}`,
    ])
    expect(malformed.err).toContain('OpenAI does not list its models: 200')
    const request = ['/v1/models', 'Bearer sk-1']
    expect(keys).toEqual([request, request])
    expect(out + malformed.err).not.toContain('sk-1')
  })

  it('finds nothing where each model has a price of today', async () => {
    const text = `import { limitedFetch } from '@sluice/ai'\nexport const options = { limitedFetch, model: 'set-model' }`
    writeFileSync(join(app.folder, 'src/chat.ts'), text)
    writeFileSync(join(app.folder, 'src/limits.ts'), limitsText({ 'fine-model': FINE }))
    await sluice('set set-model input=$2 output=$12 --yes')
    expect(await sluice('check')).toEqual({
      out: 'Every model in use has a price of today.',
      err: '',
      exitCode: 0,
    })
  })

  it('says what to add to limits without live prices', async () => {
    writeFileSync(
      join(app.folder, 'src/limits.ts'),
      `
import { createLimiter, dailyCap } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
export const limiter = createLimiter({ store: upstash({ prefix: '${prefix}', timeoutMs: 30_000 }), policies: [dailyCap({ name: 'daily', limit: 5, per: ['tenant'] })] })`,
    )
    expect((await sluice('')).out).toContain('new-model')
    expect((await sluice('set set-model input=$2 output=$12 --yes')).err).toContain(
      'must have livePrices(…) in its extensions',
    )
  })
})
