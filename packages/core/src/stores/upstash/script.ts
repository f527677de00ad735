import type { PolicyRule } from '../../policies/policy.ts'
import { decidingScript, minify, settlingScript, shapeOf, WRITING_SCRIPT } from './assemble.ts'

/** A Lua script, with the digests that EVALSHA names it by. */
export interface Script {
  /** Locks only the keys it is given. Upstash takes it; stock Redis refuses the flag. */
  readonly locking: ScriptText
  readonly plain: ScriptText
}

export interface ScriptText {
  readonly text: string
  readonly sha1: string
}

/** What a limiter may run. */
export type ScriptKind = 'decide' | 'reserve' | 'settle' | 'write'

// Without exactly this first line, Upstash takes a lock on the whole database for each call.
const LOCKING_LINE = '#!lua flags=allow-key-locking\n'

const ASSEMBLERS: Readonly<Record<ScriptKind, (policies: readonly PolicyRule[]) => string>> = {
  decide: (policies) => decidingScript(policies, false),
  reserve: (policies) => decidingScript(policies, true),
  settle: settlingScript,
  write: () => WRITING_SCRIPT,
}

/** Shapes are few. Should they not be, the oldest is assembled again. */
const MAX_SCRIPTS = 256

// For all limiters of an isolate, so that one that is made for a request finds its script. Plain data:
// on Cloudflare a promise made for one request cannot be awaited by another.
const byShape = new Map<string, Script>()
const byPolicies = new WeakMap<readonly PolicyRule[], Partial<Record<ScriptKind, Script>>>()

/** The script of a kind, if it has been made. */
export function knownScript(kind: ScriptKind, policies: readonly PolicyRule[]): Script | undefined {
  return byPolicies.get(policies)?.[kind]
}

/** Makes the script of a kind for these policies. */
export async function loadScript(
  kind: ScriptKind,
  policies: readonly PolicyRule[],
): Promise<Script> {
  const shape = kind === 'write' ? kind : `${kind} ${shapeOf(policies)}`
  let script = byShape.get(shape)
  if (script === undefined) {
    const text = minify(ASSEMBLERS[kind](policies))
    script = { locking: await digest(LOCKING_LINE + text), plain: await digest(text) }
    byShape.set(shape, script)
    for (const oldest of byShape.keys()) {
      if (byShape.size <= MAX_SCRIPTS) break
      byShape.delete(oldest)
    }
  }
  byPolicies.set(policies, { ...byPolicies.get(policies), [kind]: script })
  return script
}

async function digest(text: string): Promise<ScriptText> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text)))
  return { text, sha1: Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('') }
}
