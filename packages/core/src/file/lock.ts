/* The lock of a folder: a file with the id of the process that counts there. */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { StoreError } from '../errors.ts'

const ATTEMPTS = 3

/** The longest that a process takes to write its id into a new lock, in milliseconds. */
const WRITING_MS = 10_000

/** Takes the lock at `path`. @throws StoreError `store_refused` While another process has it. */
export function lock(path: string): void {
  for (let attempt = 1; ; attempt += 1) {
    try {
      writeFileSync(path, ownId(), { flag: 'wx' })
      return
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') {
        // A full disk has let it make the file, and not write its id.
        if (readOwner(path) === '') rmSync(path)
        throw error
      }
    }
    const owner = readOwner(path)
    if (attempt === ATTEMPTS || isAlive(owner, path)) throw inUse(owner, path)
    removeDead(path, owner)
  }
}

/** Ends the lock of this process. Never throws: one that stays is noticed as a dead owner's. */
export function unlock(path: string): void {
  try {
    if (readOwner(path) === ownId()) rmSync(path)
  } catch {
    // The folder is gone, or cannot be written.
  }
}

const inUse = (owner: string | undefined, path: string): StoreError =>
  new StoreError(
    'store_refused',
    `file() counts for one process, and another has its folder (process ${owner?.split(' ')[0] || 'unknown'}). For a command, stop the app first. Give each process a folder of its ` +
      `own, or share counts between processes by upstash(). If no such process runs, delete ${path}`,
  )

function readOwner(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function isAlive(owner: string | undefined, path: string): boolean {
  if (owner === undefined) return false
  const lockedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const [id, startedAt] = owner.split(' ')
  const pid = Number(id)
  // Its process is about to write its id, or the machine has failed before it could.
  if (!Number.isInteger(pid) || pid <= 0) return Date.now() - lockedAt < WRITING_MS
  // Ids begin anew with the machine. In a container, the process may have the same each time.
  const startedMs = 1_000 * (pid === process.pid ? process.uptime() : uptime())
  if (lockedAt < Date.now() - startedMs) return false
  // The id may have gone to another process since.
  const startNow = startOf(pid)
  if (startedAt && startNow !== undefined && startNow !== startedAt) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

/** Returns the id of this process, and when it was started, if the system tells. */
const ownId = (): string => `${process.pid} ${startOf(process.pid) ?? ''}`.trim()

/** Returns the start of a process, in ticks since the start of the machine: Linux tells. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before it may have spaces and brackets. It is the 22nd field, and the 20th after the name.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}

/** Removes the lock of a dead owner. Of several processes that notice it, one does. */
function removeDead(path: string, owner: string | undefined): void {
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
    // Another was faster, and this is its lock.
    if (readOwner(aside) !== owner) return renameSync(aside, path)
    rmSync(aside)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

export const codeOf = (error: unknown): string | undefined =>
  (error as NodeJS.ErrnoException | undefined)?.code
