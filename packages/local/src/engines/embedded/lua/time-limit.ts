import { createContext, Script } from 'node:vm'

/** Thrown when work takes too long. Its changes may be half done. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
}

const sandbox: { work: (() => void) | undefined } = { work: undefined }
const context = createContext(sandbox)
const script = new Script('work()')

/**
 * Runs `work` for at most `timeoutMs`.
 *
 * The timeout of `node:vm` ends all code on this thread, including WebAssembly, and no code can
 * catch it. A timer could not fire, because `work` keeps the thread busy.
 *
 * @throws TimeLimitError when `work` takes longer.
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
