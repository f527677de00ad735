import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))

const fromDisk = (path: string): boolean => path !== '<stdin>'

/** A bundle as a Worker would load it. */
export interface Bundle {
  /** Its size as it is loaded, in bytes. */
  readonly gzipped: number
  /** The bundle itself. */
  readonly text: string
  /** The files it was made of, from the root of the repository. */
  readonly inputs: readonly string[]
  /** The files of which something is left. */
  readonly kept: readonly string[]
}

/** Bundles a module. Fails on an import that is not found, those of Node among them unless `external`. */
export async function bundle(contents: string, external: string[] = []): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    stdin: { contents, resolveDir: `${root}/test` },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'import'],
    external,
  })
  const [output] = Object.values(metafile.outputs)
  const kept = Object.entries(output?.inputs ?? {}).filter(([, part]) => part.bytesInOutput > 0)
  return {
    text: outputFiles[0]?.text ?? '',
    gzipped: gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length,
    inputs: Object.keys(metafile.inputs).filter(fromDisk),
    kept: kept.map(([path]) => path).filter(fromDisk),
  }
}
