import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Project } from '../../cli/project.ts'
import { commandsOn, runShown, timeless } from '../shown-commands.ts'

/** Where the commands of a page run. */
export interface Place {
  readonly app: Project
  /** The Redis of `redis-cli`. */
  readonly redisUrl?: string
}

/** Returns a page of `docs/operate`. */
export const readPage = (name: string): string =>
  readFileSync(new URL(`../../../docs/operate/${name}.md`, import.meta.url), 'utf8')

/** Hides the way to a Redis that is down. */
const same = (text: string): string =>
  timeless(text).replace('The client is not connected to Redis', 'The store cannot be reached')

/**
 * Runs all commands of a page, in its order, and compares what they print.
 *
 * @param scenes What has happened before the commands of a section, by its heading.
 */
export function runsPage(
  page: string,
  scenes: Readonly<Record<string, () => Promise<unknown>>>,
  place: () => Place,
): void {
  const sections = Map.groupBy(commandsOn(page), ({ section }) => section)

  it('has commands that all run here', () => {
    expect(new Set(sections.keys())).toEqual(new Set(Object.keys(scenes)))
    expect(commandsOn(page)).toHaveLength(page.split('```sh').length - 1)
  })

  describe.each([...sections])('%s', (section, commands) => {
    beforeAll(async () => {
      await scenes[section]?.()
    })

    it.each(commands)('prints what the page shows: $command', async ({ command, output }) => {
      const { app, redisUrl } = place()
      const { out, err, exitCode } = await runShown(app, command, redisUrl)
      const shown = [err, out].filter((text) => text !== '').join('\n')
      expect(same(shown)).toBe(same(output ?? shown))
      // A finding of `doctor` is a failure for scripts.
      expect(exitCode).toBe(/^\w+_\w+: /.test(out) ? 1 : 0)
    })
  })
}
