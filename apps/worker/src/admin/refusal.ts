/** A request that is refused with a status of HTTP. */
export class AdminRefusal extends Error {
  override readonly name = 'AdminRefusal'
  readonly status: number
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** The answer where there is nothing, and where there is another organisation. */
export const nothingHere = (): AdminRefusal =>
  new AdminRefusal(404, 'not_found', 'There is nothing here.')
