/** A request for a chat completion. */
export interface ChatRequest {
  readonly model: string
  readonly messages: readonly object[]
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
}
