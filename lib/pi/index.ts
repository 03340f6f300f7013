/** The Pi extension (`cursor-wire/pi`): Pi imports it and calls its default export. */
import { createExtension } from "./extension.ts";

export { API, createExtension, PROVIDER, type ExtensionOptions } from "./extension.ts";
export default createExtension();
