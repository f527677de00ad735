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

// Without exactly this first line, Upstash takes a lock on the whole database for each call.
const LOCKING_LINE = '#!lua flags=allow-key-locking\n'

/** Shapes are few. Should they not be, the oldest is assembled again. */
const MAX_SCRIPTS = 256

// For all limiters of an isolate, so that one that is made for a request finds its script. Plain data:
// on Cloudflare a promise made for one request cannot be awaited by another.
const scripts = new Map<string, Script>()

/** The script of this name, if it has been made. */
export const knownScript = (name: string): Script | undefined => scripts.get(name)

/** Makes the script of this name. */
export async function loadScript(name: string, source: () => string): Promise<Script> {
  const text = minify(source())
  const script = { locking: await digest(LOCKING_LINE + text), plain: await digest(text) }
  scripts.set(name, script)
  const [oldest = name] = scripts.keys()
  if (scripts.size > MAX_SCRIPTS) scripts.delete(oldest)
  return script
}

/** The script as it is sent: without comments, indentation and empty lines. */
export const minify = (script: string): string =>
  script.replace(/--.*$/gm, '').replace(/\n\s*/g, '\n').trim()

async function digest(text: string): Promise<ScriptText> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text)))
  return { text, sha1: Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('') }
}
