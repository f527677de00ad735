import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import {
  allowedOf,
  capped,
  killAfter,
  linesOf,
  ownFolders,
  remaining,
  restart,
  startFlood,
} from './support.ts'

const folderOf = ownFolders()

beforeEach(() => {
  restart()
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => {
  restart()
  vi.restoreAllMocks()
})

describe('a second process', () => {
  it('is refused, and told what to do', async () => {
    const folder = folderOf()
    fs.mkdirSync(folder, { recursive: true })
    // The process that runs the tests.
    fs.writeFileSync(join(folder, 'lock'), String(process.ppid))
    const { limiter, problems } = capped(folder)
    expect(await limiter.check(ACME)).toMatchObject({
      allowed: false,
      degraded: { cause: 'store_refused' },
    })
    expect(problems[0]?.message).toMatch(/another has its folder .* by upstash\(\).* delete .*lock/)
    fs.rmSync(join(folder, 'lock'))
    expect(await allowedOf({ limiter }, 9)).toBe(5)
  })

  it('takes over from one that has ended', async () => {
    const folder = folderOf()
    const child = startFlood(folder)
    await killAfter(child, 1)
    expect(fs.readFileSync(join(folder, 'lock'), 'utf8')).toMatch(new RegExp(`^${child.pid}\\b`))
    expect(await allowedOf(capped(folder, 100_000), 1)).toBe(1)
  })

  it.runIf(process.platform === 'linux')(
    'takes over from one whose id another has now',
    async () => {
      const folder = folderOf()
      fs.mkdirSync(folder, { recursive: true })
      // The process that runs the tests lives, and was started at another time.
      fs.writeFileSync(join(folder, 'lock'), `${process.ppid} 1`)
      expect(await allowedOf(capped(folder), 1)).toBe(1)
    },
  )

  it('takes over from one that had the same id, as in a container', async () => {
    const folder = folderOf()
    fs.mkdirSync(folder, { recursive: true })
    const lock = join(folder, 'lock')
    fs.writeFileSync(lock, String(process.pid))
    expect(await allowedOf(capped(folder), 1)).toBe(0)
    fs.utimesSync(lock, 1, 1)
    expect(await allowedOf(capped(folder), 1)).toBe(1)
  })
})

describe('a lock without the id of a process', () => {
  it.each(['', 'garbage', '-1'])('%j is taken over once it is old', async (text) => {
    const folder = folderOf()
    fs.mkdirSync(folder, { recursive: true })
    const lock = join(folder, 'lock')
    fs.writeFileSync(lock, text)
    expect(await allowedOf(capped(folder), 1)).toBe(0)
    fs.utimesSync(lock, Date.now() / 1_000, Date.now() / 1_000 - 11)
    expect(await allowedOf(capped(folder), 1)).toBe(1)
    expect(fs.readFileSync(lock, 'utf8')).toMatch(new RegExp(`^${process.pid}\\b`))
  })
})

describe('a disk without room for a snapshot', () => {
  it('goes on with the lines that it has, and leaves nothing beside them', async () => {
    const folder = folderOf()
    const made = capped(folder, 1_000_000)
    await made.limiter.check(ACME)
    // A folder in its place cannot be replaced.
    const beside = join(folder, 'counts.jsonl.new')
    fs.mkdirSync(join(beside, 'full'), { recursive: true })
    let allowed = 1
    while (fs.statSync(join(folder, 'counts.jsonl')).size < 1_100_000) {
      allowed += await allowedOf(made, 200)
    }
    allowed += await allowedOf(made, 50)
    expect(made.problems).toEqual([])
    restart()
    expect(await remaining(capped(folder, 1_000_000).limiter)).toBe(1_000_000 - allowed)
    expect(fs.statSync(join(folder, 'counts.jsonl')).mode & 0o077).toBe(0)
  })
})

describe('a folder that cannot be written', () => {
  it('is a degraded decision, and the next one that can be written is counted', async () => {
    const folder = folderOf()
    const made = capped(folder)
    expect(await allowedOf(made, 1)).toBe(1)
    const kept = linesOf(folder)
    fs.rmSync(folder, { recursive: true })
    fs.writeFileSync(folder, 'no folder')
    expect(await made.limiter.check(ACME)).toMatchObject({ degraded: { cause: 'store_refused' } })
    expect(await made.limiter.check(ACME)).toMatchObject({ degraded: { cause: 'store_refused' } })
    expect(made.problems[0]?.message).toMatch(/cannot be written \(ENOTDIR\); free its disk/)
    fs.rmSync(folder)
    fs.mkdirSync(folder)
    fs.writeFileSync(join(folder, 'counts.jsonl'), `${kept.join('\n')}\n`)
    expect(await remaining(made.limiter)).toBe(4)
  })

  it('with a line that begins with no time is said to be so, instead of counting less', async () => {
    const folder = folderOf()
    expect(await allowedOf(capped(folder), 3)).toBe(3)
    restart()
    const lines = linesOf(folder)
    lines[1] = `x${lines[1]?.slice(1)}`
    fs.writeFileSync(join(folder, 'counts.jsonl'), `${lines.join('\n')}\n`)
    expect(await capped(folder).limiter.check(ACME)).toMatchObject({
      degraded: { cause: 'store_bad_reply' },
    })
  })

  it('with another file in it is said to be so', async () => {
    const folder = folderOf()
    fs.mkdirSync(folder, { recursive: true })
    fs.writeFileSync(join(folder, 'counts.jsonl'), '[not ours\n')
    const { limiter, problems } = capped(folder)
    expect(await limiter.check(ACME)).toMatchObject({ degraded: { cause: 'store_bad_reply' } })
    expect(problems[0]?.message).toMatch(/counts\.jsonl .* delete it to count anew/)
  })
})
