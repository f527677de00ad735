interface Task {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

/** The world's time, in epoch ms. It moves only when all work that is ready has been done. */
export class Scheduler {
  now: number
  /** A heap: each task is before its two children. */
  readonly #tasks: Task[] = []
  readonly #cancelled = new Set<number>()
  #count = 0

  constructor(startMs: number) {
    this.now = startMs
  }

  /** Runs `run` after `ms`. Returns a number for `cancel`. */
  after(ms: number, run: () => void): number {
    this.#count += 1
    const wait = Number.isFinite(ms) ? Math.max(0, Math.ceil(ms)) : 0
    this.#push({ at: this.now + wait, order: this.#count, run })
    return this.#count
  }

  cancel(order: number): void {
    this.#cancelled.add(order)
  }

  /** Resolves after `ms`. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve))
  }

  /** Runs until `isOver`, or until nothing is left to do. */
  async run(isOver: () => boolean): Promise<void> {
    await drained()
    while (!isOver()) {
      const task = this.#pop()
      if (task === undefined) return
      if (this.#cancelled.delete(task.order)) continue
      this.now = task.at
      task.run()
      await drained()
    }
  }

  #push(task: Task): void {
    const tasks = this.#tasks
    let place = tasks.push(task) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (isBefore(tasks[parent] as Task, task)) break
      tasks[place] = tasks[parent] as Task
      place = parent
    }
    tasks[place] = task
  }

  #pop(): Task | undefined {
    const tasks = this.#tasks
    const [first] = tasks
    const last = tasks.pop()
    if (last === undefined || tasks.length === 0) return first
    let place = 0
    for (;;) {
      const left = 2 * place + 1
      if (left >= tasks.length) break
      const right = left + 1
      const child =
        right < tasks.length && isBefore(tasks[right] as Task, tasks[left] as Task) ? right : left
      if (isBefore(last, tasks[child] as Task)) break
      tasks[place] = tasks[child] as Task
      place = child
    }
    tasks[place] = last
    return first
  }
}

const isBefore = (one: Task, other: Task): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

/** Resolves when all promises that can go on have done so. */
const drained = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
