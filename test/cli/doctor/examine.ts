import { expect } from 'vitest'
import type { Project } from '../project.ts'

/** A project, and the only thing that is wrong with it. */
export interface Fixture {
  /** The finding that it shows. */
  readonly code: string
  readonly says: string
  readonly create: () => Project | Promise<Project>
}

/** Runs `sluice doctor` in a project, as JSON and as text. */
export async function examine({ create }: Fixture): Promise<object> {
  const app = await create()
  const { out, exitCode } = await app.sluice(['doctor', '--json'])
  const { findings } = JSON.parse(out) as { findings: object[] }
  const text = await app.sluice(['doctor'])
  return { findings, exitCode, lines: text.out.split('\n') }
}

/** Matches a report of one finding, with its remedy. */
export const onlyFinding = ({ code, says }: Fixture): object => ({
  findings: [
    { code, text: expect.stringContaining(says), remedy: expect.stringMatching(/^.{10}/) },
  ],
  exitCode: 1,
  lines: [expect.stringContaining(`${code}: `), expect.stringMatching(/^ {2}\S.{10}/)],
})
