/** Why an operation on a file failed, as far as the results of the wire tell causes apart (PROTOCOL §5.1). */
export type Fault = "notFound" | "permission" | "notFile" | "noSpace" | "busy" | "other";

/** The words of systems and shells, most telling first. */
const FAULTS: readonly { readonly pattern: RegExp; readonly fault: Fault }[] = [
  { pattern: /\bENOENT\b|no such file|\bfile not found\b|\bdoes not exist\b/i, fault: "notFound" },
  { pattern: /\bEACCES\b|\bEPERM\b|\bEROFS\b|permission denied|operation not permitted|read-only file system/i, fault: "permission" },
  { pattern: /\bEISDIR\b|is a directory/i, fault: "notFile" },
  { pattern: /\bENOSPC\b|no space left/i, fault: "noSpace" },
  { pattern: /\bEBUSY\b|resource busy|text file busy/i, fault: "busy" },
];

/** Characters of an error that are looked at: its end may quote the file. */
const LOOKED_AT = 1_000;

/** The cause that an error's text names. */
export function faultOf(error: string): Fault {
  const start = error.slice(0, LOOKED_AT);
  return FAULTS.find(({ pattern }) => pattern.test(start))?.fault ?? "other";
}
