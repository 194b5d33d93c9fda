// Elements are created here alone, and text becomes text nodes: what a user named is never markup.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * Creates an element of HTML.
 * @param {string} tag
 * @param {object} attributes strings; true for an attribute without a value; false, null and undefined for none; `on…` for listeners
 * @param children nodes, or anything else as text; null, undefined and false are left out
 */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for an element of SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) {
      node.addEventListener(name.slice(2), value);
    } else {
      setAttribute(node, name, value);
    }
  }
  node.append(...children.flat(Infinity).filter(isShown));
  return node;
}

function isShown(child) {
  return child !== null && child !== undefined && child !== false;
}

/** Sets an attribute if it has another value. */
export function setAttribute(node, name, value) {
  if (value === false || value === null || value === undefined) {
    node.removeAttribute(name);
    return;
  }
  const text = value === true ? '' : String(value);
  if (node.getAttribute(name) !== text) {
    node.setAttribute(name, text);
  }
}

/** Sets the text if it is another one, so that nothing is drawn or read aloud again without a change. */
export function setText(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

export function setHidden(node, hidden) {
  if (node.hidden !== hidden) {
    node.hidden = hidden;
  }
}

const shown = new WeakMap();

/** Replaces all children if they show another value than before, so that a link keeps the focus as long as it is the same. */
export function showValue(node, value, create) {
  const json = JSON.stringify(value);
  if (shown.get(node) !== json) {
    shown.set(node, json);
    setChildren(node, create(value));
  }
}

/** Replaces all children. */
export function setChildren(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter(isShown));
}
