import { fileURLToPath } from 'node:url'
import { cpSync, rmSync } from 'node:fs'
import { startLocal, type LocalServer } from '@sluice/local'
import type { View } from '@sluice/dashboard'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { nextBuild, start, type RunningApp } from '../next/support/build.ts'
import { eventsIn } from './support.ts'

const source = fileURLToPath(new URL('./next-app', import.meta.url))
/** Inside the workspace, so that the packages are found; ignored by git and the tools. */
const folder = fileURLToPath(new URL('./dist/one process', import.meta.url))

describe('a built Next.js app whose limiter runs in proxy.ts', () => {
  let local: LocalServer
  let app: RunningApp

  beforeAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    cpSync(source, folder, { recursive: true })
    await nextBuild(folder)
    local = await startLocal({ redisUrl: inject('redisUrl') })
    app = await start(
      { folder },
      { UPSTASH_REDIS_REST_URL: local.url, UPSTASH_REDIS_REST_TOKEN: local.token },
    )
    const requests = Array.from({ length: 70 }, async () => {
      const response = await fetch(`${app.url}/api/ai/evaluate`, { method: 'POST' })
      await response.body?.cancel()
    })
    await Promise.all(requests)
  })

  afterAll(async () => {
    await app?.stop()
    await local?.close()
  })

  it('shows its decisions on the dashboard of a route', async () => {
    const abort = new AbortController()
    const response = await fetch(`${app.url}/api/dashboard`, { signal: abort.signal })
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      if (eventsIn(text).length > 0) break
    }
    abort.abort()
    const view = eventsIn(text)[0]?.data as View | undefined
    expect(view?.totals).toMatchObject({ allowed: 60, denied: 10 })
  })

  it('counts them in the metrics of a route', async () => {
    const text = await (await fetch(`${app.url}/api/metrics`)).text()
    const counts = text.matchAll(/^rate_limiter_decisions_total\{.*outcome="(\w+)".*\} (\d+)$/gm)
    expect(Object.fromEntries(Array.from(counts, ([, name, count]) => [name, count]))).toEqual({
      allowed: '60',
      denied: '10',
    })
  })
})
