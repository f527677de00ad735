import { mkdtempSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startLocal } from '@sluice/local'
import { inject, onTestFinished, vi } from 'vitest'

/**
 * Returns a new folder for the code of a page, whose `upstash()` is a server of its own. It is inside the workspace, so that
 * the packages are found as a user's would be. All of it is gone when the test has finished.
 */
export async function pageFolder(page: string): Promise<string> {
  const folder = mkdtempSync(fileURLToPath(new URL(`../docs/${page}-`, import.meta.url)))
  const server = await startLocal({ redisUrl: inject('redisUrl') })
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
    rmSync(folder, { recursive: true, force: true })
    await server.close()
  })
  vi.stubEnv('UPSTASH_REDIS_REST_URL', server.url)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', server.token)
  return folder
}
