/* What is known of a provider's host beside the format of its calls. */

/**
 * Returns true for hosts that take the service tier from a project's settings unless the call names one.
 * https://developers.openai.com/api/docs/guides/fast-mode
 */
export const hasTierSetting = (host: string | undefined): boolean =>
  /(^|\.)api\.openai\.com$/.test(host ?? '')

/**
 * Returns true for hosts that refuse `stream_options`, and report the usage of every stream.
 * https://docs.mistral.ai/api/endpoint/chat
 */
export const refusesStreamOptions = (host: string | undefined): boolean => host === 'api.mistral.ai'
