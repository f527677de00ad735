import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'

/** The claims that each app must keep: 20 requests a minute for each tenant of a verified token. */
const CLAIMS = {
  'answers 401 without a token': async (app) => {
    const response = await send(app, undefined)
    assert.equal(response.status, 401)
  },
  'refuses a token of another secret': async (app) => {
    const response = await send(app, tokenFor({ tenant: randomUUID() }, `${app.secret}!`))
    assert.equal(response.status, 401)
  },
  'answers the first call of its page': async (app) => {
    const [call = ''] = /^curl [^`]*?[^\\](?=\n)/m.exec(app.page) ?? []
    const command = call
      .replace(/^curl/, "curl -s -o /dev/null -w '%{http_code}'")
      .replace(/http:\/\/localhost:\d+/, app.url)
    const env = { PATH: process.env.PATH, JWT: tokenOfNewTenant(app) }
    const { stdout } = await promisify(execFile)('bash', ['-c', command], { env, timeout: 60_000 })
    assert.equal(stdout, '200')
  },
  'denies exactly 5 of 25 requests at once': async (app) => {
    const { deniedStatus = 429 } = app.request
    let denied = await deniedOf25(app)
    // On a busy machine the store may be late, and the app then counts a part by itself, as it says.
    for (let again = 0; again < 3 && denied.length !== 5 && hasLeftStore(app); again += 1) {
      denied = await deniedOf25(app)
    }
    assert.deepEqual(
      denied.map(({ status }) => status),
      Array(5).fill(deniedStatus),
    )
    if (deniedStatus === 200) return
    assert.match(denied[0].headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  },
}

/** Sends 25 requests of a new tenant at once, and returns the answers that deny. */
async function deniedOf25(app) {
  const token = tokenOfNewTenant(app)
  const responses = await Promise.all(Array.from({ length: 25 }, () => send(app, token)))
  const { answer = '' } = app.request
  const denied = []
  for (const response of responses) {
    const text = await response.text()
    if (text.includes('rate_limit_exceeded')) denied.push(response)
    else assert.ok(response.status === 200 && text.includes(answer), text)
  }
  return denied
}

/** Returns true if the app has said that it decides without its store. */
const hasLeftStore = ({ output }) => output().includes('onStoreError is')

/** The claims of each app that does not tell of a denial in a stream, which begins before the limits are known. */
const CLAIMS_OF_HEADERS = {
  'sends the limit with an allowed answer': async (app) => {
    const { headers } = await send(app, tokenOfNewTenant(app))
    assert.equal(headers.get('x-ratelimit-limit'), '20')
    assert.equal(headers.get('x-ratelimit-remaining'), '19')
    assert.match(headers.get('ratelimit') ?? '', /r=19;t=\d+/)
  },
  'counts another spelling of the path on the same budget': async (app) => {
    const token = tokenOfNewTenant(app)
    await send(app, token)
    const { status, headers } = await send(app, token, app.request.spelling)
    // A framework may not route the spelling; what it routes is counted.
    if (status === 404) return
    assert.equal(headers.get('x-ratelimit-remaining'), '18')
  },
}

/** Checks each claim. Returns those that fail with their error. */
export async function probe(app) {
  const streams = app.request.deniedStatus === 200
  const claims = { ...CLAIMS, ...(!streams && CLAIMS_OF_HEADERS) }
  // The first answer loads code and connects to the store.
  await (await send(app, tokenOfNewTenant(app))).text()
  const results = []
  for (const [claim, holds] of Object.entries(claims)) {
    const error = await holds(app).then(
      () => undefined,
      (reason) => reason.message,
    )
    results.push({ claim, error })
  }
  return results
}

function send({ url, request }, token, path = request.path) {
  const headers = { 'content-type': 'application/json', ...request.headers }
  if (token) headers.authorization = `Bearer ${token}`
  const body = JSON.stringify(request.body)
  return fetch(`${url}${path}`, { method: 'POST', headers, body })
}

const tokenOfNewTenant = (app) => tokenFor({ tenant: randomUUID() }, app.secret)

/** Returns a JWT of these claims that is valid for ten minutes. */
function tokenFor(claims, secret) {
  const exp = Math.floor(Date.now() / 1_000) + 600
  const content = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ ...claims, exp })}`
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`
}

const encode = (part) => Buffer.from(JSON.stringify(part)).toString('base64url')
