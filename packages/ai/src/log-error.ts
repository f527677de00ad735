/** Logs a fault of a model call that has no `onError`. */
export function logError(error: unknown): void {
  console.error('Sluice:', error)
}
