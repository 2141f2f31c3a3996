/** A text from outside, as it is shown in an error: on one line, without control characters, at most 80 characters. */
export function quote(text: unknown): string {
  const shown = String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
  return shown.length > 80 ? `'${shown.slice(0, 79)}…'` : `'${shown}'`
}
