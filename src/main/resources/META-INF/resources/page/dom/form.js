/** The values of a form as parameters of an address. A box that is not checked has none. */
export function valuesOf(form) {
  return Object.fromEntries(new FormData(form));
}

/** Gives a form the values of an address; without any, the form has those with which it was created. */
export function setValues(form, parameters) {
  form.reset();
  if (parameters.size > 0) {
    [...form.elements].filter(({ name }) => name).forEach((field) => setValue(field, parameters.get(field.name)));
  }
}

function setValue(field, value) {
  if (field.type === 'checkbox') {
    field.checked = value !== null;
    return;
  }
  field.value = value ?? '';
  if (field.selectedIndex === -1) { // no choice has this value
    field.selectedIndex = 0;
  }
}
