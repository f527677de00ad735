/** A sleep that ends early if something happens, also if it has happened just before. */
export class Sleeper {
  #isAwake = false
  #end: () => void = () => {}

  /** Forgets what has happened so far: the caller looks at it now. */
  look(): void {
    this.#isAwake = false
  }

  wake(): void {
    this.#isAwake = true
    this.#end()
  }

  /** Resolves after `ms` milliseconds, or when it is woken. */
  async sleep(ms: number): Promise<void> {
    if (ms <= 0 || this.#isAwake) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#end = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#end = () => {}
  }
}

/** Returns true if `done` resolves within `ms`. */
export function within(done: Promise<void>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  const isOver = Promise.race([done.then(() => true), timeout])
  // Also if `done` rejects: the timer would keep the process alive.
  return isOver.finally(() => clearTimeout(timer))
}
