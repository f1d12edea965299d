/** An element with its attributes and what is in it. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Record<string, string> = {}, ...inside: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

export function button(label: string, title: string, press: () => void): HTMLButtonElement {
  const made = element('button', {type: 'button', title}, label);
  made.addEventListener('click', press);
  return made;
}
