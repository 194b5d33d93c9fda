const PLAIN = /^(?!(?:true|false|yes|no|on|off|null|[yn])$)[a-z][\w-]*$|^(?:0|[1-9]\d*)$/i;
const SPECIAL = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029]/gu;

/** Writes objects, lists and texts as YAML, each key of an object on its own line. */
export function yaml(object, indent = '') {
  return Object.entries(object).map(([key, value]) => {
    const begin = `${indent}${scalar(key)}:`;
    if (typeof value !== 'object' || Object.keys(value).length === 0) {
      return `${begin} ${flow(value)}\n`;
    }
    return `${begin}\n${Array.isArray(value) ? value.map((each) => `${indent}  - ${flow(each)}\n`).join('') : yaml(value, `${indent}  `)}`;
  }).join('');
}

function flow(value) {
  if (Array.isArray(value)) {
    return `[${value.map(flow).join(', ')}]`;
  }
  return typeof value === 'object' ? `{${Object.entries(value).map(([key, each]) => `${scalar(key)}: ${flow(each)}`).join(', ')}}` : scalar(value);
}

/** Quotes what a reader of YAML could take for something else than this text. */
function scalar(text) {
  return PLAIN.test(text) ? text : JSON.stringify(text).replace(SPECIAL, (letter) => `\\U${letter.codePointAt(0).toString(16).padStart(8, '0')}`);
}
