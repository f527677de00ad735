/** Keeps a promise running after the response, as `ctx.waitUntil` does on edge platforms. */
export type WaitUntil = (promise: Promise<unknown>) => void

/** Runs `work` in the background and ignores its outcome. */
export function runInBackground(work: Promise<unknown>, waitUntil?: WaitUntil): void {
  const safe = work.catch(() => {})
  try {
    waitUntil?.(safe)
  } catch (error) {
    // Cloudflare's throws if it is passed unbound, and `after` of Next.js outside of a request.
    console.error('Sluice: waitUntil failed, and background work may be cut off:', error)
  }
}
