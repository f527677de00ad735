import { InputError, SluiceError } from '@sluice/core'
import { invalidOption } from '@sluice/core/internal'
import { logError } from '../log-error.ts'
import { objectOf } from '../json.ts'
import type { Rung } from './assert-ladder.ts'
import type { PreparedModelCall } from '../call/model-call.ts'
import { bodyForModel } from '../call/other-model.ts'
import type { CallTenant } from '../call/options.ts'
import { modelToCall, type Prepare, type PreparedBody, type PreparedCall } from '../call/prepare.ts'

/** A call, and the way to prepare it for another model. */
export interface CallToPrepare<Call extends PreparedCall, Asked> {
  readonly call: Call
  readonly tenant: CallTenant
  readonly prepare: Prepare<Call, Asked>
}

/** The models that were reported: once each, because every call may skip them. */
const reported = new Set<string>()

/** Prepares a call for another model. Returns the reason in a sentence if that model cannot answer it. */
export async function preparedFor<Call extends PreparedCall, Asked>(
  { name, target }: Rung,
  { call, tenant, prepare }: CallToPrepare<Call, Asked>,
): Promise<Call | string> {
  const { prices, onError = logError } = tenant.options
  const from = call.model
  const { api, body } = call as Partial<PreparedBody & PreparedModelCall>
  try {
    const to = modelToCall(name, tenant.options)
    const change = { from, to, input: call.input }
    const fields = target && bodyForModel(undefined, objectOf(body), change)
    if (fields?.refused !== undefined) return fields.reason
    let refusal: string | undefined
    const make = (): Call | Promise<Call> =>
      prepare((asked) => {
        if (target) return target as Asked
        const adapted = bodyForModel(api, objectOf(asked), change)
        if (adapted.refused === undefined) return { ...adapted.body, model: name } as Asked
        refusal = adapted.reason
        return asked
      })
    const other = await (prices?.live?.prepare<Call>(make) ?? make())
    return refusal ?? atItsAddress(other, from)
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    if (error instanceof InputError && error.code === 'unknown_model' && !reported.has(name)) {
      reported.add(name)
      onError(invalidOption(`fallbackModels.${name}`, error.reason))
    }
    return error.reason
  }
}

/** The part of Azure's addresses that names the model. */
const DEPLOYMENT = /(?<=\/deployments\/)[^/]+/

/** Returns a call with the address of its model. Returns the reason if the address names a model by another name. */
function atItsAddress<Call extends PreparedCall>(call: Call, from: string): Call | string {
  const { url } = call as Partial<PreparedBody>
  const [deployment] = (url && DEPLOYMENT.exec(url.pathname)) ?? []
  if (!url || deployment === undefined) return call
  if (decodeURIComponent(deployment) !== from) return 'is another model than the address names'
  const own = new URL(url)
  own.pathname = url.pathname.replace(DEPLOYMENT, encodeURIComponent(call.model))
  return { ...call, url: own }
}
