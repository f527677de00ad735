import { createContext, Script } from 'node:vm'

/** Work that was ended because it took too long; whatever it changed may be half done. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
}

const sandbox: { work: (() => void) | undefined } = { work: undefined }
const context = createContext(sandbox)
const script = new Script('work()')

/**
 * Runs `work` for at most `timeoutMs`.
 *
 * The timeout of `node:vm` ends all code that runs on this thread, WebAssembly included, and no code can
 * catch it. A timer of our own could not fire: the thread is busy with `work`.
 *
 * @throws TimeLimitError when the time is over.
 */
export function runWithin<T>(timeoutMs: number, work: () => T): T {
  let result: { value: T } | undefined
  sandbox.work = () => {
    result = { value: work() }
  }
  try {
    script.runInContext(context, { timeout: timeoutMs })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
  } finally {
    sandbox.work = undefined
  }
  if (result === undefined) throw new TimeLimitError()
  return result.value
}
