/** Returns the anchor that GitHub gives to a heading: other anchors would break the links of pages and errors. */
export const githubAnchor = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
