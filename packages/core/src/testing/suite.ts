import type { Store } from '../stores/store.ts'

/** The functions of a test framework that a suite needs: those of node:test, vitest and jest will do. */
export interface TestFramework {
  readonly describe: (name: string, body: () => void) => unknown
  readonly it: (name: string, body: () => Promise<void>) => unknown
}

/** Makes a store. The suites use ids of their own, so it need not be empty. */
export type MakeStore = () => Store | Promise<Store>

/** Claims, and what shows each. */
export type Cases<Subject> = Readonly<Record<string, (subject: Subject) => Promise<void>>>

/** Registers a test for each claim, of a subject of its own. */
export function register<Subject>(
  { it }: Pick<TestFramework, 'it'>,
  cases: Cases<Subject>,
  make: () => Subject | Promise<Subject>,
): void {
  for (const [claim, show] of Object.entries(cases)) {
    it(claim, async () => show(await make()))
  }
}

/** Throws `sentence` unless `condition` holds. */
export function expectThat(condition: boolean, sentence: string): void {
  if (!condition) throw new Error(sentence)
}

/** Throws, with both values, unless they are equal as JSON. */
export function expectEqual(actual: unknown, expected: unknown, sentence: string): void {
  const [found, wanted] = [text(actual), text(expected)]
  expectThat(found === wanted, `${sentence}: expected ${wanted}, found ${found}`)
}

// JSON would leave `undefined` out.
const text = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (part === undefined ? 'undefined' : part))

/** Waits so many milliseconds, by the machine's clock. */
export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
