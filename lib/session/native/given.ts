/** The fields that say something: proto3 leaves a plain field out that is zero, empty or false, and so do we. */
export function given<T extends object>(fields: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const said = Object.entries(fields).filter(([, value]) => value !== undefined && value !== 0 && value !== "" && value !== false);
  return Object.fromEntries(said) as { [Name in keyof T]?: Exclude<T[Name], undefined> };
}
