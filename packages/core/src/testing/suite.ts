import type { Store } from '../stores/store.ts'

/** The functions of a test framework that a suite needs, such as those of node:test, vitest or jest. */
export interface TestFramework {
  readonly describe: (name: string, body: () => void) => unknown
  readonly it: (name: string, body: () => Promise<void>) => unknown
}

/** Makes a store. It need not be empty, because the suites use fresh ids. */
export type MakeStore = () => Store | Promise<Store>

/** Claims by name, and the function that verifies each. */
export type Cases<Subject> = Readonly<Record<string, (subject: Subject) => Promise<void>>>

/** Registers one test for each claim, each with a new `Subject` from `make`. */
export function register<Subject>(
  { it }: Pick<TestFramework, 'it'>,
  cases: Cases<Subject>,
  make: () => Subject | Promise<Subject>,
): void {
  for (const [claim, verify] of Object.entries(cases)) {
    it(claim, async () => verify(await make()))
  }
}

/** Throws `sentence` unless `condition` holds. */
export function expectThat(condition: boolean, sentence: string): void {
  if (!condition) throw new Error(sentence)
}

/** Throws unless both values are equal as JSON. The error shows them. */
export function expectEqual(actual: unknown, expected: unknown, sentence: string): void {
  const [actualText, expectedText] = [text(actual), text(expected)]
  const isEqual = actualText === expectedText
  expectThat(isEqual, `${sentence}: expected ${expectedText}, found ${actualText}`)
}

// JSON would leave `undefined` out.
const text = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (part === undefined ? 'undefined' : part))
