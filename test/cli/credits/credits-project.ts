/* A project whose limiter has credits, and a limit per route beside them. */
import { createLimiter, slidingWindow, type Limiter } from '@sluice/core'
import { credits } from '@sluice/core/credits'
import { upstash } from '@sluice/core/upstash'
import { freshPrefix } from '../../support/stores.ts'
import { envOf, project, type Project } from '../project.ts'

/** The file of limits. By the clock of Redis. */
export const creditsFile = (prefix: string): string => `
import { createLimiter, slidingWindow } from '@sluice/core'
import { credits } from '@sluice/core/credits'
import { upstash } from '@sluice/core/upstash'

export const limiter = createLimiter({
  store: upstash({ prefix: '${prefix}', timeoutMs: 30_000 }),
  onStoreError: 'deny',
  policies: [
    credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' }),
    slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] }),
  ],
})
`

export interface CreditsProject {
  readonly app: Project
  /** The app of this project, elsewhere. */
  readonly running: Limiter<'tenant' | 'route', 'usd' | 'request'>
}

/** Creates a project with balances of its own. */
export function creditsProject(local: { url: string; token: string }): CreditsProject {
  const prefix = freshPrefix()
  const { url, token } = local
  return {
    app: project({ 'limits.ts': creditsFile(prefix), '.env.local': envOf(local) }),
    running: createLimiter({
      store: upstash({ url, token, prefix, timeoutMs: 30_000 }),
      onStoreError: 'deny',
      policies: [
        credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' }),
        slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] }),
      ],
    }),
  }
}
