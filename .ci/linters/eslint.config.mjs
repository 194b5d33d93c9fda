import js from '@eslint/js';

// What the page uses of the browser.
const globals =
  'AbortController AbortSignal Blob FormData Node TextDecoderStream URL URLSearchParams addEventListener clearTimeout console document ' +
  'fetch history localStorage location matchMedia navigator performance reportError requestAnimationFrame scrollTo sessionStorage ' +
  'setInterval setTimeout window';

export default [
  js.configs.recommended,
  { languageOptions: { globals: Object.fromEntries(globals.split(' ').map((name) => [name, 'readonly'])) } },
];
