import type { TenantView } from '../view.ts'
import type { WhyAnswer, WhyQuestion } from '../why/answer.ts'

/**
 * Returns the question in a form. Its parts are those of the tenant that was asked about before: for another one, they are
 * what is known of it.
 */
export function questionIn(
  form: FormData,
  tenants: readonly TenantView[],
  before: string | undefined,
): WhyQuestion {
  const textOf = (name: string): string | undefined => {
    const text = form.get(name)
    return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined
  }
  const id = textOf('id')
  const limiter = textOf('limiter')
  const tenant = textOf('tenant') ?? ''
  const known = tenants.find((one) => one.tenant === tenant)
  const own =
    tenant === before
      ? { subject: partsIn('subject.'), cost: costsIn(), ...(limiter !== undefined && { limiter }) }
      : known && partsOf(known)
  return { tenant, ...(id !== undefined && { id }), ...own }

  function partsIn(prefix: string): Record<string, string> {
    const names = [...form.keys()].filter((name) => name.startsWith(prefix) && textOf(name))
    return Object.fromEntries(names.map((name) => [name.slice(prefix.length), textOf(name) ?? '']))
  }

  function costsIn(): Record<string, number> {
    const amounts = Object.entries(partsIn('cost.'))
    return Object.fromEntries(
      amounts.map(([unit, text]) => [
        unit,
        unit === 'usd' ? Math.round(Number(text) * 1_000_000) : Number(text),
      ]),
    )
  }
}

/** Returns the plan of a tenant, the limiter that has denied it most, and the route on which it has. */
function partsOf({ plan, policies }: TenantView): Pick<WhyQuestion, 'limiter' | 'subject'> {
  const sorted = policies.toSorted((a, b) => denialsOf(b) - denialsOf(a))
  const limiter = sorted[0]?.limiter
  const route = sorted.find((one) => one.limiter === limiter && one.route !== undefined)?.route
  return {
    ...(limiter !== undefined && { limiter }),
    subject: { ...(plan !== undefined && { plan }), ...(route !== undefined && { route }) },
  }
}

const denialsOf = ({ denied, enforced }: TenantView['policies'][number]): number =>
  enforced ? denied : 0

/** Asks the handler at `url`. @throws When it does not answer as a handler does. */
export async function ask(
  url: string,
  question: WhyQuestion,
): Promise<WhyAnswer | { readonly message: string }> {
  const address = new URL(url, document.baseURI)
  address.searchParams.set('why', JSON.stringify(question))
  const response = await fetch(address)
  return (await response.json()) as WhyAnswer | { readonly message: string }
}
