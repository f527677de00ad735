/** Ways to write an IPv6 address given by its eight groups. */
export function spellings(groups: readonly number[]): string[] {
  const hex = groups.map((group) => group.toString(16))
  const full = hex.map((group) => group.padStart(4, '0')).join(':')
  const [g6 = 0, g7 = 0] = groups.slice(6)
  const dotted = [g6 >> 8, g6 & 255, g7 >> 8, g7 & 255].join('.')
  const plain = [
    hex.join(':'),
    full,
    full.toUpperCase(),
    [...hex.slice(0, 6), dotted].join(':'),
    ...shortened(hex),
  ]
  return plain.flatMap((text) => [text, `[${text}]`, `[${text}]:8443`, `${text}%25eth0`])
}

/** With each run of zeros written as `::`. */
function shortened(hex: readonly string[]): string[] {
  const texts: string[] = []
  for (let start = 0; start < 8; start += 1) {
    for (let end = start + 1; end <= 8 && hex[end - 1] === '0'; end += 1) {
      texts.push(`${hex.slice(0, start).join(':')}::${hex.slice(end).join(':')}`)
    }
  }
  return texts
}
