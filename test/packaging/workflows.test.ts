import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

interface Job {
  uses?: string
  needs?: string
  permissions?: Record<string, string>
  env?: Record<string, string>
  'timeout-minutes'?: number | string
  strategy?: { matrix: { include: { part: string; sweep?: string; minutes: number }[] } }
  steps?: { uses?: string; run?: string; env?: Record<string, string>; if?: string }[]
}

interface Workflow {
  on: Record<string, { branches?: string[]; 'branches-ignore'?: string[] } | null>
  permissions: Record<string, string>
  concurrency: { group: string }
  jobs: Record<string, Job>
}

const ci = workflow('ci.yml')
const release = workflow('release.yml')

const nightly = workflow('nightly.yml')

const PARTS = ci.jobs['gate']?.strategy?.matrix.include ?? []

describe('the workflow of the gate', () => {
  it('runs each part of .ci/run in a job of its own', () => {
    const gate = readFileSync(new URL('../../.ci/run', import.meta.url), 'utf8')
    const parts = /set -- (.+)/.exec(gate)?.[1]?.match(/\w+/g) ?? []
    expect(parts).toContain('tests')
    expect(PARTS.map(({ part }) => part)).toEqual(parts)
    expect(ci.jobs['gate']?.steps?.at(-1)?.run).toBe('bash .ci/run ${{ matrix.part }}')
  })

  it('runs once for each pull request and each push', () => {
    expect(Object.keys(ci.on)).toEqual(['push', 'pull_request', 'workflow_call'])
    expect(ci.on['push']?.['branches-ignore']).toEqual(release.on['push']?.branches)
  })

  it('may only read', () => {
    expect(ci.permissions).toEqual({ contents: 'read' })
    expect(Object.values(ci.jobs).filter((job) => job.permissions)).toEqual([])
  })

  it('waits for no other workflow’s group, which would wait for it', () => {
    expect(ci.concurrency.group).not.toContain('github.workflow')
    expect(ci.concurrency.group).not.toBe(release.concurrency.group)
  })
})

describe('the workflow of releases', () => {
  const publish = release.jobs['publish']
  const step = publish?.steps?.find(({ run }) => run?.includes('changeset publish'))

  it('publishes only from main, and only what has passed .ci/run', () => {
    expect(release.on).toEqual({ push: { branches: ['main'] } })
    expect(release.jobs['gate']?.uses).toBe('./.github/workflows/ci.yml')
    expect(publish?.needs).toBe('build')
    expect(release.jobs['build']?.needs).toBe('gate')
  })

  it('runs no script of a dependency where it may write', () => {
    const writers = Object.values(release.jobs).filter(({ permissions = {} }) =>
      Object.values(permissions).includes('write'),
    )
    expect(writers).toEqual([publish])
    expect(publish?.env?.['NPM_CONFIG_IGNORE_SCRIPTS']).toBe('true')
    expect(release.permissions).toEqual({ contents: 'read' })
  })

  it('publishes with provenance', () => {
    expect(step?.env?.['NPM_CONFIG_PROVENANCE']).toBe('true')
    expect(publish?.permissions?.['id-token']).toBe('write')
  })

  it('names the repository in the packages first, without which npm takes no provenance', () => {
    const runs = publish?.steps?.map(({ run = '' }) => run) ?? []
    const naming = runs.findIndex((run) => run.includes('repository.url='))
    expect(naming).toBeGreaterThan(-1)
    expect(naming).toBeLessThan(runs.indexOf(step?.run ?? ''))
  })

  it('publishes nothing where nobody has set a token', () => {
    expect(step?.if).toBe("env.HAS_TOKEN == 'true'")
  })
})

describe('the workflow of the night', () => {
  const job = nightly.jobs['sweeps']

  it('runs each long sweep that a command of the repository has', () => {
    const root = new URL('../../package.json', import.meta.url)
    const { scripts } = JSON.parse(readFileSync(root, 'utf8')) as { scripts: object }
    const sweeps = job?.strategy?.matrix.include.map(({ sweep }) => `test:${sweep}`) ?? []
    expect(sweeps).toEqual(['test:nightly', 'test:leases'])
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(sweeps))
    expect(job?.steps?.at(-1)?.run).toBe('npm run test:${{ matrix.sweep }}')
  })

  it('runs by the clock and by hand, may only read, and ends', () => {
    expect(Object.keys(nightly.on)).toEqual(['schedule', 'workflow_dispatch'])
    expect(nightly.permissions).toEqual({ contents: 'read' })
    expect(Object.values(nightly.jobs)).toEqual([job])
    expect(job?.permissions).toBeUndefined()
    expect(job?.['timeout-minutes']).toBe('${{ matrix.minutes }}')
  })
})

it('no job runs for longer than twenty minutes', () => {
  const jobs = [...Object.values(ci.jobs), ...Object.values(release.jobs)]
  const own = jobs.filter(({ steps }) => steps)
  expect(own).toHaveLength(3)
  expect(ci.jobs['gate']?.['timeout-minutes']).toBe('${{ matrix.minutes }}')
  for (const name of ['build', 'publish']) {
    expect(release.jobs[name]?.['timeout-minutes']).toBeLessThanOrEqual(20)
  }
  for (const { minutes } of PARTS) expect(minutes).toBeLessThanOrEqual(20)
})

function workflow(name: string): Workflow {
  const file = new URL(`../../.github/workflows/${name}`, import.meta.url)
  return parse(readFileSync(file, 'utf8')) as Workflow
}
