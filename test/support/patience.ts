/** Options of `vi.waitFor` and `vi.waitUntil`: after a second, their default, a busy machine may not have answered. */
export const PATIENTLY = { timeout: 30_000 }
