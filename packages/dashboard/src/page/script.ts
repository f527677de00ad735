/** The script of the page. The build puts the bundle of `browser.tsx` in its place. */
export const SCRIPT: string = ''
