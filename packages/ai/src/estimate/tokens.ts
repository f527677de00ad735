/** Estimates the tokens of a text that comes in pieces; where it is cut makes no difference. */
export interface TokenCounter {
  add(text: string): void
  /** The estimate for everything added so far, a whole number. */
  readonly tokens: number
}

/**
 * Tokens of Claude per token that `estimateTokens` makes of the same text. Its tokenizer is not public.
 * Anthropic states 3.5 characters of English to a token, and some 30 % more tokens from Claude 4.7 on: 1.3
 * and 1.7 times o200k_base, of which the estimate has 1.1 to 1.4 already.
 */
export const CLAUDE_FACTOR = 1.5

/** The kind of a character for the tokenizer, which splits words, digits, marks and blanks before it merges. */
const LOWER = 1
const UPPER = 2
/** A Latin letter outside ASCII. */
const ACCENTED = 3
const DIGIT = 4
const MARK = 5
const BLANK = 6
const BREAK = 7
/** A character of any other script, or a control character, whose cost is its weight. */
const OTHER = 8

/*
 * Hundredths of a token per feature (whole numbers, so that sums do not depend on where a text is cut),
 * fitted to o200k_base on prose in sixteen Latin languages and on code, JSON and
 * the like (test/ai/samples), with held-out text to check. The fit leans to the safe side.
 */
/** A word, up to three digits, a run of marks: a token. */
const WORD = 100
/** Letters of a word that its first token covers, in any language. */
const FREE_LETTERS = 3
/** Up to this length a word is made of words that the tokenizer knows; past it, of fragments. */
const KNOWN_LETTERS = 16
const PER_LETTER = 22
/** On top of `PER_LETTER`, as the share of accented letters goes from none to `FOREIGN_SHARE`. */
const PER_FOREIGN_LETTER = 16
const FOREIGN_SHARE = 0.11
const PER_LATE_LETTER = 105
const PER_ACCENT = 27
/** A word right after a digit, as in hexadecimal. */
const WORD_AFTER_DIGIT = 150
/** A lower-case letter after a run of capitals, as in base64. */
const PER_MIX = 200
/** The second and third mark of a run; each further one is `PER_LATE_MARK`, as in random marks. */
const PER_NEXT_MARK = 10
const PER_LATE_MARK = 67
/** A blank after another one that is not the same, as a tab after a space. */
const PER_OTHER_BLANK = 50
const PER_BREAK = 110
const PER_OTHER_BREAK = 13

const ASCII: Uint8Array = /* @__PURE__ */ asciiKinds()
/** The same mark, blank or break again. */
const REPEATS: Uint8Array = /* @__PURE__ */ repeats()
const WEIGHTS: Uint16Array = /* @__PURE__ */ weights()

/**
 * A cheap estimate of how many tokens a text is, without a tokenizer's tables: one pass, no regular
 * expression, no allocation per character. Measured against o200k_base (GPT-4o and later): see the
 * table in `docs/call-charges.md`. It errs above, except for text made to be expensive.
 *
 * @example
 * estimateTokens('Why is the sky blue?') // 7; o200k_base makes it 6
 */
export function estimateTokens(text: string): number {
  const counter = tokenCounter()
  counter.add(text)
  return counter.tokens
}

/** An estimate that grows with a stream, in constant memory. */
export function tokenCounter(): TokenCounter {
  let cost = 0
  let letters = 0
  let accents = 0
  let knownLetters = 0
  let kind = 0
  let previous = 0
  /** The length so far of the run of characters of this kind. */
  let run = 0

  function add(text: string): void {
    // Variables of this function's own: what outlives it is several times as slow.
    let [last, code, length, sum, known] = [kind, previous, run, 0, 0]
    for (let index = 0; index < text.length; index += 1) {
      const before = code
      code = text.charCodeAt(index)
      const next = code < 128 ? (ASCII[code] ?? OTHER) : isLatin(code) ? ACCENTED : OTHER
      if (next <= ACCENTED) {
        const inWord = last !== 0 && last <= ACCENTED
        letters += 1
        if (!inWord || (next === UPPER && last === LOWER)) {
          sum += last === DIGIT ? WORD_AFTER_DIGIT : WORD
          length = 1
        } else {
          length += 1
          if (length > KNOWN_LETTERS) sum += PER_LATE_LETTER
          else if (length > FREE_LETTERS) known += 1
          if (next === LOWER && last === UPPER && length > 2) sum += PER_MIX
        }
        if (next === ACCENTED) {
          accents += 1
          sum += PER_ACCENT
        }
      } else {
        length = next === last ? length + 1 : 1
        if (next === OTHER) sum += WEIGHTS[code >> 7] ?? 0
        else if (next === DIGIT) {
          // Digits go by threes, and never with the blank before them.
          if (length % 3 === 1) sum += WORD
          if (last === BLANK) sum += WORD
        } else if (length === 1) {
          // One blank belongs to the word after it.
          if (next !== BLANK) sum += next === BREAK ? PER_BREAK : WORD
        } else if (next === MARK && length <= 3) sum += PER_NEXT_MARK
        else if (code === before) sum += REPEATS[code] ?? WORD
        else if (next === MARK) sum += PER_LATE_MARK
        else sum += next === BREAK ? PER_OTHER_BREAK : PER_OTHER_BLANK
      }
      last = next
    }
    ;[kind, previous, run] = [last, code, length]
    cost += sum
    knownLetters += known
  }

  return {
    add,
    get tokens() {
      const foreign = Math.min(1, accents / Math.max(1, letters) / FOREIGN_SHARE)
      const total = cost + knownLetters * (PER_LETTER + foreign * PER_FOREIGN_LETTER)
      return kind === 0 ? 0 : Math.max(1, Math.ceil(total / WORD))
    },
  }
}

/** Latin-1, the Latin extensions and the combining accents. */
function isLatin(code: number): boolean {
  return code < 0x370 ? code >= 0xc0 : code >= 0x1e00 && code < 0x1f00
}

function asciiKinds(): Uint8Array {
  const kinds = new Uint8Array(128).fill(MARK)
  kinds.fill(OTHER, 0, 32).fill(OTHER, 127)
  kinds.fill(LOWER, 97, 123).fill(UPPER, 65, 91).fill(DIGIT, 48, 58)
  kinds[32] = kinds[9] = BLANK
  kinds[10] = kinds[13] = BREAK
  return kinds
}

/** o200k_base has tokens of 16 to 64 and more of most marks, and of few only shorter ones. */
function repeats(): Uint8Array {
  const table = new Uint8Array(128).fill(Math.ceil(WORD / 16))
  const shorter = { 8: '<>?@^', 4: '"$\'(),\\|', 2: '&[]{}`\r' }
  for (const [length, marks] of Object.entries(shorter)) {
    for (const mark of marks) table[mark.charCodeAt(0)] = Math.ceil(WORD / Number(length))
  }
  return table
}

/**
 * Hundredths of a token per UTF-16 unit outside Latin, by blocks of 128 units. Scripts that the tokenizer
 * hardly knows cost what their bytes do.
 */
function weights(): Uint16Array {
  /** The number of blocks, and the weight of a unit in them. */
  const runs: readonly (readonly [number, number])[] = [
    [6, 100], // U+0000: control characters, and signs of Latin-1
    [2, 45], // U+0370: Greek
    [2, 41], // U+0400: Cyrillic
    [1, 55], // U+0500: Armenian; Hebrew shares its block
    [1, 45], // U+0580: Hebrew
    [2, 42], // U+0600: Arabic
    [4, 200], // U+0700: Syriac and others
    [2, 42], // U+0900: Devanagari, Bengali
    [1, 72], // U+0A00: Gurmukhi
    [1, 55], // U+0A80: Gujarati
    [1, 105], // U+0B00: Odia
    [1, 48], // U+0B80: Tamil
    [3, 58], // U+0C00: Telugu, Kannada, Malayalam
    [1, 70], // U+0D80: Sinhala
    [1, 50], // U+0E00: Thai
    [1, 185], // U+0E80: Lao
    [2, 160], // U+0F00: Tibetan
    [1, 74], // U+1000: Myanmar
    [1, 48], // U+1080: Georgian
    [2, 250], // U+1100: Hangul letters
    [3, 240], // U+1200: Ethiopic
    [8, 300], // U+1380
    [1, 75], // U+1780: Khmer
    [14, 300], // U+1800
    [2, 150], // U+1F00: Greek with breathings
    [1, 110], // U+2000: punctuation
    [23, 160], // U+2080: signs, arrows, mathematics, dingbats
    [8, 250], // U+2C00
    [2, 85], // U+3000: Japanese, and punctuation of the East
    [6, 200], // U+3100
    [52, 250], // U+3400: rare ideographs
    [164, 95], // U+4E00: Chinese
    [24, 300], // U+A000
    [88, 72], // U+AC00: Korean
    [16, 120], // U+D800: half of an emoji
    [50, 300], // U+E000
    [10, 250], // U+F900
    [4, 100], // U+FE00: variation selectors, full-width forms
  ]
  const table = new Uint16Array(512)
  let block = 0
  for (const [blocks, weight] of runs) table.fill(weight, block, (block += blocks))
  return table
}
