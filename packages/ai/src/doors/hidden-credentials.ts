/* The credentials of a client, which only its `fetch` has: a WebSocket is opened with what the client itself holds. */
import { isObject, objectOf } from '../json.ts'
import type { FetchLike } from './limited-fetch.ts'

/** Options of a copy of a client, for its credentials. */
interface CredentialOptions {
  readonly apiKey?: string | (() => Promise<string>)
  readonly defaultHeaders?: unknown
}

/** Credentials that are taken from a client. */
export interface HiddenCredentials {
  /** The options for a copy of the client that has placeholders. */
  readonly options: CredentialOptions
  /** Returns a `fetch` that puts the credentials in place of their placeholders. */
  readonly revealedBy: (fetch: FetchLike) => FetchLike
}

const CREDENTIAL = /auth|cookie|credential|key|secret|token/i
const PLACEHOLDER = /withBudget-(\d+)-is-no-key/g

/**
 * Hides the key of a client, whether it is a text or a function, and the credentials in its default headers.
 *
 * @param client A client of OpenAI's SDK, or one like it, of which some keep the key elsewhere and open no sockets.
 */
export function hideCredentials(client: object): HiddenCredentials {
  const { apiKey, _options: own } = client as {
    readonly apiKey?: unknown
    readonly _options?: unknown
  }
  const { apiKey: source, defaultHeaders } = objectOf(own)
  const credentials: (() => unknown)[] = []
  const hide = (credential: () => unknown): string =>
    `withBudget-${credentials.push(credential) - 1}-is-no-key`

  const options: { -readonly [Name in keyof CredentialOptions]: CredentialOptions[Name] } = {}
  if (typeof source === 'function') {
    const placeholder = hide(() => source() as unknown)
    options.apiKey = async () => placeholder
  } else if (typeof apiKey === 'string') {
    // Read at each call: it may be set anew.
    options.apiKey = hide(() => (client as { readonly apiKey?: unknown }).apiKey)
  }
  const headers = entriesOf(defaultHeaders).map(([name, value]) => {
    const isHidden = CREDENTIAL.test(name) && typeof value === 'string'
    return [name, isHidden ? hide(() => value) : value] as const
  })
  if (headers.length > 0) options.defaultHeaders = Object.fromEntries(headers)

  return {
    options,
    revealedBy: (fetch) => async (input, init) => {
      const sent = new Headers()
      for (const [name, value] of new Headers(init?.headers)) {
        sent.append(name, await revealed(value))
      }
      return fetch(input, { ...init, headers: sent })
    },
  }

  async function revealed(text: string): Promise<string> {
    const found = [...text.matchAll(PLACEHOLDER)]
    const values = await Promise.all(found.map(async ([, index]) => credentials[Number(index)]?.()))
    return text.replace(PLACEHOLDER, () => String(values.shift()))
  }
}

/** Returns the names and values of headers, as clients keep them: as an object, as a list, or with those that are left out. */
function entriesOf(headers: unknown): (readonly [string, unknown])[] {
  if (!headers) return []
  if (isObject(headers) && headers['values'] instanceof Headers) {
    const leftOut = headers['nulls'] instanceof Set ? [...headers['nulls']] : []
    return [...headers['values'], ...leftOut.map((name) => [String(name), null] as const)]
  }
  const isList = Symbol.iterator in Object(headers)
  return isList ? [...(headers as Iterable<[string, unknown]>)] : Object.entries(headers)
}
