import { upstash } from '@sluice/core/upstash'
import { startLocal } from '@sluice/local'
import { afterAll, beforeAll, beforeEach, expect, inject, it, vi } from 'vitest'
import { freshPrefix } from '../support/stores.ts'
import { useEveryFeature } from './every-feature.ts'

/** Lua before a script, by which a command on a key that the call does not name is an error. */
const GUARD = `local isDeclared, server = {}, redis
for _, key in ipairs(KEYS) do isDeclared[key] = true end
local function guarded(send)
  return function(command, key, ...)
    if command ~= 'TIME' and not isDeclared[key] then error('undeclared: ' .. tostring(key)) end
    return send(command, key, ...)
  end
end
local redis = setmetatable({ call = guarded(server.call), pcall = guarded(server.pcall) }, { __index = server })
`

let local: Awaited<ReturnType<typeof startLocal>>
beforeAll(async () => {
  local = await startLocal({ redisUrl: inject('redisUrl') })
})
beforeEach(() => {
  for (const method of ['error', 'warn'] as const)
    vi.spyOn(console, method).mockImplementation(() => {})
})
afterAll(async () => {
  vi.restoreAllMocks()
  await local.close()
})

/** Sends each script whole, with the guard before it. */
function guardedFetch(lua: string): { send: typeof fetch; count: () => number } {
  let scripts = 0
  const send: typeof fetch = async (input, init) => {
    const command = JSON.parse(init?.body as string) as unknown[]
    if (command[0] === 'EVALSHA')
      return Response.json({ error: 'NOSCRIPT No matching script.' }, { status: 400 })
    if (command[0] !== 'EVAL') return fetch(input, init)
    scripts += 1
    const [first = '', ...lines] = String(command[1]).split('\n')
    const isFlag = first.startsWith('#!')
    const script = isFlag ? [first, lua, ...lines] : [lua, first, ...lines]
    const body = JSON.stringify(['EVAL', script.join('\n'), ...command.slice(2)])
    return fetch(input, { ...init, body })
  }
  return { send, count: () => scripts }
}

const storeWith = (send: typeof fetch) =>
  upstash({
    url: local.url,
    token: local.token,
    prefix: freshPrefix(),
    timeoutMs: 30_000,
    pipeline: false,
    fetch: send,
  })

it('no script touches a key that its call does not name', async () => {
  const { send, count } = guardedFetch(GUARD)
  await useEveryFeature(storeWith(send))
  expect(count()).toBeGreaterThan(50)
})

it('the guard finds a key that is not named', async () => {
  const { send } = guardedFetch(
    GUARD.replace('isDeclared[key] = true', "isDeclared[key .. 'x'] = true"),
  )
  // Its first decisions are degraded.
  await expect(useEveryFeature(storeWith(send))).rejects.toThrow('to deeply equal')
})
