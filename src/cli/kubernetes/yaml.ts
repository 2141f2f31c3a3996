/** Plain data: what a manifest is made of. */
export type Plain = string | number | boolean | readonly Plain[] | { readonly [key: string]: Plain }

/** YAML of plain data: a key or an item a line; a text is quoted, as in JSON, unless it can be nothing else. */
export function yaml(value: Plain): string {
  return `${(isLong(value) ? lines(value) : [short(value)]).join('\n')}\n`
}

function lines(value: Plain): string[] {
  if (isList(value)) return value.flatMap((item) => nested('- ', item))
  if (typeof value === 'object') {
    return Object.entries(value).flatMap(([key, item]) =>
      isLong(item)
        ? [`${scalar(key)}:`, ...lines(item).map((line) => `  ${line}`)]
        : [`${scalar(key)}: ${short(item)}`],
    )
  }
  return [scalar(value)]
}

function nested(mark: string, item: Plain): string[] {
  if (!isLong(item)) return [`${mark}${short(item)}`]
  return lines(item).map((line, index) => `${index === 0 ? mark : '  '}${line}`)
}

function isLong(value: Plain): value is Exclude<Plain, string | number | boolean> {
  return typeof value === 'object' && Object.keys(value).length > 0
}

function short(value: Plain): string {
  if (typeof value !== 'object') return scalar(value)
  return isList(value) ? '[]' : '{}'
}

function isList(value: Plain): value is readonly Plain[] {
  return Array.isArray(value)
}

const WORDS = /^(y|n|yes|no|on|off|true|false|null|nan|inf)$/i

function scalar(value: string | number | boolean): string {
  if (typeof value !== 'string') return String(value)
  if (/^[A-Za-z][A-Za-z0-9./_-]*$/.test(value) && !WORDS.test(value)) return value
  // A quoted text of JSON is one of YAML, but for line ends that JSON does not know as such.
  return JSON.stringify(value).replace(
    /[\u007f-\u00a0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
