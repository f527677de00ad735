/** Returns true if a request sends this secret as `Authorization: Bearer`. */
export async function hasBearer(request: Request, secret: string): Promise<boolean> {
  const sent = /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (sent === undefined) return false
  // Digests, so that the time says nothing about the secret.
  const [first, second] = await Promise.all([digest(sent), digest(secret)])
  return first.every((byte, index) => byte === second[index])
}

const digest = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
