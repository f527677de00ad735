import type { Point, Tick } from '../view.ts'
import { NO_ACTIVITY, type Levels, type Mutable } from '../totals.ts'

interface MutableTick extends Tick {
  readonly all: Mutable<Point>
  readonly tenants: Record<string, Mutable<Point>>
  version: number
}

/** The counts that one event adds to its second and minute. */
export type PointChange = Partial<Pick<Point, 'allowed' | 'denied' | 'degraded' | 'tokens'>>

/** The most tenants of one tick, those with the most used dollars. Others count for all of them together only. */
const MAX_TENANTS = 50

/** A ring of equal spans of time, of which only those with activity take memory. */
export class Series {
  readonly #ticks: MutableTick[] = []
  readonly #spanMs: number
  readonly #size: number

  constructor(spanMs: number, size: number) {
    this.#spanMs = spanMs
    this.#size = size
  }

  /** Adds an event to the span of `now`. */
  add(
    now: number,
    tenant: string,
    change: PointChange,
    levels: { readonly all: Levels; readonly tenant: Levels },
    version: number,
  ): void {
    const tick = this.#tickAt(now, levels.all)
    tick.version = version
    addTo(tick.all, change, levels.all)
    if (!(tenant in tick.tenants) && !makeRoom(tick.tenants, levels.tenant.usedUsd)) return
    addTo((tick.tenants[tenant] ??= emptyPoint(levels.tenant)), change, levels.tenant)
  }

  /** Drops the points of a tenant. Those of all tenants together keep its part. */
  forget(tenant: string): void {
    for (const { tenants } of this.#ticks) delete tenants[tenant]
  }

  /** Returns the ticks that have changed after `version`, and are not too old. */
  since(version: number, now: number): Tick[] {
    const oldest = now - this.#spanMs * this.#size
    return this.#ticks
      .filter((tick) => tick.version > version && tick.at > oldest)
      .map(({ at, all, tenants }) => ({ at, all, tenants }))
  }

  #tickAt(now: number, levels: Levels): MutableTick {
    const at = now - (now % this.#spanMs)
    const latest = this.#ticks.at(-1)
    // A clock that is set back goes on with the latest tick.
    if (latest && at <= latest.at) return latest
    const tick = { at, all: emptyPoint(levels), tenants: Object.create(null), version: 0 }
    this.#ticks.push(tick)
    if (this.#ticks.length > this.#size) this.#ticks.shift()
    return tick
  }
}

/** Returns true if a tenant with `usedUsd` has room, if need be in the place of one with fewer dollars. */
function makeRoom(points: Record<string, Point>, usedUsd: number): boolean {
  const names = Object.keys(points)
  if (names.length < MAX_TENANTS) return true
  const usedBy = (name: string): number => points[name]?.usedUsd ?? 0
  const lightest = names.reduce((least, name) => (usedBy(name) < usedBy(least) ? name : least))
  if (usedUsd <= usedBy(lightest)) return false
  delete points[lightest]
  return true
}

const emptyPoint = (levels: Levels): Mutable<Point> => ({ ...NO_ACTIVITY, ...levels })

function addTo(point: Mutable<Point>, change: PointChange, levels: Levels): void {
  point.allowed += change.allowed ?? 0
  point.denied += change.denied ?? 0
  point.degraded += change.degraded ?? 0
  point.tokens += change.tokens ?? 0
  Object.assign(point, levels)
}
