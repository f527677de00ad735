import type { WaitUntil } from '../limiter/extensions.ts'

/** Runs `work` in the background and ignores its outcome. */
export function background(work: Promise<unknown>, waitUntil?: WaitUntil): void {
  const safe = work.catch(() => {})
  try {
    waitUntil?.(safe)
  } catch {
    // Cloudflare's own throws when it is passed unbound; the work goes on as if there were none.
  }
}
