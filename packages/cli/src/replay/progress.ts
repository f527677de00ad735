export interface Progress {
  /** @param share From 0 to 1. */
  update(share: number): void
  end(): void
}

const WIDTH = 30

/** The part of a terminal that a progress bar needs. */
export interface ProgressOutput {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** Creates a progress bar; outside a terminal, a line for each tenth. */
export function createProgress(output: ProgressOutput, label: string): Progress {
  const step = output.isTTY ? 100 : 10
  let shown = -1
  const draw = (part: number): string => {
    const percent = Math.round((part / step) * 100)
    if (!output.isTTY) return `${label}: ${percent} %\n`
    const full = Math.round((part / step) * WIDTH)
    return `\r${label} ${'█'.repeat(full)}${'░'.repeat(WIDTH - full)} ${String(percent).padStart(3)} %`
  }
  return {
    update(share) {
      const part = Math.floor(Math.min(1, share) * step)
      if (part <= shown) return
      shown = part
      output.write(draw(part))
    },
    end() {
      if (output.isTTY) output.write('\r\u001B[K')
    },
  }
}
