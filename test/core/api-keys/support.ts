import { slidingWindow, type Operation } from '@sluice/core'
import { Watched } from '../../support/watched-store.ts'

export const RPM = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })

/** Returns a request that is sent with a key. */
export const sent = (key: string): Request =>
  new Request('https://app.example/api', { headers: { authorization: `Bearer ${key}` } })

/** A store in which others act between the last read of a key and a write of it. */
export class Interrupted extends Watched {
  meanwhile: { readonly id: string; readonly act: () => unknown } | undefined

  override async run<Result>(operation: Operation<Result>): Promise<Result> {
    const { id, act } = this.meanwhile ?? {}
    if (operation.keys.includes(`api-keys/${id}`)) {
      // Once: they write the key, too.
      this.meanwhile = undefined
      await act?.()
    }
    return super.run(operation)
  }
}
