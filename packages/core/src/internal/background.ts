/** Keeps a promise alive past the response, as `ctx.waitUntil` does. */
export type WaitUntil = (promise: Promise<unknown>) => void

/** Runs `work` in the background and ignores its outcome. */
export function runInBackground(work: Promise<unknown>, waitUntil?: WaitUntil): void {
  const safe = work.catch(() => {})
  try {
    waitUntil?.(safe)
  } catch {
    // Cloudflare's own throws when it is passed unbound; the work goes on as if there were none.
  }
}
