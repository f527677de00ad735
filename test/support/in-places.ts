import type { Store } from '@sluice/core'

/** Makes a store with a place for each tenant if all policies count by tenant, else one for everything. */
export function inPlaces(make: (shardBy: string) => Store): Store {
  const byTenant = make('tenant')
  const inOne = make('global')
  let store = byTenant
  return {
    accept(policies) {
      const haveTenants = policies.every(({ per }) => per !== 'global' && per.includes('tenant'))
      store = haveTenants ? byTenant : inOne
      store.accept?.(policies)
    },
    placeOf: (request) => store.placeOf?.(request),
    check: (request) => store.check(request),
    run: (operation) => store.run(operation),
    reset: (keys) => store.reset(keys),
  }
}
