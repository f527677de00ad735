import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { EXAMPLES } from '../../../apps/site/playground/engine/examples.ts'
import { POLICY_KINDS, type PolicyName } from '../../../apps/site/playground/engine/policies.ts'
import type { Program } from '../../../apps/site/playground/engine/program.ts'
import { policyForm, trafficForm, useForm } from '../../../apps/site/playground/engine/scenario.ts'
import { prepare, simulate } from '../../../apps/site/playground/engine/simulate.ts'
import { typeCheck } from '../../support/type-check.ts'
import { lineOf, runCode } from './run-code.ts'

const folder = mkdtempSync(fileURLToPath(new URL('../playground-', import.meta.url)))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Quotas that a few minutes use up. */
const LESS: Partial<Record<PolicyName, Record<string, string>>> = {
  daily: { limit: '50' },
  monthly: { limit: '50' },
}

const SCENARIOS = [
  ...EXAMPLES,
  ...(Object.keys(POLICY_KINDS) as PolicyName[]).map((kind) => ({
    title: `twice ${kind}, and requests that come too often`,
    scenario: {
      policies: [policyForm(kind), policyForm(kind, LESS[kind])],
      traffic: trafficForm('burst', { tenants: '2', size: '120', lasts: '2m' }),
      use: useForm(),
      seed: '7',
    },
  })),
]

it.each(SCENARIOS)(
  'the code of a scenario decides as its run: $title',
  async ({ title, scenario }) => {
    const ready = await prepare(scenario)
    const file = join(folder, `${title.replaceAll(/\W+/g, '-')}.ts`)
    writeFileSync(file, ready.code)
    const program = (await import(pathToFileURL(file).href)) as Program
    const expected = await runCode(program, ready)
    const { steps } = await simulate(ready)
    expect(
      steps.map(({ at, tenant, allowed, policy, remaining }) =>
        lineOf(at, tenant, allowed, policy, remaining),
      ),
    ).toEqual(expected)
    expect(steps.some(({ allowed }) => allowed)).toBe(true)
    expect(steps.some(({ allowed }) => !allowed)).toBe(true)
  },
)

it('the code of each kind of policy type-checks', async () => {
  const codes = await Promise.all(SCENARIOS.map(({ scenario }) => prepare(scenario)))
  const files = codes.map(({ code }, index) => {
    writeFileSync(join(folder, `${index}.ts`), code)
    return `${index}.ts`
  })
  expect(typeCheck(folder, files, '')).toBe('')
})
