/** An operation on one partition, `waitMs` after the one before. */
export interface Operation {
  readonly kind: 'reserve' | 'settle' | 'cancel' | 'expire'
  readonly waitMs: number
  readonly units: number
  /** Which of the reservations made so far, as a share of them. */
  readonly which: number
}

const KINDS = ['reserve', 'reserve', 'reserve', 'settle', 'settle', 'cancel', 'expire'] as const

/** The same "random" operations each time for a seed. */
export function* operations(seed: number): Generator<Operation, never> {
  let state = seed
  const random = (): number => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  for (;;) {
    const kind = KINDS[Math.floor(random() * KINDS.length)] ?? 'reserve'
    const waitMs = random() < 0.3 ? 0 : Math.floor(random() * random() * 8_000)
    const units = 1 + Math.floor(random() * 40)
    // Mostly those of late, as streams are settled; sometimes one of long ago, or one settled before.
    const which = random() < 0.8 ? 1 - random() * 0.02 : random()
    yield { kind, waitMs, units, which: Math.min(which, 1 - Number.EPSILON) }
  }
}
