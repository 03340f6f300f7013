/** The wire's snake_case of a value name: `shellArgs` → `shell_args`. */
export type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : "";

/** The value name of the wire's snake_case: `shell_args` → `shellArgs`. */
export type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;

/** The value name of a name in the wire's snake_case: `shell_args` → `shellArgs`. */
export function camel<Name extends string>(name: Name): Camel<Name> {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) as Camel<Name>;
}
