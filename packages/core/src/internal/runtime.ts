declare const process: { readonly versions?: { readonly node?: string } } | undefined

/**
 * Returns true if one request may wait for the promise of another: in Node, Bun and Deno, all of which have Node's
 * version. Cloudflare Workers may have it too, but they also have `WebSocketPair`, and end such a request.
 */
export const sharesPromises = (): boolean =>
  typeof process !== 'undefined' &&
  process.versions?.node !== undefined &&
  !('WebSocketPair' in globalThis)
