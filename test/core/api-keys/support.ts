import { slidingWindow, StoreError, type Operation } from '@sluice/core'
import { Watched } from '../../support/watched-store.ts'

export const RPM = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })

/** Returns a request that is sent with a key. */
export const sent = (key: string): Request =>
  new Request('https://app.example/api', { headers: { authorization: `Bearer ${key}` } })

/** A store in which others act between the last read of a key and a write of it. */
export class Interrupted extends Watched {
  meanwhile: { readonly id: string; readonly act: () => unknown } | undefined
  /** The name of a key whose next write is made, and its reply lost. */
  loses: string | undefined

  override async run<Result>(operation: Operation<Result>): Promise<Result> {
    const { id, act } = this.meanwhile ?? {}
    if (operation.keys.includes(`api-keys/${id}`)) {
      // Once: they write the key, too.
      this.meanwhile = undefined
      await act?.()
    }
    const result = await super.run(operation)
    if (this.loses === undefined || !operation.keys.includes(`api-keys/${this.loses}`))
      return result
    this.loses = undefined
    throw new StoreError('store_unreachable', 'The reply is lost')
  }
}
