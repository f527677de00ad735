import { listOf, textOf, type Values } from './command.ts'
import { refuse } from './errors.ts'
import { dimensionOption, option } from './wording.ts'

export const SUBJECT_USAGE = `  --tenant NAME         also --user, --route, --model, --plan
  --subject NAME=VALUE  another dimension; repeatable`

/** Returns the subject that a command line names, or `undefined` if it names none. @throws CommandError */
export function subjectOf(values: Values): Readonly<Record<string, string>> | undefined {
  const named = ['tenant', 'user', 'route', 'model', 'plan'].flatMap((name) => {
    const value = textOf(values, name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const others = listOf(values, 'subject').map((text) => {
    const [, name, value] = /^([^=]+)=(.+)$/.exec(text) ?? []
    if (name !== undefined && value !== undefined) return [name, value] as const
    return refuse(
      `${option('subject')} ${text} must have a name and a value, such as ${dimensionOption('project', 'p1')}`,
    )
  })
  const all = [...named, ...others]
  const [twice] = all.find(([name], at) => all.findIndex(([one]) => one === name) < at) ?? []
  if (twice !== undefined) refuse(`the dimension "${twice}" is given twice`)
  return all.length === 0 ? undefined : Object.fromEntries(all)
}
