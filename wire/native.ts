/**
 * What Node's `Buffer` lends where it exists: string slices that work on any Uint8Array, and memory that is not
 * zeroed first. Other hosts do without (DESIGN §3). This is the one file of `wire/` that looks for `Buffer`.
 */
interface NativeStrings {
  latin1Slice(start: number, end: number): string;
  ucs2Slice(start: number, end: number): string;
  utf8Write(text: string, offset: number, length: number): number;
}
interface BufferClass {
  readonly prototype: NativeStrings;
  allocUnsafeSlow(length: number): { readonly buffer: ArrayBuffer };
}
const { Buffer } = globalThis as { Buffer?: BufferClass };

/** From here on zeroing costs more than the detour (measured on Node 20: 16 MiB in two thirds of the time). */
const LARGE = 256 * 1024;

/** Methods to be called on a Uint8Array; undefined where the host has no `Buffer`. */
export const native = Buffer?.prototype;

/** Bytes that the caller fills before anyone sees them: they may hold anything. */
export function uninitialized(length: number): Uint8Array<ArrayBuffer> {
  return Buffer === undefined || length < LARGE ? new Uint8Array(length) : new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
}

/** The same bytes as a plain Uint8Array: views of a subclass such as Buffer cost half as much again (measured). */
export function plain(bytes: Uint8Array): Uint8Array {
  return bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}
