import { objectOf } from '../json.ts'

/** Failures before there is a connection: the system calls that Node.js names in errors. */
const BEFORE_A_CONNECTION = /^(connect|getaddrinfo)$/

/**
 * Codes of errors before a request is written: a connection that takes too long, and certificates that are refused.
 * https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
const BEFORE_A_REQUEST =
  /^UND_ERR_CONNECT_TIMEOUT$|^ERR_TLS_CERT_|^CERT_|SELF_SIGNED_CERT|^UNABLE_TO_/

/**
 * Returns true if an error of `fetch` proves that nothing of its request was sent. In doubt it returns false: a
 * connection that ends early may have carried the request. Runtimes other than Node.js prove nothing.
 */
export function wasNeverSent(error: unknown): boolean {
  const failure = objectOf(objectOf(error)['cause'])
  const { errors } = failure
  // One for each address that was tried.
  return Array.isArray(errors) && errors.length > 0
    ? errors.every(isBeforeRequest)
    : isBeforeRequest(failure)
}

function isBeforeRequest(failure: unknown): boolean {
  const { code, syscall } = objectOf(failure)
  return BEFORE_A_CONNECTION.test(String(syscall)) || BEFORE_A_REQUEST.test(String(code))
}
