import { open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { deserialize, serialize } from 'node:v8'
import { isChargeable, isDenied, isOutdated, StoreError } from '@sluice/core'
import type { StateMap, Store, StoredState, StoreRequest } from '@sluice/core'

const TIMEOUT_MS = 5_000

/** Throws any other error. */
const unless = (code: string) => (error: NodeJS.ErrnoException) => {
  if (error.code !== code) throw error
  return undefined
}

export function fileStore(file: string): Store {
  async function lock(): Promise<void> {
    const deadline = Date.now() + TIMEOUT_MS
    for (;;) {
      const handle = await open(`${file}.lock`, 'wx').catch(unless('EEXIST'))
      if (handle) return handle.close()
      if (Date.now() > deadline) throw new StoreError('store_timeout', `${file}.lock is in use`)
      await pause(2)
    }
  }

  /** Runs a step alone. */
  async function step<Result>(work: (map: Map<string, StoredState>) => Result): Promise<Result> {
    await lock()
    try {
      const bytes = await readFile(file).catch(unless('ENOENT'))
      // States may hold a Map, and Infinity.
      const map: Map<string, StoredState> = bytes ? deserialize(bytes) : new Map()
      const result = work(map)
      await writeFile(`${file}.new`, serialize(map))
      await rename(`${file}.new`, file)
      return result
    } finally {
      await rm(`${file}.lock`)
    }
  }

  return {
    check: (request) => step((map) => decide(statesOf(map), atThisMoment(request))),
    run: (operation) => step((map) => operation.kind.run(statesOf(map), operation)),
    reset: (keys) => step((map) => keys.forEach((key) => map.delete(key))),
  }
}

/** Waiting for the lock takes time: a charge must not count from before it. */
const atThisMoment = (request: StoreRequest): StoreRequest =>
  request.clockIsInjected ? request : { ...request, now: Date.now() }

const statesOf = (map: Map<string, StoredState>): StateMap => ({
  get(key, now) {
    const stored = map.get(key)
    return stored && stored.expiresAt > now ? stored.state : undefined
  },
  set: (key, stored) => void map.set(key, stored),
})

function decide(states: StateMap, request: StoreRequest) {
  const { entries, apply, now, id, mark, reads, fit } = request
  const findings = entries.map((entry) =>
    entry.policy.algorithm.check(states.get(entry.key, now) as never, entry, now),
  )
  const granted = fit?.kind.grant(fit, entries, findings)
  const charged = fit?.kind.charge(fit, entries, { verdicts: findings, granted }) ?? entries
  const positions = new Map<string, number>()
  const values = reads.map(({ key, field }) =>
    (states.get(key, now) as ReadonlyMap<string, string> | undefined)?.get(field),
  )
  if (apply && !isDenied(entries, findings) && !isOutdated(reads, values)) {
    for (const entry of charged) {
      const { key, policy } = entry
      if (positions.has(key) || !isChargeable(entry, charged, findings)) continue
      const stored = policy.algorithm.add(states.get(key, now) as never, entry, now, id)
      states.set(key, stored)
      positions.set(key, stored.position)
    }
    // For a reservation.
    const charges = charged.flatMap(({ key, index, cost: units }) => {
      const position = positions.get(key)
      return position === undefined ? [] : [{ index, units, position }]
    })
    mark?.kind.write(mark, states, charges, now)
  }
  const verdicts = findings.map((finding, index) =>
    Object.assign(finding, { charged: positions.has(entries[index]?.key ?? '') }),
  )
  return { source: 'store' as const, now, verdicts, values, granted }
}
