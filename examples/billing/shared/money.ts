/** Money is a whole number of the currency's smallest unit: cents of a euro, yen, fils of a dinar. */
export type Minor = number

const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))

export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code)
}

/** Digits behind the point where they are not two, by ISO 4217. `Intl` rounds some currencies to what shops do with coins. */
const DIGITS: readonly (readonly [number, string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
]

/** How many digits a currency has behind the point: 2 for EUR, 0 for JPY, 3 for KWD. */
export function digitsOf(currency: string): number {
  return DIGITS.find(([, currencies]) => currencies.includes(currency))?.[0] ?? 2
}

/** The amount in minor units, or null where the text is not a decimal number that the currency can pay: `1200.00` yen are 1200. */
export function parseAmount(text: string, currency: string): Minor | null {
  const match = /^(0|[1-9]\d*)(?:\.(\d+))?$/.exec(text)
  if (match === null) return null
  const [, whole = '', written = ''] = match
  const digits = digitsOf(currency)
  const fraction = written.slice(0, digits)
  if (/[1-9]/.test(written.slice(digits))) return null
  const minor = Number(whole + fraction.padEnd(digits, '0'))
  return Number.isSafeInteger(minor) ? minor : null
}
