/** True in `npm run test:proofs`. */
export const MAKES_ALL: boolean = process.env['PROOFS'] === 'all'

/** A long proof makes a quarter of its runs in `npm test`, and all of them in `npm run test:proofs`. */
const SHARE = MAKES_ALL ? 1 : 0.25

/** The runs to make of a proof that makes `all` in full. */
export const runs = (all: number): number => Math.ceil(all * SHARE)
