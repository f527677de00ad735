import { stripTypeScriptTypes } from 'node:module'

/**
 * Returns the JavaScript of a block of TypeScript: the same text without its types. Undefined if the two are the same,
 * if nothing but types is in the block, and if the block is no whole code.
 */
export function javascriptOf(code: string): string | undefined {
  let stripped: string
  try {
    stripped = stripTypeScriptTypes(code)
  } catch {
    return undefined
  }
  const text = withoutGaps(code, stripped)
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
  const isCode = text.split('\n').some((line) => line !== '' && !line.startsWith('//'))
  return isCode && text !== code.trim() ? `${renameFiles(text)}\n` : undefined
}

/** Gives the files in comments and imports the endings of JavaScript. */
const renameFiles = (text: string): string => text.replaceAll(/(?<=\w\.m?)t(?=sx?\b)/g, 'j')

/** Node leaves blanks where types were. Takes them out, and the lines that had nothing else. */
function withoutGaps(code: string, stripped: string): string {
  const before = code.split('\n')
  const lines: string[] = []
  for (const [at, line] of stripped.split('\n').entries()) {
    const old = before[at] ?? ''
    if (line === old) lines.push(line)
    else if (/^\s*>\(/.test(old)) lines.push(lines.pop() + withoutGap(old, line).trim())
    else if (line.trim() !== '') lines.push(withoutGap(old, line))
  }
  return lines.join('\n')
}

function withoutGap(before: string, line: string): string {
  const [, declared, comment] = /^declare (?:const|function) (\w+).*\/\/ (.*)$/.exec(before) ?? []
  if (declared) return `// ${declared}: ${comment}`
  const indent = /^ */.exec(before)?.[0] ?? ''
  let kept = ''
  let inGap = false
  for (let at = indent.length; at < line.length; at += 1) {
    inGap = line[at] === ' ' && (inGap || before[at] !== ' ')
    if (!inGap) kept += line[at]
    // The gap of `(a: A): B =>` ends before an arrow, that of `a as B` before the end of the line.
    else if (/^(?:=|[{}/])/.test(line[at + 1] ?? '') && !kept.endsWith(' ')) kept += ' '
  }
  return (
    indent +
    kept
      .replaceAll(/ +(?=[),;\]])/g, '')
      .replaceAll(/,? \{ ?\} (?=from)/g, ' ')
      .replaceAll(/, (?=\} from)/g, ' ')
      .trimEnd()
  )
}
