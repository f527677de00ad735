import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose'

/** Publishes keys as an issuer does; what it answers is in the test's hands. */
export interface KeyServer extends AsyncDisposable {
  readonly url: string
  /** Requests so far. */
  readonly requests: number
  /** The paths that were asked for, in order. */
  readonly paths: readonly string[]
  answer: (response: ServerResponse) => void
}

export async function startKeyServer(keys: readonly JWK[]): Promise<KeyServer> {
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(request.url ?? '')
    keyServer.answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const keyServer: KeyServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`,
    get requests() {
      return paths.length
    },
    paths,
    answer: json({ keys }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return keyServer
}

/** Answers with JSON. */
export function json(value: unknown): (response: ServerResponse) => void {
  return (response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(value))
  }
}

/** Answers with a text and a status. */
export function text(status: number, body: string): (response: ServerResponse) => void {
  return (response) => {
    response.statusCode = status
    response.end(body)
  }
}

/** A key pair: what the issuer signs with, and what it publishes. */
export async function newKey(alg: 'RS256' | 'ES256' | 'EdDSA', kid: string) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }
  const sign = (claims: Record<string, unknown>, header: object = {}) =>
    new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey)
  return { jwk, publicKey, privateKey, sign }
}

export type Key = Awaited<ReturnType<typeof newKey>>
